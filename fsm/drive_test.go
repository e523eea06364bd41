package fsm

import (
	"slices"
	"testing"
	"time"

	"vigil/fsm/noun"
)

// drive applies commands to a state as a leader would, one entry each, and checks
// the laws after every entry.
type drive struct {
	t     *testing.T
	s     *State
	index uint64
	clock noun.Time
	term  uint64
}

func newDrive(t *testing.T) *drive {
	d := &drive{t: t, s: New(), term: 1}
	d.do(LeaderEstablished{Server: "a"})
	return d
}

// entry seals requests into an entry at the present clock.
func (d *drive) entry(reqs ...Request) *Entry {
	d.index++
	return &Entry{Index: d.index, Term: d.term, Stint: d.term, Stamp: d.clock, Wall: noun.Wall(d.index), Requests: reqs}
}

func (d *drive) apply(e *Entry) noun.Result {
	d.t.Helper()
	res := d.s.Apply(e)
	if err := d.s.Check(); err != nil {
		d.t.Fatalf("laws broken after entry %d: %v", d.index, err)
	}
	return res
}

// whole applies requests, and the entries that a leader adds because work is left, without checking laws.
func (d *drive) whole(reqs ...Request) noun.Result {
	res := d.s.Apply(d.entry(reqs...))
	res.Outcomes = slices.Clone(res.Outcomes)
	for more := res.Effects.More; more; {
		more = d.s.Apply(d.entry()).Effects.More
	}
	return res
}

// do applies one command and returns its outcome.
func (d *drive) do(c Command) noun.Outcome {
	d.t.Helper()
	return d.apply(d.entry(Request{Cmd: c})).Outcomes[0]
}

// must is do, and the outcome is OK.
func (d *drive) must(c Command) noun.Outcome {
	d.t.Helper()
	out := d.do(c)
	if out.Code != noun.OK {
		d.t.Fatalf("%T: %s: %s", c, out.Code, out.Detail)
	}
	return out
}

// want is do, and the outcome has the code.
func (d *drive) want(code noun.Code, c Command) noun.Outcome {
	d.t.Helper()
	out := d.do(c)
	if out.Code != code {
		d.t.Fatalf("%T: got %s (%s), want %s", c, out.Code, out.Detail, code)
	}
	return out
}

// pass lets cluster time go by, firing timers second by second.
func (d *drive) pass(span time.Duration) {
	d.t.Helper()
	for end := d.clock.Add(span); d.clock < end; {
		d.clock = min(d.clock.Add(time.Second), end)
		d.apply(d.entry())
	}
}

// beat sends one beat of an agent started by hand, or of a host.
func (d *drive) beat(host noun.HostID, kinds uint8, agents ...noun.AgentID) noun.BeatAnswer {
	d.t.Helper()
	e := d.entry()
	var incs []noun.Incarnation
	var ks []uint8
	for _, id := range agents {
		incs, ks = append(incs, d.s.Agent(id).Inc), append(ks, kinds)
	}
	boot := ""
	if h := d.s.Host(host); h != nil {
		boot = h.Boot
	}
	e.Beats = []HostBeats{{Host: host, Boot: boot, Packed: PackBeats(nil, agents, incs, ks)}}
	return d.apply(e).Beats[0]
}

// room declares one room with roles; the first registered host is "h1".
func (d *drive) room(name string, roles ...noun.RoleSpec) {
	d.t.Helper()
	d.must(ApplyRoom{Room: name, Roles: roles, By: "test"})
}

func (d *drive) host(key string, runners ...string) noun.HostID {
	d.t.Helper()
	return d.must(RegisterHost{Key: key, Name: key, Boot: "boot1", Runners: runners}).Host
}

// start runs an agent on a host as far as a reported pid.
func (d *drive) start(name string, host noun.HostID) Speaker {
	d.t.Helper()
	a := d.s.AgentByName(name)
	inc := d.s.NextInc(a)
	id := a.ID
	d.must(OrderStart{Agent: id, Inc: inc, Host: host})
	d.must(AcceptOrder{Host: host, Boot: "boot1", Agent: id, Inc: inc})
	d.must(ReportStarted{Host: host, Agent: id, Inc: inc, PID: 4711})
	return Speaker{Agent: name, Inc: inc}
}

func (d *drive) agent(name string) *noun.Agent { return d.s.AgentByName(name) }
