package fsm

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/judge"
	"vigil/fsm/noun"
	"vigil/fsm/watch/ladder"
)

// The flow chart, one subtest for each way through it. Heartbeats are health reports (every
// minute, three missed); the status API is Presence.
func TestDetectionFlowChart(t *testing.T) {
	begin := func(t *testing.T) *hung {
		x := plannedAgent(t, time.Minute, func(r *noun.RoleSpec) {
			r.HealthEvery, r.HealthMissed,
				r.Ladder = time.Minute, 3, noun.LadderCareful
		})
		x.must(Declare{Speaker: x.me})
		return x
	}
	missed := func(x *hung) uint32 { return x.s.Signals(1, true).Missed }
	status := func(x *hung) string {
		v := x.s.Verdict(1, true)
		return x.s.Presence(1, &v).Status
	}
	// inquiry goes as far as the high-priority status inquiry.
	inquiry := func(t *testing.T, x *hung) {
		t.Helper()
		x.beating(3*time.Minute + time.Second)
		if missed(x) != 3 || status(x) == "offline" || x.verdict() != judge.AgentUnresponsive {
			t.Fatalf("%d missed, status %s, %s", missed(x), status(x), x.verdict())
		}
		x.up(noun.RungNudge)
		x.up(noun.RungWake)
		if m := x.s.Mail(x.climb().Inquiry); m == nil || m.Priority != noun.MailHigh ||
			x.climb().Due.Sub(x.clock) != 5*time.Minute {
			t.Fatalf("inquiry %+v, due in %s", m, x.climb().Due.Sub(x.clock))
		}
	}
	t.Run("response received, counter reset, healthy", func(t *testing.T) {
		x := begin(t)
		x.beating(2 * time.Minute)
		if missed(x) != 2 {
			t.Fatalf("%d missed", missed(x))
		}
		x.must(Declare{Speaker: x.me})
		if missed(x) != 0 || x.verdict() != judge.AgentHealthy || x.climb().Next != noun.NoRung {
			t.Errorf("%d missed, %s, next %s", missed(x), x.verdict(), x.climb().Next)
		}
	})
	t.Run("no response, below the threshold, next heartbeat", func(t *testing.T) {
		x := begin(t)
		for n := uint32(1); n <= 2; n++ {
			x.beating(time.Minute)
			if missed(x) != n || x.verdict() != judge.AgentHealthy || x.climb().Next != noun.NoRung {
				t.Errorf("%d missed, %s, next %s", missed(x), x.verdict(), x.climb().Next)
			}
		}
	})
	t.Run("threshold, status offline: failure, classified", func(t *testing.T) {
		x := begin(t)
		x.jump(3 * time.Minute) // its host does not beat either
		if status(x) != "offline" || x.verdict() != judge.AgentOffline {
			t.Fatalf("status %s, %s", status(x), x.verdict())
		}
		if a := x.agent(hungName); a.LastExit == nil || a.LastExit.Kind != noun.ExitFenceEnded ||
			x.s.Task(x.task).State != noun.TaskPending {
			t.Errorf("last exit %+v, the task is %s", a.LastExit, x.s.Task(x.task).State)
		}
		x.beat(x.h, 0)
		wanted := false
		for id := range x.s.Wanting() {
			wanted = wanted || id == 1
		}
		if !wanted {
			t.Errorf("no start is due: %+v", x.s.Why(1))
		}
	})
	t.Run("threshold, online, no response within 5 min: failure, unresponsive, classified", func(t *testing.T) {
		x := begin(t)
		inquiry(t, x)
		x.beating(5*time.Minute - time.Second)
		x.want(noun.Conflict, x.step())
		x.beating(time.Second)
		x.up(noun.RungInterrupt)
		x.up(noun.RungRestart)
		a := x.agent(hungName)
		if a.Order != noun.StopOrder || !strings.Contains(a.OrderReason, "unresponsive") {
			t.Fatalf("order %s: %s", a.Order, a.OrderReason)
		}
		x.must(ReportExit{Host: x.h, Agent: 1, Inc: x.me.Inc, Signal: "killed"})
		if x.agent(hungName).LastExit.Kind != noun.ExitTimedOut || x.s.Task(x.task).State != noun.TaskPending {
			t.Errorf("last exit %s, the task is %s", x.agent(hungName).LastExit.Kind, x.s.Task(x.task).State)
		}
	})
	t.Run("threshold, online, response within 5 min: busy, timeout extended", func(t *testing.T) {
		x := begin(t)
		inquiry(t, x)
		x.beating(5*time.Minute - time.Second)
		x.must(Declare{Speaker: x.me, Status: noun.StatusBusy, For: 20 * time.Minute})
		if p := x.plan(); x.verdict() != judge.AgentBusy || p.Due != x.clock.Add(ladder.AnswerExtends) ||
			p.Extended != 1 {
			t.Errorf("%s, %+v", x.verdict(), p)
		}
		x.beating(20 * time.Minute) // nobody asks again while it is busy
		if c := x.climb(); c.Next != noun.NoRung || x.events("agent.interrupted") != 0 {
			t.Errorf("%+v", c)
		}
	})
}

// "Heartbeats show agent offline but it is running". A hook that was never set up, or that
// fails later, costs no agent its life; it is shown.
func TestDetectionTroubleOfflineButItIsRunning(t *testing.T) {
	x := plannedAgent(t, 3*time.Hour, func(r *noun.RoleSpec) { r.HealthEvery, r.HealthMissed = time.Minute, 3 })
	work := func(span time.Duration) {
		for range span / time.Minute {
			x.beating(time.Minute)
			x.must(ProgressTask{Work: x.work()})
		}
	}
	work(time.Hour)
	v := x.s.Verdict(1, true)
	if v.Kind != judge.AgentHealthy || v.Fine ||
		!strings.Contains(v.Because(), "does anything in it call `vigil declare`?") {
		t.Errorf("nothing reports: %s, fine %v: %s", v.Kind, v.Fine, v.Because())
	}
	x.must(Declare{Speaker: x.me}) // the hook works, once
	work(time.Hour)
	if v = x.s.Verdict(1, true); v.Kind != judge.AgentSuspect ||
		!strings.Contains(v.Because(), "60 health reports are missing in a row") {
		t.Errorf("the hook fails: %s: %s", v.Kind, v.Because())
	}
	if c := x.climb(); c.Next != noun.NoRung || x.agent(hungName).Inc != x.me.Inc || x.s.Task(x.task).Attempt != 1 {
		t.Errorf("next rung %s", c.Next)
	}
}

// "False positives during long operations". Each of its three remedies lets an agent be
// blocked for 25 minutes; without any it is found.
func TestDetectionTroubleLongOperations(t *testing.T) {
	long := 25 * time.Minute
	every := func(every time.Duration, missed uint32) func(*noun.RoleSpec) {
		return func(r *noun.RoleSpec) { r.HealthEvery, r.HealthMissed = every, missed }
	}
	for _, tc := range []struct {
		name string
		role func(*noun.RoleSpec)
		say  Declare
		want judge.Kind
	}{
		{"none", every(time.Minute, 3), Declare{}, judge.AgentUnresponsive},
		{"longer intervals", every(15*time.Minute, 5), Declare{}, judge.AgentHealthy},
		{"busy before it", every(time.Minute, 3), Declare{Status: noun.StatusBusy, For: 30 * time.Minute},
			judge.AgentBusy},
		{"in a tool", every(time.Minute, 3), Declare{Waiting: noun.WaitingTool, For: 30 * time.Minute},
			judge.AgentBusy},
		{"task-based monitoring", func(*noun.RoleSpec) {}, Declare{}, judge.AgentHealthy},
	} {
		x := plannedAgent(t, time.Hour, tc.role)
		x.must(Declare{Speaker: x.me})
		tc.say.Speaker = x.me
		x.must(tc.say)
		x.beating(long)
		if v := x.verdict(); v != tc.want || (x.climb().Next == noun.NoRung) != (tc.want != judge.AgentUnresponsive) {
			t.Errorf("%s: %s, next rung %s", tc.name, v, x.climb().Next)
		}
		if tc.name == "task-based monitoring" { // for as long as the task may take, and not a moment longer
			x.beating(x.plan().Due.Sub(x.clock))
			was := x.verdict()
			x.beating(time.Second)
			if was != judge.AgentHealthy || x.verdict() != judge.AgentStalled {
				t.Errorf("%s: %s at its expected completion, %s behind it", tc.name, was, x.verdict())
			}
		}
	}
}

// "connection refused". While no server leads nobody is called dead, and nothing that was
// counted before goes on.
func TestDetectionTroubleNoServer(t *testing.T) {
	x := plannedAgent(t, time.Minute, func(r *noun.RoleSpec) { r.HealthEvery, r.HealthMissed = time.Minute, 3 })
	x.must(Declare{Speaker: x.me})
	x.beating(2 * time.Hour)
	if v := x.s.Verdict(1, true); v.Kind != judge.AgentUnresponsive {
		t.Fatalf("%s", v.Kind)
	}
	if v := x.s.Verdict(1, false); v.Kind != judge.AgentSuspect || !strings.Contains(v.Because(), "no server leads") {
		t.Errorf("without a leader: %s: %s", v.Kind, v.Because())
	}
}
