// Package disk is what agentd keeps on its disk: the data directory with its lock, the key of the host and the
// folders of agents, and the journal of lives. What it writes is whole after any crash, or not there.
package disk
