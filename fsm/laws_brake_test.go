package fsm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// farm is hosts that each run so many agents, and one second between their beats.
type farm struct {
	*drive
	hosts []noun.HostID
	on    map[noun.HostID][]noun.AgentID
	mute  map[noun.HostID]bool
}

func newFarm(t *testing.T, hosts, each int, mods ...func(*noun.RoleSpec)) *farm {
	f := &farm{drive: newDrive(t), on: map[noun.HostID][]noun.AgentID{}, mute: map[noun.HostID]bool{}}
	f.must(PutSettings{Values: []noun.KV{{Key: "starts_per_second", Value: "1000"},
		{Key: "starts_per_host", Value: "1000"}, {Key: "start_limit", Value: "1h"}}})
	f.room("demo", managed("b", append(mods, func(r *noun.RoleSpec) { r.Replicas = uint32(hosts * each) })...))
	id := noun.AgentID(1)
	for n := range hosts {
		h := f.host(fmt.Sprint("h", n+1), "worker")
		f.hosts = append(f.hosts, h)
		for range each {
			f.start(f.s.Agent(id).Name, h)
			f.on[h] = append(f.on[h], id)
			id++
		}
	}
	return f
}

// live lets time pass; hosts that are not mute beat every 15 s, each at its second.
func (f *farm) live(span time.Duration) {
	f.t.Helper()
	for end := f.clock.Add(span); f.clock < end; {
		f.pass(min(time.Second, end.Sub(f.clock)))
		for i, h := range f.hosts {
			if !f.mute[h] && int(f.clock/noun.Time(time.Second))%15 == i {
				f.beat(h, BeatFence|BeatVouch, f.on[h]...)
			}
		}
	}
}

// restart starts whatever the state machine allows on the first host that is not
// mute, and counts.
func (f *farm) restart() (n int) {
	f.t.Helper()
	var due []noun.AgentID
	for id := range f.s.Wanting() {
		due = append(due, id)
	}
	for _, id := range due {
		a, to := f.s.Agent(id), f.hosts[len(f.hosts)-1]
		if f.do(OrderStart{Agent: id, Inc: f.s.NextInc(a), Host: to}).Code == noun.OK {
			f.must(AcceptOrder{Host: to, Boot: "boot1", Agent: id, Inc: a.Inc})
			f.must(ReportStarted{Host: to, Agent: id, Inc: a.Inc, PID: 1})
			f.on[to] = append(f.on[to], id)
			n++
		}
	}
	return n
}

// Incident I27: 7 of 10 hosts vanish. A human is told, nothing is started for one
// TTL, then one a second, two, four; when the hosts come back before, their lives go
// on and nothing further is started.
func TestI27MassLossSetsTheBrake(t *testing.T) {
	f := newFarm(t, 10, 10)
	f.live(30 * time.Second)
	for _, h := range f.hosts[:7] {
		f.mute[h] = true
	}
	began, started := f.clock, 0
	for f.s.Brake().Set == 0 {
		f.live(time.Second)
		started += f.restart()
		if f.clock.Sub(began) > 80*time.Second {
			t.Fatalf("no brake after %s", f.clock.Sub(began))
		}
	}
	b := f.s.Brake()
	if b.Hold.Sub(f.clock) != time.Minute || f.happened("brake.set") != 1 || b.Why == "" {
		t.Fatalf("%+v", b)
	}
	t.Logf("%d lost agents were started before the brake was set: %s", started, b.Why)
	if started > 51 { // half of them is no mass loss yet
		t.Fatalf("%d lost agents were started before the brake was set", started)
	}
	for f.clock < b.Hold-1 {
		f.live(min(time.Second, f.s.Brake().Hold.Sub(f.clock)-1))
		if n := f.restart(); n != 0 {
			t.Fatalf("%d starts while the brake holds", n)
		}
	}
	waiting := 0
	for a := range f.s.Agents("") {
		if why := f.s.Why(a.ID); why.Code == "brake" {
			waiting++
		}
	}
	if waiting != 70-started {
		t.Fatalf("%d agents say that they wait for the brake, %d do", waiting, 70-started)
	}
	first := 0
	for range 5 {
		f.live(time.Second)
		first += f.restart()
	}
	if first < 5 || first > 6 {
		t.Fatalf("%d starts in the first 5 s after the hold", first)
	}
	for _, h := range f.hosts[:7] { // the partition heals
		f.mute[h] = false
	}
	f.live(20 * time.Second)
	for a := range f.s.Agents("") {
		if !a.Proc.Fenced() {
			t.Fatalf("%s is %s: %+v", a.Name, a.Proc, f.s.Why(a.ID))
		}
	}
	if n := f.restart(); n != 0 {
		t.Fatalf("%d starts after the partition healed", n)
	}
	f.live(3 * time.Minute)
	if f.s.Brake().Set != 0 || f.happened("brake.over") != 1 {
		t.Fatalf("the brake is never over: %+v", f.s.Brake())
	}
}

// L11: the pace doubles every 10 s, and the brake ends when all have been started.
func TestL11BrakePace(t *testing.T) {
	f := newFarm(t, 3, 40)
	f.live(30 * time.Second)
	f.mute[f.hosts[0]], f.mute[f.hosts[1]] = true, true
	for f.s.Brake().Set == 0 {
		f.live(time.Second)
	}
	f.live(f.s.Brake().Hold.Sub(f.clock) - 1)
	f.s = reload(t, f.s)
	var each []int
	for range 4 {
		n := 0
		for range 40 {
			f.clock += noun.Time(250 * time.Millisecond)
			f.apply(f.entry())
			n += f.restart()
		}
		f.live(0)
		for _, h := range f.hosts[2:] {
			f.beat(h, BeatFence|BeatVouch, f.on[h]...)
		}
		each = append(each, n)
	}
	for i, want := range []int{10, 20, 40, 10} {
		if each[i] < want*8/10 || each[i] > want*12/10+2 {
			t.Fatalf("starts in each 10 s: %v", each)
		}
	}
	f.live(time.Minute)
	if f.s.Brake().Set != 0 {
		t.Fatalf("the brake is never over: %+v", f.s.Brake())
	}
}

// The loss of one host of many is no mass loss, nor is an end that somebody saw, a
// drain or a few agents.
func TestBrakeStaysOff(t *testing.T) {
	cases := map[string]func(f *farm){
		"one host of three": func(f *farm) { f.mute[f.hosts[0]] = true },
		"exits that were seen": func(f *farm) {
			for id := noun.AgentID(1); id <= 25; id++ {
				a := f.s.Agent(id)
				f.must(ReportExit{Host: a.Host, Agent: id, Inc: 1, Code: 1})
			}
		},
		"drains": func(f *farm) {
			for _, h := range f.hosts[:2] {
				f.must(DrainHost{Host: h, By: "ann"})
				for _, id := range f.on[h] {
					f.must(ReportExit{Host: h, Agent: id, Inc: 1, Signal: "terminated"})
				}
				f.must(LeaveHost{Key: f.s.Host(h).Key, Boot: "boot1"})
				f.mute[h] = true
			}
		},
		"it is off": func(f *farm) {
			f.must(PutSettings{Values: []noun.KV{{Key: "brake_agents", Value: "0"}}})
			f.mute[f.hosts[0]], f.mute[f.hosts[1]] = true, true
		},
		"the losses are far apart": func(f *farm) {
			f.mute[f.hosts[0]] = true
			f.live(40 * time.Second)
			f.mute[f.hosts[1]] = true
			f.must(PutSettings{Values: []noun.KV{{Key: "brake_share", Value: "66"}}})
		},
	}
	for name, prepare := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFarm(t, 3, 10)
			f.live(20 * time.Second)
			prepare(f)
			f.live(3 * time.Minute)
			if n := f.happened("brake.set"); n != 0 {
				t.Fatalf("the brake was set: %s", f.s.Brake().Why)
			}
		})
	}
}

// More than half of at least three hosts set it too, however few agents they run.
func TestBrakeIsSetByHosts(t *testing.T) {
	f := newFarm(t, 3, 1)
	f.live(20 * time.Second)
	f.mute[f.hosts[0]], f.mute[f.hosts[1]] = true, true
	f.live(75 * time.Second)
	if b := f.s.Brake(); b.Set == 0 || !strings.Contains(b.Why, "hosts") {
		t.Fatalf("%+v", b)
	}
	if n := f.restart(); n != 0 {
		t.Fatalf("%d starts", n)
	}
	// L9: a human ends it, and it is not set again by the same losses.
	f.must(ReleaseBrake{By: "ann"})
	f.must(ReleaseBrake{By: "ann"})
	if n := f.restart(); n != 2 {
		t.Fatalf("%d starts after the release", n)
	}
	f.live(time.Minute)
	if f.s.Brake().Set != 0 || f.happened("brake.set") != 1 || f.happened("brake.over") != 1 {
		t.Fatal("not ended once")
	}
}

// Others than those that were lost start at once while the brake is set.
func TestBrakeHoldsOnlyLostAgents(t *testing.T) {
	f := newFarm(t, 4, 5, func(r *noun.RoleSpec) { r.Policy = noun.PolicyFast })
	f.live(20 * time.Second)
	for _, h := range f.hosts[:3] {
		f.mute[h] = true
	}
	f.live(SilentFor)
	f.live(15 * time.Second)
	for _, h := range f.hosts[:3] { // fast roles: all at once
		f.view("a", h, noun.HearSilent, noun.HearSilent)
		f.doubted(h)
		if f.s.Brake().Set == 0 || f.s.Surrenders(f.s.Host(h)) {
			f.must(SurrenderHost{Host: h})
		}
	}
	if b := f.s.Brake(); b.Set == 0 {
		t.Fatalf("%+v", b)
	}
	own := f.on[f.hosts[3]][0]
	f.must(ReportExit{Host: f.hosts[3], Agent: own, Inc: 1, Signal: "killed"})
	if n := f.restart(); n != 1 {
		t.Fatalf("%d starts, want that of the agent which crashed", n)
	}
	if a := f.s.Agent(own); a.Inc != 2 {
		t.Fatalf("%+v", a)
	}
	if n := f.s.Figures().Brakes; n != 1 {
		t.Fatalf("counted %d", n)
	}
}

// N23, L9: who switches the brake off ends one that is set, and everybody reads why it ended.
func TestN23NoBrakeEndsTheBrake(t *testing.T) {
	f := newFarm(t, 3, 1)
	f.must(RaiseLevel{Level: core.LevelRetry})
	f.live(20 * time.Second)
	f.mute[f.hosts[0]], f.mute[f.hosts[1]] = true, true
	f.live(75 * time.Second)
	if f.s.Brake().Set == 0 || f.restart() != 0 {
		t.Fatalf("the brake does not hold: %+v", f.s.Brake())
	}
	f.must(PutSettings{Values: []noun.KV{{Key: "brake_share", Value: "90"}}, By: "ann"})
	if f.s.Brake().Set == 0 {
		t.Fatal("another share has ended the brake")
	}
	f.must(PutSettings{Values: []noun.KV{{Key: "brake_agents", Value: "0"}}, By: "ann"})
	if f.s.Brake().Set != 0 || f.happened("brake.over") != 1 {
		t.Fatalf("the brake is set after it was switched off: %+v", f.s.Brake())
	}
	if n := f.restart(); n != 2 {
		t.Fatalf("%d starts after the brake was switched off, want 2", n)
	}
}
