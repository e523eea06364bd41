package fsm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"vigil/fsm/judge"
	"vigil/fsm/noun"
	"vigil/fsm/watch/ladder"
)

// Each mechanism, what it finds, and when; and no mechanism alone says that an agent has
// failed.
func TestDetectionMechanisms(t *testing.T) {
	t.Run("heartbeat monitoring", func(t *testing.T) { // agent offline or crashed, 30 to 60 s
		x := plannedAgent(t, 0)
		took := time.Duration(0)
		for ; x.s.Verdict(1, true).Kind != judge.AgentOffline && took < time.Hour; took += time.Second {
			x.jump(time.Second)
		}
		if took < 30*time.Second || took > time.Minute || x.agent(hungName).Part != noun.PartDisconnected {
			t.Errorf("its host fell silent, and it is offline after %s", took)
		}
		x = plannedAgent(t, 0)
		x.must(ReportExit{Host: x.h, Agent: 1, Inc: x.me.Inc, Code: 1}) // seen: no need to wait
		if v := x.verdict(); v != judge.AgentOffline {
			t.Errorf("it has crashed, and is %s", v)
		}
	})
	t.Run("message delivery failure", func(t *testing.T) { // agent unreachable, immediate
		x := plannedAgent(t, 0)
		x.must(ReportExit{Host: x.h, Agent: 1, Inc: x.me.Inc, Code: 1})
		x.want(noun.AgentOff, SendMail{From: "ann", To: hungName, Subject: "s", NoQueue: true})
	})
	t.Run("message acknowledgment timeout", func(t *testing.T) { // agent unresponsive, 5 to 15 minutes
		for p, limit := range map[noun.MailPriority]time.Duration{noun.MailHigh: 5 * time.Minute,
			noun.MailNormal: 15 * time.Minute} {
			x := plannedAgent(t, 0)
			x.must(SendMail{From: "ann", To: hungName, Subject: "s", Priority: p})
			x.beating(limit - time.Second)
			if x.events("mail.reminder") != 0 {
				t.Errorf("%s mail is reminded of early", p)
			}
			x.beating(time.Second)
			if x.events("mail.reminder") != 1 || x.verdict() != judge.AgentHealthy {
				t.Errorf("%s mail: %d reminders, the agent is %s", p, x.events("mail.reminder"), x.verdict())
			}
		}
	})
	t.Run("task completion timeout", func(t *testing.T) { // agent stalled or hung, varies by task
		for _, expect := range []time.Duration{40 * time.Minute, 3 * time.Hour} {
			x := plannedAgent(t, expect)
			x.beating(expect)
			if v := x.verdict(); v != judge.AgentHealthy {
				t.Errorf("expected in %s, and %s then", expect, v)
			}
			x.beating(time.Second)
			if v := x.verdict(); v != judge.AgentStalled {
				t.Errorf("expected in %s, and %s a second later", expect, v)
			}
		}
	})
	t.Run("a single missed heartbeat", func(t *testing.T) {
		x := plannedAgent(t, 0, func(r *noun.RoleSpec) { r.HealthEvery, r.HealthMissed = time.Minute, 3 })
		x.must(Declare{Speaker: x.me})
		x.beating(time.Minute)
		if g := x.s.Signals(1, true); g.Missed != 1 || judge.Judge(&g).Kind != judge.AgentHealthy {
			t.Errorf("%d missed, %s", g.Missed, judge.Judge(&g).Kind)
		}
	})
}

// Each response, what it means, and what follows.
func TestDetectionResponses(t *testing.T) {
	for _, tc := range []struct {
		response string
		say      func(x *hung) // at the end of each minute
		missed   uint32        // after four minutes
		kind     judge.Kind
		fine     bool
		next     noun.Rung
	}{
		{"healthy", func(x *hung) { x.must(Declare{Speaker: x.me}) }, 0, judge.AgentHealthy, true, noun.NoRung},
		{"busy", func(x *hung) { // extend timeout
			if x.agent(hungName).Declared.Until == 0 {
				x.must(Declare{Speaker: x.me, Status: noun.StatusBusy, For: time.Hour})
			}
		}, 0, judge.AgentBusy, true, noun.NoRung},
		// monitor closely
		{"degraded", func(x *hung) { x.must(Declare{Speaker: x.me, Status: noun.StatusDegraded}) }, 0,
			judge.AgentDegraded, false, noun.NoRung},
		// counted, then classified
		{"no response", func(*hung) {}, 4, judge.AgentUnresponsive, false, noun.RungNudge},
		{"delivery_failed", func(x *hung) { // check the status
			if x.agent(hungName).Proc == noun.ProcRunning {
				x.must(ReportExit{Host: x.h, Agent: 1, Inc: x.me.Inc, Code: 1})
			}
			x.want(noun.AgentOff, SendMail{From: "ann", To: hungName, Subject: "ping", NoQueue: true})
			v := x.s.Verdict(1, true)
			if p := x.s.Presence(1, &v); p.Status != "offline" || p.Offline == 0 {
				x.t.Errorf("status %+v", p)
			}
		}, 0, judge.AgentOffline, false, noun.NoRung},
	} {
		t.Run(tc.response, func(t *testing.T) {
			x := plannedAgent(t, 0, func(r *noun.RoleSpec) { r.HealthEvery, r.HealthMissed = time.Minute, 3 })
			x.must(Declare{Speaker: x.me})
			counted := []uint32{}
			for range 4 {
				x.beating(time.Minute)
				counted = append(counted, x.s.Signals(1, true).Missed)
				tc.say(x)
			}
			g := x.s.Signals(1, true)
			v := judge.Judge(&g)
			if g.Missed != tc.missed || v.Kind != tc.kind || v.Fine != tc.fine || x.climb().Next != tc.next {
				t.Errorf("%d missed, %s, fine %v, next rung %s; %+v", g.Missed, v.Kind, v.Fine, x.climb().Next,
					v.Reasons)
			}
			if tc.response == "no response" && fmt.Sprint(counted) != "[1 2 3 4]" {
				t.Errorf("counted %v", counted)
			}
		})
	}
}

// A task is stalled when it shows no progress for more than 30 min, and its expected
// completion has passed, and its agent has sent no message. Each alone, and any two, are not
// enough.
func TestDetectionAllThreeConditions(t *testing.T) {
	for i := range 8 {
		silent, late, mute := i&1 != 0, i&2 != 0, i&4 != 0
		t.Run(fmt.Sprintf("no progress %v, late %v, no message %v", silent, late, mute), func(t *testing.T) {
			expect := 3 * time.Hour
			if late {
				expect = time.Hour
			}
			x := plannedAgent(t, expect)
			for range 6 {
				x.beating(15 * time.Minute)
				if !silent {
					x.must(ProgressTask{Work: x.work(), Percent: noun.PercentOf(60)})
				}
				if !mute {
					x.must(SendMail{Speaker: x.me, To: hungName, Subject: "it takes longer"})
				}
			}
			x.beating(time.Second)
			v := x.s.Verdict(1, true)
			if stalled := v.Kind == judge.AgentStalled; stalled != (silent && late && mute) {
				t.Errorf("%s: %+v", v.Kind, v.Reasons)
			}
			if next := x.climb().Next; (next != noun.NoRung) != (silent && late && mute) {
				t.Errorf("next is %s", next)
			}
		})
	}
	x := plannedAgent(t, time.Hour)
	x.must(ProgressTask{Work: x.work(), Percent: noun.PercentOf(60)})
	x.beating(90 * time.Minute)
	v := x.s.Verdict(1, true)
	for _, want := range []string{"the last sign of progress with task 1 was 1h30m0s ago",
		"task 1 was expected to be done 30m0s ago, and 60 % of it is done by its own word"} {
		if !strings.Contains(v.Because(), want) {
			t.Errorf("%q does not say %q", v.Because(), want)
		}
	}
}

// A stalled task is no failed agent. Its agent is asked, with high priority, and has 5
// minutes; it has failed only when it does not answer and its beats have stopped, or when it
// says that it cannot go on. Otherwise a human is told.
func TestDetectionSlowOrFailed(t *testing.T) {
	reporting := func(r *noun.RoleSpec) { r.HealthEvery, r.HealthMissed, r.Ladder = time.Minute, 3, noun.LadderCareful }
	ownBeats := func(r *noun.RoleSpec) { r.Proof, r.Ladder = noun.ProofAgent, noun.LadderCareful }
	byProcess := func(r *noun.RoleSpec) { r.Ladder = noun.LadderCareful }
	for _, tc := range []struct {
		name  string
		role  func(*noun.RoleSpec)
		beats func(x *hung)
		// after the inquiry
		say  func(x *hung)
		want noun.Rung // that follows the inquiry
		done noun.TaskState
	}{
		{"answers", reporting, func(x *hung) { x.must(Declare{Speaker: x.me}) },
			func(x *hung) {
				x.must(SendMail{Speaker: x.me, To: hungName, Subject: "s", ReplyTo: x.climb().Inquiry})
			}, noun.NoRung, noun.TaskInProgress},
		{"does not answer, and its reports have stopped", reporting, func(*hung) {}, func(*hung) {},
			noun.RungInterrupt, noun.TaskInProgress},
		{"does not answer, and its reports go on", reporting, func(x *hung) { x.must(Declare{Speaker: x.me}) },
			func(*hung) {}, noun.RungEscalate, noun.TaskInProgress},
		{"does not answer, and its own beats go on", ownBeats, func(x *hung) { x.beat(0, BeatLease, 1) },
			func(*hung) {}, noun.RungEscalate, noun.TaskInProgress},
		{"does not answer, and sends no beats of its own", byProcess, func(*hung) {}, func(*hung) {},
			noun.RungInterrupt, noun.TaskInProgress},
		{"says that it cannot go on", reporting, func(x *hung) { x.must(Declare{Speaker: x.me}) },
			func(x *hung) { x.must(FailTask{Work: x.work(), Reason: "cannot go on"}) }, noun.NoRung, noun.TaskFailed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := plannedAgent(t, time.Minute, tc.role)
			x.must(Declare{Speaker: x.me})
			x.must(ProgressTask{Work: x.work(), Percent: noun.PercentOf(10)})
			pass := func(span time.Duration) {
				for end := x.clock.Add(span); x.clock < end; {
					x.beating(min(30*time.Second, end.Sub(x.clock)))
					tc.beats(x)
				}
			}
			pass(judge.StalledAfter + time.Minute)
			for _, r := range []noun.Rung{noun.RungNudge, noun.RungWake} {
				pass(max(0, x.climb().Due.Sub(x.clock)))
				if x.climb().Next != r {
					t.Fatalf("next is %s (%s), want %s", x.climb().Next, x.climb().Why, r)
				}
				x.must(x.step())
			}
			m := x.s.Mail(x.climb().Inquiry)
			if m.Priority != noun.MailHigh || m.Kind != "status-inquiry" ||
				!strings.Contains(m.Body, "task 1; answer within 5m0s") || strings.Contains(m.Body, "secret") {
				t.Errorf("the inquiry: %+v", m)
			}
			if wait := x.climb().Due.Sub(x.clock); wait != 5*time.Minute {
				t.Errorf("it has %s to answer", wait)
			}
			pass(time.Minute)
			due := x.plan().Due
			tc.say(x)
			pass(4 * time.Minute)
			if c := x.climb(); c.Next != tc.want || tc.want != noun.NoRung && c.Due > x.clock {
				t.Fatalf("next is %s (%s) in %s, want %s", c.Next, c.Why, c.Due.Sub(x.clock), tc.want)
			}
			if got := x.s.Task(x.task).State; got != tc.done {
				t.Errorf("the task is %s", got)
			}
			switch {
			case tc.want != noun.NoRung:
				x.must(x.step())
				if x.plan().Due != due || x.agent(hungName).Order != noun.NoOrder {
					t.Errorf("%+v, order %s", x.plan(), x.agent(hungName).Order)
				}
				if told := x.events("agent.needs_human"); (told == 1) != (tc.want == noun.RungEscalate) {
					t.Errorf("%d calls for a human", told)
				}
			case tc.done == noun.TaskInProgress:
				if p := x.plan(); p.Due != x.clock.Add(-4*time.Minute+ladder.AnswerExtends) || p.Extended != 1 ||
					x.verdict() != judge.AgentHealthy {
					t.Errorf("after an answer: %+v, %s", p, x.verdict())
				}
			}
		})
	}
}
