package fsm

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

func confirmed(r *noun.RoleSpec) { r.Policy, r.AnyContainment = noun.PolicyConfirm, true }

// doubted is a cluster whose host 1 fell silent with a life under the policy confirm.
type doubted struct {
	*drive
	h1, h2 noun.HostID
}

func newDoubted(t *testing.T) *doubted {
	x := &doubted{drive: newDrive(t)}
	x.must(PutServer{ID: "a", Version: "0"})
	x.must(RaiseLevel{Level: core.LevelRetry})
	x.h1, x.h2 = x.host("h1", "worker"), x.host("h2", "worker")
	x.room("demo", managed("b", confirmed))
	x.start("demo/b", x.h1)
	x.silence(61 * time.Second)
	if a := x.agent("demo/b"); a.Proc != noun.ProcUnproven {
		t.Fatalf("after the end of its fence the life is %s", a.Proc)
	}
	return x
}

// silence lets time pass in which only host 2 is heard.
func (x *doubted) silence(span time.Duration) {
	x.t.Helper()
	for end := x.clock.Add(span); x.clock < end; {
		x.pass(min(10*time.Second, end.Sub(x.clock)))
		x.beat(x.h2, 0)
	}
}

// asked lists the escalations about lives in doubt that are not closed.
func (x *doubted) asked() (list []*noun.Escalation) {
	for _, e := range x.s.EscalationTable.From(0) {
		if e.Kind == noun.EscUnproven && e.State != noun.EscalationClosed {
			list = append(list, e)
		}
	}
	return list
}

// stays demands that the life is in doubt, that nothing starts another one, and that one human is asked.
func (x *doubted) stays(t *testing.T) {
	t.Helper()
	a := x.agent("demo/b")
	if a == nil || a.Proc != noun.ProcUnproven || a.Inc != 1 || a.Host != x.h1 {
		t.Fatalf("L7: the life in doubt has become %+v", a)
	}
	if x.s.Wants(a) || x.starts("demo/b", x.h2) {
		t.Fatalf("L7: another life is started: %+v", x.s.Why(a.ID))
	}
	if text := x.s.Why(a.ID).Text; !strings.Contains(text, "unproven") ||
		!strings.Contains(text, "`vigil host confirm-dead h1`") {
		t.Errorf("L3: %q does not say what helps", text)
	}
	if got := x.asked(); len(got) != 1 || got[0].Count != 1 || got[0].Host != "h1" || !x.s.Lasts(got[0]) {
		t.Errorf("a human was asked %+v", got)
	}
}

// confirmWays are what starts the agents of other policies again, or takes a life out of the books.
var confirmWays = map[string]func(x *doubted){
	"a day":         func(x *doubted) { x.jump(24 * time.Hour) },
	"the brake":     func(x *doubted) { x.must(ReleaseBrake{By: "ann"}) },
	"drain":         func(x *doubted) { x.must(DrainHost{Host: x.h1, By: "ann", Deadline: time.Second}) },
	"good-bye":      func(x *doubted) { x.must(LeaveHost{Key: "h1", Boot: "boot1"}) },
	"policy fenced": func(x *doubted) { x.room("demo", managed("b")) },
	"policy fast": func(x *doubted) {
		x.room("demo", managed("b", func(r *noun.RoleSpec) { r.Policy = noun.PolicyFast }))
	},
	"another runner": func(x *doubted) {
		x.room("demo", managed("b", confirmed, func(r *noun.RoleSpec) { r.Params = []noun.KV{{Key: "k", Value: "v"}} }))
	},
	"restart": func(x *doubted) { x.do(RestartAgent{Agent: "demo/b", By: "ann"}) },
	"start":   func(x *doubted) { x.must(SetAgent{Agent: "demo/b", By: "ann", Fresh: true}) },
	"unpark":  func(x *doubted) { x.do(UnparkAgent{Agent: "demo/b", By: "ann"}) },
	"stop":    func(x *doubted) { x.must(SetAgent{Agent: "demo/b", Stop: true, By: "ann"}) },
	"stop and start": func(x *doubted) {
		x.must(SetAgent{Agent: "demo/b", Stop: true, By: "ann"})
		x.must(SetAgent{Agent: "demo/b", By: "ann"})
	},
	"pause and resume": func(x *doubted) {
		x.must(SetPause{Pause: true, By: "ann"})
		x.must(SetPause{By: "ann"})
	},
	"role dropped and declared": func(x *doubted) {
		x.room("demo", managed("c"))
		x.room("demo", managed("b"), managed("c"))
	},
	"room deleted": func(x *doubted) {
		x.must(DeleteRoom{Room: "demo", By: "ann"})
		x.want(noun.Stopped, ApplyRoom{Room: "demo", Roles: []noun.RoleSpec{managed("b")}, By: "ann"})
	},
	"host forgotten by a human": func(x *doubted) { x.want(noun.Conflict, ForgetHost{Host: x.h1, By: "ann"}) },
	"host forgotten by time": func(x *doubted) {
		x.must(PutSettings{Values: []noun.KV{{Key: "forget_hosts", Value: "1h"}}})
		x.silence(3 * time.Hour)
	},
	"start by hand":       func(x *doubted) { x.want(noun.Conflict, Join{Speaker: Speaker{Agent: "demo/b"}}) },
	"any slot by hand":    func(x *doubted) { x.want(noun.Conflict, Join{Speaker: Speaker{Agent: "demo/b.*"}}) },
	"a loaded snapshot":   func(x *doubted) { x.s = reload(x.t, x.s) },
	"restore of a backup": func(x *doubted) { x.drive = x.restored(x.dumped()) },
	"recovery of a quorum": func(x *doubted) {
		s := reload(x.t, x.s)
		s.Outnumber(&New().View)
		s.Apply(&Entry{Index: s.LastIndex(), Requests: []Request{{Cmd: RaiseEpoch{Hold: time.Minute}}}})
		x.drive = &drive{t: x.t, s: s, index: s.LastIndex(), term: x.term + 1, clock: s.Clock()}
		x.must(LeaderEstablished{Server: "a"})
	},
	"a clean beat without it": func(x *doubted) { x.beat(x.h1, 0) },
}

// L7: under the policy confirm neither time nor anything that is no proof starts a second life.
func TestN35NothingButAProofStartsAnotherLife(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(confirmWays)) {
		t.Run(name, func(t *testing.T) {
			x := newDoubted(t)
			x.stays(t)
			confirmWays[name](x)
			x.silence(10 * time.Minute)
			x.stays(t)
		})
	}
}

// What ends the doubt also answers what a human was asked.
func TestN35AProofEndsTheDoubt(t *testing.T) {
	for name, end := range map[string]func(x *doubted){
		"its host reports the end":  func(x *doubted) { x.must(ReportExit{Host: x.h1, Agent: 1, Inc: 1, Signal: "killed"}) },
		"its host does not know it": func(x *doubted) { x.host("h1", "worker") },
		"its host has booted again": func(x *doubted) {
			x.must(RegisterHost{Key: "h1", Name: "h1", Boot: "boot2", Runners: []string{"worker"}})
		},
		"a human says so": func(x *doubted) { x.must(ConfirmDead{Host: x.h1, By: "ann"}) },
	} {
		t.Run(name, func(t *testing.T) {
			x := newDoubted(t)
			x.do(ReportExit{Host: x.h2, Agent: 1, Inc: 1}) // of another host: no proof
			x.stays(t)
			end(x)
			if a := x.agent("demo/b"); len(x.asked()) != 0 || a.Proc == noun.ProcUnproven || a.Failures != 0 {
				t.Fatalf("%+v, a human is asked %+v", a, x.asked())
			}
			x.start("demo/b", x.h2)
		})
	}
}

// L10: the life goes on when its host is back, and nobody is asked any more. It is in doubt again
// when that falls silent again.
func TestN35TheLifeComesBack(t *testing.T) {
	x := newDoubted(t)
	if ans := x.beatAs(x.h1, 1, 1); len(ans.Exceptions) != 1 || ans.Exceptions[0].Verdict != noun.VerdictAdopt {
		t.Fatalf("its beat is answered %+v", ans)
	}
	if a := x.agent("demo/b"); a.Proc != noun.ProcRunning || len(x.asked()) != 0 {
		t.Fatalf("%s, a human is asked %+v", a.Proc, x.asked())
	}
	x.room("demo", managed("b")) // holds from the next life on
	x.silence(2 * time.Minute)
	if a := x.agent("demo/b"); a.Proc != noun.ProcUnproven || x.starts("demo/b", x.h2) || len(x.asked()) != 1 {
		t.Fatalf("L7: %s, a human is asked %+v", a.Proc, x.asked())
	}
}

// L9: a stop is kept, and what is in doubt is said beside it; the last word ends both.
func TestN35AStoppedLifeStaysInDoubt(t *testing.T) {
	x := newDoubted(t)
	x.must(SetAgent{Agent: "demo/b", Stop: true, By: "ann"})
	if why := x.s.Why(1); why.Code != "stopped" || !strings.Contains(why.Text, "ann") {
		t.Errorf("%+v", why)
	}
	x.stays(t)
	if ans := x.beatAs(x.h1, 1, 1); len(ans.Exceptions) != 1 || ans.Exceptions[0].Verdict != noun.VerdictSuperseded {
		t.Fatalf("its beat is answered %+v", ans)
	}
	x.stays(t)
	x.must(ReportExit{Host: x.h1, Agent: 1, Inc: 1, Signal: "killed"})
	if why := x.s.Why(1); why.Code != "stopped" || strings.Contains(why.Text, "unproven") || len(x.asked()) != 0 {
		t.Errorf("%+v, a human is asked %+v", why, x.asked())
	}
}

// A deleted room goes once its last life is proven dead.
func TestN35ADeletedRoomWaitsForTheProof(t *testing.T) {
	x := newDoubted(t)
	x.must(DeleteRoom{Room: "demo", By: "ann"})
	x.silence(time.Hour)
	if x.s.Room("demo") == nil {
		t.Fatal("L7: the room went with a life in doubt, and may be declared again")
	}
	x.must(ConfirmDead{Host: x.h1, By: "ann"})
	x.pass(time.Second)
	if x.s.Room("demo") != nil || len(x.asked()) != 0 {
		t.Errorf("the room is still there; a human is asked %+v", x.asked())
	}
}

// L2: the lease decides about tasks as for every role; only the life is not begun twice.
func TestN35TheTaskGoesToAnother(t *testing.T) {
	x := newDoubted(t)
	x.must(ConfirmDead{Host: x.h1, By: "ann"})
	x.host("h1", "worker")
	x.room("demo", managed("b", confirmed, func(r *noun.RoleSpec) { r.Replicas = 2 }))
	one, two := x.start("demo/b", x.h1), x.start("demo/b.2", x.h2)
	task := x.must(CreateTask{Room: "demo", Role: "b", Title: "t"}).Task
	x.must(Join{Speaker: one})
	x.must(Claim{Speaker: one})
	for range 7 {
		x.pass(10 * time.Second)
		x.beat(x.h2, BeatFence, 2)
	}
	x.must(Join{Speaker: two})
	if out := x.must(Claim{Speaker: two}); out.Task != task || out.Attempt != 2 {
		t.Errorf("L2: the other agent got %+v", out)
	}
	if a := x.agent("demo/b"); a.Proc != noun.ProcUnproven || x.starts("demo/b", x.h2) {
		t.Errorf("L7: the first is %s", a.Proc)
	}
}

// L7: a policy that becomes stricter holds for lives in silence too; fast gives up none that began
// under confirm.
func TestN35TheStricterPolicyCounts(t *testing.T) {
	fast := func(r *noun.RoleSpec) { r.Policy = noun.PolicyFast }
	for name, of := range map[string][2]func(*noun.RoleSpec){
		"fenced, then confirm": {func(*noun.RoleSpec) {}, confirmed},
		"confirm, then fenced": {confirmed, func(*noun.RoleSpec) {}},
		"confirm, then fast":   {confirmed, fast},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFarm(t, 2, 1, of[0])
			f.room("demo", managed("b", of[1], func(r *noun.RoleSpec) { r.Replicas = 2 }))
			f.mute[f.hosts[0]] = true
			f.view("a", f.hosts[0], noun.HearSilent, noun.HearSilent)
			f.live(20 * time.Second)
			f.do(SuspectHost{Host: f.hosts[0], Suspect: true, Reason: core.WhyMute})
			f.do(SurrenderHost{Host: f.hosts[0]})
			if got := f.s.Agent(1).Proc; got != noun.ProcRunning {
				t.Fatalf("L10: its life is %s before its fence has ended", got)
			}
			f.live(10 * time.Minute)
			if n := f.restart(); n != 0 || f.s.Agent(1).Proc != noun.ProcUnproven {
				t.Fatalf("L7: %d starts, the silent life is %s", n, f.s.Agent(1).Proc)
			}
		})
	}
}

// L7: a backup may not know a life. Roles with the policy confirm, in either state, wait for the
// word of every host without a limit, also of one that only the replaced state knew.
func TestN35ARestoreWaitsForEveryHost(t *testing.T) {
	for name, before := range map[string]func(*noun.RoleSpec){
		"confirm in both": confirmed, "confirm since": func(*noun.RoleSpec) {},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDrive(t)
			d.must(RaiseLevel{Level: core.LevelRetry})
			h2 := d.host("h2", "worker")
			d.room("demo", managed("b", before), managed("c"))
			backup := d.dumped()
			d.room("demo", managed("b", confirmed), managed("c"))
			d.start("demo/b", d.host("younger", "worker"))
			x := &doubted{drive: d.restored(backup), h2: h2}
			x.silence(10 * time.Minute)
			x.room("demo", managed("b"), managed("c")) // no proof
			younger := x.s.HostByKey("younger")
			x.want(noun.Conflict, ForgetHost{Host: younger.ID, By: "ann"})
			x.must(PutSettings{Values: []noun.KV{{Key: "forget_hosts", Value: "1h"}}})
			x.silence(3 * time.Hour)
			why := x.s.Why(x.agent("demo/b").ID)
			if why.Code != "unreported" || !strings.Contains(why.Text, "`vigil host confirm-dead younger`") {
				t.Errorf("L3: %+v", why)
			}
			if x.starts("demo/b", h2) || x.s.Wants(x.agent("demo/b")) {
				t.Fatal("L7: a second life is started by time")
			}
			if !x.starts("demo/c", h2) {
				t.Errorf("another role waits too: %+v", x.s.Why(x.agent("demo/c").ID))
			}
			x.must(ConfirmDead{Host: younger.ID, By: "ann"})
			x.start("demo/b", h2)
		})
	}
}

// The policy is written only to a log that every server reads.
func TestN35ThePolicyNeedsItsLevel(t *testing.T) {
	room := func(p noun.Policy) Command {
		return ApplyRoom{Room: "r", Roles: []noun.RoleSpec{{Name: "a", Policy: p}}}
	}
	if got := core.Level(room(noun.PolicyFast)); got != core.Baseline {
		t.Errorf("fast needs level %d", got)
	}
	if got := core.Level(room(noun.PolicyConfirm)); got != core.LevelRetry {
		t.Errorf("confirm needs level %d", got)
	}
	d := newDrive(t)
	d.want(noun.Invalid, room(noun.PolicyConfirm+1))
}
