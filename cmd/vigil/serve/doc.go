// Package serve holds the commands that run for as long as a machine does: a server, agentd, and the
// shim beside each agent. It joins what the other rooms of vigil declare: replication, duties, services
// and gossip become one process here.
package serve
