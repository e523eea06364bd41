// Package agentd is the daemon on every worker host: it starts, watches and stops
// the agents that the cluster orders there, and tells the cluster what became of
// them. It decides nothing: what should run, where and when is the cluster's
// business, and an agent that died is started again only by a new order.
//
// # Who owns what
//
// One goroutine, the keeper, owns all parts: lives (their table), orders, beats,
// registration, pressure, spools, terminals, screens, retention, exit. A part has fields of
// its own and looks at the clock when it is asked to; everything else (the order stream,
// answers to calls, ends of processes) sends the keeper functions to run. So a
// repeated, late or overtaking message meets one decision at a time:
//
//	accepting --AcceptOrder committed--> accepted --> starting --> running --> (gone)
//	accepting --refused--> (gone, nothing was forked)
//
// A life that is gone leaves its number behind, so that an old order cannot start
// it again.
//
// # Lives outlive the daemon
//
// Each agent is held by a shim (package shim), a process of its own that goes on
// when this daemon ends, is killed or is upgraded. The journal, data_dir/lives, has a folder
// for each life from before its fork until the cluster knows of its end. A
// daemon that starts reads it before it registers:
//
//   - a record of the end: it is reported;
//   - the lock is held: the shim runs and is adopted, same process, nothing started;
//   - neither: agentd was killed between the intent and the fork, or shim and agentd
//     died together. What carries the mark of the life is killed, and the end is
//     reported as nobody's fault.
//
// Marked processes that belong to no folder are killed before anything is started.
// So the inventory of a registration is the truth, and a crash at any instruction
// neither starts a life twice nor forgets one. Reports of ends, and completions
// that agents could not deliver (results.Env), stay on disk until a server took them. Only what
// the cluster calls superseded, late or unknown is given up; a result that it refuses for
// another reason is kept in data_dir/dead-letters (results.Letter).
//
// # Which host this is
//
// The host's key is in its data directory. The boot id is made of the kernel's and
// of the directory's own inode, and the marks of processes carry both: a copy of the
// directory is another boot of the same host, which the cluster refuses while
// anything of the first may run, and it touches none of its processes.
//
// # Fencing
//
// The dead-man's switch of a life is its shim's. The keeper beats for all lives in
// one call and passes on when an acknowledged beat was sent; the acceptance is the
// first of them, counted from when its first attempt was sent. Nothing is forked on
// an acceptance that is old (law L7).
//
// # Coming back
//
// A registration brings a lost host back into service, and the planner may then order
// new lives in place of those whose fences have ended meanwhile. So the first word
// after an absence is a beat for all lives that are held here: it takes them up in the
// entry that brings the host back (law L10). data_dir/host.json keeps the number that
// the host needs for that; it is checked by the cluster like that of any beat. The
// order stream, by which servers trust a host, is opened again after that beat too.
//
// # Calls of agents
//
// An agent calls by the socket of its life, which its shim serves (package local). The shim
// passes the bytes on to data_dir/agents, and this daemon the calls to the servers, on behalf
// of the life whose shim it is.
//
// # Where the servers are
//
// The client learns from every answer where the servers are now. The keeper writes that
// into data_dir/servers, one address a line and readable for everybody, for its agents
// (EnvServers) and for the next daemon, and registers again, so that the cluster can warn
// of a host that knows too few of them.
//
// # Seams
//
// Shims are started and held behind launcher and process; point marks the steps at
// which tests let the daemon die.
package agentd
