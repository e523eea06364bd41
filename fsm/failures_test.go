package fsm

import (
	"testing"
	"time"

	"vigil/fsm/noun"
)

// The six failures that this project began with, in cluster time: how long until
// the task can be claimed again and a start is due. Beats come every TTL/4.

// fleet is one managed builder at work on a task, and a spare host.
func fleet(t *testing.T, mods ...func(*noun.RoleSpec)) (d *drive, h noun.HostID, w Work) {
	d = newDrive(t)
	h = d.host("h1", "worker")
	d.room("demo", managed("builder", mods...))
	sp := d.start("demo/builder", h)
	d.must(Join{Speaker: sp})
	id := d.must(CreateTask{Room: "demo", Role: "builder"}).Task
	d.must(Claim{Speaker: sp})
	return d, h, Work{Speaker: sp, Task: id, Attempt: 1}
}

// repaired waits, beat by beat, until the task is claimable and a start is due (or
// somebody alive serves the role), and fails beyond the limit.
func (d *drive) repaired(id noun.TaskID, limit time.Duration, meanwhile func()) time.Duration {
	d.t.Helper()
	from := d.clock
	for {
		started := false
		for range d.s.Wanting() {
			started = true
		}
		if d.s.Task(id).State == noun.TaskPending && (started || d.s.Counts().Live > 0) {
			took := d.clock.Sub(from)
			d.t.Logf("recovered after %s of cluster time (limit %s)", took, limit)
			return took
		}
		if d.clock.Sub(from) > limit {
			d.t.Fatalf("not recovered after %s: %s, %+v", limit, d.s.Task(id).State, d.s.Why(1))
		}
		d.pass(time.Second)
		if meanwhile != nil && d.clock%noun.Time(15*time.Second) == 0 {
			meanwhile()
		}
	}
}

func TestF1AgentProcessCrashes(t *testing.T) {
	d, h, w := fleet(t)
	d.pass(40 * time.Second)
	d.beat(h, BeatFence|BeatVouch, 1)
	d.must(ReportExit{Host: h, Agent: 1, Inc: w.Inc, Signal: "killed"})
	d.repaired(w.Task, 0, nil)
	// And by hand, where no host sees the death: the lease ends.
	d = newDrive(t)
	d.room("demo", noun.RoleSpec{Name: "builder", Runner: "worker"})
	sp := d.hand("demo/builder")
	id := d.must(CreateTask{Room: "demo", Role: "builder"}).Task
	d.must(Claim{Speaker: sp})
	d.repaired(id, time.Minute, nil)
}

// agentd dies: the shims beat on, nothing is disturbed. The host dies: its fence ends.
func TestF2DaemonOrHostCrashes(t *testing.T) {
	d, h, w := fleet(t)
	d.must(StartTask{Work: w})
	for range 40 { // agentd is away for 10 min: fences and vouching come from the shims
		d.pass(15 * time.Second)
		d.beat(h, BeatFence|BeatVouch, 1)
	}
	if d.s.Task(w.Task).State != noun.TaskInProgress || d.agent("demo/builder").Inc != w.Inc {
		t.Fatal("work that was vouched for was disturbed")
	}
	d.repaired(w.Task, time.Minute, nil)
}

func TestF3DuplicateRestart(t *testing.T) {
	d, h, w := fleet(t)
	h2 := d.host("h2", "worker")
	d.must(ReportExit{Host: h, Agent: 1, Inc: w.Inc, Signal: "killed"})
	granted := 0
	for _, host := range []noun.HostID{h, h2, h, h2} { // four paths ask, in one entry
		if d.do(OrderStart{Agent: 1, Inc: d.s.NextInc(d.s.Agent(1)), Host: host}).Code == noun.OK {
			granted++
		}
	}
	if granted != 1 || d.s.Figures().OrdersDeduped != 3 {
		t.Fatalf("%d orders were opened, %d refused", granted, d.s.Figures().OrdersDeduped)
	}
	t.Log("recovered after 0s of cluster time: one order, three duplicates refused")
}

func TestF4TaskStuckInAcknowledged(t *testing.T) {
	d, h, w := fleet(t)
	d.repaired(w.Task, 2*time.Minute, func() { d.beat(h, BeatFence|BeatVouch, 1) })
}

func TestF5NetworkPartition(t *testing.T) {
	d, _, w := fleet(t)
	h2 := d.host("h2", "worker")
	d.must(StartTask{Work: w})
	took := d.repaired(w.Task, time.Minute, func() { d.beat(h2, 0) })
	if took < time.Minute {
		t.Fatalf("L7: given up after %s, before the fence ended", took)
	}
	d.must(OrderStart{Agent: 1, Inc: 2, Host: h2})
}

// The harness kills wait-for-task: every exit path leaves; the lease is the backup.
func TestF6WaitIsKilled(t *testing.T) {
	d, h, w := fleet(t)
	d.must(Leave{Speaker: w.Speaker, Reason: "terminated"})
	if d.s.Task(w.Task).State != noun.TaskPending || d.agent("demo/builder").Part != noun.PartDisconnected {
		t.Fatal("L5: leaving did not recover the task at once")
	}
	t.Log("task recovered after 0s of cluster time")
	for range 20 { // its process lives on without a participant: replaced at the start limit
		if d.agent("demo/builder").Order == noun.StopOrder {
			break
		}
		d.pass(15 * time.Second)
		d.beat(h, BeatFence|BeatVouch, 1)
	}
	if d.agent("demo/builder").Order != noun.StopOrder || d.clock > noun.Time(2*time.Minute) {
		t.Fatalf("not replaced at %s", time.Duration(d.clock))
	}
	t.Logf("process replaced after %s of cluster time", time.Duration(d.clock))
}
