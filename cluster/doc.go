// Package cluster replicates the state machine: three servers (or one, or five)
// hold the same fsm.State at the same log index. It knows raft, the log's format,
// batching, clocks, stints and membership, and nothing of agents.
//
// A Replica is opened, then run:
//
//	r, err := cluster.Open(cluster.Config{...})
//	r.Subscribe(wake)         // effects of every applied entry
//	err = r.Run(ctx)          // until ctx ends or the server cannot go on
//
// # The way of a write
//
//	Submit -> batcher (gathers, stamps, encodes) -> raft (disk and followers)
//	       -> machine (decodes, State.Apply) -> outcome
//
// Proposals that arrive while two entries are in flight become one entry. Beats are
// held back longer and ride with whatever goes next. The form of the bytes is in
// the package record.
//
// # Failure model
//
// Servers stop and come back, messages are lost, delayed and reordered, disks fill
// up, hang and fail, machines are suspended, clocks jump. A minority may do all of
// that at once, for ever, and no acknowledged write is lost. What is not survived:
// servers that lie, disks that acknowledge writes they lose, a majority of disks
// gone.
//
//   - A server dies: the others elect a leader after 250 to 500 ms of silence.
//     Callers at the old one get fsm.ErrUnknownOutcome (it was proposed) or
//     fsm.ErrNotLeader (it was not) and repeat the same request at the new one; the
//     state machine does it once.
//   - The leader is cut off: it steps down by itself. What it had proposed may or may
//     not survive, and it says so. Its reads go through the log, so they wait.
//   - No majority: nothing is written and cluster time stands still. No lease ends.
//   - The leader is suspended: a gap in its clock counts for 2 s at most.
//   - A stint ends and the same server is elected again: entries that were sealed in
//     the old term have void stamps, and their planned commands are refused.
//   - A disk hangs, fails or changes what it holds: see the package logstore. Run
//     returns at once and the process must exit; Open ends the same way.
//   - The log holds what this version cannot read (record.ErrUnknown): the server
//     stops, its data untouched. A newer version goes on from there.
//   - The states drift apart: from time to time all servers hash the state at a Mark.
//     The one in the minority stops serving and leading and still stores its log.
//   - Data of another cluster, or a peer of one, is refused (ErrOtherCluster).
//   - Somebody who is no server of the cluster reaches the port of the log: with Config.Identity
//     it is turned away, and named once in the log; see the package wire.
//
// # Time
//
// Cluster time is part of the state. The leader starts its stint from the clock in
// the answer to LeaderEstablished and adds its own monotonic time; see clock.go.
// When a deadline of the state is due and nobody proposes, the leader proposes an
// empty entry, at most one each Timing.TickSpacing.
//
// # Goroutines
//
// Run owns all of them: one that follows leadership, one that seals entries, one
// that settles them, one for each stint, and a few that wait for marks, snapshots
// and divergence. Raft has its own. Locks are taken in this order, and held
// briefly: Replica.members, stints.mu, batcher.mu, group.mu; machine.mu alone.
package cluster
