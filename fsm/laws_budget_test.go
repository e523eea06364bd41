package fsm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// wait lets time pass until the agent may be started, and tells how long it took.
func (d *drive) wait(name string, host noun.HostID) time.Duration {
	d.t.Helper()
	began := d.clock
	for d.agent(name).NotBefore > d.clock {
		d.clock = min(d.clock.Add(15*time.Second), d.agent(name).NotBefore)
		d.beat(host, 0)
	}
	return d.clock.Sub(began)
}

// events counts the events of a kind.
func (d *drive) events(kind string) (n int) {
	for e := range d.s.Events(0) {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// fail has the agent's next start fail on its host.
func (d *drive) failStart(name string, h noun.HostID, reason string) {
	d.t.Helper()
	a := d.agent(name)
	inc := d.s.NextInc(a)
	d.must(OrderStart{Agent: a.ID, Inc: inc, Host: h})
	d.must(AcceptOrder{Host: h, Boot: "boot1", Agent: a.ID, Inc: inc})
	d.must(ReportExit{Host: h, Agent: a.ID, Inc: inc, Kind: noun.ExitStartFailed, Reason: reason})
}

// A start that fails because of its host shows why and is charged once, however
// often it is tried; the tries are spread.
func TestL11StartFaultIsChargedOnce(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"))
	var waits []time.Duration
	for range 7 {
		d.failStart("demo/b", h, "program /opt/x: no such file")
		if a := d.agent("demo/b"); a.Failures != 1 || len(a.Starts) != 1 || a.Parked {
			t.Fatalf("charged %d times, %d starts count, parked=%v", a.Failures, len(a.Starts), a.Parked)
		}
		if w := d.s.Why(1); !strings.Contains(w.Text, "no such file") {
			t.Fatalf("%+v", w)
		}
		waits = append(waits, d.wait("demo/b", h))
	}
	for i, least := range []time.Duration{0, 30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute,
		5 * time.Minute, 5 * time.Minute} {
		if waits[i] < least || waits[i] > least+least/4 {
			t.Fatalf("pauses %v", waits)
		}
	}
	sp := d.start("demo/b", h)
	d.must(Join{Speaker: sp})
	if n := d.agent("demo/b").Notes(); n != (noun.Notes{}) {
		t.Fatalf("a start that succeeded left %+v", n)
	}
	d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc, Code: 1})
	if a := d.agent("demo/b"); a.Failures != 2 {
		t.Fatalf("%d failures", a.Failures)
	}
	d.wait("demo/b", h)
	d.failStart("demo/b", h, "") // again one, with the host's silence as the reason
	if a := d.agent("demo/b"); a.Failures != 3 || !strings.Contains(d.s.Why(1).Text, "no reason") {
		t.Fatalf("%d failures, %+v", a.Failures, d.s.Why(1))
	}
}

// A start for which its host was too slow is nobody's failure. It is tried again at once, then as starts that fail
// are, and a human is told when it goes on.
func TestL11SlowStartsCostNothing(t *testing.T) {
	d := newDrive(t)
	d.must(RaiseLevel{Level: core.LevelRetry})
	h := d.host("h1", "worker")
	d.room("demo", managed("b"))
	for n, least := range []time.Duration{0, 30 * time.Second, time.Minute, 2 * time.Minute} {
		inc := d.s.NextInc(d.agent("demo/b"))
		d.must(OrderStart{Agent: 1, Inc: inc, Host: h})
		d.must(AcceptOrder{Host: h, Boot: "boot1", Agent: 1, Inc: inc})
		d.must(ReportExit{Host: h, Agent: 1, Inc: inc, Kind: noun.ExitOrdered, Reason: "the fence was not confirmed"})
		if a := d.agent("demo/b"); a.Failures != 0 || len(a.Starts) != 0 || a.Parked || a.LastExit.Kind != noun.ExitOrdered {
			t.Fatalf("start %d: %+v", n, a)
		}
		if got := escalated(d.s, noun.EscBrokenStart, "demo/b"); got != (n+1 >= noun.BrokenStarts) {
			t.Errorf("start %d: a human is called: %v", n, got)
		}
		if w := d.wait("demo/b", h); w < least || w > least+least/4 {
			t.Errorf("start %d: the next one waits %s", n, w)
		}
	}
	d.must(Join{Speaker: d.start("demo/b", h)})
	if n := d.agent("demo/b").Notes(); n.Faults != 0 {
		t.Errorf("a start that succeeded left %+v", n)
	}

	// The trial of a parked agent that is too slow leaves the breaker open, for a pause.
	d.must(PutSettings{Values: []noun.KV{{Key: "breaker_starts", Value: "1"}}})
	d.must(ReportExit{Host: h, Agent: 1, Inc: d.agent("demo/b").Inc, Code: 1})
	d.wait("demo/b", h)
	inc := d.s.NextInc(d.agent("demo/b"))
	d.must(OrderStart{Agent: 1, Inc: inc, Host: h})
	d.must(AcceptOrder{Host: h, Boot: "boot1", Agent: 1, Inc: inc})
	d.must(ReportExit{Host: h, Agent: 1, Inc: inc, Kind: noun.ExitOrdered})
	if a := d.agent("demo/b"); !a.Parked || d.wait("demo/b", h) < 30*time.Second {
		t.Errorf("%+v", a)
	}
}

// A shell that does not find a program (127), or may not execute it (126), before its agent
// has had a task is a fault of the start: charged once, shown with the host's words, and
// told to a human. With a task in hand it is a crash, which quarantine counts.
func TestN03MissingProgramIsAFaultOfTheStart(t *testing.T) {
	for _, code := range []int32{126, 127} {
		d := newDrive(t)
		h := d.host("h1", "worker")
		d.room("demo", managed("b"))
		die := func(join bool) {
			t.Helper()
			a := d.agent("demo/b")
			inc := d.s.NextInc(a)
			d.must(OrderStart{Agent: a.ID, Inc: inc, Host: h})
			d.must(AcceptOrder{Host: h, Boot: "boot1", Agent: a.ID, Inc: inc})
			d.must(ReportStarted{Host: h, Agent: a.ID, Inc: inc, PID: 7})
			if join {
				d.must(Join{Speaker: Speaker{Agent: a.Name, Inc: inc}})
			}
			d.must(ReportExit{Host: h, Agent: a.ID, Inc: inc, Code: code, Reason: "vigil was not found"})
		}
		for n := range 7 {
			die(n == 6)
			if a := d.agent("demo/b"); a.LastExit.Kind != noun.ExitStartFailed || a.Parked || n < 6 && a.Failures != 1 {
				t.Fatalf("death %d: %+v, parked %v after %d failures", n, a.LastExit, a.Parked, a.Failures)
			}
			if w := d.s.Why(1); !strings.Contains(w.Text, "its last start failed: vigil was not found") {
				t.Fatalf("death %d: %+v", n, w)
			}
			if faults := d.agent("demo/b").Notes().Faults; n == 3 && faults <= noun.BrokenStarts {
				t.Fatalf("nobody is told: %d faults count", faults)
			}
			d.wait("demo/b", h)
		}
		sp := d.start("demo/b", h)
		d.must(Join{Speaker: sp})
		task := d.must(CreateTask{Room: "demo", Role: "b", Title: "t"}).Task
		d.must(Claim{Speaker: sp})
		d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc, Code: code})
		if a, x := d.agent("demo/b"), d.s.Task(task); a.LastExit.Kind != noun.ExitCrash || x.Kills != 1 {
			t.Fatalf("with a task: %+v, %+v", a.LastExit, x)
		}
	}
}

// I89: a trial that does some work and lives for long enough closes the breaker and
// clears the counters, without having to end first. One that does no work proves
// nothing. While it runs nothing is parked any more.
func TestI89HealthyTrialClosesTheBreaker(t *testing.T) {
	for _, works := range []bool{true, false} {
		d := newDrive(t)
		h := d.host("h1", "worker")
		d.room("demo", managed("b"))
		for range 5 {
			d.wait("demo/b", h)
			d.must(ReportExit{Host: h, Agent: 1, Inc: d.start("demo/b", h).Inc, Code: 1})
		}
		if n := d.s.Counts().Parked; n != 1 {
			t.Fatalf("%d agents are parked", n)
		}
		d.wait("demo/b", h)
		sp := d.start("demo/b", h)
		d.must(Join{Speaker: sp})
		if works {
			d.must(Join{Speaker: sp})
			task := d.must(CreateTask{Room: "demo", Role: "b"}).Task
			claim := d.must(Claim{Speaker: sp})
			d.must(CompleteTask{Work: Work{Speaker: sp, Task: task, Attempt: claim.Attempt}})
			d.must(Join{Speaker: sp})
		}
		d.s = reload(t, d.s)
		if a, n := d.agent("demo/b"), d.s.Counts().Parked; !a.Parked || a.Waits() || n != 0 ||
			d.events("agent.recovered") != 0 {
			t.Fatalf("parked=%v, waits=%v, %d agents are parked", a.Parked, a.Waits(), n)
		}
		for range 41 {
			d.clock = d.clock.Add(15 * time.Second)
			d.beat(h, BeatLease|BeatFence, 1)
		}
		a := d.agent("demo/b")
		if closed := a.Failures == 0 && !a.Parked && d.events("agent.recovered") == 1; closed != works {
			t.Fatalf("works=%v: %d failures, parked=%v, %d events", works, a.Failures, a.Parked,
				d.events("agent.recovered"))
		}
	}
}

// I89: a trial that is always busy is healthy too: one that claims its next task as it ends the last one has no
// moment without a task, and its breaker closes with the first that it completes after so long.
func TestI89ABusyTrialClosesTheBreaker(t *testing.T) {
	d := newDrive(t)
	d.must(RaiseLevel{Level: core.LevelRetry})
	h := d.host("h1", "worker")
	d.room("demo", managed("b"))
	for range 5 {
		d.wait("demo/b", h)
		d.must(ReportExit{Host: h, Agent: 1, Inc: d.start("demo/b", h).Inc, Code: 1})
	}
	d.wait("demo/b", h)
	sp, began := d.start("demo/b", h), d.clock
	d.must(Join{Speaker: sp})
	task := d.must(CreateTask{Room: "demo", Role: "b"}).Task
	d.must(Claim{Speaker: sp})
	for range 13 {
		for range 4 {
			d.clock = d.clock.Add(15 * time.Second)
			d.beat(h, BeatLease|BeatVouch|BeatFence, 1)
		}
		next := d.must(CreateTask{Room: "demo", Role: "b"}).Task
		d.must(CompleteTask{Work: Work{Speaker: sp, Task: task, Attempt: 1}, Then: Then{Next: true}})
		task = next
		a, healthy := d.agent("demo/b"), d.clock.Sub(began) >= d.s.Settings().HealthyAfter
		if a.Task != next || a.Parked == healthy || (a.Failures == 0) != healthy {
			t.Fatalf("after %s: it holds task %d, parked=%v, %d failures", d.clock.Sub(began), a.Task, a.Parked,
				a.Failures)
		}
	}
	if n := d.events("agent.recovered"); n != 1 {
		t.Errorf("it has recovered %d times", n)
	}
	for e := range d.s.Escalations(0) {
		if e.Kind != noun.EscBreaker || d.s.Lasts(e) {
			t.Errorf("escalation %s lasts: %v", e.Kind, d.s.Lasts(e))
		}
	}
}

// I87, I88, I89, I91: the breaker opens after so many failures, holds whatever asks
// for a start, says until when, allows exactly one trial, and closes after a healthy
// life; a human may end it.
func TestI89BreakerIsHalfOpenOnce(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"))
	crash := func() {
		sp := d.start("demo/b", h)
		d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc, Code: 1})
	}
	for range 5 {
		d.wait("demo/b", h)
		crash()
	}
	if d.events("agent.parked") != 1 {
		t.Fatalf("%d alerts", d.events("agent.parked"))
	}
	for _, c := range []Command{CreateTask{Room: "demo", Role: "b"},
		ApplyRoom{Room: "demo", Roles: []noun.RoleSpec{managed("b")}},
		LeaderEstablished{Server: "b"},
		RegisterHost{Key: "h2", Name: "h2", Boot: "boot1", Runners: []string{"worker"}}} {
		d.must(c)
		d.s = reload(t, d.s)
		d.want(noun.Conflict, OrderStart{Agent: 1, Inc: d.s.NextInc(d.agent("demo/b")), Host: h})
		if w := d.s.Why(1); w.Code != "parked" || w.Left != 30*time.Minute {
			t.Fatalf("after %T: %+v", c, w)
		}
	}
	for round := range 3 {
		if took := d.wait("demo/b", h); took != 30*time.Minute {
			t.Fatalf("trial %d after %s", round, took)
		}
		crash()
		if d.s.Why(1).Code != "parked" {
			t.Fatalf("a second start follows trial %d: %+v", round, d.s.Why(1))
		}
	}
	d.must(UnparkAgent{Agent: "demo/b", By: "ann"})
	if a := d.agent("demo/b"); a.Failures != 0 || d.s.Why(1).Code != "start_due" || d.events("agent.unparked") != 1 {
		t.Fatalf("%+v", d.s.Why(1))
	}
	for range 5 {
		d.wait("demo/b", h)
		crash()
	}
	d.wait("demo/b", h)
	sp := d.start("demo/b", h) // the trial lives and works
	d.must(Join{Speaker: sp})
	id := d.must(Claim{Speaker: sp}).Task
	d.must(CompleteTask{Work: Work{Speaker: sp, Task: id, Attempt: 1}, Result: ""})
	for range 41 {
		d.clock = d.clock.Add(15 * time.Second)
		d.beat(h, BeatFence, 1)
		d.must(Join{Speaker: sp})
	}
	d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc, Code: 1})
	if a := d.agent("demo/b"); a.Failures != 1 || a.Parked || d.s.Why(1).Code != "start_due" {
		t.Fatalf("%d failures after a healthy life, %+v", a.Failures, d.s.Why(1))
	}
}

// A trial that a fault of the host prevents is no trial: the breaker stays open.
func TestL11TrialThatCannotStart(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"))
	for range 5 {
		d.wait("demo/b", h)
		sp := d.start("demo/b", h)
		d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc, Code: 1})
	}
	for range 3 {
		d.wait("demo/b", h)
		d.failStart("demo/b", h, "disk full")
		if w := d.s.Why(1); w.Code != "parked" || w.Left != 30*time.Minute {
			t.Fatalf("%+v", w)
		}
	}
	if a := d.agent("demo/b"); a.Failures != 6 {
		t.Fatalf("%d failures", a.Failures)
	}
}

// I94: agents that hit a usage limit are parked until it ends, at no charge, and
// their tasks go back at no charge; then each is started once, not all at one instant.
func TestI94UsageLimitParks(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b", func(r *noun.RoleSpec) { r.Replicas, r.AttemptLimit, r.KillLimit = 4, 1, 1 }))
	var tasks []noun.TaskID
	for i := range 4 {
		name := noun.AgentName("demo", "b", uint32(i+1))
		sp := d.start(name, h)
		d.must(Join{Speaker: sp})
		d.must(CreateTask{Room: "demo", Role: "b"})
		tasks = append(tasks, d.must(Claim{Speaker: sp}).Task)
	}
	for i := range 4 {
		a := d.s.Agent(noun.AgentID(i + 1))
		x := ReportExit{Host: h, Agent: a.ID, Inc: a.Inc, Code: 1, Kind: noun.ExitUsageLimit, Reason: "resets at 15:00"}
		if i != 0 {
			x.RetryAfter = time.Hour
		}
		d.must(x)
	}
	starts := map[noun.Time]bool{}
	for i, id := range tasks {
		a, x := d.s.Agent(noun.AgentID(i+1)), d.s.Task(id)
		if x.State != noun.TaskPending || x.Charged != 0 || x.Kills != 0 || a.Failures != 0 || len(a.Starts) != 0 {
			t.Fatalf("charged: %+v, %+v", a, x)
		}
		pause := time.Hour
		if i == 0 {
			pause = 15 * time.Minute // usage_pause
		}
		w := d.s.Why(a.ID)
		if w.Code != "parked" || !strings.Contains(w.Text, "resets at 15:00") || w.Left < pause ||
			w.Left > pause+time.Minute {
			t.Fatalf("%+v", w)
		}
		starts[a.NotBefore] = true
	}
	if len(starts) != 4 {
		t.Fatal("several are started at one instant")
	}
	d.wait("demo/b", h)
	sp := d.start("demo/b", h) // the limit has ended: no trial of a breaker
	d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc, Code: 1})
	if a := d.agent("demo/b"); a.Parked || a.Failures != 1 || a.Notes().ParkedWhy != "" {
		t.Fatalf("%+v", a)
	}
	d.must(UnparkAgent{Agent: "demo/b.2", By: "ann"})
	if d.s.Why(2).Code != "start_due" {
		t.Fatalf("%+v", d.s.Why(2))
	}
}

// I95: a limit that never clears: the gaps grow to a day, over restarts of all
// servers too; work done in between begins anew.
func TestI95UsageLimitThatNeverClears(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"))
	limit := func() time.Duration {
		sp := d.start("demo/b", h)
		d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc, Code: 1, Kind: noun.ExitUsageLimit,
			RetryAfter: 15 * time.Minute})
		d.s = reload(t, d.s)
		return d.wait("demo/b", h)
	}
	want, starts := 15*time.Minute, 0
	for period := time.Duration(0); period < 100*15*time.Minute; starts++ {
		got := limit()
		if got < want || got > want+time.Minute {
			t.Fatalf("start %d: paused for %s, want %s", starts, got, want)
		}
		period += got
		want = min(2*want, 24*time.Hour)
	}
	if starts > 8 {
		t.Fatalf("%d starts in 100 periods", starts)
	}
	sp := d.start("demo/b", h)
	d.must(Join{Speaker: sp})
	id := d.must(CreateTask{Room: "demo", Role: "b"}).Task
	d.must(Claim{Speaker: sp})
	d.must(CompleteTask{Work: Work{Speaker: sp, Task: id, Attempt: 1}, Result: ""})
	d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc, Kind: noun.ExitUsageLimit, RetryAfter: 15 * time.Minute})
	if got := d.wait("demo/b", h); got > 16*time.Minute {
		t.Fatalf("paused for %s after work was done", got)
	}
	sp = d.start("demo/b", h)
	d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc, Kind: noun.ExitUsageLimit, RetryAfter: 90 * 24 * time.Hour})
	if got := d.wait("demo/b", h); got < 24*time.Hour || got > 25*time.Hour {
		t.Fatalf("paused for %s: at most a day is believed", got)
	}
	d.must(UnparkAgent{Agent: "demo/b"})
	if got := limit(); got > 16*time.Minute {
		t.Fatalf("paused for %s after a human's word", got)
	}
}

// I103: whoever speaks under a wrong identity is refused, and that is seen: once a
// minute, with what was presented, without the token.
func TestI103WrongIdentityIsRefusedAndShown(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b", func(r *noun.RoleSpec) { r.Replicas = 2 }))
	var own [3]Speaker
	for i := noun.AgentID(1); i <= 2; i++ {
		token := []byte(fmt.Sprint("hash of token ", i))
		d.must(OrderStart{Agent: i, Inc: 1, Host: h})
		d.must(AcceptOrder{Host: h, Boot: "boot1", Agent: i, Inc: 1, TokenHash: token})
		d.must(ReportStarted{Host: h, Agent: i, Inc: 1, PID: uint32(i)})
		own[i] = Speaker{Agent: d.s.Agent(i).Name, Inc: 1, TokenHash: token}
		d.must(Join{Speaker: own[i]})
	}
	other := own[2]
	other.TokenHash = own[1].TokenHash // the right token, of another agent
	until := d.s.Lease(2).Until
	d.clock = d.clock.Add(10 * time.Second)
	for range 5 {
		for _, c := range []Command{Join{Speaker: other}, Leave{Speaker: other}, Claim{Speaker: other},
			SetResume{Speaker: other, Resume: "x"}} {
			d.want(noun.Denied, c)
		}
		d.want(noun.Invalid, Join{Speaker: Speaker{Agent: own[2].Agent, Inc: 9, TokenHash: own[2].TokenHash}})
	}
	if d.s.Lease(2).Until != until || d.s.Agent(2).Part != noun.PartWaiting {
		t.Fatal("it has changed something")
	}
	if n := d.events("agent.identity_refused"); n != 1 {
		t.Fatalf("%d events in one minute", n)
	}
	for e := range d.s.Events(0) {
		if e.Kind == "agent.identity_refused" &&
			(e.Agent != "demo/b.2" || !strings.Contains(e.Text, "incarnation 1") ||
				strings.Contains(e.Text, "hash of")) {
			t.Fatalf("%+v", e)
		}
	}
	d.clock = d.clock.Add(30 * time.Second)
	if ans := d.beat(0, BeatLease, 1); ans.Renewed != 1 {
		t.Fatalf("its own beat was answered %+v", ans)
	}
	d.beat(h, BeatFence, 1, 2) // both processes run, under their own shims
	d.clock = d.clock.Add(30*time.Second - 1)
	for range 5 { // a heartbeat under another's identity, as the server that took it in has marked it
		d.clock++
		ans := d.beat(0, BeatLease|BeatStranger, 2)
		if ans.Renewed != 0 || len(ans.Exceptions) != 1 || ans.Exceptions[0].Verdict != noun.VerdictDenied {
			t.Fatalf("a beat with another's token was answered %+v", ans)
		}
	}
	if n := d.events("agent.identity_refused"); n != 2 {
		t.Fatalf("%d events after a minute", n)
	}
	if a := d.s.Agent(2); a.Part != noun.PartDisconnected || d.s.Agent(1).Part != noun.PartWaiting {
		t.Fatalf("B was kept alive by A's heartbeats: %s", a.Part)
	}
}

// A task that is canceled takes the supervisor's word along. It comes back with the
// next claim; an agent that never comes back is replaced at the start limit.
func TestL3CanceledHolder(t *testing.T) {
	d, h, w := fleet(t)
	d.must(StartTask{Work: w})
	d.must(CancelTask{Task: w.Task, By: "ann"})
	id := d.must(CreateTask{Room: "demo", Role: "builder"}).Task
	d.must(Join{Speaker: w.Speaker})
	d.must(Claim{Speaker: w.Speaker})
	for range 20 {
		d.clock = d.clock.Add(15 * time.Second)
		d.beat(h, BeatFence|BeatVouch, 1)
		if d.clock < noun.Time(time.Minute) {
			d.must(StartTask{Work: Work{Speaker: w.Speaker, Task: id, Attempt: 1}})
		}
	}
	if a := d.agent("demo/builder"); a.Task != id || a.Order != noun.NoOrder {
		t.Fatalf("nobody vouches for the next task: %+v", a)
	}
	d.must(CancelTask{Task: id, By: "ann"})
	from := d.clock
	for d.agent("demo/builder").Order == noun.NoOrder {
		d.clock = d.clock.Add(15 * time.Second)
		d.beat(h, BeatFence|BeatVouch, 1)
		if d.clock.Sub(from) > 4*time.Minute { // TTL and start limit
			t.Fatalf("not replaced: %+v", d.s.Why(1))
		}
	}
}

// L9: a human who decides against a QUARANTINED task ends it; below the feature level that brought it nothing changes.
func TestCancelOfAQuarantinedTask(t *testing.T) {
	d := newDrive(t)
	sp, w := d.at(noun.TaskQuarantined)
	if d.s.Level() < core.LevelRetry {
		d.want(noun.Conflict, CancelTask{Task: w.Task, By: "ann"})
		d.must(RaiseLevel{Level: core.LevelRetry})
	}
	d.want(noun.Conflict, CancelTask{Task: w.Task, IfRev: 1})
	d.must(CancelTask{Task: w.Task, By: "ann", Reason: "enough"})
	if x := d.s.Task(w.Task); x.State != noun.TaskCanceled || x.Result != "enough" {
		t.Fatalf("%+v", x)
	}
	d.want(noun.Conflict, UnquarantineTask{Task: w.Task, By: "ann"})
	d.want(noun.NoTask, Claim{Speaker: sp})
	d.must(RetryTask{Task: w.Task, By: "ann"})
	d.must(Claim{Speaker: sp})
}

func TestUnquarantineForgivesTheDeaths(t *testing.T) {
	d := newDrive(t)
	sp, w := d.at(noun.TaskQuarantined)
	d.want(noun.NotFound, UnquarantineTask{Task: 99})
	d.want(noun.Conflict, UnquarantineTask{Task: w.Task, IfRev: 1})
	d.must(UnquarantineTask{Task: w.Task, By: "ann"})
	if x := d.s.Task(w.Task); x.State != noun.TaskPending || x.Kills != 0 || x.Charged != 0 {
		t.Fatalf("%+v", x)
	}
	d.want(noun.Conflict, UnquarantineTask{Task: w.Task, By: "ann"})
	d.must(Claim{Speaker: sp})
}
