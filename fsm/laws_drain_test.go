package fsm

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/noun"
)

// drained is a host with an agent at work and an idle one, and a second host.
func drained(t *testing.T) (d *drive, h1, h2 noun.HostID, w Work) {
	d = newDrive(t)
	h1, h2 = d.host("h1", "worker"), d.host("h2", "worker")
	d.room("demo", managed("busy"), managed("idle"), managed("soon"))
	sp := d.start("demo/busy", h1)
	d.must(Join{Speaker: sp})
	id := d.must(CreateTask{Room: "demo", Role: "busy"}).Task
	d.must(Claim{Speaker: sp})
	d.must(Join{Speaker: d.start("demo/idle", h1)})
	d.must(OrderStart{Agent: 3, Inc: 1, Host: h1})
	return d, h1, h2, Work{Speaker: sp, Task: id, Attempt: 1}
}

// L9: what is idle on a drained host stops at once, what works when it has given its
// task back; all of it starts elsewhere, and nothing is charged.
func TestL9DrainedHostGivesItsAgentsAway(t *testing.T) {
	d, h1, h2, w := drained(t)
	if out := d.must(DrainHost{Host: h1, By: "ann"}); out.Count != 2 {
		t.Fatalf("%d lives are left", out.Count)
	}
	if h := d.s.Host(h1); h.Status() != noun.HostDraining || h.DrainBy != "ann" || h.State != noun.HostReady {
		t.Fatalf("%+v", h)
	}
	busy, idle, soon := d.agent("demo/busy"), d.agent("demo/idle"), d.agent("demo/soon")
	if busy.Order != noun.NoOrder || idle.Order != noun.StopOrder || soon.Proc != noun.ProcNone {
		t.Fatalf("busy %s, idle %s, soon %s", busy.Order, idle.Order, soon.Proc)
	}
	d.want(noun.Superseded, AcceptOrder{Host: h1, Boot: "boot1", Agent: 3, Inc: 1})
	d.want(noun.Conflict, OrderStart{Agent: 3, Inc: 2, Host: h1})
	d.start("demo/soon", h2)
	d.must(ReportExit{Host: h1, Agent: 2, Inc: 1, Signal: "terminated"})
	d.start("demo/idle", h2)
	for range 20 { // beats go on while it drains
		d.pass(15 * time.Second)
		d.beat(h1, BeatFence|BeatVouch, 1)
		d.beat(h2, BeatFence|BeatVouch, 2, 3)
		d.must(ProgressTask{Work: w, Note: "still at it"})
	}
	d.must(CreateTask{Room: "demo", Role: "busy"})
	d.must(CompleteTask{Work: w, Result: "done"})
	if d.agent("demo/busy").Order != noun.StopOrder {
		t.Fatal("it has given its task back and is not stopped")
	}
	d.want(noun.Stopped, Claim{Speaker: w.Speaker})
	d.must(ReportExit{Host: h1, Agent: 1, Inc: 1, Signal: "terminated"})
	for _, name := range []string{"demo/busy", "demo/idle"} {
		if a := d.agent(name); a.LastExit.Kind != noun.ExitOrdered || a.Failures != 0 {
			t.Fatalf("%s was charged: %+v", name, a.LastExit)
		}
	}
	d.start("demo/busy", h2)
	d.must(DrainHost{Host: h1, Off: true, By: "ann"})
	if d.s.Host(h1).Status() != noun.HostReady || d.happened("host.drained") != 1 || d.happened("host.undrained") != 1 {
		t.Fatalf("%+v", d.s.Host(h1))
	}
}

// At its deadline a drain stops what still works; its task goes back, uncharged.
func TestDrainEndsAtItsDeadline(t *testing.T) {
	d, h1, _, w := drained(t)
	d.must(DrainHost{Host: h1, By: "ann", Deadline: 40 * time.Second})
	d.must(ReportExit{Host: h1, Agent: 2, Inc: 1, Signal: "terminated"})
	d.pass(39 * time.Second)
	d.beat(h1, BeatFence|BeatVouch, 1)
	if d.agent("demo/busy").Order != noun.NoOrder {
		t.Fatal("stopped before the deadline")
	}
	d.s = reload(t, d.s)
	d.pass(time.Second)
	if d.agent("demo/busy").Order != noun.StopOrder {
		t.Fatal("not stopped at the deadline")
	}
	d.must(ReportExit{Host: h1, Agent: 1, Inc: 1, Signal: "terminated"})
	if x := d.s.Task(w.Task); x.State != noun.TaskPending || x.Charged != 0 || x.Kills != 0 {
		t.Fatalf("%+v", x)
	}
	d.want(noun.Invalid, DrainHost{Host: h1, Deadline: -1})
	d.want(noun.NotFound, DrainHost{Host: 99})
}

// Incident I152: a drain is durable; the host's reboot, loss and good-bye and a
// restored server do not end it. A drain by its own agentd ends with the good-bye.
func TestI152DrainOutlivesEverythingButItsEnd(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"))
	d.must(DrainHost{Host: h, By: "ann"})
	d.must(DrainHost{Host: h, By: DrainBySelf, Deadline: time.Minute})
	d.s = reload(t, d.s)
	d.must(LeaveHost{Key: "h1", Boot: "boot1"})
	d.must(RegisterHost{Key: "h1", Name: "h1", Boot: "boot2", Runners: []string{"worker"}})
	d.pass(2 * time.Minute)
	d.state(h, noun.HostLost)
	d.must(RegisterHost{Key: "h1", Name: "h1", Boot: "boot2", Runners: []string{"worker"}})
	d.term = 7
	d.must(LeaderEstablished{Server: "b"})
	if got := d.s.Host(h); !got.Drain || got.DrainBy != "ann" {
		t.Fatalf("the drain is over: %+v", got)
	}
	d.want(noun.Conflict, OrderStart{Agent: 1, Inc: 1, Host: h})
	if why := d.s.Why(1); !strings.Contains(why.Text, "h1 is drained by ann") {
		t.Fatalf("%+v", why)
	}
	d.must(DrainHost{Host: h, Off: true, By: "ann"})
	d.must(DrainHost{Host: h, Off: true, By: "ann"})
	d.must(DrainHost{Host: h, By: DrainBySelf, Deadline: time.Minute})
	d.must(LeaveHost{Key: "h1", Boot: "boot2"})
	if d.s.Host(h).Drain {
		t.Fatal("a drain by the daemon outlives its good-bye")
	}
	d.must(RegisterHost{Key: "h1", Name: "h1", Boot: "boot2", Runners: []string{"worker"}})
	d.must(DrainHost{Host: h, By: DrainBySelf, Deadline: time.Minute})
	d.must(RegisterHost{Key: "h1", Name: "h1", Boot: "boot2", Runners: []string{"worker"}}) // killed and started again
	d.must(OrderStart{Agent: 1, Inc: 1, Host: h})
}

// A life that comes back to a drained host is stopped, not started beside.
func TestDrainCatchesAdoptedLives(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"))
	d.start("demo/b", h)
	d.pass(61 * time.Second)
	d.must(DrainHost{Host: h, By: "ann"})
	if ans := d.beatAs(h, 1, 1); ans.Exceptions[0].Verdict != noun.VerdictAdopt {
		t.Fatalf("%+v", ans)
	}
	if a := d.agent("demo/b"); a.Order != noun.StopOrder || a.Inc != 1 {
		t.Fatalf("%+v", a)
	}
}

// L6, L10: a life whose fence has ended while nothing newer is ordered is told to
// join again, not that it is over: its host may come back with it.
func TestL10WordsOfALifeThatMayGoOn(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"))
	sp := d.start("demo/b", h)
	d.pass(61 * time.Second)
	if out := d.do(Join{Speaker: sp}); out.Code != noun.Rejoin {
		t.Fatalf("join of a lost life: %v %s, want rejoin", out.Code, out.Detail)
	}
	if ans := d.beatAs(h, 1, 1); ans.Exceptions[0].Verdict != noun.VerdictAdopt {
		t.Fatalf("%+v", ans)
	}
	d.must(Join{Speaker: sp})
	d.pass(61 * time.Second)
	d.must(SetAgent{Agent: "demo/b", Stop: true})
	if out := d.do(Join{Speaker: sp}); out.Code != noun.Superseded {
		t.Fatalf("join of a lost life that was stopped: %v %s, want superseded", out.Code, out.Detail)
	}
}

// A role that is declared another way is tried at once, whatever its starts failed of.
func TestApplyLiftsTheBackOffOfAStartFault(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"))
	for inc := noun.Incarnation(1); inc <= 2; inc++ {
		d.must(OrderStart{Agent: 1, Inc: inc, Host: h})
		d.must(AcceptOrder{Host: h, Boot: "boot1", Agent: 1, Inc: inc})
		d.must(ReportExit{Host: h, Agent: 1, Inc: inc, Kind: noun.ExitStartFailed, Reason: "parameter x"})
		if inc == 1 {
			d.pass(45 * time.Second)
		}
	}
	if code := d.s.Why(1).Code; code != "back_off" {
		t.Fatalf("why %s, want back_off", code)
	}
	d.room("demo", managed("b")) // as it was
	if code := d.s.Why(1).Code; code != "back_off" {
		t.Fatalf("why %s after the same declaration, want back_off", code)
	}
	mended := managed("b")
	mended.Params = []noun.KV{{Key: "x", Value: "1"}}
	d.room("demo", mended)
	if code := d.s.Why(1).Code; code != "start_due" {
		t.Fatalf("why %s after another declaration, want start_due", code)
	}
}

// confirm-dead skips the wait for the fence, and is refused while anything is heard.
func TestConfirmDead(t *testing.T) {
	d := newDrive(t)
	h1, h2 := d.host("h1", "worker"), d.host("h2", "worker")
	d.room("demo", managed("b"), managed("c"))
	sp := d.start("demo/b", h1)
	d.must(Join{Speaker: sp})
	task := d.must(CreateTask{Room: "demo", Role: "b"}).Task
	d.must(Claim{Speaker: sp})
	d.must(OrderStart{Agent: 2, Inc: 1, Host: h1})
	dead := ConfirmDead{Host: h1, By: "ann"}
	d.want(noun.NotFound, ConfirmDead{Host: 99, By: "ann"})
	d.want(noun.Conflict, dead) // ready
	d.view("a", h1, noun.HearSilent, noun.HearAlive)
	d.doubted(h1)
	d.pass(SilentFor)
	d.want(noun.Conflict, dead) // its stream is heard
	d.view("a", h1, noun.HearSilent, noun.HearSilent)
	d.beat(h1, 0)
	d.want(noun.Conflict, dead) // it has just beaten
	d.pass(SilentFor)
	if out := d.must(dead); out.Count != 1 {
		t.Fatalf("%d lives", out.Count)
	}
	d.state(h1, noun.HostLost)
	a := d.agent("demo/b")
	if a.Proc != noun.ProcLost || a.LastExit.Kind != noun.ExitFenceEnded ||
		!strings.Contains(a.LastExit.Reason, "confirmed dead by ann") {
		t.Fatalf("%+v %+v", a, a.LastExit)
	}
	if x := d.s.Task(task); x.State != noun.TaskPending || x.Charged != 0 {
		t.Fatalf("%+v", x)
	}
	if b := d.s.Brake(); b.Set != 0 || len(b.Recent) != 0 {
		t.Fatalf("a human's word counts for the brake: %+v", b)
	}
	d.start("demo/b", h2)
	d.start("demo/c", h2)
	d.must(dead) // again, by now it is lost
	if ans := d.beatAs(h1, 1, 1); ans.Exceptions[0].Verdict != noun.VerdictSuperseded {
		t.Fatalf("%+v", ans)
	}
	d.must(ConfirmDead{Host: h2, By: "ann", Force: true})
	if a := d.agent("demo/c"); a.Proc != noun.ProcLost {
		t.Fatalf("%+v", a)
	}
}

// A reboot is let in at once when a human has confirmed that the old boot is dead.
func TestL7ConfirmDeadLetsTheNewBootIn(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"))
	d.start("demo/b", h)
	again := RegisterHost{Key: "h1", Name: "h1", Boot: "boot2", Runners: []string{"worker"}}
	d.want(noun.HostInUse, again)
	d.must(ConfirmDead{Host: h, By: "ann", Force: true})
	d.must(again)
	d.must(OrderStart{Agent: 1, Inc: 2, Host: h})
}

func TestForgetHost(t *testing.T) {
	d := newDrive(t)
	h1 := d.host("h1", "worker")
	d.room("demo", managed("b"))
	d.start("demo/b", h1)
	forget := ForgetHost{Host: h1, By: "ann"}
	d.want(noun.NotFound, ForgetHost{Host: 99})
	d.want(noun.Conflict, forget) // ready
	d.must(LeaveHost{Key: "h1", Boot: "boot1"})
	d.want(noun.Conflict, forget) // may still run an agent
	d.pass(time.Minute)
	d.must(forget)
	if d.s.Host(h1) != nil || d.s.HostByKey("h1") != nil || d.agent("demo/b").Host != 0 {
		t.Fatal("something of it is left")
	}
	d.s = reload(t, d.s)
	e := d.entry()
	e.Beats = []HostBeats{{Host: h1, Boot: "boot1", Packed: PackBeats(nil, []noun.AgentID{1},
		[]noun.Incarnation{1}, []uint8{BeatFence})}}
	if ans := d.apply(e).Beats[0]; !ans.HostGone {
		t.Fatalf("%+v", ans)
	}
	h2 := d.host("h1", "worker") // it comes back: a new host
	if h2 == h1 {
		t.Fatal("its number was used again")
	}
	if ans := d.beatAs(h2, 1, 1); ans.Exceptions[0].Verdict != noun.VerdictSuperseded {
		t.Fatalf("%+v", ans)
	}
	d.start("demo/b", h2)
}

// Incident I98: a host without memory gets no starts; what it runs goes on.
func TestI98PressureHoldsStarts(t *testing.T) {
	d, h1, h2, _ := drained(t)
	p := ReportPressure{Host: h1, Boot: "boot1", Reason: "short of memory: 100 MiB are free"}
	d.want(noun.NotFound, ReportPressure{Host: 99})
	d.want(noun.Superseded, ReportPressure{Host: h1, Boot: "boot0"})
	d.must(p)
	p.Reason = "short of memory: 90 MiB are free"
	d.must(p)
	if a := d.agent("demo/soon"); a.Proc != noun.ProcNone {
		t.Fatalf("its open order is %s", a.Proc)
	}
	if a := d.agent("demo/idle"); a.Proc != noun.ProcRunning || a.Order != noun.NoOrder {
		t.Fatalf("%+v", a)
	}
	d.want(noun.Conflict, OrderStart{Agent: 3, Inc: 2, Host: h1})
	d.must(LeaveHost{Key: "h2", Boot: "boot1"})
	if why := d.s.Why(3); !strings.Contains(why.Text, "h1 takes no starts: short of memory: 90 MiB") ||
		!strings.Contains(why.Text, "h2 has left") {
		t.Fatalf("%+v", why)
	}
	p.Reason = ""
	d.must(p)
	d.must(OrderStart{Agent: 3, Inc: 2, Host: h1})
	if d.happened("host.pressure") != 1 || d.happened("host.pressure_over") != 1 {
		t.Fatal("not told once each")
	}
	_ = h2
}

// What agents have left on a host is noted as its present boot says it, and decides nothing.
func TestKeptOfAHostIsNoted(t *testing.T) {
	d := newDrive(t)
	h1 := d.host("h1", "worker")
	d.must(RaiseLevel{Level: (ReportKept{}).NeedsLevel()})
	r := ReportKept{Host: h1, Boot: "boot1", Bytes: 9 << 30, Removable: 1 << 30, Oldest: 5}
	d.want(noun.NotFound, ReportKept{Host: 99, Boot: "boot1"})
	d.want(noun.Superseded, ReportKept{Host: h1, Boot: "boot0"})
	d.must(r)
	rev := d.s.Host(h1).Rev
	d.must(r) // changes nothing
	d.s = reload(t, d.s)
	h := d.s.Host(h1)
	if want := (noun.HostKept{Bytes: 9 << 30, Removable: 1 << 30, Oldest: 5}); h.Kept != want || h.Rev != rev {
		t.Errorf("%+v at revision %d, want %+v at %d", h.Kept, h.Rev, want, rev)
	}
}
