package fsm

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// watch is one overseer that a host runs, with a triage role beside it.
type watch struct {
	*drive
	me, triage Speaker
	h          noun.HostID
}

const (
	watchName  = "r/deacon"
	triageName = "r/boot"
)

// overseerRoom starts an overseer; with triage its role names one.
func overseerRoom(t *testing.T, triage bool, change ...func(*noun.RoleSpec)) *watch {
	t.Helper()
	x := &watch{drive: newDrive(t)}
	x.jump(time.Minute)
	x.h = x.host("h1", "w")
	spec := noun.RoleSpec{Name: "deacon", Runner: "w", Overseer: []noun.OverseerSpec{{HandoffAfter: 3}}}
	if triage {
		spec.Overseer[0].Triage = "boot"
	}
	for _, f := range change {
		f(&spec)
	}
	x.room("r", spec, noun.RoleSpec{Name: "boot", Runner: "w", Start: noun.StartOnDemand})
	x.begin()
	return x
}

// begin starts a life of the overseer.
func (x *watch) begin() {
	x.t.Helper()
	x.me = x.start(watchName, x.h)
	x.must(Join{Speaker: x.me})
}

func (x *watch) chain() noun.Chain { return *x.agent(watchName).Notes().Chain }

// beating lets cluster time pass while the host vouches for all that runs.
func (x *watch) beating(span time.Duration) {
	x.t.Helper()
	for end := x.clock.Add(span); x.clock < end; {
		x.clock = min(x.clock.Add(20*time.Second), end)
		var on []noun.AgentID
		for a := range x.s.Agents("") {
			if a.Proc.Fenced() {
				on = append(on, a.ID)
			}
		}
		x.beat(x.h, BeatFence|BeatVouch|BeatLease, on...)
	}
}

func (x *watch) patrol() noun.Outcome {
	x.t.Helper()
	return x.must(ReportPatrol{Speaker: x.me, Action: "health-scan", Healthy: 3})
}

// exit ends the present life with code 1.
func (x *watch) exit(me Speaker) {
	x.t.Helper()
	x.must(ReportExit{Host: x.h, Agent: x.agent(me.Agent).ID, Inc: me.Inc, Kind: noun.ExitCrash, Code: 1})
}

// ask begins a look by a human's word and tells whether triage is asked.
func (x *watch) ask() noun.TaskID {
	x.t.Helper()
	return x.must(LookAtOverseer{Agent: watchName, By: "ann"}).Task
}

// take starts a triage agent that takes the look that is open.
func (x *watch) take() Work {
	x.t.Helper()
	x.triage = x.start(triageName, x.h)
	x.must(Join{Speaker: x.triage})
	out := x.must(Claim{Speaker: x.triage})
	if out.Task != x.chain().Task || out.Task == 0 {
		x.t.Fatalf("triage got task %d, the marker is %d", out.Task, x.chain().Task)
	}
	w := Work{Speaker: x.triage, Task: out.Task, Attempt: out.Attempt}
	x.must(StartTask{Work: w})
	return w
}

// answer has triage answer, which the door has read as d, and end.
func (x *watch) answer(d noun.Decision, why string) {
	x.t.Helper()
	x.ends(AnswerLook{CompleteTask: CompleteTask{Work: x.take(), Result: "{}"}, Decision: d, Reason: why})
}

// ends has triage end its look with a word, and then itself.
func (x *watch) ends(c Command) {
	x.t.Helper()
	x.must(c)
	x.must(ReportExit{Host: x.h, Agent: x.agent(triageName).ID, Inc: x.triage.Inc, Kind: noun.ExitClean})
}

// lastEvent is the text of the last event of a kind about the overseer.
func (x *watch) lastEvent(kind string) (text string) {
	for e := range x.s.Events(0) {
		if e.Kind == kind && e.Agent == watchName {
			text = e.Text
		}
	}
	return text
}

// decided checks the last decision and its event.
func (x *watch) decided(d noun.Decision, by noun.Decider, words ...string) {
	x.t.Helper()
	c := x.chain()
	if c.Decision != d || c.By != by || c.Task != 0 {
		x.t.Fatalf("decided %s by %s with marker %d, want %s by %s: %s; %s; %s", c.Decision, c.By, c.Task,
			d, by, c.Facts, c.Act, c.Degraded)
	}
	text := x.lastEvent("agent.triage")
	for _, w := range append(words, d.String()+" by "+by.String(), c.Facts, c.Act) {
		if !strings.Contains(text, w) {
			x.t.Errorf("the event says %q, want %q in it", text, w)
		}
	}
}

// Every cell of the table of decisions, with its borders.
func TestOverseerDecisionMatrix(t *testing.T) {
	const fresh, stale = 5 * time.Minute, 15 * time.Minute
	tick := time.Nanosecond
	for _, tt := range []struct {
		name      string
		dead      bool
		age       time.Duration
		mail      int
		freshness string
		want      noun.Decision
	}{
		{"session dead", true, 0, 0, "fresh", noun.DecideStart},
		{"session dead, mail", true, time.Hour, 3, "very_stale", noun.DecideStart},
		{"fresh", false, 0, 0, "fresh", noun.DecideNothing},
		{"fresh, mail", false, fresh - tick, 9, "fresh", noun.DecideNothing},
		{"5:00", false, fresh, 0, "stale", noun.DecideNothing},
		{"5:00, mail", false, fresh, 1, "stale", noun.DecideNudge},
		{"10:00", false, 10 * time.Minute, 0, "stale", noun.DecideNothing},
		{"10:00, mail", false, 10 * time.Minute, 1, "stale", noun.DecideNudge},
		{"15:00", false, stale, 0, "stale", noun.DecideNothing},
		{"15:00, mail", false, stale, 1, "stale", noun.DecideNudge},
		{"above 15:00", false, stale + tick, 0, "very_stale", noun.DecideWake},
		{"above 15:00, mail", false, stale + tick, 1, "very_stale", noun.DecideWake},
	} {
		f := judge.OverseerFacts{Dead: tt.dead, Age: tt.age, Mail: tt.mail, Fresh: fresh, Stale: stale}
		if got := judge.Decide(&f); got != tt.want || f.Freshness() != tt.freshness {
			t.Errorf("%s: %s, %s; want %s, %s", tt.name, f.Freshness(), got, tt.freshness, tt.want)
		}
	}
	d := noun.DefaultSettings().Chain
	if d != (noun.ChainSettings{Enabled: true, Interval: 3 * time.Minute, Fresh: fresh, Stale: stale,
		TriageLimit: 5 * time.Minute}) {
		t.Errorf("the numbers of the seed are the defaults, not %+v", d)
	}
}

// The same in a cluster's state: looks come every 3 min and on events, each with an event,
// and what follows is done in the same record.
func TestOverseerLooksWithoutTriage(t *testing.T) {
	x := overseerRoom(t, false)
	x.patrol()
	x.beating(3*time.Minute + time.Second) // Daemon Heartbeat (3 minutes)
	x.decided(noun.DecideNothing, noun.ByRule, "its last patrol was", "0 mails wait")
	if c := x.chain(); c.DecidedAt.Sub(c.Since) > 3*time.Minute+20*time.Second {
		t.Errorf("the first look came %s after the overseer was declared", c.DecidedAt.Sub(c.Since))
	}
	x.must(SendMail{From: "ann", To: watchName, Subject: "s", Body: "secret"})
	x.beating(time.Minute)
	x.decided(noun.DecideNothing, noun.ByRule)
	x.beating(time.Minute + 20*time.Second) // the patrol is 5 min old now: an event, not a turn
	x.decided(noun.DecideNudge, noun.ByRule, "1 mail waits", "nudged by mail and in its terminal")
	if c := x.chain(); c.Prod == 0 || x.s.Mail(c.Mail).Kind != "check-in" ||
		strings.Contains(x.lastEvent("agent.triage"), "secret") {
		t.Errorf("nudged with %+v", c)
	}
	nudges := x.events("agent.triage")
	x.beating(9 * time.Minute)
	if n := x.events("agent.triage") - nudges; n != 3 {
		t.Errorf("%d looks in 9 min, want one each 3 min: its own mail asks for none", n)
	}
	x.beating(time.Minute)
	x.decided(noun.DecideWake, noun.ByRule, "its last patrol was 15m", "woken by mail and in its terminal")
	l := x.agent(watchName).Notes().Ladder
	if l == nil || l.Rung != noun.RungWake || x.s.Mail(l.Inquiry).Kind != "wake" ||
		x.s.Verdict(x.agent(watchName).ID, true).Kind != judge.AgentStalled {
		t.Fatalf("woken, and the ladder is at %+v", l)
	}
	x.beating(3 * time.Minute)
	x.decided(noun.DecideWake, noun.ByRule, "the ladder for stuck agents is at it, rung wake") // never both
	x.patrol()
	if v := x.s.Verdict(x.agent(watchName).ID, true); v.Kind != judge.AgentIdle || !x.s.Mail(l.Inquiry).State.Closed() {
		t.Errorf("after a patrol it is %s, and is still asked: %s", v.Kind, x.s.Mail(l.Inquiry).State)
	}
	if c := x.s.Climb(x.agent(watchName).ID); c.Rung != noun.NoRung || c.Next != noun.NoRung {
		t.Errorf("after a patrol the ladder goes on: %+v", c)
	}
	x.exit(x.me)
	x.clock++
	x.apply(x.entry())
	x.decided(noun.DecideStart, noun.ByRule, "session is dead", "a start is due")
}

// A hung overseer that does not answer its WAKE is interrupted and restarted by the ladder,
// which begins where the chain has ended, and the next life is looked at anew.
func TestWokenOverseerClimbsTheLadder(t *testing.T) {
	x := overseerRoom(t, false)
	x.patrol()
	x.beating(15*time.Minute + time.Second)
	x.decided(noun.DecideWake, noun.ByRule)
	id := x.agent(watchName).ID
	set := x.s.Settings().Ladder
	for _, tt := range []struct {
		rung noun.Rung
		wait time.Duration
	}{{noun.RungInterrupt, set.Wake}, {noun.RungRestart, set.Interrupt}} {
		c := x.s.Climb(id)
		if c.Next != tt.rung || c.Due != c.At.Add(tt.wait) {
			t.Fatalf("next is %s at %d (%s), want %s at %d", c.Next, c.Due, c.Why, tt.rung, c.At.Add(tt.wait))
		}
		x.beating(c.Due.Sub(x.clock))
		x.must(StepLadder{Agent: id, Inc: x.me.Inc, Rung: tt.rung, Seen: c.Seen})
	}
	if a := x.agent(watchName); a.Order != noun.StopOrder || !a.Overdue {
		t.Fatalf("not restarted: %+v", x.s.Why(id))
	}
	x.must(ReportExit{Host: x.h, Agent: id, Inc: x.me.Inc, Signal: "killed"})
	x.beating(time.Minute)
	x.begin()
	if v := x.s.Verdict(id, true); v.Kind != judge.AgentIdle {
		t.Errorf("the next life is %s", v.Kind)
	}
	x.beating(16 * time.Minute) // it hangs too, and has never patrolled
	x.decided(noun.DecideWake, noun.ByRule, "has reported no patrol", "woken")
	if l := x.agent(watchName).Notes().Ladder; l.Inc != x.me.Inc || l.Rung != noun.RungWake || l.Restarts != 1 {
		t.Errorf("the second episode: %+v", l)
	}
}

// What an overseer has declared excuses its silence, as that of any agent.
func TestDeclaredOverseerIsNotWoken(t *testing.T) {
	x := overseerRoom(t, false)
	x.patrol()
	x.must(Declare{Speaker: x.me, Status: noun.StatusBusy, For: 40 * time.Minute})
	x.beating(54 * time.Minute)
	x.decided(noun.DecideNothing, noun.ByRule)
	x.beating(2 * time.Minute)
	x.decided(noun.DecideWake, noun.ByRule)
}

// Law L9: a START never overrides a human's word, a pause or a budget, and says so; what a
// human has stopped is not looked at by itself.
func TestStartOverridesNoHuman(t *testing.T) {
	x := overseerRoom(t, true)
	x.must(SetAgent{Agent: watchName, Stop: true, By: "ann"})
	x.must(ReportExit{Host: x.h, Agent: x.agent(watchName).ID, Inc: x.me.Inc})
	x.beating(time.Hour)
	if n := x.events("agent.triage") + x.events("agent.look"); n != 0 {
		t.Errorf("%d looks at an overseer that a human has stopped", n)
	}
	if _, off := x.s.NextLook(x.agent(watchName)); !strings.Contains(off, "ann") {
		t.Errorf("nobody looks since %q", off)
	}
	x.ask()
	x.answer(noun.DecideStart, "it is dead")
	x.decided(noun.DecideStart, noun.ByTriage, "its start waits: stopped by ann")
	if wanted := x.s.Wants(x.agent(watchName)); wanted {
		t.Error("law L9: a look has started what a human has stopped")
	}
	x.must(SetAgent{Agent: watchName, By: "ann"})
	x.must(SetPause{Scope: "r", Pause: true, By: "bob"})
	x.ask()
	x.decided(noun.DecideStart, noun.ByRule, "bob", "degraded: role r/boot is stopped or paused")
}

// Incident I109: an overseer that is dead at three looks in a row calls a human, once.
func TestI109DeadOverseerCallsAHuman(t *testing.T) {
	x := overseerRoom(t, false)
	x.must(DrainHost{Host: x.h, By: "ann"})
	x.must(ReportExit{Host: x.h, Agent: x.agent(watchName).ID, Inc: x.me.Inc, Kind: noun.ExitCrash, Code: 1})
	for looks := x.events("agent.triage"); looks < noun.MaxStarts; looks = x.events("agent.triage") {
		if n := x.events("agent.needs_human"); n != 0 || x.clock > noun.Time(time.Hour) {
			t.Fatalf("%d calls after %d looks and %s", n, looks, time.Duration(x.clock))
		}
		x.beating(20 * time.Second)
	}
	if n := x.events("agent.needs_human"); n != 1 {
		t.Fatalf("%d calls after three looks, want 1", n)
	}
	x.beating(time.Hour)
	n := 0
	for e := range x.s.Escalations(0) {
		if n++; e.Kind != noun.EscOverseerDown || !x.s.Lasts(e) {
			t.Errorf("%s lasts: %v", e.Kind, x.s.Lasts(e))
		}
	}
	if n != 1 || x.events("agent.needs_human") != 1 {
		t.Errorf("%d escalations and %d calls in an hour, want 1 and 1", n, x.events("agent.needs_human"))
	}
}
