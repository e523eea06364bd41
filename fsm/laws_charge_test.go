package fsm

import (
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// I95: a task that needs several windows of a quota waits each time for as long as its tool names, when its lives
// have worked, by whatever sign; one that does not wait for long enough waits longer.
func TestI95NamedLimitsAreNotDoubledForWhoWorks(t *testing.T) {
	for name, c := range map[string]struct {
		level  uint32
		work   func(*drive, noun.HostID, Speaker, noun.TaskID)
		double bool
	}{
		"runs for long": {core.LevelRetry, func(d *drive, h noun.HostID, _ Speaker, _ noun.TaskID) {
			for range 40 {
				d.clock = d.clock.Add(15 * time.Second)
				d.beat(h, BeatVouch|BeatFence, 1)
			}
		}, false},
		"reports progress": {core.LevelRetry, func(d *drive, h noun.HostID, sp Speaker, task noun.TaskID) {
			d.jump(time.Second)
			d.must(ProgressTask{Work: Work{Speaker: sp, Task: task, Attempt: d.s.Task(task).Attempt}, Note: "half"})
		}, false},
		"uses tokens": {core.LevelRetry, func(d *drive, h noun.HostID, sp Speaker, _ noun.TaskID) {
			e := d.entry()
			e.Beats = []HostBeats{{Host: h, Boot: "boot1", Usage: []Used{{Agent: 1, Inc: sp.Inc, Run: 1, Output: 5}}}}
			d.apply(e)
		}, false},
		"does nothing": {core.LevelRetry, func(*drive, noun.HostID, Speaker, noun.TaskID) {}, true},
		"before the level": {core.Baseline, func(d *drive, h noun.HostID, sp Speaker, task noun.TaskID) {
			d.jump(time.Second)
			d.must(ProgressTask{Work: Work{Speaker: sp, Task: task, Attempt: d.s.Task(task).Attempt}, Note: "half"})
		}, true},
	} {
		d := newDrive(t)
		if c.level > core.Baseline {
			d.must(RaiseLevel{Level: c.level})
		}
		h := d.host("h1", "worker")
		d.room("demo", managed("b"))
		task := d.must(CreateTask{Room: "demo", Role: "b"}).Task
		want := 4 * time.Hour
		for n := range 4 {
			sp := d.start("demo/b", h)
			d.must(Join{Speaker: sp})
			d.must(Claim{Speaker: sp})
			d.must(StartTask{Work: Work{Speaker: sp, Task: task, Attempt: d.s.Task(task).Attempt}})
			c.work(d, h, sp, task)
			d.must(ReportExit{Host: h, Agent: 1, Inc: sp.Inc, Code: 1, Kind: noun.ExitUsageLimit, RetryAfter: 4 * time.Hour})
			if got := d.wait("demo/b", h); got < want || got > want+time.Minute {
				t.Errorf("%s: window %d: paused for %s, want %s", name, n, got, want)
			}
			if c.double {
				want = min(2*want, 24*time.Hour)
			}
		}
	}
}
