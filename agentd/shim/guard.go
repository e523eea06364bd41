package shim

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"vigil/agentd/local"
	"vigil/agentd/output"
	"vigil/agentd/proc"
	"vigil/agentd/tmux"
)

const (
	// nap is how long the switch is left unread at most.
	nap = 250 * time.Millisecond
	// stopGrace is the default of Spec.StopGrace.
	stopGrace = 5 * time.Second
)

// ending says why the shim ends a life.
type ending struct {
	reason   string // empty: it does not
	ordered  bool
	timedOut bool
}

// guard holds one running agent. One goroutine runs hold; everything else sends
// it words.
type guard struct {
	spec   *Spec
	door   *door
	agents *local.Door // nil: the agent has no socket
	port   *local.Door // for telemetry; nil: there is none
	clock  func() time.Duration
	awake  func() time.Duration
	watch  deadman
	used   time.Duration // of the run limit
	seen   time.Duration // when that was counted last, by awake
	ready  time.Time     // when the life was taken up, by the wall clock
	lonely time.Duration // when an agentd was there last

	tree   *proc.Tree
	group  *proc.Cgroup // nil: none
	log    *output.Log
	notes  *notes
	tail   *output.Tail
	ending ending

	recorded chan error    // what became of StartedFile
	said     chan struct{} // closed when the start was told to the daemon
}

// hold watches until nothing of the tree is left.
func (g *guard) hold(terms <-chan os.Signal) Exit {
	stuck := g.tree.Stuck()
	alarm := newAlarm()
	defer alarm.stop()
	for {
		// First of all, whatever woke us: the machine or this process may have slept,
		// and the agent goes on while we think.
		alarm.set(g.judge())
		select {
		case <-alarm.rings:
		case <-g.tree.Done():
			return g.over()
		case <-stuck:
			stuck = nil
			word := fmt.Sprintf("a process of %d cannot be killed: it keeps its slot until it is gone", g.tree.PID())
			g.notes.Note(word)
			g.door.tell(func(s *status) { s.Stuck = word })
		case err := <-g.recorded:
			if err != nil {
				// A later daemon could not find the agent: it must not live on.
				g.end(ending{reason: err.Error()}, 0)
			}
		case r := <-g.door.requests:
			g.take(r)
		case <-terms:
			g.end(ending{reason: "its shim was told to end (SIGTERM)", ordered: true}, g.grace())
		}
	}
}

// judge does what the clock asks for and says how long it asks for nothing.
func (g *guard) judge() time.Duration {
	now, awake := g.clock(), g.awake()
	// Neither an outage (law L10) nor the sleep of the machine uses up the time of an agent.
	if !g.watch.frozen {
		g.used += awake - g.seen
	}
	g.seen = awake
	switch g.watch.judge(now) {
	case freeze:
		if err := g.tree.Freeze(); err != nil {
			g.end(ending{reason: "it could not be frozen when its fence was in doubt: " + err.Error(),
				ordered: true}, 0)
		}
		g.notes.Note("is frozen: no fence beat was acknowledged for " + g.watch.patience().String())
		g.door.tell(func(s *status) { s.Frozen = true })
	case thaw:
		if err := g.tree.Thaw(); err != nil {
			g.end(ending{reason: "it could not be thawed: " + err.Error(), ordered: true}, 0)
		}
		g.notes.Note("goes on: its fence is confirmed")
		g.door.tell(func(s *status) { s.Frozen = false })
	}
	if limit := g.spec.OrphanLimit; limit > 0 {
		if g.door.heard() {
			g.lonely = now
		} else if now-g.lonely >= limit {
			g.end(ending{reason: "no agentd has come for it in " + limit.String(), ordered: true}, 0)
		}
	}
	limit := g.spec.RunLimit
	left := far
	if limit > 0 && g.ending.reason == "" && !g.watch.frozen {
		if left = limit - g.used; left <= 0 {
			g.end(ending{reason: "it reached its run limit of " + limit.String(), timedOut: true}, g.grace())
			left = far
		}
	}
	return max(time.Millisecond, min(nap, left, g.watch.next(g.clock())))
}

func (g *guard) take(r request) {
	if r.Acknowledge > 0 {
		// A beat from the future would hold the switch open.
		g.watch.acknowledge(min(r.Acknowledge, g.clock()))
	}
	if r.Stop != nil {
		g.end(ending{reason: r.Stop.Reason, ordered: true}, r.Stop.Grace)
	}
}

func (g *guard) grace() time.Duration {
	if g.spec.StopGrace > 0 {
		return g.spec.StopGrace
	}
	return stopGrace
}

// end stops the tree, before any word about it. The first reason stays; a shorter
// grace counts.
func (g *guard) end(e ending, grace time.Duration) {
	if e.reason == "" {
		e.reason = "it was told to stop"
	}
	g.tree.Stop(grace)
	if g.ending.reason == "" {
		g.ending = e
		g.notes.Note("is stopped: " + e.reason)
	}
	g.door.tell(func(s *status) { s.Stopping = true })
}

// starved says that the kernel has ended the program because memory was short; empty: it has not. killed tells that it
// has killed something in the group at some time, own that the limit of the group was met. The program may have
// outlived both by hours: only one that SIGKILL ended, as a shell says it of what it ran too, was a victim.
func starved(exit Exit, killed, own bool, limit uint64) string {
	switch {
	case !killed, exit.Signal != unix.SIGKILL.String() && exit.Code != 128+int(unix.SIGKILL):
		return ""
	case own && limit > 0:
		return "it reached its memory limit of " + strconv.FormatUint(limit, 10) + " bytes"
	}
	return "the kernel ended it: the machine, or the unit or container that agentd runs in, had no memory left"
}

// over puts together how the life ended.
func (g *guard) over() Exit {
	left := g.tree.Exit()
	exit := Exit{At: time.Now(), Code: left.Code, Signal: left.Signal, Tail: g.tail.String(),
		Reason: g.ending.reason, Ordered: g.ending.ordered, TimedOut: g.ending.timedOut}
	if exit.Signal == tmux.Unknown && exit.Ordered {
		exit.Signal = unix.SIGKILL.String() // it reached the server too
	}
	if exit.Reason == "" {
		exit.RetryAfter, exit.UsageLimit = outOfQuota(g.spec.Usage, exit.Code, exit.Tail, time.Now())
		killed, own := g.group.OutOfMemory()
		exit.Reason = starved(exit, killed, own, g.spec.Limits.Memory)
	}
	if err := g.group.Remove(); err != nil {
		g.notes.Note(err.Error())
	}
	if exit.Signal != "" {
		g.notes.Note(fmt.Sprintf("incarnation %d was ended by signal: %s", g.spec.Mark.Incarnation, exit.Signal))
	} else {
		g.notes.Note(fmt.Sprintf("incarnation %d exited with code %d", g.spec.Mark.Incarnation, exit.Code))
	}
	return exit
}
