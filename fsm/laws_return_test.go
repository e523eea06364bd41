package fsm

import (
	"fmt"
	"testing"
	"time"

	"vigil/fsm/noun"
)

// comeback is one way in which a host with a living agent comes back: what had become
// of the agent meanwhile, and what is demanded of the word to the host, to the agent,
// and of the state afterwards.
type comeback struct {
	name      string
	fence     bool // it still runs
	connected bool // the participant had a lease until the outage
	meanwhile func(d *drive, other noun.HostID)

	host, agent noun.Verdict // to the beat of the host, then to that of the agent
	proc        noun.ProcState
	inc         noun.Incarnation
	stop        bool // a stop order is open in the end
}

var comebacks = []comeback{
	{name: "nothing newer, fence runs, connected", fence: true, connected: true, agent: noun.VerdictCurrent,
		proc: noun.ProcRunning, inc: 1},
	{name: "nothing newer, fence runs, disconnected", fence: true, agent: noun.VerdictRejoin,
		proc: noun.ProcRunning, inc: 1},
	{name: "nothing newer, fence over, was connected", connected: true, host: noun.VerdictAdopt,
		agent: noun.VerdictRejoin, proc: noun.ProcRunning, inc: 1},
	{name: "nothing newer, fence over, was disconnected", host: noun.VerdictAdopt, agent: noun.VerdictRejoin,
		proc: noun.ProcRunning, inc: 1},
	{name: "newer order open, not accepted", connected: true, meanwhile: func(d *drive, other noun.HostID) {
		d.must(OrderStart{Agent: 1, Inc: 2, Host: other})
	}, host: noun.VerdictSuperseded, agent: noun.VerdictSuperseded, proc: noun.ProcOrdered, inc: 2},
	{name: "newer order accepted", connected: true, meanwhile: func(d *drive, other noun.HostID) {
		d.must(OrderStart{Agent: 1, Inc: 2, Host: other})
		d.must(AcceptOrder{Host: other, Boot: "boot1", Agent: 1, Inc: 2})
	}, host: noun.VerdictSuperseded, agent: noun.VerdictSuperseded, proc: noun.ProcAccepted, inc: 2},
	{name: "newer life runs", connected: true,
		meanwhile: func(d *drive, other noun.HostID) { d.start("demo/b", other) },
		host:      noun.VerdictSuperseded, agent: noun.VerdictSuperseded, proc: noun.ProcRunning, inc: 2},
	{name: "newer order was withdrawn", connected: true, meanwhile: func(d *drive, other noun.HostID) {
		d.must(OrderStart{Agent: 1, Inc: 2, Host: other})
		d.must(CancelOrder{Agent: 1, Inc: 2})
	}, host: noun.VerdictSuperseded, agent: noun.VerdictSuperseded, proc: noun.ProcNone, inc: 2},
	{name: "stopped, fence runs", fence: true, connected: true, meanwhile: stopIt, agent: noun.VerdictCurrent,
		proc: noun.ProcRunning, inc: 1, stop: true},
	{name: "stopped, fence over", connected: true, meanwhile: stopIt, host: noun.VerdictSuperseded,
		agent: noun.VerdictSuperseded, proc: noun.ProcLost, inc: 1},
	{name: "declared as stopped, fence over", connected: true, meanwhile: func(d *drive, _ noun.HostID) {
		d.room("demo", managed("b", func(r *noun.RoleSpec) { r.Desired = noun.DesiredStopped }))
	}, host: noun.VerdictSuperseded, agent: noun.VerdictSuperseded, proc: noun.ProcLost, inc: 1},
	{name: "paused, fence over", connected: true, meanwhile: func(d *drive, _ noun.HostID) {
		d.must(SetPause{Scope: "demo/b", Pause: true, By: "ann"})
	}, host: noun.VerdictAdopt, agent: noun.VerdictRejoin, proc: noun.ProcRunning, inc: 1},
	{name: "deleted, fence runs", fence: true, connected: true,
		meanwhile: func(d *drive, _ noun.HostID) { d.must(DeleteRoom{Room: "demo", By: "ann"}) },
		agent:     noun.VerdictCurrent, proc: noun.ProcRunning, inc: 1, stop: true},
	{name: "deleted, fence over", connected: true,
		meanwhile: func(d *drive, _ noun.HostID) { d.must(DeleteRoom{Room: "demo", By: "ann"}) },
		host:      noun.VerdictUnknown, agent: noun.VerdictUnknown},
}

func stopIt(d *drive, _ noun.HostID) { d.must(SetAgent{Agent: "demo/b", Stop: true, By: "ann"}) }

// L10: a host whose daemon was away comes back with a life that went on. Its first
// word is a beat, then it registers with its inventory, and the leader plans between
// any two entries. A life that nothing newer has replaced goes on and is told to join
// again; L6, L9: anything else is told to stop and changes nothing.
func TestL10LivesGoOnWhenTheirHostComesBack(t *testing.T) {
	for _, c := range comebacks {
		for _, agentFirst := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, agent first %v", c.name, agentFirst), func(t *testing.T) { c.play(t, agentFirst) })
		}
	}
}

func (c comeback) play(t *testing.T, agentFirst bool) {
	d := newDrive(t)
	h, other := d.host("h1", "worker"), d.host("h2", "worker")
	d.room("demo", managed("b", func(r *noun.RoleSpec) { r.Proof = noun.ProofAgent }))
	sp := d.start("demo/b", h)
	if c.connected {
		d.must(Join{Speaker: sp})
	}
	silence := 61 * time.Second
	if c.fence {
		silence = 30 * time.Second
	}
	for range silence / time.Second {
		d.pass(time.Second)
		d.beat(other, 0)
	}
	if c.meanwhile != nil {
		c.meanwhile(d, other)
	}
	word := func(host noun.HostID, kinds uint8) noun.Verdict {
		t.Helper()
		e := d.entry()
		e.Beats = []HostBeats{{Host: host, Packed: PackBeats(nil, []noun.AgentID{1}, []noun.Incarnation{1},
			[]uint8{kinds})}}
		if host != 0 {
			e.Beats[0].Boot = "boot1"
		}
		if ans := d.apply(e).Beats[0]; len(ans.Exceptions) > 0 {
			return ans.Exceptions[0].Verdict
		}
		return noun.VerdictCurrent
	}
	if got := noun.Verdict(0); agentFirst {
		if got = word(0, BeatLease); got != c.agent {
			t.Errorf("the agent was told %s before its host was heard, want %s", got, c.agent)
		}
	}
	if got := word(h, BeatFence); got != c.host {
		t.Errorf("the host was told %s, want %s", got, c.host)
	}
	d.planFor(1, h)
	d.must(RegisterHost{Key: "h1", Name: "h1", Boot: "boot1", Runners: []string{"worker"}, Taken: 9,
		Inventory: []Running{{Agent: 1, Inc: 1, PID: 7}}})
	d.planFor(1, h)
	if got := word(0, BeatLease); got != c.agent {
		t.Errorf("the agent was told %s, want %s", got, c.agent)
	}
	a := d.agent("demo/b")
	if c.proc == 0 && c.inc == 0 {
		if a != nil {
			t.Errorf("it is still there: %+v", a)
		}
		return
	}
	if a.Proc != c.proc || a.Inc != c.inc || (a.Order == noun.StopOrder) != c.stop {
		t.Errorf("it is %s in life %s with order %d", a.Proc, a.Inc, a.Order)
	}
	if c.agent == noun.VerdictRejoin {
		d.must(Join{Speaker: sp})
		if a := d.agent("demo/b"); a.Part != noun.PartWaiting || a.Inc != 1 {
			t.Errorf("after it has joined again: %+v", a)
		}
	}
}

// planFor does what a planner would at the worst moment: it orders the next life as
// soon as one is wanted. Lives that the host has just proved are not.
func (d *drive) planFor(id noun.AgentID, h noun.HostID) {
	for wanted := range d.s.Wanting() {
		if a := d.s.Agent(id); wanted == id && a.Proc == noun.ProcLost {
			d.must(OrderStart{Agent: id, Inc: d.s.NextInc(a), Host: h})
			return
		}
	}
}

// What does not carry the life's own token is somebody else, whatever became of the
// life, and is not asked to join again.
func TestL6StrangersAreNotAskedToRejoinALostLife(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"))
	d.must(Join{Speaker: d.start("demo/b", h)})
	d.pass(61 * time.Second)
	for kinds, want := range map[uint8]noun.Verdict{BeatLease | BeatStranger: noun.VerdictSuperseded,
		BeatVouch: noun.VerdictSuperseded, BeatLease: noun.VerdictRejoin} {
		ans := d.beat(0, kinds, 1)
		if len(ans.Exceptions) != 1 || ans.Exceptions[0].Verdict != want {
			t.Errorf("kinds %d were answered %+v, want %s", kinds, ans, want)
		}
	}
}
