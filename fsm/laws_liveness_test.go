package fsm

import (
	"slices"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// view reports one server's word about a host.
func (d *drive) view(server string, h noun.HostID, gossip, stream noun.Hearing) {
	d.t.Helper()
	if _, member := d.s.Member(server); !member {
		d.must(PutServer{ID: server})
	}
	d.must(ReportViews{Server: server, Views: []noun.HostView{{Host: h, Gossip: gossip, Stream: stream}}})
}

// doubted suspects a host for the reason that its views give, as the planner does.
func (d *drive) doubted(h noun.HostID) {
	d.t.Helper()
	why := d.s.Doubt(d.s.Host(h))
	d.must(SuspectHost{Host: h, Suspect: why != "", Reason: why})
}

func (d *drive) state(h noun.HostID, want noun.HostState) {
	d.t.Helper()
	if got := d.s.Host(h); got.State != want {
		d.t.Fatalf("host is %s (%s), want %s", got.State, got.SuspectWhy, want)
	}
}

// happened counts the events of a kind.
func (d *drive) happened(kind string) (n int) {
	for e := range d.s.Events(0) {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

func TestViewsAreReplacedAndForgotten(t *testing.T) {
	d := newDrive(t)
	h, h2 := d.host("h1"), d.host("h2")
	d.must(PutServer{ID: "a", GossipAddr: "127.0.0.1:7421"})
	d.view("b", h, noun.HearAlive, noun.HearNothing)
	d.view("a", h, noun.HearAlive, noun.HearAlive)
	d.view("a", h2, noun.HearAlive, noun.HearNothing)
	d.view("c", 99, noun.HearAlive, noun.HearAlive) // a host that is not known yet, or not any more
	rev := d.s.Host(h).Rev
	d.view("a", h, noun.HearAlive, noun.HearAlive)
	if d.s.Host(h).Rev != rev {
		t.Fatal("the same view again is a change")
	}
	if got, want := d.s.Host(h).Views, []noun.HostView{{Server: "a", Host: 0, Gossip: noun.HearAlive,
		Stream: noun.HearAlive}, {Server: "b", Host: 0, Gossip: noun.HearAlive,
		Stream: noun.HearNothing}}; !slices.Equal(got, want) {
		t.Fatalf("%+v", got)
	}
	img := d.s.Copy()
	d.must(ReportViews{Server: "a", All: true, Views: []noun.HostView{{Host: h2, Gossip: noun.HearSilent}}})
	if got := d.s.Host(h).Views; len(got) != 1 || got[0].Server != "b" {
		t.Fatalf("what was not listed is still there: %+v", got)
	}
	if got := d.s.Host(h2).Views; len(got) != 1 || got[0].Gossip != noun.HearSilent {
		t.Fatalf("%+v", got)
	}
	if len(img.HostTable.Get(h).Views) != 2 || img.HostTable.Get(h2).Views[0].Gossip != noun.HearAlive {
		t.Fatal("a view of the state has changed")
	}
	d.view("b", h, noun.HearNothing, noun.HearNothing)
	d.must(DropServer{ID: "a"})
	if n := len(d.s.Host(h).Views) + len(d.s.Host(h2).Views); n != 0 {
		t.Fatalf("%d views of nobody are left", n)
	}
	d.want(noun.Invalid, ReportViews{Server: ""})
	d.want(noun.Invalid, ReportViews{Server: "a", Views: []noun.HostView{{Host: h, Stream: noun.HearLeft + 1}}})
}

// A host that is back while the servers do not hear it yet, or not in every way,
// gets no starts; one that is heard does.
func TestReturnIsJudgedByTheViews(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.view("a", h, noun.HearSilent, noun.HearSilent)
	d.doubted(h)
	d.pass(61 * time.Second)
	d.state(h, noun.HostLost)
	d.beat(h, 0)
	d.state(h, noun.HostSuspect)
	d.view("a", h, noun.HearAlive, noun.HearAlive)
	d.doubted(h)
	d.state(h, noun.HostReady)
	if n := len(d.s.Host(h).Flaps); n != 1 {
		t.Fatalf("one outage counts as %d", n)
	}
}

func TestGossipBlockedIsToldOnce(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1")
	d.view("a", h, noun.HearSilent, noun.HearAlive)
	for range 10 {
		d.doubted(h)
		d.beat(h, 0)
		d.pass(10 * time.Second)
	}
	d.state(h, noun.HostSuspect)
	if got := d.s.Host(h).SuspectWhy; got != core.WhyBlocked || d.happened("host.gossip_blocked") != 1 ||
		d.happened("host.suspect") != 1 {
		t.Fatalf("%q, %d events", got, d.happened("host.gossip_blocked"))
	}
	d.view("a", h, noun.HearNothing, noun.HearAlive) // the server does not gossip any more
	d.doubted(h)
	d.state(h, noun.HostReady)
}

// L11: a host that comes and goes gets no starts for a while, longer each time; its
// agents go on, and after a steady time all is forgotten.
func TestL11FlappingHostWaits(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"), managed("c"))
	d.start("demo/b", h)
	flap := func() time.Duration {
		d.must(SuspectHost{Host: h, Suspect: true, Reason: core.WhyStream})
		d.pass(time.Second)
		d.must(SuspectHost{Host: h})
		d.beat(h, BeatFence|BeatVouch, 1)
		return max(0, d.s.Host(h).SteadyAt.Sub(d.clock))
	}
	var waits []time.Duration
	for range 8 {
		waits = append(waits, flap())
	}
	want := []time.Duration{0, 0, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute,
		10 * time.Minute, 10 * time.Minute}
	if !slices.Equal(waits, want) {
		t.Fatalf("pauses %v, want %v", waits, want)
	}
	d.state(h, noun.HostReturning)
	d.want(noun.Conflict, OrderStart{Agent: 2, Inc: 1, Host: h})
	if why := d.s.Why(2); why.Code != "no_host" {
		t.Fatalf("%+v", why)
	}
	for range 10 * 60 / 15 {
		d.state(h, noun.HostReturning)
		d.beat(h, BeatFence|BeatVouch, 1)
		d.pass(15 * time.Second)
	}
	d.state(h, noun.HostReady)
	if a := d.agent("demo/b"); a.Inc != 1 || a.Proc != noun.ProcRunning {
		t.Fatalf("its agent was disturbed: %+v", a)
	}
	d.start("demo/c", h)
	if got := flap(); got != 0 {
		t.Fatalf("old flaps still count: %s", got)
	}
	d.must(PutSettings{Values: []noun.KV{{Key: "flap_limit", Value: "0"}}})
	for range 5 {
		if got := flap(); got != 0 {
			t.Fatal("flaps count although they are not to")
		}
	}
}

// A good-bye is no flap, and a host that has said it starts anew.
func TestFlapsAreForgottenAfterAGoodBye(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1")
	for range 5 {
		d.must(SuspectHost{Host: h, Suspect: true})
		d.must(SuspectHost{Host: h})
	}
	d.state(h, noun.HostReturning)
	for range 5 {
		d.must(LeaveHost{Key: "h1", Boot: "boot1"})
		d.state(h, noun.HostLeft)
		d.host("h1")
		d.state(h, noun.HostReady)
	}
}

func TestReturningSurvivesARestore(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1")
	for range 3 {
		d.must(SuspectHost{Host: h, Suspect: true})
		d.must(SuspectHost{Host: h})
	}
	d.view("a", h, noun.HearAlive, noun.HearAlive)
	before := d.s.Hash()
	d.s = reload(t, d.s)
	if d.s.Hash() != before ||
		!slices.Equal(d.s.Host(h).Views,
			[]noun.HostView{{Server: "a", Host: 0, Gossip: noun.HearAlive, Stream: noun.HearAlive}}) {
		t.Fatalf("a restore changed it: %+v", d.s.Host(h))
	}
	d.beat(h, 0)
	d.pass(45 * time.Second)
	d.state(h, noun.HostReturning)
	d.beat(h, 0)
	d.pass(15 * time.Second)
	d.state(h, noun.HostReady)
}

// away cuts a host off: no beats, nothing heard.
func (d *drive) away(h noun.HostID) {
	d.t.Helper()
	d.pass(SilentFor)
	d.view("a", h, noun.HearSilent, noun.HearSilent)
	d.doubted(h)
	d.state(h, noun.HostSuspect)
}

// A fast role is started elsewhere before its fence ends, and the older life is
// told when it comes back (law L6); a fenced one waits (law L7).
func TestFastRolesAreSurrendered(t *testing.T) {
	d := newDrive(t)
	h1, h2 := d.host("h1", "worker"), d.host("h2", "worker")
	d.room("demo", managed("b", func(r *noun.RoleSpec) { r.Policy = noun.PolicyFast }), managed("c"))
	sp := d.start("demo/b", h1)
	d.start("demo/c", h1)
	d.must(Join{Speaker: sp})
	task := d.must(CreateTask{Room: "demo", Role: "b"}).Task
	d.must(Claim{Speaker: sp})
	d.want(noun.NotFound, SurrenderHost{Host: 99})
	d.want(noun.Conflict, SurrenderHost{Host: h1})
	d.away(h1)
	if out := d.must(SurrenderHost{Host: h1, Reason: "nothing is heard"}); out.Count != 1 {
		t.Fatalf("%d lives were given up", out.Count)
	}
	a := d.agent("demo/b")
	if a.Proc != noun.ProcLost || a.LastExit.Kind != noun.ExitFenceEnded || a.Failures != 0 {
		t.Fatalf("%+v %+v", a, a.LastExit)
	}
	if x := d.s.Task(task); x.State != noun.TaskPending || x.Charged != 0 || x.Kills != 0 {
		t.Fatalf("its task: %+v", x)
	}
	d.want(noun.Conflict, OrderStart{Agent: 2, Inc: 2, Host: h2})
	d.start("demo/b", h2)
	d.want(noun.Superseded, CompleteTask{Work: Work{Speaker: sp, Task: task, Attempt: 1}, Result: "late"})
	if ans := d.beatAs(h1, 1, 1); ans.Exceptions[0].Verdict != noun.VerdictSuperseded {
		t.Fatalf("the older life was answered %+v", ans)
	}
	d.want(noun.Conflict, SurrenderHost{Host: h1})
}

// beatAs sends the fence beat of one incarnation, whichever is the newest.
func (d *drive) beatAs(host noun.HostID, id noun.AgentID, inc noun.Incarnation) noun.BeatAnswer {
	d.t.Helper()
	e := d.entry()
	e.Beats = []HostBeats{{Host: host, Boot: d.s.Host(host).Boot,
		Packed: PackBeats(nil, []noun.AgentID{id}, []noun.Incarnation{inc}, []uint8{BeatFence | BeatVouch})}}
	return d.apply(e).Beats[0]
}

// Incident I57: a host comes back with everything that it ran. What was started
// anew meanwhile runs on, its old life is told to stop; what was not goes on in its
// first life. No third life appears.
func TestI57ReturningHostIsReconciledAgentByAgent(t *testing.T) {
	d := newDrive(t)
	h1, h2 := d.host("h1", "worker"), d.host("h2", "worker")
	d.room("demo", managed("b", func(r *noun.RoleSpec) { r.Replicas = 5 }))
	var all []Running
	for id := noun.AgentID(1); id <= 5; id++ {
		d.start(d.s.Agent(id).Name, h1)
		all = append(all, Running{Agent: id, Inc: 1})
	}
	d.must(SetAgent{Agent: "demo/b.5", Stop: true, By: "ann"}) // its stop never arrives
	for range 5 {
		d.pass(13 * time.Second)
		d.beat(h2, 0)
	}
	d.state(h1, noun.HostLost)
	d.start("demo/b", h2)                                             // runs elsewhere
	d.must(OrderStart{Agent: 2, Inc: 2, Host: h2})                    // is ordered elsewhere
	d.must(OrderStart{Agent: 3, Inc: 2, Host: h2})                    // was ordered elsewhere, taken back
	d.must(CancelOrder{Agent: 3, Inc: 2, Reason: "the host is full"}) // its number is used up
	d.must(RegisterHost{Key: "h1", Name: "h1", Boot: "boot1", Runners: []string{"worker"}, Inventory: all, Taken: 9})
	want := []noun.Verdict{noun.VerdictSuperseded, noun.VerdictSuperseded, noun.VerdictSuperseded,
		noun.VerdictAdopt, noun.VerdictSuperseded}
	for i, v := range want {
		ans := d.beatAs(h1, noun.AgentID(i+1), 1)
		if len(ans.Exceptions) != 1 || ans.Exceptions[0].Verdict != v {
			t.Fatalf("agent %d was answered %+v, want %s", i+1, ans, v)
		}
	}
	for i, inc := range []noun.Incarnation{2, 2, 2, 1, 1} {
		if a := d.s.Agent(noun.AgentID(i + 1)); a.Inc != inc {
			t.Fatalf("%s is at incarnation %s, want %s", a.Name, a.Inc, inc)
		}
	}
	if a := d.s.Agent(4); a.Proc != noun.ProcRunning || a.Host != h1 || a.LastExit.Kind != noun.ExitFenceEnded {
		t.Fatalf("the original does not go on: %+v", a)
	}
	d.want(noun.Superseded, ReportStarted{Host: h1, Agent: 1, Inc: 1, PID: 1})
	d.must(ReportExit{Host: h1, Agent: 1, Inc: 1, Signal: "killed"}) // what it was told: no news
	if a := d.s.Agent(1); a.Proc != noun.ProcRunning || a.Host != h2 {
		t.Fatalf("the end of the old life ended the new one: %+v", a)
	}
}

// A life that is thawed before its fence has ended is simply current.
func TestThawedBeforeItsFenceEndedGoesOn(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"))
	d.start("demo/b", h)
	d.pass(59 * time.Second)
	if ans := d.beat(h, BeatFence|BeatVouch, 1); ans.Renewed != 1 || len(ans.Exceptions) != 0 {
		t.Fatalf("%+v", ans)
	}
	if d.happened("agent.fence_ended")+d.happened("agent.adopted") != 0 {
		t.Fatal("it counts as lost")
	}
}

func TestRegisterTakesWarningsAndGossip(t *testing.T) {
	d := newDrive(t)
	reg := RegisterHost{Key: "h1", Name: "h1", Boot: "boot1", Warnings: []string{"no cgroup"},
		GossipAddr: "127.0.0.1:9"}
	h := d.must(reg).Host
	if got := d.s.Host(h); !slices.Equal(got.Warnings, reg.Warnings) || got.GossipAddr != reg.GossipAddr {
		t.Fatalf("%+v", got)
	}
	reg.Warnings = make([]string, noun.MaxWarnings+5)
	for i := range reg.Warnings {
		reg.Warnings[i] = string(make([]byte, 2*noun.MaxReason))
	}
	d.must(reg)
	if got := d.s.Host(h).Warnings; len(got) != noun.MaxWarnings || len(got[0]) > noun.MaxReason {
		t.Fatalf("%d warnings of %d bytes", len(got), len(got[0]))
	}
	reg.GossipAddr = string(make([]byte, 300))
	d.want(noun.Invalid, reg)
	d.must(PutServer{ID: "a", GossipAddr: "10.0.0.1:7421"})
	if got := d.s.Servers(); len(got) != 1 || got[0].GossipAddr != "10.0.0.1:7421" {
		t.Fatalf("%+v", got)
	}
}

// Only members have a say about hosts: what a stranger says, or a server that was removed
// while it spoke, or one that has not announced itself, would never be voided.
func TestF18OnlyMembersReportViews(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	silent := []noun.HostView{{Host: h, Gossip: noun.HearSilent, Stream: noun.HearSilent}}
	d.must(PutServer{ID: "a"})
	d.must(PutServer{ID: "b"})
	d.view("a", h, noun.HearAlive, noun.HearAlive)
	d.want(noun.NotFound, ReportViews{Server: "x", Views: silent})
	d.must(ReportViews{Server: "b", Views: silent})
	d.must(DropServer{ID: "b"})
	d.want(noun.NotFound, ReportViews{Server: "b", Views: silent})
	d.want(noun.NotFound, ReportViews{Server: "b", All: true, Views: silent})
	if got := d.s.Host(h).Views; len(got) != 1 || got[0].Server != "a" {
		t.Errorf("%+v, want the word of a alone", got)
	}
	d.must(PutServer{ID: "b"})
	d.must(ReportViews{Server: "b", Views: silent})
}
