// Package results is what agents have finished and could not deliver: the spool of a life, into which
// the agent puts it, and the dead letters, results that the cluster has refused and people may want.
package results
