// Package bench measures vigil from outside: it starts three servers as processes
// of its own with everything as in production (fsync on, real sockets), or uses a
// cluster that runs already, puts load on it through the public client, and
// reports exact figures. Those about what holds a server's lock need no servers: they run
// its state machine, and its duty, in this process (see alone).
//
// A benchmark ends by itself, kills what it has started and removes its data.
// Latencies are kept one by one and sorted, so that a percentile is one of the
// measured values; what happens during the warm-up is not counted. The load runs on
// the same machine as the servers and takes its share of it: the figures are those
// of the whole, not of the servers alone.
package bench
