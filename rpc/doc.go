// Package rpc is what the coordinator offers to everybody outside: the gRPC services
// of rpc/proto, the same calls as HTTP/JSON under /v1 on the same port, and what
// people point a browser or a scraper at (/livez, /readyz, /metrics, /openapi.json).
//
//	door     the port, and what happens to a call before a service gets it
//	park     calls that wait until something happens in the replica
//	code     tables: error codes, natures of calls, who may make them; fault: the errors
//	base     what services share: the replica and the way to it
//	form     the forms of requests and answers: what comes in is checked, what goes out converted
//	vouch    who calls, and what one is known by
//	hosts    hosts, their streams, output and terminals
//	servers  the servers themselves: status, membership, settings, backups
//	rpc      the other services, one file for each group of calls, and what joins them all
//
// # Way of a call
//
//	unary call -> door: observe -> forward -> service: validate -> command -> submit -> convert
//	                                  |
//	                                  +-- not the leader: the same request, with the same
//	                                      write id, goes to the leader's API address
//
// Every unary handler has one shape: validate the request, build a command of
// fsm, submit it, convert the outcome. Stream, WatchEvents and AgentLogs are
// served by any server from its own replica. A Wait is passed on to the leader, which claims for
// it in the entry that makes a task; beyond the places there it waits on the server that it
// came to, and its claim takes the same way as one from outside.
//
// # Reads
//
// A read that does not ask for a stale answer goes to the leader and waits there
// until everything committed before the call is applied. A page of at most 1,000
// rows is copied under the replica's lock; no answer is converted, sent or waited
// for under it.
//
// # Locks
//
// Nothing of this package is locked while the replica's lock is asked for, and
// nothing is locked inside it. Callbacks from the replica (Effects) only set flags
// and send on buffered channels. The argument that no wake-up is lost stands in
// park/tasks.go.
package rpc
