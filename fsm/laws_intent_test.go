package fsm

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/noun"
)

// scene is one agent, demo/b.2, in a phase of its life, and what was given out for it.
type scene struct {
	*drive
	h, h2 noun.HostID
	inc   noun.Incarnation // the newest before the intent
	task  noun.TaskID      // held; 0: none
}

const star = "demo/b.2"

func sceneRoles(mods ...func(*noun.RoleSpec)) []noun.RoleSpec {
	return []noun.RoleSpec{managed("b", append([]func(*noun.RoleSpec){func(r *noun.RoleSpec) { r.Replicas = 2 }},
		mods...)...)}
}

// phases bring the agent into each phase of a start and a life.
var phases = []struct {
	name    string
	prepare func(*scene)
}{
	{"none", func(*scene) {}},
	{"ordered", func(x *scene) { x.order() }},
	{"accepted", func(x *scene) { x.order(); x.accept() }},
	{"running", func(x *scene) { x.start(star, x.h) }},
	{"waiting", func(x *scene) { x.must(Join{Speaker: x.start(star, x.h)}) }},
	{"active", func(x *scene) {
		sp := x.start(star, x.h)
		x.must(Join{Speaker: sp})
		x.task = x.must(CreateTask{Room: "demo", Role: "b"}).Task
		x.must(Claim{Speaker: sp})
	}},
	{"back-off", func(x *scene) {
		for range 2 {
			sp := x.start(star, x.h)
			x.must(ReportExit{Host: x.h, Agent: 2, Inc: sp.Inc, Code: 1})
		}
	}},
	{"parked", func(x *scene) {
		sp := x.start(star, x.h)
		x.must(ReportExit{Host: x.h, Agent: 2, Inc: sp.Inc, Kind: noun.ExitUsageLimit, RetryAfter: time.Hour})
	}},
	{"lost", func(x *scene) {
		x.start(star, x.h)
		x.cutOff(61 * time.Second)
	}},
}

func newScene(t *testing.T, phase func(*scene)) *scene {
	x := &scene{drive: newDrive(t)}
	x.h, x.h2 = x.host("h1", "worker"), x.host("h2", "worker")
	x.room("demo", sceneRoles()...)
	x.must(SetAgent{Agent: "demo/b", Stop: true}) // the other slot is out of this
	phase(x)
	x.inc = x.agent(star).Inc
	return x
}

func (x *scene) order() {
	x.t.Helper()
	x.must(OrderStart{Agent: 2, Inc: x.s.NextInc(x.agent(star)), Host: x.h})
}

func (x *scene) accept() {
	x.t.Helper()
	x.must(AcceptOrder{Host: x.h, Boot: "boot1", Agent: 2, Inc: x.agent(star).Inc})
}

// cutOff lets time pass in which only the second host is heard.
func (x *scene) cutOff(span time.Duration) {
	x.t.Helper()
	for end := x.clock.Add(span); x.clock < end; {
		x.clock = min(x.clock.Add(15*time.Second), end)
		x.beat(x.h2, 0)
	}
}

// intents are what a human may want; stops tells that what runs must end, code what
// Why says once nothing runs.
var intents = []struct {
	name  string
	code  string
	stops bool
	cmd   Command
}{
	{"stop", "stopped", true, SetAgent{Agent: star, Stop: true, By: "ann", Reason: "not today"}},
	{"pause", "paused", false, SetPause{Scope: star, Pause: true, By: "ann", Reason: "not today"}},
	{"pause room", "room_paused", false, SetPause{Scope: "demo", Pause: true, By: "ann", Reason: "not today"}},
	{"pause everything", "all_paused", false, SetPause{Pause: true, By: "ann", Reason: "not today"}},
	{"declare stopped", "stopped", true,
		ApplyRoom{Room: "demo", Roles: sceneRoles(func(r *noun.RoleSpec) { r.Desired = noun.DesiredStopped }),
			By: "ann"}},
	{"declare paused", "paused", false,
		ApplyRoom{Room: "demo", Roles: sceneRoles(func(r *noun.RoleSpec) { r.Desired = noun.DesiredPaused }),
			By: "ann"}},
	{"fewer replicas", "retired", true, ApplyRoom{Room: "demo", Roles: []noun.RoleSpec{managed("b")},
		By: "ann", Now: true}},
	{"delete room", "deleting", true, DeleteRoom{Room: "demo", By: "ann"}},
}

// paths are everything that starts agents by itself, or makes something of them end
// so that another start would follow (law L11: there is no way around).
var paths = []struct {
	name string
	walk func(*scene)
}{
	{"accept of the order in flight", func(x *scene) {
		x.do(AcceptOrder{Host: x.h, Boot: "boot1", Agent: 2, Inc: x.inc})
		x.do(ReportStarted{Host: x.h, Agent: 2, Inc: x.inc, PID: 7})
	}},
	{"late beat", func(x *scene) { x.late(BeatFence | BeatVouch) }},
	{"crash", func(x *scene) { x.do(ReportExit{Host: x.h, Agent: 2, Inc: x.inc, Code: 1}) }},
	{"clean exit", func(x *scene) { x.do(ReportExit{Host: x.h, Agent: 2, Inc: x.inc}) }},
	{"end of the fence", func(x *scene) { x.cutOff(2 * time.Minute) }},
	{"host comes back without it", func(x *scene) {
		x.do(RegisterHost{Key: "h1", Name: "h1", Boot: "boot1", Runners: []string{"worker"}})
	}},
	{"host comes back with it after its fence", func(x *scene) {
		x.cutOff(2 * time.Minute)
		x.do(RegisterHost{Key: "h1", Name: "h1", Boot: "boot1", Runners: []string{"worker"},
			Inventory: []Running{{Agent: 2, Inc: x.inc, PID: 7}}})
		x.late(BeatFence | BeatVouch)
	}},
	{"restart command", func(x *scene) { x.do(RestartAgent{Agent: star, By: "bob"}) }},
	{"unpark", func(x *scene) { x.do(UnparkAgent{Agent: star, By: "bob"}) }},
	{"tasks wait", func(x *scene) {
		for range 3 {
			x.do(CreateTask{Room: "demo", Role: "b"})
		}
	}},
	{"a new leader and the end of a hold", func(x *scene) {
		x.do(RaiseEpoch{Hold: time.Second})
		x.do(LeaderEstablished{Server: "b"})
		x.cutOff(2 * time.Second)
	}},
	{"all servers restart", func(x *scene) { x.s = reload(x.t, x.s) }},
	{"two hours", func(x *scene) { x.cutOff(2 * time.Hour) }},
}

// late sends a beat of the incarnation that was the newest before the intent.
func (x *scene) late(kinds uint8) {
	e := x.entry()
	e.Beats = []HostBeats{{Host: x.h, Boot: "boot1", Packed: PackBeats(nil, []noun.AgentID{2},
		[]noun.Incarnation{x.inc}, []uint8{kinds})}}
	x.apply(e)
}

// quiet fails when anything of the agent is, or may be, started against the intent.
func (x *scene) quiet(when string) {
	x.t.Helper()
	a := x.agent(star)
	if a == nil {
		return // deleted, and gone for good
	}
	for id := range x.s.Wanting() {
		if id == 2 {
			x.t.Fatalf("L9: %s a start is due: %+v", when, x.s.Why(2))
		}
	}
	if a.Proc == noun.ProcOrdered || a.Inc != x.inc {
		x.t.Fatalf("L9: %s it is %s in incarnation %s", when, a.Proc, a.Inc)
	}
	for _, h := range []noun.HostID{x.h, x.h2} {
		if out := x.do(OrderStart{Agent: 2, Inc: x.s.NextInc(a), Host: h}); out.Code == noun.OK {
			x.t.Fatalf("L9: %s a start was ordered", when)
		}
	}
}

// L9, L11: no automation undoes what a human wants, in no phase of a start.
// I81, I82, I152, I153: stopped, deleted and paused things stay so over recovery,
// starts in flight, restarts of all servers and the loss of the host.
func TestL9EveryPathRespectsEveryIntent(t *testing.T) {
	for _, in := range intents {
		for _, ph := range phases {
			if in.name == "fewer replicas" && ph.name == "none" {
				continue // it is gone at once
			}
			t.Run(in.name+"/"+ph.name, func(t *testing.T) {
				for _, p := range paths {
					x := newScene(t, ph.prepare)
					x.must(in.cmd)
					x.quiet("after the intent")
					p.walk(x)
					x.quiet("after " + p.name)
				}
				x := newScene(t, ph.prepare) // and one after the other
				x.must(in.cmd)
				for _, p := range paths {
					p.walk(x)
					x.quiet("at last, after " + p.name)
				}
				if a := x.agent(star); a != nil && !a.Proc.Fenced() {
					if w := x.s.Why(2); w.Code != in.code || in.code == "paused" &&
						!strings.Contains(w.Text, "paused") {
						t.Fatalf("L3: the reason is %+v, want %s", w, in.code)
					}
				}
			})
		}
	}
}

// L9: what an intent does to the life that it meets. A stop ends it, a pause lets it
// finish its task; an order that no host has accepted is withdrawn by both.
func TestL9IntentMeetsALife(t *testing.T) {
	for _, in := range intents {
		for _, ph := range phases {
			t.Run(in.name+"/"+ph.name, func(t *testing.T) {
				x := newScene(t, ph.prepare)
				fenced := x.agent(star).Proc.Fenced()
				x.must(in.cmd)
				a := x.agent(star)
				switch {
				case !fenced && a != nil && a.Order != noun.NoOrder:
					t.Fatalf("%s order is open", a.Order)
				case !fenced:
				case a == nil:
					t.Fatal("gone while it runs")
				case in.stops != (a.Order == noun.StopOrder):
					t.Fatalf("%s order is open", a.Order)
				case in.stops:
					x.must(ReportExit{Host: x.h, Agent: 2, Inc: x.inc, Signal: "terminated"})
					if a = x.agent(star); a != nil && (a.LastExit.Kind != noun.ExitOrdered || a.Failures != 0) {
						t.Fatalf("L11: an end on purpose was charged: %+v", a.LastExit)
					}
				case x.task != 0:
					w := Work{Speaker: Speaker{Agent: star, Inc: x.inc}, Task: x.task, Attempt: 1}
					x.must(StartTask{Work: w})
					x.must(Claim{Speaker: w.Speaker}) // an answer that was lost
					x.must(CompleteTask{Work: w, Result: "done"})
				}
			})
		}
	}
}

// While paused nobody gets a new task: an unnamed claim finds none, a named one is
// told who paused. The end of the pause wakes whoever waits.
func TestL9PausedAgentsGetNoTasks(t *testing.T) {
	for _, in := range intents {
		if in.stops {
			continue
		}
		t.Run(in.name, func(t *testing.T) {
			x := newScene(t, func(x *scene) { x.must(Join{Speaker: x.start(star, x.h)}) })
			role := x.agent(star).Role
			x.must(in.cmd)
			id := x.must(CreateTask{Room: "demo", Role: "b"}).Task
			sp := Speaker{Agent: star, Inc: x.inc}
			if out := x.want(noun.NoTask, Claim{Speaker: sp}); !strings.Contains(out.Detail, "paused") {
				t.Fatalf("told %q", out.Detail)
			}
			out := x.want(noun.Stopped, Claim{Speaker: sp, Task: id})
			if in.name != "declare paused" &&
				(!strings.Contains(out.Detail, "ann") || !strings.Contains(out.Detail, "not today")) {
				t.Fatalf("told %q", out.Detail)
			}
			if alone := in.name == "pause"; (x.s.Pending(role) == 0) == alone ||
				(len(x.s.PausedAgents(role)) == 1) != alone {
				t.Fatalf("%d tasks are claimable, paused themselves: %v", x.s.Pending(role), x.s.PausedAgents(role))
			}
			x.must(Join{Speaker: sp}) // it may wait
			if w := x.s.Why(2); w.Code != "running" || !strings.Contains(w.Text, "paused") {
				t.Fatalf("%+v", w)
			}
			var end Command = ApplyRoom{Room: "demo", Roles: sceneRoles(), By: "ann"}
			if c, ok := in.cmd.(SetPause); ok {
				c.Pause = false
				end = c
			}
			res := x.apply(x.entry(Request{Cmd: end}))
			if len(res.Effects.Claimable) == 0 || res.Effects.Claimable[0] != role {
				t.Fatalf("nobody is woken: %+v", res.Effects)
			}
			x.must(Claim{Speaker: sp})
		})
	}
}
