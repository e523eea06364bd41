package park

import (
	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/fault"
)

// Reader gives access to this server's replica. Safe for concurrent use.
type Reader interface {
	// Read calls fn under the read lock; fn is short and keeps no pointer.
	Read(fn func(*fsm.View))
}

// Engine is all that waits on one server. Safe for concurrent use.
type Engine struct {
	// Gate is for those who wait until this replica has applied an index.
	Gate *Gate
	// Turns are the claims of woken waiters, on the leader.
	Turns *Turnstile
	// Mail is for agents that wait for something to read, Hosts for streams of hosts.
	Mail  *Signals[noun.AgentID]
	Hosts *Signals[noun.HostID]
	// History is for watches of events.
	History *History

	// Matches gives waiters here their tasks in the entries that this server seals as leader.
	Matches *Matches

	reader Reader
	tasks  *queues
	stop   <-chan struct{}
}

// Open makes the engine of one server; whoever waits is sent away when stop is closed.
// It starts nothing and needs no end.
func Open(r Reader, stop <-chan struct{}) *Engine {
	g := &Gate{reader: r}
	q := newQueues(r, g)
	return &Engine{Gate: g, Matches: &Matches{reader: r, queues: q},
		Turns: newTurnstile(r), Mail: newSignals[noun.AgentID](), Hosts: newSignals[noun.HostID](),
		History: newHistory(), reader: r, tasks: q, stop: stop}
}

// Applied is called after every entry, outside the replica's lock. It does not block.
func (e *Engine) Applied(eff noun.Effects) {
	e.Gate.applied()
	if eff.Reset {
		e.tasks.reset()
		e.Mail.reset()
		e.Hosts.reset()
	}
	e.tasks.claimable(eff.Claimable)
	e.Mail.applied(eff.Mail)
	e.Hosts.applied(eff.Hosts)
	e.History.applied(eff.LastEvent)
}

// stopping is the error of those who wait when the server begins to stop.
func stopping() error {
	return fault.New(code.Unavailable, "This server is stopping; wait on another one.")
}
