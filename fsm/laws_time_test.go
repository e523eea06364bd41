package fsm

import (
	"fmt"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// crowd joins n agents by hand at the present clock, each with a task.
func crowd(d *drive, n int, tasks bool) {
	d.t.Helper()
	for r := 0; n > 0; r++ {
		size := min(n, noun.MaxReplicas)
		n -= size
		d.whole(Request{Cmd: ApplyRoom{Room: fmt.Sprint("r", r),
			Roles: []noun.RoleSpec{{Name: "w", Replicas: uint32(size)}}}})
		e := d.entry()
		for i := 1; i <= size; i++ {
			name := noun.AgentName(fmt.Sprint("r", r), "w", uint32(i))
			inc := d.s.NextInc(d.s.AgentByName(name))
			e.Requests = append(e.Requests, Request{Cmd: Join{Speaker: Speaker{Agent: name}}})
			if tasks {
				e.Requests = append(e.Requests, Request{Cmd: CreateTask{Room: fmt.Sprint("r", r), Role: "w"}},
					Request{Cmd: Claim{Speaker: Speaker{Agent: name, Inc: inc}}})
			}
		}
		for i, out := range d.s.Apply(e).Outcomes {
			if out.Code != noun.OK {
				d.t.Fatalf("%+v: %+v", e.Requests[i].Cmd, out)
			}
		}
	}
}

// L2: of 20,000 leases that end at once one entry fires what weighs FirePerEntry, and nothing
// ended is revived meanwhile.
func TestL2TwentyThousandLeasesEndAtOnce(t *testing.T) {
	d := newDrive(t)
	crowd(d, 20_000, true)
	if err := d.s.Check(); err != nil {
		t.Fatal(err)
	}
	d.clock += noun.Time(time.Minute) // all of them end here
	res := d.s.Apply(d.entry())
	if !res.Effects.More {
		t.Fatal("the rest was not announced")
	}
	if live := d.s.Counts().Live; live == 0 || live > 20_000-1000 {
		t.Fatalf("%d agents are left after one step", live)
	}
	// One whose timer has not fired yet: its word is refused, its join is a new one.
	var late *noun.Agent
	for a := range d.s.Agents("") {
		if a.Part == noun.PartActive {
			late = a
		}
	}
	sp, held := Speaker{Agent: late.Name, Inc: late.Inc}, late.Task
	e := d.entry(Request{Cmd: Claim{Speaker: sp}})
	e.Beats = []HostBeats{{Packed: PackBeats(nil, []noun.AgentID{late.ID}, []noun.Incarnation{late.Inc},
		[]uint8{BeatLease})}}
	e.Stamp = 0
	d.s.Timers.Delete(core.TimerAt(d.s.Lease(late.ID).ArmedL, core.TimerLease, uint64(late.ID))) // keep it unfired
	d.s.Apply(d.entry(Request{Cmd: Claim{Speaker: sp}}))
	if out := d.s.Apply(e).Outcomes[0]; out.Code != noun.Rejoin {
		t.Fatalf("%+v", out)
	}
	if out := d.s.Apply(d.entry(Request{Cmd: Join{Speaker: sp}})).Outcomes[0]; out.Code != noun.OK ||
		out.Task != 0 || d.s.Task(held).State != noun.TaskPending {
		t.Fatalf("an ended lease was revived with its task: %+v", out)
	}
	for d.s.Apply(d.entry()).Effects.More {
	}
	if live := d.s.Counts().Live; live != 1 {
		t.Fatalf("%d agents are left", live)
	}
	if got := d.s.Figures(); got.LeasesEnded != 20_000 || got.LateMost > noun.Time(5*time.Second) {
		t.Fatalf("%d ended, at most %s late", got.LeasesEnded, time.Duration(got.LateMost))
	}
	if err := d.s.Check(); err != nil {
		t.Fatal(err)
	}
}

// L2: leases that end at once are noticed in time, as leaders add entries: 10,000 within 1 s of
// cluster time, 100,000 within 5 s, when each entry takes 30 ms from one to the next. The weight
// of no entry is above its bound by more than one timer weighs.
func TestL2ManyLeasesAreNoticedInTime(t *testing.T) {
	for n, limit := range map[int]time.Duration{10_000: time.Second, 100_000: 5 * time.Second} {
		d := newDrive(t)
		d.must(PutSettings{Values: []noun.KV{{Key: "events_kept", Value: "1000"},
			{Key: "budget_room_share", Value: "100"}}})
		crowd(d, n, true)
		for d.clock += noun.Time(time.Minute); ; d.clock += noun.Time(30 * time.Millisecond) {
			more := d.s.Apply(d.entry()).Effects.More
			if w := d.s.Weight(); w > noun.FirePerEntry+heaviest {
				t.Fatalf("an entry weighs %d, at most %d and a timer are allowed", w, noun.FirePerEntry)
			}
			if !more {
				break
			}
		}
		if got := d.s.Figures(); d.s.Counts().Live != 0 || got.LeasesEnded != uint64(n) ||
			got.LateMost > noun.Time(limit) {
			t.Errorf("%d leases: %d are noticed, at most %s late, want all within %s", n, got.LeasesEnded,
				time.Duration(got.LateMost), limit)
		}
	}
}

// heaviest is what no single timer weighs.
const heaviest = 64

// L10: with no leader, cluster time stands still; no outage ends a lease.
func TestL10NoLeaderNoDeath(t *testing.T) {
	d := newDrive(t)
	d.room("demo", noun.RoleSpec{Name: "w"})
	d.hand("demo/w")
	for term := uint64(2); term < 50; term++ { // one election after the other
		d.term = term
		if out := d.must(LeaderEstablished{Server: "b"}); out.Clock != d.clock {
			t.Fatalf("the stint starts from %d, the clock is at %d", out.Clock, d.clock)
		}
	}
	e := d.entry()
	e.Stamp -= noun.Time(time.Hour) // a clock never goes back
	d.apply(e)
	if d.s.Clock() != d.clock || d.agent("demo/w").Part != noun.PartWaiting {
		t.Fatalf("clock %d, %+v", d.s.Clock(), d.agent("demo/w"))
	}
	e = d.entry(Request{Cmd: LeaderEstablished{Server: "old"}})
	e.Stint--
	if out := d.apply(e).Outcomes[0]; out.Code != noun.StaleStint || d.s.Stint().Server != "b" {
		t.Fatalf("%+v", out)
	}
}

func TestEpochRaisesIncarnationsAndHoldsStarts(t *testing.T) {
	d := newDrive(t)
	h := d.host("h1", "worker")
	d.room("demo", managed("b"), managed("c"))
	old := d.start("demo/b", h)
	d.must(RaiseEpoch{Hold: 80 * time.Second})
	if w := d.s.Why(2); w.Code != "hold" || w.Left != 80*time.Second {
		t.Fatalf("%+v", w)
	}
	d.want(noun.Conflict, OrderStart{Agent: 2, Inc: noun.MakeIncarnation(1, 1), Host: h})
	d.must(ReportExit{Host: h, Agent: 1, Inc: old.Inc})
	d.s = reload(t, d.s) // the hold survives a restore
	d.pass(50 * time.Second)
	d.beat(h, BeatFence)
	d.pass(30 * time.Second)
	n := 0
	for range d.s.Wanting() {
		n++
	}
	if n != 2 {
		t.Fatalf("%d starts are due after the hold", n)
	}
	d.want(noun.Conflict, OrderStart{Agent: 1, Inc: old.Inc + 1, Host: h})
	sp := d.start("demo/b", h)
	if sp.Inc != noun.MakeIncarnation(1, 1) || sp.Inc.String() != "1.1" || old.Inc.String() != "1" {
		t.Fatalf("incarnation %s after %s", sp.Inc, old.Inc)
	}
}

func TestL12MarksTellWhoDiverged(t *testing.T) {
	d := newDrive(t)
	voters := []string{"a", "b", "c"}
	d.must(Mark{Voters: voters})
	at := d.index
	report := func(server, hash string) {
		d.must(ReportHash{Server: server, Index: at, Hash: []byte(hash)})
	}
	report("a", "good")
	report("x", "bad") // no voter
	report("b", "bad")
	if len(d.s.Diverged()) != 0 {
		t.Fatalf("%v before a majority spoke", d.s.Diverged())
	}
	report("c", "good")
	if got := d.s.Diverged(); len(got) != 1 || got[0] != "b" {
		t.Fatalf("%v", got)
	}
	for range 9 {
		d.must(Mark{Voters: voters})
	}
	if len(d.s.Meta.Marks) != core.MarksKept {
		t.Fatalf("%d marks wait", len(d.s.Meta.Marks))
	}
	d.want(noun.NotFound, ReportHash{Server: "a", Index: at})
	d.want(noun.Invalid, PutServer{})
	d.must(PutServer{ID: "b", Version: "1"})
	d.must(PutServer{ID: "b", Version: "2"})
	d.must(PutServer{ID: "a"})
	if got := d.s.Servers(); len(got) != 2 || got[0].ID != "a" || got[1].Version != "2" {
		t.Fatalf("%+v", got)
	}
	d.must(DropServer{ID: "b"})
	d.want(noun.NotFound, DropServer{ID: "b"})
	if len(d.s.Diverged()) != 0 {
		t.Fatal("a removed server is still said to differ")
	}
}

func TestL8SessionRemembers64Answers(t *testing.T) {
	d := newDrive(t)
	d.room("demo", noun.RoleSpec{Name: "w"})
	ss := d.must(OpenSession{Client: "c"}).Session
	put := func(seq uint64) noun.Outcome {
		return d.apply(d.entry(Request{Session: ss, Seq: seq, Cmd: CreateTask{Room: "demo", Role: "w"}})).Outcomes[0]
	}
	var first []noun.Outcome
	for seq := uint64(1); seq <= 100; seq++ {
		first = append(first, put(seq))
	}
	view := d.s.Copy()
	d.s = reload(t, d.s)
	for seq := uint64(37); seq <= 100; seq++ {
		if got := put(seq); !repeats(got, first[seq-1]) {
			t.Fatalf("write %d: %+v, then %+v", seq, first[seq-1], got)
		}
	}
	if out := put(36); out.Code != noun.TooOld {
		t.Fatalf("%+v", out)
	}
	if out := put(200); out.Code != noun.OK {
		t.Fatalf("%+v", out)
	}
	if out := put(137); out.Code != noun.OK { // not yet seen, and not too old
		t.Fatalf("%+v", out)
	}
	if n := d.s.Meta.NextTask - 1; n != 102 {
		t.Fatalf("%d tasks", n)
	}
	if got := view.SessionTable.Get(ss); got.Max != 100 {
		t.Fatalf("the view has moved on to %d", got.Max)
	}
	d.apply(d.entry(Request{Session: ss, Seq: 201, Cmd: CloseSession{}}))
	if out := put(202); out.Code != noun.UnknownSession {
		t.Fatalf("%+v", out)
	}
}

// A session is kept alive by writes alone, and ends by cluster time.
func TestSessionEndsWithoutWrites(t *testing.T) {
	d := newDrive(t)
	d.must(PutSettings{Values: []noun.KV{{Key: "session_ttl", Value: "30s"}}})
	ss := d.must(OpenSession{Client: "c"}).Session
	for seq := range uint64(4) {
		d.pass(20 * time.Second)
		if out := d.apply(d.entry(Request{Session: ss, Seq: seq + 1,
			Cmd: PutSettings{}})).Outcomes[0]; out.Code != noun.OK {
			t.Fatalf("%+v", out)
		}
	}
	d.pass(30 * time.Second)
	if d.s.SessionTable.Len() != 0 {
		t.Fatal("still there")
	}
}
