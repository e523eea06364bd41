package fsm

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// take takes the terminal and gives the turn's number.
func (x *watched) take(by string) uint64 {
	x.t.Helper()
	x.must(TakeTerminal{Agent: hungName, By: by})
	return x.agent(hungName).Typist().Grant
}

// lastOf is the text of the newest event of a kind.
func (x *watched) lastOf(kind string) (text string) {
	for e := range x.s.Events(0) {
		if e.Kind == kind {
			text = e.Text
		}
	}
	return text
}

// One human at a time has a terminal: others hear who it is and since when, and so do nudges; the same one may
// take it anew, which ends the older turn (law L6); and it is an event at the beginning and at the end.
func TestL6OneHumanAtATerminal(t *testing.T) {
	x := newWatched(t)
	first := x.take("ann")
	x.jump(20 * time.Second)
	out := x.do(TakeTerminal{Agent: hungName, By: "bob"})
	if out.Code != noun.Conflict || !strings.Contains(out.Detail, "ann types at the terminal of "+hungName+" since 20s") {
		t.Fatalf("%+v", out)
	}
	if out := x.do(NoteNudge{Agent: hungName, By: "bob"}); out.Code != noun.Conflict ||
		!strings.Contains(out.Detail, "ann") {
		t.Errorf("a nudge meanwhile: %+v", out)
	}
	second := x.take("ann")
	if second <= first {
		t.Fatalf("turn %d after %d", second, first)
	}
	id := x.agent(hungName).ID
	if out := x.do(KeepTerminal{Agent: id, Grant: first}); out.Code != noun.Superseded {
		t.Errorf("keys of the older window: %+v", out)
	}
	x.must(ReleaseTerminal{Agent: hungName, Grant: first, By: "ann"})
	if x.agent(hungName).Typist() == nil {
		t.Fatal("the older window has ended the turn of the newer one")
	}
	x.must(ReleaseTerminal{Agent: hungName, By: "bob"})
	if x.agent(hungName).Typist() != nil || x.events("agent.terminal_taken") != 1 ||
		x.lastOf("agent.terminal_released") != "by bob from ann, after 20s" {
		t.Errorf("%q", x.lastOf("agent.terminal_released"))
	}
	if out := x.do(KeepTerminal{Agent: id, Grant: second}); out.Code != noun.Superseded {
		t.Errorf("keys after the end: %+v", out)
	}
	x.must(NoteNudge{Agent: hungName, By: "bob"})
	x.take("bob")
}

// A turn ends a minute after its last key, not before, and once.
func TestL1ATerminalIsFreeAMinuteAfterTheLastKey(t *testing.T) {
	x := newWatched(t)
	grant, id := x.take("ann"), x.agent(hungName).ID
	for range 10 { // for seven and a half minutes a key every 45 s
		x.beating(45 * time.Second)
		x.must(KeepTerminal{Agent: id, Grant: grant})
	}
	x.beating(59 * time.Second)
	if x.agent(hungName).Typist() == nil {
		t.Fatal("it ended 59 s after the last key")
	}
	x.beating(time.Second)
	if x.agent(hungName).Typist() != nil || x.events("agent.terminal_released") != 1 {
		t.Fatalf("%+v, %d ends", x.agent(hungName).Typist(), x.events("agent.terminal_released"))
	}
	if got := x.lastOf("agent.terminal_released"); !strings.HasPrefix(got, "from ann: no key for 1m0s, after 8m") {
		t.Errorf("%q", got)
	}
	x.jump(time.Hour)
	if x.events("agent.terminal_released") != 1 {
		t.Error("it ended twice")
	}
}

// Who types is not the agent: while a human has the terminal the agent is neither nudged nor restarted nor
// late, and its limits run from the end of the turn on.
func TestWatchdogsKeepOffATerminalThatIsTaken(t *testing.T) {
	x := newWatched(t, func(r *noun.RoleSpec) {
		r.Ladder, r.ProgressLimit = noun.LadderRestart, 10*time.Minute
	})
	life, grant := x.me.Inc, x.take("ann")
	for range 120 {
		x.beating(30 * time.Second)
		x.must(KeepTerminal{Agent: x.agent(hungName).ID, Grant: grant})
	}
	a := x.agent(hungName)
	if a.Inc != life || a.Order != noun.NoOrder || a.Task != x.task || x.climb().Next != noun.NoRung {
		t.Fatalf("after an hour: %+v, %+v", a, x.climb())
	}
	if v := x.verdict(); v == judge.AgentStalled {
		t.Errorf("%s while a human types", v)
	}
	if q := x.s.Quiet(x.s.Room("r")); q.State != RoomExempt || !strings.Contains(q.Why, "ann types at the terminal") {
		t.Errorf("its room is %s: %s", q.State, q.Why)
	}
	x.must(ReleaseTerminal{Agent: hungName, Grant: grant, By: "ann"})
	x.beating(9 * time.Minute)
	if x.agent(hungName).Task != x.task {
		t.Fatal("its task was taken before the limit, counted from the end of the turn")
	}
	x.beating(2 * time.Minute)
	if x.agent(hungName).Task == x.task {
		t.Error("its task was not taken at the limit, counted from the end of the turn")
	}
}

// A turn ends with the life whose terminal it is.
func TestL6ATurnEndsWithItsLife(t *testing.T) {
	x := newWatched(t)
	grant, a := x.take("ann"), x.agent(hungName)
	x.must(ReportExit{Host: x.h, Agent: a.ID, Inc: a.Inc, Code: 1})
	a = x.agent(hungName)
	if a.Typist() != nil || a.Notes().Typist != nil ||
		!strings.Contains(x.lastOf("agent.terminal_released"), "has ended") {
		t.Errorf("%+v, %q", a.Notes().Typist, x.lastOf("agent.terminal_released"))
	}
	for _, cmd := range []Command{TakeTerminal{Agent: hungName, By: "ann"}} {
		if out := x.do(cmd); out.Code != noun.Conflict {
			t.Errorf("%T of an agent that does not run: %+v", cmd, out)
		}
	}
	if out := x.do(KeepTerminal{Agent: a.ID, Grant: grant}); out.Code != noun.Superseded {
		t.Errorf("%+v", out)
	}
}
