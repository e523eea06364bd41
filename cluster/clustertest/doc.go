// Package clustertest runs a whole cluster of servers in one process, for tests:
// real replicas and real raft, on stores and a network in memory that a test can
// cut, kill and pause. It is made for testing/synctest, where days pass in
// seconds; with OnDisk the servers use real files and sockets instead, and real
// time. Production code never imports it.
//
// What it cannot do: a killed server's memory is gone but its writes never are
// (stores in memory are always durable); a paused server neither hears nor speaks,
// but its goroutines go on. The charge for lost time is tested on the clock itself.
package clustertest
