package fsm

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// Triage decides; when it fails in any way, the mechanical rule decides at once, and says why.
func TestOverseerFallbackChain(t *testing.T) {
	for _, tt := range []struct {
		name     string
		fail     func(x *watch)
		by       noun.Decider
		decision noun.Decision
		degraded string
	}{
		{"it decides", func(x *watch) { x.answer(noun.DecideNudge, "secret words") }, noun.ByTriage,
			noun.DecideNudge, ""},
		{"nonsense", func(x *watch) { x.ends(CompleteTask{Work: x.take(), Result: "All is well, I think."}) },
			noun.ByRule, noun.DecideNothing, "is no decision"},
		{"a record of before decisions were logged", func(x *watch) {
			x.ends(CompleteTask{Work: x.take(), Result: `{"decision":"NUDGE"}`})
		}, noun.ByRule, noun.DecideNothing, "is no decision"},
		{"a decision that there is not", func(x *watch) { x.answer(noun.DecideStart+1, "") },
			noun.ByRule, noun.DecideNothing, "is no decision"},
		{"a reason that is too long", func(x *watch) {
			x.answer(noun.DecideNudge, strings.Repeat("a", noun.MaxTriageWhy+1))
		}, noun.ByRule, noun.DecideNothing, "is no decision"},
		{"a reason that is no text", func(x *watch) { x.answer(noun.DecideNudge, "\xff") },
			noun.ByRule, noun.DecideNothing, "is no decision"},
		{"it crashes", func(x *watch) { x.take(); x.exit(x.triage) }, noun.ByRule, noun.DecideNothing, "died"},
		{"it gives up", func(x *watch) { x.must(FailTask{Work: x.take(), Reason: "no idea"}) }, noun.ByRule,
			noun.DecideNothing, "triage has failed"},
		{"it gives back", func(x *watch) { x.must(FailTask{Work: x.take(), Reason: "no idea", Retryable: true}) },
			noun.ByRule, noun.DecideNothing, "given it up"},
		{"it hangs", func(x *watch) { x.take(); x.beating(5 * time.Minute) }, noun.ByRule, noun.DecideNothing,
			"not answered within 5m0s"},
		{"it never starts", func(x *watch) { x.beating(5 * time.Minute) }, noun.ByRule, noun.DecideNothing,
			"not answered within 5m0s"},
		{"a human cancels", func(x *watch) { x.must(CancelTask{Task: x.chain().Task, By: "ann"}) }, noun.ByRule,
			noun.DecideNothing, "CANCELED"},
		{"its role goes", func(x *watch) {
			x.room("r", noun.RoleSpec{Name: "deacon", Runner: "w", Overseer: []noun.OverseerSpec{{Triage: "boot"}}})
		}, noun.ByRule, noun.DecideNothing, "no longer declared"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := overseerRoom(t, true)
			x.patrol()
			task := x.ask()
			if task == 0 || x.s.Task(task).State != noun.TaskPending {
				t.Fatalf("triage is not asked: task %d", task)
			}
			tt.fail(x)
			words := []string{}
			if tt.degraded != "" {
				words = []string{"degraded: ", tt.degraded}
			}
			x.decided(tt.decision, tt.by, words...)
			if c := x.chain(); (c.Degraded == "") != (tt.degraded == "") || c.Asked != "ann" {
				t.Errorf("%+v", c)
			}
			if s := x.s.Task(task); s != nil && !s.State.Terminal() {
				t.Errorf("the task of the look is left over: %v", s)
			}
			if strings.Contains(x.lastEvent("agent.triage"), "secret") {
				t.Error("what triage says is in an event")
			}
			if text := x.lastEvent("agent.look"); !strings.Contains(text, "asked for by ann") {
				t.Errorf("the look begins with %q", text)
			}
		})
	}
}

// Without anybody who could be asked, the mechanical rule decides in the same record.
func TestTriageThatCannotRunIsNotWaitedFor(t *testing.T) {
	x := overseerRoom(t, true)
	x.must(SetPause{Scope: triageName, Pause: true, By: "ann"})
	if task := x.ask(); task != 0 {
		t.Errorf("task %d waits for a paused agent", task)
	}
	x.decided(noun.DecideNothing, noun.ByRule, "degraded: no agent of role r/boot can run now")
	x.must(SetPause{Scope: triageName, By: "ann"})
	x.must(DrainHost{Host: x.h, By: "ann"})
	if task := x.ask(); task != 0 {
		t.Errorf("task %d waits where no host takes a start", task)
	}
	x.decided(noun.DecideNothing, noun.ByRule, "(no_host)")
}

// The marker makes a second look at the same time impossible, also across a change of leader
// and a restored snapshot, and lives for triage_limit.
func TestOverseerMarkerAllowsOneLook(t *testing.T) {
	x := overseerRoom(t, true)
	task := x.ask()
	began := x.clock
	if no := x.want(noun.Conflict, LookAtOverseer{Agent: watchName, By: "bob"}); no.Task != task {
		t.Errorf("the second look is told of task %d, the marker is %d", no.Task, task)
	}
	x.term++
	x.must(LeaderEstablished{Server: "b"})
	x.want(noun.Conflict, LookAtOverseer{Agent: watchName, By: "bob"})
	x.s = reload(t, x.s)
	x.want(noun.Conflict, LookAtOverseer{Agent: watchName, By: "bob"})
	for x.clock < began.Add(5*time.Minute-time.Second) {
		if x.beating(time.Second); x.chain().Task != task {
			t.Fatalf("the marker is gone after %s", x.clock.Sub(began))
		}
	}
	x.beating(time.Second)
	x.decided(noun.DecideNothing, noun.ByRule, "not answered within 5m0s")
	if n := x.events("agent.look"); n != 1 {
		t.Errorf("%d looks have begun, want 1", n)
	}
	again := x.ask()
	x.want(noun.Superseded, AnswerLook{CompleteTask: CompleteTask{
		Work: Work{Speaker: x.start(triageName, x.h), Task: task, Attempt: 1}}, Decision: noun.DecideWake})
	if c := x.chain(); c.Task != again || c.Decision != noun.DecideNothing {
		t.Errorf("law L6: an answer to an earlier look counts: %+v", c)
	}
}

// Whoever hangs with a look is ended with its time, so that the next look gets a fresh life;
// a life that works on something else is left alone.
func TestHungTriageIsEnded(t *testing.T) {
	x := overseerRoom(t, true)
	x.ask()
	x.take()
	x.beating(5 * time.Minute)
	if a := x.agent(triageName); a.Order != noun.StopOrder || !a.Overdue {
		t.Errorf("hung triage goes on: %+v", x.s.Why(a.ID))
	}
	x = overseerRoom(t, true)
	other := x.must(CreateTask{Room: "r", Role: "boot", Title: "other work"}).Task
	x.triage = x.start(triageName, x.h)
	x.must(Join{Speaker: x.triage})
	x.must(CancelTask{Task: other, By: "ann"})
	x.ask()
	x.beating(5 * time.Minute)
	if a := x.agent(triageName); a.Order != noun.StopOrder {
		t.Error("triage that takes no look goes on")
	}
	x = overseerRoom(t, true)
	x.must(CreateTask{Room: "r", Role: "boot", Title: "other work"})
	x.triage = x.start(triageName, x.h)
	x.must(Join{Speaker: x.triage})
	x.must(Claim{Speaker: x.triage})
	x.must(StartTask{Work: Work{Speaker: x.triage, Task: x.agent(triageName).Task, Attempt: 1}})
	x.ask()
	x.beating(5 * time.Minute)
	if a := x.agent(triageName); a.Order == noun.StopOrder || a.Task == 0 {
		t.Error("triage that does other work was ended")
	}
}

// Incident I108: each link of the chain hangs or lies in turn, and the one above acts in its own
// time by facts that do not come from it.
func TestI108EachLinkIsWatchedFromAbove(t *testing.T) {
	t.Run("the overseer hangs", func(t *testing.T) { // it beats, and says nothing: nobody asks it how it is
		x := overseerRoom(t, true)
		x.patrol()
		began := x.clock
		// nobody of the triage role ever runs either
		for !strings.HasPrefix(x.lastEvent("agent.triage"), "WAKE by mechanical") {
			if x.beating(20 * time.Second); x.clock.Sub(began) > 15*time.Minute+5*time.Minute+3*time.Minute {
				t.Fatalf("no WAKE after %s: %s", x.clock.Sub(began), x.lastEvent("agent.triage"))
			}
		}
	})
	t.Run("triage lies about a dead overseer", func(t *testing.T) {
		x := overseerRoom(t, true)
		x.beating(time.Minute)
		x.exit(x.me)
		x.apply(x.entry()) // the end of its process is an event
		x.answer(noun.DecideNothing, "nothing to do")
		x.decided(noun.DecideStart, noun.ByRule, "triage has said NOTHING, the rule says START")
	})
	t.Run("triage is blind", func(t *testing.T) { // "nothing to do" on a confirmed wedge, eight times
		x := overseerRoom(t, true, func(s *noun.RoleSpec) { s.Overseer[0].Stale = time.Minute })
		x.patrol()
		x.beating(2 * time.Minute)
		said := 0
		for x.chain().Decision != noun.DecideWake {
			if x.chain().Task == 0 {
				x.ask()
			}
			x.answer(noun.DecideNothing, "nothing to do")
			if said++; said > noun.MaxOverruled+1 {
				t.Fatalf("triage was believed %d times", said)
			}
		}
		x.decided(noun.DecideWake, noun.ByRule, "for the 4th look in a row")
		if said != noun.MaxOverruled+1 {
			t.Errorf("triage was overruled after %d looks, want %d", said, noun.MaxOverruled+1)
		}
	})
	t.Run("triage waits on a query that the overseer blinds", func(t *testing.T) {
		x := overseerRoom(t, true)
		x.patrol()
		task := x.ask()
		x.take()
		x.patrol() // a sign of life of the watched link is no answer of the watching one
		if c := x.chain(); c.Task != task {
			t.Fatalf("the look ended: %+v", c)
		}
		x.beating(5 * time.Minute)
		x.decided(noun.DecideNothing, noun.ByRule, "not answered")
	})
	t.Run("the leader's loop hangs", func(t *testing.T) { // nothing is typed; looks, decisions and mail go on
		x := overseerRoom(t, false)
		x.patrol()
		x.beating(16 * time.Minute)
		x.decided(noun.DecideWake, noun.ByRule)
		if c := x.chain(); c.Prod == 0 || x.s.Mail(c.Mail) == nil {
			t.Errorf("%+v", c)
		}
	})
}

// Triage may see more than the rule: it may wake an overseer whose patrols look fresh, and
// leave one alone that composes something long; not for ever, and not against what has
// happened since it was asked.
func TestTriageMaySayMoreOrLess(t *testing.T) {
	x := overseerRoom(t, true)
	x.patrol()
	x.ask()
	x.answer(noun.DecideWake, "it hangs at a prompt")
	x.decided(noun.DecideWake, noun.ByTriage, "woken by mail")
	if c := x.chain(); c.Why != "it hangs at a prompt" || c.Prod == 0 {
		t.Errorf("%+v", c)
	}
	if v := x.s.Verdict(x.agent(watchName).ID, true).Kind; v != judge.AgentIdle {
		t.Errorf("on the word of triage alone it is %s", v)
	}
	x.patrol()
	x.ask()
	x.beating(time.Minute)
	w := x.take()
	x.patrol()
	x.must(AnswerLook{CompleteTask: CompleteTask{Work: w}, Decision: noun.DecideWake})
	x.decided(noun.DecideNothing, noun.ByTriage, "it has patrolled since")
	x.exit(x.triage)
	x.ask()
	x.answer(noun.DecideStart, "start it")
	x.decided(noun.DecideStart, noun.ByTriage, "it runs, so there is nothing to start")
	if a := x.agent(watchName); a.Order != noun.NoOrder || a.Inc != x.me.Inc {
		t.Errorf("triage has restarted a life: %+v", x.s.Why(a.ID))
	}
}

// Where the task is no look a decision is the result of a task like any other, and a repeated
// write gets the first answer and decides nothing again.
func TestADecisionCountsForItsLookOnly(t *testing.T) {
	x := overseerRoom(t, true)
	x.patrol()
	other := x.must(CreateTask{Room: "r", Role: "boot", Title: "other work"}).Task
	x.triage = x.start(triageName, x.h)
	x.must(Join{Speaker: x.triage})
	x.must(Claim{Speaker: x.triage, Task: other})
	done := CompleteTask{Work: Work{Speaker: x.triage, Task: other, Attempt: 1}, Result: "{}"}
	x.must(AnswerLook{CompleteTask: done, Decision: noun.DecideWake})
	if c, task := x.chain(), x.s.Task(other); task.State != noun.TaskCompleted || task.Result != "{}" ||
		c.DecidedAt != 0 {
		t.Fatalf("task %+v, chain %+v", task, c)
	}
	session := x.must(OpenSession{}).Session
	look := x.ask()
	x.must(Join{Speaker: x.triage})
	x.must(Claim{Speaker: x.triage, Task: look})
	done.Task = look
	answer := Request{Session: session, Seq: 1, Cmd: AnswerLook{CompleteTask: done, Decision: noun.DecideNudge}}
	first := x.apply(x.entry(answer)).Outcomes[0]
	x.decided(noun.DecideNudge, noun.ByTriage)
	again := x.apply(x.entry(answer)).Outcomes[0]
	if first.Code != noun.OK || again.Code != noun.OK || first.Rev != again.Rev || x.events("agent.triage") != 1 {
		t.Errorf("%+v, then %+v, %d decisions", first, again, x.events("agent.triage"))
	}
	x.must(answer.Cmd) // an agent repeats its words without a session too
	if n := x.events("agent.triage"); n != 1 {
		t.Errorf("%d decisions about one look", n)
	}
}

// Looks are no conversation: a room in which nothing else happens is as silent as before, and
// the conversation watchdog does not cancel them.
func TestLooksKeepNoRoomAwake(t *testing.T) {
	x := overseerRoom(t, true)
	active := x.s.Room("r").Active
	x.beating(time.Minute)
	x.ask()
	if n := x.s.ActiveRooms(); n != 0 {
		t.Errorf("a look makes %d rooms active", n)
	}
	x.answer(noun.DecideNothing, "")
	if at := x.s.Room("r").Active; at != active {
		t.Errorf("a look is activity of its room: %d, it was %d", at, active)
	}
}

// What triage is asked is JSON, with everything that the rule goes by.
func TestLookFactsAreJSON(t *testing.T) {
	x := overseerRoom(t, true)
	x.must(ReportPatrol{Speaker: x.me, Cycle: 42, Action: "health-scan", Healthy: 3, Unhealthy: 1})
	x.beating(6 * time.Minute)
	task := x.chain().Task
	if task == 0 {
		t.Fatal("no look is open")
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(x.s.Task(task).Text), &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"overseer": watchName, "session": "alive", "cycle": 42.0,
		"last_action": "health-scan", "healthy": 3.0, "unhealthy": 1.0,
		"mail_waiting": 0.0, "fresh_s": 300.0, "stale_s": 900.0, "patrolled": true,
		"mechanical_decision": "NOTHING", "verdict": "idle", "incarnation": "1"} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
}

// Without tmux the look is the same, nothing is typed, and what triage gets and the decision
// say so, in words that may hold anything.
func TestOverseerDegradedMode(t *testing.T) {
	x := overseerRoom(t, true)
	why := "exec: \"tmux\": not found\\\n\x01 ä"
	x.must(ReportTerminals{Host: x.h, Boot: "boot1", Why: why})
	x.patrol()
	task := x.ask()
	var got map[string]any
	if err := json.Unmarshal([]byte(x.s.Task(task).Text), &got); err != nil ||
		!strings.Contains(fmt.Sprint(got["degraded"]), "no terminal: no tmux on host h1") {
		t.Fatalf("triage gets %s (%v)", x.s.Task(task).Text, err)
	}
	x.answer(noun.DecideNudge, "")
	x.decided(noun.DecideNudge, noun.ByTriage, "no terminal: no tmux on host h1")
	if c := x.chain(); c.Prod != 0 || c.Act != "it is nudged by mail" {
		t.Errorf("typed without a terminal: %+v", c)
	}
}
