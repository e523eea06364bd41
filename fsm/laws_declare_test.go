package fsm

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/noun"
)

// declaring is a role with one agent by hand that works on a task whose progress limit
// is a minute.
func declaring(t *testing.T, health noun.RoleSpec) (*drive, Speaker, noun.TaskID) {
	t.Helper()
	d := newDrive(t)
	d.jump(time.Minute)
	spec := health
	spec.Name, spec.ProgressLimit = "a", time.Minute
	spec.TTL = 24 * time.Hour
	d.room("r", spec)
	me := Speaker{Agent: "r/a", Inc: d.must(Join{Speaker: Speaker{Agent: "r/a"}}).Inc}
	task := d.must(CreateTask{Room: "r", Role: "a", Title: "t", By: "x"}).Task
	d.must(Claim{Speaker: me})
	d.must(StartTask{Work: Work{Speaker: me, Task: task, Attempt: 1}})
	return d, me, task
}

// L6: a superseded life, one with another's token and one without a lease declare nothing.
func TestL6DeclareIsFenced(t *testing.T) {
	d := newDrive(t)
	d.room("r", noun.RoleSpec{Name: "a"})
	old := Speaker{Agent: "r/a", Inc: d.must(Join{Speaker: Speaker{Agent: "r/a"}}).Inc}
	d.must(Declare{Speaker: old, Status: noun.StatusBusy, For: time.Hour})
	d.must(Leave{Speaker: old})
	d.want(noun.Rejoin, Declare{Speaker: old, Status: noun.StatusDegraded})
	d.must(Join{Speaker: Speaker{Agent: "r/a"}})
	if d.agent("r/a").Declared != nil {
		t.Error("a new life begins with what the old one declared")
	}
	d.want(noun.Superseded, Declare{Speaker: old, Status: noun.StatusDegraded})
	d.want(noun.Denied, Declare{Speaker: Speaker{Agent: "r/a", Inc: d.agent("r/a").Inc, TokenHash: []byte("x")},
		Status: noun.StatusDegraded})
	if d.agent("r/a").Declared != nil {
		t.Error("a refused declaration has changed the state")
	}
}

// A declaration ends with the life of a process.
func TestDeclarationEndsWithTheProcess(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "w")
	d.room("r", noun.RoleSpec{Name: "a", Runner: "w"})
	me := d.start("r/a", h)
	d.must(Declare{Speaker: me, Waiting: noun.WaitingInput, For: time.Hour}) // it need not have joined
	d.must(ReportExit{Host: h, Agent: d.agent("r/a").ID, Inc: me.Inc})
	if d.agent("r/a").Declared != nil {
		t.Error("the declaration has outlived the process")
	}
	d.want(noun.Superseded, Declare{Speaker: me})
}

// Incident I35: nothing before t, the normal limit from t on, and nothing longer than
// what is allowed.
func TestI35BusyUntil(t *testing.T) {
	d, me, task := declaring(t, noun.RoleSpec{})
	d.must(Declare{Speaker: me, Status: noun.StatusBusy, For: 10 * time.Minute, Text: "the whole test suite"})
	d.pass(10*time.Minute + 59*time.Second)
	if got := d.s.Task(task).State; got != noun.TaskInProgress {
		t.Fatalf("the task is %s before the end of the declaration and the limit after it", got)
	}
	d.pass(time.Second)
	if got := d.s.Task(task).State; got != noun.TaskPending {
		t.Errorf("the task is %s after both, want PENDING", got)
	}
	out := d.want(noun.Invalid, Declare{Speaker: me, Status: noun.StatusBusy, For: 4*time.Hour + 1})
	if !strings.Contains(out.Detail, "4h0m0s") || !strings.Contains(out.Detail, "declare_limit") {
		t.Errorf("the refusal %q does not name the limit", out.Detail)
	}
	d.must(Declare{Speaker: me, Waiting: noun.WaitingInput, For: noun.NeedsInputLimit})
	d.want(noun.Invalid, Declare{Speaker: me, Waiting: noun.WaitingInput, For: noun.NeedsInputLimit + 1})
	d.must(PutSettings{Values: []noun.KV{{Key: "declare_limit", Value: "5h"}}})
	d.must(Declare{Speaker: me, Status: noun.StatusBusy, For: 5 * time.Hour})
}

// Each declaration with an end excuses a silence, and one without an end does not.
func TestDeclarationsExcuseASilence(t *testing.T) {
	for name, tc := range map[string]struct {
		say     Declare
		excuses bool
	}{
		"in_tool":              {Declare{Waiting: noun.WaitingTool, For: time.Hour}, true},
		"needs_input":          {Declare{Waiting: noun.WaitingInput, For: time.Hour}, true},
		"parked":               {Declare{Waiting: noun.WaitingUntil, For: time.Hour}, true},
		"busy until":           {Declare{Status: noun.StatusBusy, For: time.Hour}, true},
		"busy without an end":  {Declare{Status: noun.StatusBusy}, false},
		"healthy":              {Declare{}, false},
		"degraded":             {Declare{Status: noun.StatusDegraded}, false},
		"degraded and in_tool": {Declare{Status: noun.StatusDegraded, Waiting: noun.WaitingTool, For: time.Hour}, true},
	} {
		t.Run(name, func(t *testing.T) {
			d, me, task := declaring(t, noun.RoleSpec{})
			tc.say.Speaker = me
			d.must(tc.say)
			d.pass(2 * time.Minute)
			if got := d.s.Task(task).State == noun.TaskInProgress; got != tc.excuses {
				t.Errorf("after two progress limits the task is %s", d.s.Task(task).State)
			}
		})
	}
}

// A later declaration ends the earlier one: the limit runs from that moment.
func TestDeclarationIsEndedByTheNext(t *testing.T) {
	d, me, task := declaring(t, noun.RoleSpec{})
	d.must(Declare{Speaker: me, Waiting: noun.WaitingTool, For: time.Hour})
	d.pass(10 * time.Minute)
	d.must(Declare{Speaker: me})
	d.pass(59 * time.Second)
	if got := d.s.Task(task).State; got != noun.TaskInProgress {
		t.Fatalf("the task is %s within the progress limit after the tool's end", got)
	}
	d.pass(time.Second)
	if got := d.s.Task(task).State; got != noun.TaskPending {
		t.Errorf("the task is %s, want PENDING when the limit has passed since the tool's end", got)
	}
}

func TestDeclareIsRefusedWhenItMakesNoSense(t *testing.T) {
	d, me, _ := declaring(t, noun.RoleSpec{})
	for says, c := range map[string]Declare{
		"needs an end":   {Waiting: noun.WaitingTool},
		"no end":         {Status: noun.StatusDegraded, For: time.Minute},
		"negative":       {Status: noun.StatusBusy, For: -1},
		"does not know":  {Status: noun.StatusDegraded + 1},
		"1025 bytes":     {Text: strings.Repeat("x", noun.MaxReason+1)},
		"valid UTF-8":    {Text: "\xff"},
		"declare_limit)": {Waiting: noun.WaitingUntil, For: 5 * time.Hour},
	} {
		c.Speaker = me
		if out := d.want(noun.Invalid, c); !strings.Contains(out.Detail, says) {
			t.Errorf("%+v is refused with %q, want %q in it", c, out.Detail, says)
		}
	}
	if d.agent("r/a").Declared != nil {
		t.Error("a refused declaration has changed the state")
	}
}

// L11: a repeated report writes no event and moves no revision; an older number changes nothing.
func TestL11ReportsDoNotFlood(t *testing.T) {
	d, me, _ := declaring(t, noun.RoleSpec{})
	rev := d.agent("r/a").Rev
	for range 50 {
		d.must(Declare{Speaker: me, Status: noun.StatusBusy})
		d.pass(time.Second)
	}
	d.must(Declare{Speaker: me, Status: noun.StatusBusy, For: time.Minute, Seq: 7})
	first := d.agent("r/a").Declared
	if n := d.events("agent.declared"); n != 1 {
		t.Errorf("%d events for 51 reports that say the same, want 1", n)
	}
	if got := d.agent("r/a").Rev; got != rev {
		t.Errorf("revision %d is now %d: a report makes a human's change a conflict", rev, got)
	}
	for _, seq := range []uint64{7, 3} {
		if out := d.must(Declare{Speaker: me, Status: noun.StatusDegraded, Seq: seq}); out.Count != 1 ||
			d.agent("r/a").Declared != first {
			t.Errorf("number %d after 7: %+v, declared %+v", seq, out, d.agent("r/a").Declared)
		}
	}
	d.must(Declare{Speaker: me, Seq: 8})
	if n := d.events("agent.declared"); n != 2 {
		t.Errorf("%d events after a change, want 2", n)
	}
}

// L9: a declaration keeps no agent from being stopped.
func TestL9DeclarationDoesNotResistAStop(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "w")
	d.room("r", noun.RoleSpec{Name: "a", Runner: "w"})
	me := d.start("r/a", h)
	d.must(Join{Speaker: me})
	d.must(Declare{Speaker: me, Waiting: noun.WaitingInput, For: time.Hour})
	d.must(SetAgent{Agent: "r/a", Stop: true, By: "x"})
	if got := d.agent("r/a").OpenOrder(); got != noun.StopOrder {
		t.Errorf("order %s, want stop", got)
	}
}

// The presets, each with the moment at which reports count as missed.
func TestDetectionHealthPresets(t *testing.T) {
	for i, want := range []noun.HealthPreset{
		{Name: "critical", Every: 30 * time.Second, Missed: 2}, {Name: "active", Every: 60 * time.Second, Missed: 3},
		{Name: "background", Every: 5 * time.Minute, Missed: 3}, {Name: "standby", Every: 15 * time.Minute, Missed: 5},
	} {
		p := noun.HealthPresets()[i]
		if p != want {
			t.Errorf("preset %d is %+v, want %+v", i, p, want)
		}
		d, me, _ := declaring(t, noun.RoleSpec{HealthEvery: p.Every, HealthMissed: p.Missed})
		d.must(Declare{Speaker: me})
		id := d.agent("r/a").ID
		d.jump(p.Every*time.Duration(p.Missed) - time.Second)
		if g := d.s.Signals(id, true); g.Missed != p.Missed-1 || g.Unreported() {
			t.Errorf("%s: %d reports are missed a second before the last one is due", p.Name, g.Missed)
		}
		d.jump(time.Second)
		if g := d.s.Signals(id, true); g.Missed != p.Missed || !g.Unreported() {
			t.Errorf("%s: %d reports are missed, want %d", p.Name, g.Missed, p.Missed)
		}
		d.must(Declare{Speaker: me, Status: noun.StatusDegraded}) // the first report resets, whatever it says
		if g := d.s.Signals(id, true); g.Missed != 0 {
			t.Errorf("%s: %d reports are missed after one has come", p.Name, g.Missed)
		}
	}
}

// jump lets cluster time go by in one entry.
func (d *drive) jump(span time.Duration) {
	d.t.Helper()
	d.clock = d.clock.Add(span)
	d.apply(d.entry())
}

// L10: without a leader cluster time stands still, and nothing is missed; nor is it while
// a declaration holds.
func TestL10OutagesAndDeclarationsMissNothing(t *testing.T) {
	d, me, _ := declaring(t, noun.RoleSpec{HealthEvery: 30 * time.Second, HealthMissed: 2})
	id := d.agent("r/a").ID
	d.must(Declare{Speaker: me, Status: noun.StatusBusy, For: time.Hour})
	d.jump(time.Hour + 59*time.Second)
	if g := d.s.Signals(id, true); g.Missed != 1 {
		t.Errorf("%d reports are missed 59 s after the end of the declaration, want 1", g.Missed)
	}
	d.must(Declare{Speaker: me})
	e := d.entry()
	e.Stint, e.Stamp = 0, d.clock.Add(24*time.Hour) // a stamp of a leader that was replaced
	d.apply(e)
	if g := d.s.Signals(id, true); g.Missed != 0 {
		t.Errorf("%d reports are missed through an outage", g.Missed)
	}
}

func TestHealthIsCheckedWithItsRole(t *testing.T) {
	d := newDrive(t)
	for says, r := range map[string]noun.RoleSpec{
		"every 10ms":  {HealthEvery: 10 * time.Millisecond, HealthMissed: 2},
		"0 missed":    {HealthEvery: time.Minute},
		"every 0s":    {HealthMissed: 2},
		"1001 missed": {HealthEvery: time.Minute, HealthMissed: 1001},
	} {
		r.Name = "a"
		if out := d.want(noun.Invalid,
			ApplyRoom{Room: "r", Roles: []noun.RoleSpec{r}}); !strings.Contains(out.Detail, says) {
			t.Errorf("%+v is refused with %q, want %q in it", r, out.Detail, says)
		}
	}
}
