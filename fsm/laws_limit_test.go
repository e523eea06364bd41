package fsm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"vigil/fsm/noun"
)

// turns is an agent at work in a role with a turn limit of 10 min.
func turns(t *testing.T) (d *drive, h noun.HostID, w Work) {
	d, h, w = fleet(t, func(r *noun.RoleSpec) { r.TurnLimit = 10 * time.Minute })
	d.must(StartTask{Work: w})
	return d, h, w
}

// A turn that takes longer than the role allows ends the life; life and attempt are
// charged, the task is not taken for a killer. Joining again does not begin it anew.
func TestL11TurnLimit(t *testing.T) {
	d, h, w := turns(t)
	for range 39 {
		d.clock = d.clock.Add(15 * time.Second)
		d.beat(h, BeatFence|BeatVouch, 1)
		d.must(ProgressTask{Work: w, Note: "on it"})
		d.must(Join{Speaker: w.Speaker})
	}
	if d.agent("demo/builder").Order != noun.NoOrder {
		t.Fatalf("stopped at %s", time.Duration(d.clock))
	}
	d.clock = d.clock.Add(15 * time.Second)
	d.beat(h, BeatFence|BeatVouch, 1)
	if a := d.agent("demo/builder"); a.Order != noun.StopOrder ||
		!strings.Contains(a.OrderReason, "turn limit of 10m") {
		t.Fatalf("%s: %q", a.Order, a.OrderReason)
	}
	d.must(ReportExit{Host: h, Agent: 1, Inc: w.Inc, Kind: noun.ExitOrdered, Signal: "terminated"})
	a, x := d.agent("demo/builder"), d.s.Task(w.Task)
	if a.LastExit.Kind != noun.ExitTimedOut || a.Failures != 1 || x.Charged != 1 || x.Kills != 0 ||
		x.State != noun.TaskPending {
		t.Fatalf("%+v, %+v", a.LastExit, x)
	}
	if !strings.Contains(a.LastExit.Reason, "turn limit") {
		t.Fatalf("%q", a.LastExit.Reason)
	}
}

// What the holder says while it is being stopped still counts.
func TestL8CompletionInTheLastMoment(t *testing.T) {
	d, h, w := turns(t)
	for d.agent("demo/builder").Order == noun.NoOrder {
		d.clock = d.clock.Add(15 * time.Second)
		d.beat(h, BeatFence|BeatVouch, 1)
	}
	d.must(CompleteTask{Work: w, Result: "just in time"})
	d.must(ReportExit{Host: h, Agent: 1, Inc: w.Inc, Signal: "terminated"})
	if x := d.s.Task(w.Task); x.State != noun.TaskCompleted || x.Charged != 0 {
		t.Fatalf("%+v", x)
	}
}

// Of an agent started by hand there is no process to stop: it loses the task.
func TestL11TurnLimitByHand(t *testing.T) {
	d := newDrive(t)
	d.room("demo", noun.RoleSpec{Name: "w", TurnLimit: 2 * time.Minute})
	sp := d.hand("demo/w")
	id := d.must(CreateTask{Room: "demo", Role: "w"}).Task
	d.must(Claim{Speaker: sp})
	for range 8 {
		d.clock = d.clock.Add(15 * time.Second)
		d.beat(0, BeatLease, 1)
	}
	if x := d.s.Task(id); x.State != noun.TaskPending || x.Charged != 1 || d.agent("demo/w").Part != noun.PartActive {
		t.Fatalf("%+v", x)
	}
	d.want(noun.Superseded, StartTask{Work: Work{Speaker: sp, Task: id, Attempt: 1}})
	d.must(Claim{Speaker: sp})
}

// A role without limits has none: the commonest harm of a watchdog is to end a long
// turn of a healthy agent. A limit that is applied later holds for what runs.
func TestTurnLimitDefaultsToNone(t *testing.T) {
	d, h, w := fleet(t)
	d.must(StartTask{Work: w})
	for range 4 * 60 * 10 { // ten hours
		d.clock = d.clock.Add(15 * time.Second)
		d.s.Apply(&Entry{Index: d.next(), Term: 1, Stint: 1, Stamp: d.clock, Beats: []HostBeats{{Host: h, Boot: "boot1",
			Packed: PackBeats(nil, []noun.AgentID{1}, []noun.Incarnation{w.Inc}, []uint8{BeatFence | BeatVouch})}}})
	}
	if a := d.agent("demo/builder"); a.Task != w.Task || a.Order != noun.NoOrder {
		t.Fatalf("%+v", a)
	}
	d.room("demo", managed("builder", func(r *noun.RoleSpec) { r.TurnLimit = time.Hour }))
	d.must(PutSettings{})
	if a := d.agent("demo/builder"); a.Order != noun.StopOrder {
		t.Fatalf("%+v", a)
	}
}

func (d *drive) next() uint64 { d.index++; return d.index }

// The host keeps the run limit; what it reports is charged like a turn limit. A
// human's stop wins over whatever the host makes of the end.
func TestL11ReportedEnds(t *testing.T) {
	for _, kind := range []noun.ExitKind{noun.ExitNone, noun.ExitStartFailed, noun.ExitOrdered, noun.ExitTimedOut,
		noun.ExitUsageLimit, noun.ExitFenceEnded, noun.ExitKind(77)} {
		for _, stop := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/%v", kind, stop), func(t *testing.T) {
				d, h, w := fleet(t)
				if stop {
					d.must(SetAgent{Agent: "demo/builder", Stop: true, By: "ann"})
				}
				d.must(ReportExit{Host: h, Agent: 1, Inc: w.Inc, Kind: kind, Code: 1})
				a, x := d.agent("demo/builder"), d.s.Task(w.Task)
				want := map[noun.ExitKind]noun.ExitKind{noun.ExitStartFailed: kind, noun.ExitOrdered: kind,
					noun.ExitTimedOut: kind, noun.ExitUsageLimit: kind}[kind]
				charged := uint32(1)
				switch {
				case stop:
					want, charged = noun.ExitOrdered, 0
				case want == noun.ExitNone:
					want = noun.ExitCrash
				case kind == noun.ExitOrdered || kind == noun.ExitUsageLimit:
					charged = 0
				}
				if a.LastExit.Kind != want || a.Failures != charged || x.Charged != charged ||
					(x.Kills == 1) != (want == noun.ExitCrash) {
					t.Fatalf("%+v: %d failures, task %+v", a.LastExit, a.Failures, x)
				}
			})
		}
	}
}

// I55, I119: a process that outlives SIGKILL is shown as such, alerts once, keeps its
// slot, and nothing else is started for it.
func TestI119UnkillableKeepsItsSlot(t *testing.T) {
	d, h, w := fleet(t)
	h2 := d.host("h2", "worker")
	d.must(SetAgent{Agent: "demo/builder", Stop: true, By: "ann"})
	for range 3 {
		d.must(ReportStuck{Host: h, Agent: 1, Inc: w.Inc, Reason: "pid 7 is in uninterruptible sleep"})
	}
	if n := d.events("agent.unkillable"); n != 1 {
		t.Fatalf("%d alerts", n)
	}
	d.must(SetAgent{Agent: "demo/builder", By: "ann"})
	for range 40 {
		d.clock = d.clock.Add(15 * time.Second)
		d.beat(h, BeatFence, 1)
		d.beat(h2, 0)
		d.want(noun.Conflict, OrderStart{Agent: 1, Inc: 2, Host: h2})
	}
	if wy := d.s.Why(1); wy.Code != "unkillable" || !strings.Contains(wy.Text, "uninterruptible") ||
		d.s.HostLoad(h).Running != 1 {
		t.Fatalf("%+v", wy)
	}
	if x := d.s.Task(w.Task); x.State != noun.TaskPending {
		t.Fatalf("its task is %s", x.State)
	}
	d.must(ReportStuck{Host: h, Agent: 1, Inc: w.Inc}) // it can be ended after all
	if wy := d.s.Why(1); wy.Code != "stopping" {
		t.Fatalf("%+v", wy)
	}
	d.must(ReportStuck{Host: h, Agent: 1, Inc: w.Inc, Reason: "again"})
	d.must(ReportExit{Host: h, Agent: 1, Inc: w.Inc, Signal: "killed"})
	if a := d.agent("demo/builder"); a.Notes().Stuck != "" || d.s.Why(1).Code != "start_due" {
		t.Fatalf("%+v", d.s.Why(1))
	}
	d.want(noun.Superseded, ReportStuck{Host: h, Agent: 1, Inc: w.Inc, Reason: "late"})
	d.want(noun.Superseded, ReportStuck{Host: h2, Agent: 1, Inc: w.Inc, Reason: "not there"})
}

// The host of an unkillable process dies, or a human says that it is dead: its slot
// is free when its fence has ended, or it would be taken for ever. (What has been
// sent SIGKILL runs no instruction of its program any more.)
func TestL3UnkillableEndsWithItsHost(t *testing.T) {
	for _, how := range []string{"power failure", "confirmed dead"} {
		t.Run(how, func(t *testing.T) {
			d, h, w := fleet(t)
			h2 := d.host("h2", "worker")
			d.must(ReportStuck{Host: h, Agent: 1, Inc: w.Inc, Reason: "pid 7 is in uninterruptible sleep"})
			if how == "confirmed dead" {
				d.must(ConfirmDead{Host: h, By: "ann", Force: true})
			} else {
				for range 20 {
					d.pass(5 * time.Second)
					d.beat(h2, 0)
				}
			}
			if wy := d.s.Why(1); wy.Code != "start_due" {
				t.Fatalf("%+v", wy)
			}
			d.must(OrderStart{Agent: 1, Inc: w.Inc + 1, Host: h2})
		})
	}
}
