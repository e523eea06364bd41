// Command peers measures vigil and the systems that it is compared with side by side: etcd and
// nats-server, built from their modules, against `vigil bench` of a built vigil.
//
//	peers compare -vigil bin/vigil -rounds 3 -duration 5s      both sides in turn; the last table has the ratios
//	peers compare -vigil bin/vigil -secure                     the same with TLS everywhere, certificates on both ends
//	peers run etcd-writes -clients 1,64,1000 -duration 5s      one measurement of a peer, as one JSON object
//
// A peer is three servers as processes of their own on loopback addresses, with their data on disk and
// fsync on. Each is what its maker ships: nothing is set but names, addresses, certificates and, for
// nats-server, sync_interval: always, without which it acknowledges what no disk has. What a peer may be
// used in two ways for is done in the way that was faster in trials (see nats_tasks.go and etcd.go).
//
// The load is the same on both sides: the loops, warm-up and percentiles here are those of vigil's
// package bench, the official Go clients share as many connections as vigil's do, and writes carry the
// same fields. The JSON has the field names of `vigil bench --json`.
//
// Every process that peers starts ends with it, and what it writes is in one temporary folder that it
// removes. A measurement lasts 10 minutes at most.
//
// It is a module of its own, so that vigil depends on none of its peers.
//
// The exit code is 0 when everything was measured, whatever the figures, and 1 when not.
package main
