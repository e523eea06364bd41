package fsm

import (
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// awayAgent is an agent at work on a host with a task waiting beside it, whose fence outlasts
// long silences of the host.
func awayAgent(t *testing.T, hostTTL string, change func(*noun.RoleSpec)) (*drive, noun.HostID, Speaker) {
	t.Helper()
	d := newDrive(t)
	d.jump(time.Minute)
	d.must(PutSettings{Values: []noun.KV{{Key: "host_ttl", Value: hostTTL}}})
	h := d.host("h1", "w")
	spec := noun.RoleSpec{Name: "a", Runner: "w", TTL: 4 * time.Hour}
	change(&spec)
	d.room("r", spec)
	me := d.start("r/a", h)
	d.must(Join{Speaker: me})
	return d, h, me
}

// silence lets a host be silent, and heard again after so long.
func (d *drive) silence(h noun.HostID, span time.Duration) {
	d.t.Helper()
	d.beat(h, BeatFence|BeatVouch|BeatLease, d.agent("r/a").ID)
	d.jump(SilentFor)
	d.must(SuspectHost{Host: h, Suspect: true, Reason: core.WhyStream})
	d.jump(span - SilentFor)
	d.beat(h, BeatFence|BeatVouch|BeatLease, d.agent("r/a").ID)
	if d.s.Host(h).State == noun.HostSuspect {
		d.must(SuspectHost{Host: h, Reason: "heard again"})
	}
	d.state(h, noun.HostReady)
}

func (d *drive) judged(want judge.Kind, when string) {
	d.t.Helper()
	if v := d.s.Verdict(d.agent("r/a").ID, true); v.Kind != want {
		d.t.Errorf("%s it is %s (%v), want %s", when, v.Kind, v.Reasons, want)
	}
}

// L10: a laptop that was suspended wakes up with healthy agents: what could not be heard
// is neither a missed report nor silence. The time after it counts as ever.
func TestL10SuspendedHostMakesNobodyUnresponsive(t *testing.T) {
	// shorter and longer than the host's lease
	for _, span := range []time.Duration{50 * time.Second, 6 * time.Minute} {
		d, h, me := awayAgent(t, "1m", func(r *noun.RoleSpec) { r.HealthEvery, r.HealthMissed = 20*time.Second, 2 })
		task := d.must(CreateTask{Room: "r", Role: "a", Title: "t"}).Task
		d.must(Claim{Speaker: me})
		d.must(StartTask{Work: Work{Speaker: me, Task: task, Attempt: 1}})
		d.must(Declare{Speaker: me})
		d.silence(h, span)
		d.judged(judge.AgentHealthy, "on the way back")
		v := d.s.Verdict(d.agent("r/a").ID, true)
		if said := v.Reasons[len(v.Reasons)-1].Text; !strings.Contains(said, "was not heard for "+span.String()) {
			t.Errorf("nothing tells why: %v", v.Reasons)
		}
		d.jump(39 * time.Second)
		d.judged(judge.AgentHealthy, "before two reports are missing")
		d.jump(2 * time.Second)
		d.judged(judge.AgentUnresponsive, "after two missing reports that could have come")
		if next := reload(t, d.s); next.Hash() != d.s.Hash() || len(next.Host(h).Away) != 2 {
			t.Errorf("loaded with %v", next.Host(h).Away)
		}
	}
}

// The same for silence with a task, for a task that waits, and for the ladder's deadlines.
func TestL10SuspendedHostMakesNobodyStalledOrDeaf(t *testing.T) {
	d, h, me := awayAgent(t, "24h", func(r *noun.RoleSpec) { r.PendingLimit = 5 * time.Minute })
	task := d.must(CreateTask{Room: "r", Role: "a", Title: "t"}).Task
	d.silence(h, 6*time.Minute)
	d.judged(judge.AgentIdle, "with a task that came before the silence")
	d.jump(5*time.Minute + time.Second)
	d.judged(judge.AgentDeaf, "after the pending limit")
	d.must(Claim{Speaker: me})
	d.must(StartTask{Work: Work{Speaker: me, Task: task, Attempt: 1}})
	d.jump(29 * time.Minute)
	d.silence(h, 10*time.Minute)
	d.judged(judge.AgentHealthy, "after 29 min of work and 10 of silence of its host")
	d.jump(time.Minute + time.Second)
	d.judged(judge.AgentStalled, "after half an hour that was heard")
	id := d.agent("r/a").ID
	c := d.s.Climb(id)
	d.must(StepLadder{Agent: id, Inc: me.Inc, Rung: noun.RungNudge, Seen: c.Seen})
	if c = d.s.Climb(id); c.Due != d.clock.Add(d.s.Settings().Ladder.Nudge) {
		t.Fatalf("the wake is due in %s", c.Due.Sub(d.clock))
	}
	d.silence(h, 3*time.Minute)
	c = d.s.Climb(id)
	d.want(noun.Conflict, StepLadder{Agent: id, Inc: me.Inc, Rung: noun.RungWake, Seen: c.Seen})
	d.jump(2 * time.Minute)
	d.must(StepLadder{Agent: id, Inc: me.Inc, Rung: noun.RungWake, Seen: c.Seen})
}

// What a host keeps of its absences is bounded, and what is kept never changes.
func TestL11AbsencesAreBounded(t *testing.T) {
	d, h, _ := awayAgent(t, "24h", func(*noun.RoleSpec) {})
	var old, was []noun.Time
	for range noun.MaxAway + 5 {
		d.jump(20 * time.Minute)
		d.silence(h, 10*time.Second)
		if !slices.Equal(old, was) {
			t.Fatalf("%v became %v", was, old)
		}
		old = d.s.Host(h).Away
		was = slices.Clone(old)
	}
	if len(old) != 2*noun.MaxAway {
		t.Errorf("%d times are kept, want %d", len(old), 2*noun.MaxAway)
	}
}

// A host whose gossip alone is blocked beats and holds its streams: a hang on it is found
// like any other.
func TestBlockedGossipHidesNoHang(t *testing.T) {
	d, h, me := awayAgent(t, "24h", func(*noun.RoleSpec) {})
	task := d.must(CreateTask{Room: "r", Role: "a", Title: "t"}).Task
	d.must(Claim{Speaker: me})
	d.must(StartTask{Work: Work{Speaker: me, Task: task, Attempt: 1}})
	d.must(SuspectHost{Host: h, Suspect: true, Reason: core.WhyGossip})
	for range 4 { // it beats, so only gossip is to blame
		d.jump(10 * time.Second)
		d.beat(h, BeatFence|BeatVouch, d.agent("r/a").ID)
	}
	d.must(SuspectHost{Host: h, Suspect: true, Reason: core.WhyBlocked})
	for range 70 {
		d.jump(30 * time.Second)
		d.beat(h, BeatFence|BeatVouch, d.agent("r/a").ID)
	}
	d.judged(judge.AgentStalled, "after half an hour")
}

// Neither the acknowledgement limit nor the progress limit runs while the host is not heard.
func TestL10SuspendedHostLosesNoTaskToALimit(t *testing.T) {
	d, h, me := awayAgent(t, "24h", func(r *noun.RoleSpec) {
		r.AckLimit, r.ProgressLimit = 2*time.Minute,
			20*time.Minute
	})
	id := d.must(CreateTask{Room: "r", Role: "a", Title: "t"}).Task
	d.must(Claim{Speaker: me})
	d.jump(time.Minute)
	d.silence(h, 10*time.Minute)
	d.pass(time.Second)
	if got := d.s.Task(id).State; got != noun.TaskAcknowledged {
		t.Errorf("after a minute of its host and 10 without, the task is %s", got)
	}
	d.must(StartTask{Work: Work{Speaker: me, Task: id, Attempt: 1}})
	d.jump(19 * time.Minute)
	d.must(SuspectHost{Host: h, Suspect: true, Reason: core.WhyStream})
	d.pass(10 * time.Minute)
	if got := d.s.Task(id).State; got != noun.TaskInProgress {
		t.Errorf("while its host is not heard the task is %s", got)
	}
	d.beat(h, BeatFence|BeatVouch, d.agent("r/a").ID)
	d.must(SuspectHost{Host: h, Reason: "heard again"})
	d.pass(40 * time.Second)
	if got := d.s.Task(id).State; got != noun.TaskInProgress {
		t.Errorf("before the rest of the limit is over the task is %s", got)
	}
	d.pass(30 * time.Minute)
	if got := d.s.Task(id).State; got == noun.TaskInProgress {
		t.Error("after the limit the task is not taken back")
	}
}

// Neither the start limit nor the turn limit runs while the host is not heard: whoever wakes up has the rest of it.
func TestL10SuspendedHostLosesNoLifeToALimit(t *testing.T) {
	for name, c := range map[string]struct {
		level uint32
		turn  bool
		event string
		ended bool
	}{
		"start limit":             {core.LevelRetry, false, "agent.start_limit", false},
		"turn limit":              {core.LevelRetry, true, "agent.turn_limit", false},
		"start, before the level": {core.Baseline, false, "agent.start_limit", true},
	} {
		d := newDrive(t)
		if c.level > core.Baseline {
			d.must(RaiseLevel{Level: c.level})
		}
		d.must(PutSettings{Values: []noun.KV{{Key: "host_ttl", Value: "1h"}}})
		h := d.host("h1", "w")
		spec := noun.RoleSpec{Name: "a", Runner: "w", TTL: 24 * time.Hour, StartLimit: 2 * time.Minute}
		if c.turn {
			spec.TurnLimit = 2 * time.Minute
		}
		d.room("r", spec)
		me := d.start("r/a", h)
		if c.turn {
			d.must(Join{Speaker: me})
			d.must(CreateTask{Room: "r", Role: "a"})
			d.must(Claim{Speaker: me, Start: true})
		}
		id := d.agent("r/a").ID
		d.pass(20 * time.Second)
		d.beat(h, BeatFence|BeatVouch, id)
		d.jump(SilentFor)
		d.must(SuspectHost{Host: h, Suspect: true, Reason: core.WhyStream})
		d.pass(5*time.Minute - SilentFor)
		d.beat(h, BeatFence|BeatVouch, id)
		if d.s.Host(h).State == noun.HostSuspect {
			d.must(SuspectHost{Host: h, Reason: "heard again"})
		}
		d.pass(99 * time.Second)
		if ended := d.agent("r/a").Order == noun.StopOrder; ended != c.ended {
			t.Errorf("%s: it is ended before the limit has run: %v", name, ended)
		}
		d.s = reload(t, d.s)
		d.pass(2 * time.Second)
		if n := d.events(c.event); d.agent("r/a").Order != noun.StopOrder || n != 1 {
			t.Errorf("%s: it is not ended when the limit has run; %d events, away %v", name, n, d.s.Host(h).Away)
		}
	}
}
