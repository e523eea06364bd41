// Package agentd is the daemon on every worker host: it starts, watches and stops
// the agents that the cluster orders there, and tells the cluster what became of
// them. It decides nothing: what should run, where and when is the cluster's
// business, and an agent that died is started again only by a new order.
//
// # Who owns what
//
// One goroutine, the keeper, owns the table of lives; everything else (the order
// stream, answers to calls, ends of processes) sends it functions to run. So a
// repeated, late or overtaking message meets one decision at a time:
//
//	accepting --AcceptOrder committed--> accepted --> starting --> running --> (gone)
//	accepting --refused--> (gone, nothing was forked)
//
// A life that is gone leaves its number behind, so that an old order cannot start
// it again. Reports about it travel in the outbox until the cluster has them.
//
// # Fencing
//
// Every life has a dead-man's switch that listens to nothing but acknowledged
// fence beats. The acceptance is the first of them, counted from when its first
// attempt was sent. After 0.75 TTL without one the whole process tree is frozen; a
// later beat that finds the incarnation current thaws it. Between that moment and
// the end of the fence the tree cannot run, whatever happens to the network (law
// L7). Time is CLOCK_BOOTTIME, which runs through suspend.
//
// # Seams
//
// Processes are started and held behind launcher and process. A shim that
// survives this daemon takes their place together with the dead-man's switch.
package agentd
