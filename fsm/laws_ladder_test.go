package fsm

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// hung is one agent that a host runs and that has stopped getting on: stalled with its
// task, or deaf.
type hung struct {
	*drive
	me   Speaker
	h    noun.HostID
	task noun.TaskID
}

const hungName = "r/a"

// hungAgent starts an agent with a task, lets half an hour pass with beats alone, and a
// little more.
func hungAgent(t *testing.T, change ...func(*noun.RoleSpec)) *hung {
	t.Helper()
	x := &hung{drive: newDrive(t)}
	x.jump(time.Minute)
	x.h = x.host("h1", "w")
	spec := noun.RoleSpec{Name: "a", Runner: "w", Ladder: noun.LadderRestart}
	for _, f := range change {
		f(&spec)
	}
	x.room("r", spec)
	x.begin()
	x.stall()
	return x
}

// begin starts a life that takes the task and starts work.
func (x *hung) begin() {
	x.t.Helper()
	x.me = x.start(hungName, x.h)
	x.must(Join{Speaker: x.me})
	if x.task == 0 {
		x.task = x.must(CreateTask{Room: "r", Role: "a", Title: "secret title", Text: "secret text"}).Task
	}
	out := x.must(Claim{Speaker: x.me})
	x.must(StartTask{Work: Work{Speaker: x.me, Task: x.task, Attempt: out.Attempt}})
}

// stall lets the present life beat without progress until it is stalled.
func (x *hung) stall() {
	x.t.Helper()
	x.beating(judge.StalledAfter + time.Second)
	if v := x.verdict(); v != judge.AgentStalled {
		x.t.Fatalf("the agent is %s, want stalled", v)
	}
}

// beating lets cluster time pass while the host vouches for the agent.
func (x *hung) beating(span time.Duration) {
	x.t.Helper()
	for end := x.clock.Add(span); x.clock < end; {
		x.clock = min(x.clock.Add(20*time.Second), end)
		x.beat(x.h, BeatFence|BeatVouch, x.agent(hungName).ID)
	}
}

func (x *hung) verdict() judge.Kind { return x.s.Verdict(x.agent(hungName).ID, true).Kind }

func (x *hung) climb() Climb { return x.s.Climb(x.agent(hungName).ID) }

// step is the proposal that a leader makes now.
func (x *hung) step() StepLadder {
	c := x.climb()
	return StepLadder{Agent: x.agent(hungName).ID, Inc: x.agent(hungName).Inc, Rung: c.Next, Seen: c.Seen}
}

// up waits for the next rung and takes it.
func (x *hung) up(want noun.Rung) {
	x.t.Helper()
	if c := x.climb(); c.Next != want {
		x.t.Fatalf("next is %s (%s), want %s", c.Next, c.Why, want)
	} else if c.Due > x.clock {
		x.beating(c.Due.Sub(x.clock))
	}
	x.must(x.step())
}

// The whole ladder, rung by rung: each waits for its deadline and not a moment longer, and
// a proposal that comes too early, again, or for another rung changes nothing.
func TestLadderRungByRung(t *testing.T) {
	x := hungAgent(t)
	began := x.clock
	set := x.s.Settings().Ladder
	for _, tt := range []struct {
		rung  noun.Rung
		after time.Duration
		event string
	}{
		{noun.RungNudge, 0, "agent.nudged"},
		{noun.RungWake, set.Nudge, "agent.woken"},
		{noun.RungInterrupt, set.Nudge + set.Wake, "agent.interrupted"},
		{noun.RungRestart, set.Nudge + set.Wake + set.Interrupt, "agent.restarted_stuck"},
		{noun.RungEscalate, set.Nudge + set.Wake + set.Interrupt + set.Restart, "agent.needs_human"},
	} {
		c := x.climb()
		if c.Next != tt.rung || c.Due != began.Add(tt.after) {
			t.Fatalf("next is %s at %s (%s), want %s at %s", c.Next, c.Due.Sub(began), c.Why, tt.rung, tt.after)
		}
		if tt.after > 0 {
			x.beating(c.Due.Sub(x.clock) - time.Second)
			x.want(noun.Conflict, x.step()) // a second too early
			x.beating(time.Second)
		}
		for r := noun.NoRung; r <= noun.RungEscalate+1; r++ {
			if wrong := x.step(); r != tt.rung {
				wrong.Rung = r
				x.want(noun.Conflict, wrong)
			}
		}
		stale := x.step()
		stale.Seen++
		x.want(noun.Conflict, stale)
		if n := x.events(tt.event); n != 0 {
			t.Fatalf("%d events %s before its rung", n, tt.event)
		}
		again := x.step()
		x.must(again)
		x.want(noun.Conflict, again)
		if n := x.events(tt.event); n != 1 {
			t.Fatalf("%d events %s after its rung", n, tt.event)
		}
	}
	x.beating(time.Hour) // the process traps TERM: nothing follows, and nothing is said again
	if c := x.climb(); c.Next != noun.NoRung || !strings.Contains(c.Why, "human") {
		t.Errorf("after the last rung: %+v", c)
	}
	x.want(noun.Conflict, x.step())
	if l := x.climb().Ladder; l.Steps != 5 || l.Restarts != 1 || l.Began != began {
		t.Errorf("%+v", l)
	}
}

// L11: the restart is charged to the agent's budget and the attempt, names two independent
// facts and nothing of what a task says, and takes the open questions back.
func TestL11StuckRestartIsChargedAndSaysWhy(t *testing.T) {
	x := hungAgent(t)
	for _, r := range []noun.Rung{noun.RungNudge, noun.RungWake, noun.RungInterrupt} {
		x.up(r)
	}
	for id, p := range map[noun.MailID]noun.MailPriority{1: noun.MailNormal, 2: noun.MailHigh} {
		if m := x.s.Mail(id); m == nil || m.Priority != p || m.State != noun.MailQueued ||
			m.From != noun.LaddersBy || m.FromInc != 0 {
			t.Fatalf("mail %d: %+v", id, m)
		}
	}
	x.must(NoteRung{Agent: x.agent(hungName).ID, Inc: x.me.Inc, Rung: noun.RungWake, Reason: "no terminal"})
	x.up(noun.RungRestart)
	a := x.agent(hungName)
	for _, want := range []string{"stalled", "progress", "a nudge and an inquiry for 8m0s",
		"nothing could be typed: wake"} {
		if a.Order != noun.StopOrder || !strings.Contains(a.OrderReason, want) {
			t.Errorf("order %s: %q does not say %q", a.Order, a.OrderReason, want)
		}
	}
	for e := range x.s.Events(0) {
		if strings.Contains(e.Text, "secret") {
			t.Errorf("%s tells what is in the task: %s", e.Kind, e.Text)
		}
	}
	for id := noun.MailID(1); id <= 2; id++ {
		if m := x.s.Mail(id); !m.State.Closed() {
			t.Errorf("mail %d of the episode is %s after the restart", id, m.State)
		}
	}
	x.must(ReportExit{Host: x.h, Agent: a.ID, Inc: x.me.Inc, Signal: "killed"})
	a = x.agent(hungName)
	if a.LastExit.Kind != noun.ExitTimedOut || a.Failures != 1 || len(a.Starts) != 1 {
		t.Errorf("%s, %d failures, %d starts: the restart is not charged", a.LastExit.Kind, a.Failures, len(a.Starts))
	}
	if task := x.s.Task(x.task); task.State != noun.TaskPending || task.Charged != 1 {
		t.Errorf("its task is %s, charged %d", task.State, task.Charged)
	}
}

// A word of the agent between two rungs ends the episode: the next one begins with the
// first rung, after the cool-down.
func TestRecoveryStartsOverFromTheFirstRung(t *testing.T) {
	for name, word := range map[string]func(x *hung){
		"progress": func(x *hung) {
			x.must(ProgressTask{Work: Work{Speaker: x.me, Task: x.task, Attempt: 1},
				Note: "n"})
		},
		"declaration": func(x *hung) { x.must(Declare{Speaker: x.me, Waiting: noun.WaitingTool, For: time.Minute}) },
		"mail sent":   func(x *hung) { x.must(SendMail{Speaker: x.me, To: "r/a.1", Subject: "s"}) },
		"inquiry acknowledged": func(x *hung) {
			x.must(ReadMail{Speaker: x.me})
			x.must(AckMail{Speaker: x.me, Mail: 2})
		},
		"another task": func(x *hung) {
			x.must(CompleteTask{Work: Work{Speaker: x.me, Task: x.task, Attempt: 1}, Result: "r"})
			x.must(Join{Speaker: x.me})
			x.task = x.must(CreateTask{Room: "r", Role: "a", Title: "t"}).Task
			x.must(Claim{Speaker: x.me})
			x.must(StartTask{Work: Work{Speaker: x.me, Task: x.task, Attempt: 1}})
		},
		"a new life": func(x *hung) {
			x.must(ReportExit{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.me.Inc, Code: 1})
			x.begin()
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := hungAgent(t)
			x.up(noun.RungNudge)
			x.up(noun.RungWake)
			at := x.climb().At
			x.beating(time.Minute)
			word(x)
			if c := x.climb(); c.Rung != noun.NoRung || c.Next != noun.NoRung || c.Why != "" {
				t.Fatalf("recovered, and the ladder says %+v", c)
			}
			x.want(noun.Conflict, StepLadder{Agent: x.agent(hungName).ID, Inc: x.agent(hungName).Inc,
				Rung: noun.RungInterrupt, Seen: at})
			x.must(PutSettings{Values: []noun.KV{{Key: "ladder_cooldown", Value: "2h"}}})
			x.beating(judge.StalledAfter + 2*time.Minute)
			if c := x.climb(); c.Next != noun.RungNudge || c.Due != at.Add(2*time.Hour) {
				t.Fatalf("stuck again: next is %s at %s, want nudge at %s", c.Next, c.Due.Sub(at), 2*time.Hour)
			}
			x.want(noun.Conflict, x.step())
			x.up(noun.RungNudge)
			if l := x.climb().Ladder; l.Steps != 1 || l.Rung != noun.RungNudge {
				t.Errorf("the next episode begins with %+v", l)
			}
		})
	}
}

// I41: health reports that only repeat the last one come from something
// beside the agent as well as from the agent. They end no episode; and since they speak for
// it, a human decides and not the ladder.
func TestRepeatedReportsNeitherRecoverNorRestart(t *testing.T) {
	x := &hung{drive: newDrive(t)}
	x.jump(time.Minute)
	x.h = x.host("h1", "w")
	x.room("r", noun.RoleSpec{Name: "a", Runner: "w", HealthEvery: time.Minute, HealthMissed: 3})
	x.begin()
	report := func(span time.Duration) {
		for end := x.clock.Add(span); x.clock < end; {
			x.beating(min(30*time.Second, end.Sub(x.clock)))
			x.must(Declare{Speaker: x.me})
		}
	}
	report(judge.StalledAfter + time.Minute)
	for _, r := range []noun.Rung{noun.RungNudge, noun.RungWake, noun.RungEscalate} {
		c := x.climb()
		if c.Next != r {
			t.Fatalf("next is %s (%s), want %s", c.Next, c.Why, r)
		}
		report(max(0, c.Due.Sub(x.clock)))
		x.must(x.step())
	}
	if a := x.agent(hungName); a.Order == noun.StopOrder || x.events("agent.interrupted") != 0 {
		t.Error("an agent that reports its health was interrupted or restarted")
	}
}

// Who is not meant to run, has said why it is silent, or of whom nothing certain is known
// takes no rung.
func TestWhoNeverClimbs(t *testing.T) {
	for name, put := range map[string]func(x *hung){
		"paused":           func(x *hung) { x.must(SetPause{Scope: hungName, Pause: true, By: "ann"}) },
		"its room paused":  func(x *hung) { x.must(SetPause{Scope: "r", Pause: true, By: "ann"}) },
		"all paused":       func(x *hung) { x.must(SetPause{Pause: true, By: "ann"}) },
		"stopped":          func(x *hung) { x.must(SetAgent{Agent: hungName, Stop: true, By: "ann"}) },
		"being restarted":  func(x *hung) { x.must(RestartAgent{Agent: hungName, By: "ann"}) },
		"declared in_tool": func(x *hung) { x.must(Declare{Speaker: x.me, Waiting: noun.WaitingTool, For: time.Hour}) },
		"declared input": func(x *hung) {
			x.must(Declare{Speaker: x.me, Waiting: noun.WaitingInput,
				For: time.Hour})
		},
		"declared parked": func(x *hung) {
			x.must(Declare{Speaker: x.me, Waiting: noun.WaitingUntil,
				For: time.Hour})
		},
		"declared busy": func(x *hung) { x.must(Declare{Speaker: x.me, Status: noun.StatusBusy, For: time.Hour}) },
		"host suspect":  func(x *hung) { x.must(SuspectHost{Host: x.h, Suspect: true, Reason: "silent"}) },
		"switched off": func(x *hung) {
			x.must(PutSettings{Values: []noun.KV{{Key: "ladder_enabled",
				Value: "false"}}})
		},
		"its role off": func(x *hung) {
			x.must(ApplyRoom{Room: "r", Roles: []noun.RoleSpec{{Name: "a", Runner: "w", Ladder: noun.LadderOff}}})
		},
		"no longer declared": func(x *hung) { x.must(DeleteRoom{Room: "r", By: "ann"}) },
		"after a restore":    func(x *hung) { x.must(RaiseEpoch{Hold: time.Hour}) },
	} {
		for _, rung := range []noun.Rung{noun.RungNudge, noun.RungWake, noun.RungRestart} {
			t.Run(name+" before "+rung.String(), func(t *testing.T) {
				x := hungAgent(t)
				for r := noun.RungNudge; r < rung; r++ {
					x.up(r)
				}
				due := x.climb().Due
				x.beating(max(0, due.Sub(x.clock)))
				step := x.step()
				put(x)
				x.want(noun.Conflict, step)
				if a := x.agent(hungName); a.Notes().Ladder != nil && a.Notes().Ladder.Rung >= rung {
					t.Errorf("the rung was taken: %+v", a.Notes().Ladder)
				}
				if c := x.climb(); c.Next != noun.NoRung && c.Next != noun.RungNudge {
					t.Errorf("next is %s", c.Next)
				}
			})
		}
	}
}

// L6: a rung that was planned for an older life is refused, and a new life is climbed for
// from the beginning.
func TestL6RungsAreForOneLife(t *testing.T) {
	x := hungAgent(t)
	x.up(noun.RungNudge)
	old := x.step()
	x.must(ReportExit{Host: x.h, Agent: old.Agent, Inc: x.me.Inc, Code: 1})
	x.begin()
	x.want(noun.Superseded, old)
	x.want(noun.Superseded, NoteRung{Agent: old.Agent, Inc: x.me.Inc, Rung: noun.RungNudge, Reason: "late"})
	x.stall()
	if c := x.climb(); c.Next != noun.RungNudge {
		t.Errorf("the new life begins with %s", c.Next)
	}
	x.want(noun.NotFound, StepLadder{Agent: 99, Inc: 1, Rung: noun.RungNudge})
	x.want(noun.NotFound, NoteRung{Agent: 99, Inc: 1, Rung: noun.RungNudge})
}
