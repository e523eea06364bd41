//go:build linux

package incidents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/jepsen/stand"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// I19, two holders after a lost lease: who is cut off from the servers but not from
// its work stands still before anybody else has its task, and what it says afterwards
// counts for nothing (laws L6, L7; the ledger is judged at the end).
func TestI19CutOffHolderStops(t *testing.T) {
	slow(t, "a fence, a hand-over and a look at both")
	w := fleet(t)
	const agents = 3 // one on each host
	w.room(role("work", agents, ""))
	all := w.runs(agents)
	task := w.task("work", "busy=300s")
	w.taskIs(task, vigilv1.TaskState_IN_PROGRESS)
	before := all[w.holder(task)]
	h := w.host(before.Host)
	w.cut(h.Machine, stand.Both)
	w.eventually("somebody else has the task", func() error {
		got, err := w.fleet.GetTask(w.ctx(), &vigilv1.GetTaskRequest{Task: task})
		if err == nil && (got.GetAttempt() != 2 || got.GetState() != vigilv1.TaskState_IN_PROGRESS) {
			err = fmt.Errorf("it is %s, attempt %d", got.GetState(), got.GetAttempt())
		}
		return err
	})
	quiet := w.life(before).Last()
	for _, l := range w.lives("") {
		for _, s := range l.Said {
			if s.Task == task && s.Attempt == 2 && s.Sent < quiet {
				t.Errorf("life %s says %s before the first holder stood still", l.File, s.What)
			}
		}
	}
	always(t, 2*time.Second, "the first holder stands still", func() error {
		if now := w.life(before).Last(); now > quiet {
			return fmt.Errorf("it ran %s later", time.Duration(now-quiet))
		}
		return nil
	})
	w.heal(h.Machine)
	w.runs(agents)
	for _, s := range w.life(before).Said {
		if s.Attempt == 1 && s.Task == task && s.Sent > quiet {
			t.Errorf("its old attempt was heard: %s", s.What)
		}
	}
	w.closeTask(task)
}

// I67, a claim without an owner: whatever a task's state is when its holder dies, it
// comes back by itself, and a task that kills everybody fails with the reason.
func TestI67EveryStateComesBack(t *testing.T) {
	w := peaceful(t)
	w.room(role("hand", 2, "", byHand), role("work", 1, "",
		func(r *vigilv1.RoleSpec) { r.AttemptLimit, r.KillLimit = 2, 0 }))
	a, b := w.hand("hand"), w.hand("hand.2")
	claimed, begun, waiting := w.task("hand", ""), w.task("hand", ""), w.task("hand", "")
	a.claim(claimed)
	attempt := b.claim(begun)
	b.say("start", begun, attempt)
	for _, id := range []uint64{claimed, begun, waiting} {
		w.taskIs(id, vigilv1.TaskState_PENDING, vigilv1.TaskState_QUEUED)
	}
	a.silent()
	b.silent()
	next := w.hand("hand")
	next.beats()
	for _, id := range []uint64{claimed, begun, waiting} {
		n := next.claim(id)
		next.say("start", id, n)
		next.say("complete", id, n)
		if again, err := w.work.Join(w.ctx(), &vigilv1.JoinRequest{Speaker: next.speaker}); err != nil ||
			again.GetTask() != 0 {
			t.Fatalf("it waits again: %v, task %d", err, again.GetTask())
		}
	}
	poison := w.task("work", "crash=0s")
	if got := w.taskIs(poison, vigilv1.TaskState_FAILED); got.GetAttempt() != 2 || got.GetNote()+got.GetResult() == "" {
		t.Errorf("attempt %d, note %q, result %q", got.GetAttempt(), got.GetNote(), got.GetResult())
	}
}

// I68, acknowledgements that are taken back unseen: who claims a task and does not
// start it loses it after the limit, is told so by its next word, and is never given
// the same attempt a second time (law L6).
func TestI68TakenBackIsTold(t *testing.T) {
	w := peaceful(t)
	w.room(role("hand", 1, "", byHand, func(r *vigilv1.RoleSpec) { r.AckLimit = seconds(2) }))
	a := w.hand("hand")
	a.beats()
	task := w.task("hand", "")
	first := a.claim(task)
	w.eventually("it is taken back", func() error {
		got, err := w.fleet.GetTask(w.ctx(), &vigilv1.GetTaskRequest{Task: task})
		if err == nil && got.GetState() != vigilv1.TaskState_PENDING {
			err = fmt.Errorf("it is %s", got.GetState())
		}
		return err
	})
	if err := a.words(task, first)["start"](); !errors.Is(err, client.ErrSuperseded) &&
		!errors.Is(err, client.ErrRejoin) {
		t.Errorf("start of the attempt that was taken back: %v", err)
	}
	if _, err := w.work.Join(w.ctx(), &vigilv1.JoinRequest{Speaker: a.speaker}); err != nil {
		t.Fatal(err)
	}
	second := a.claim(task)
	if second <= first {
		t.Errorf("attempt %d after %d", second, first)
	}
	a.say("start", task, second)
	a.say("complete", task, second)
}

// I71, work for phantoms: agents that are dead but not yet cleaned up, whose calls still
// wait for a task, get nothing; a task is only ever with whoever asked for it and lives.
func TestI71PhantomsGetNoWork(t *testing.T) {
	w := peaceful(t)
	const dead = 8
	w.room(role("hand", dead+1, "", byHand))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var given atomic.Int32
	var answers sync.WaitGroup
	answers.Add(dead)
	var phantoms []*hand
	for i := range dead {
		slot := "hand"
		if i > 0 {
			slot = fmt.Sprintf("hand.%d", i+1)
		}
		one := w.hand(slot)
		go func() { // when its connection is gone nobody tells the server
			defer answers.Done()
			if _, err := w.work.Wait(ctx, &vigilv1.WaitRequest{Speaker: one.speaker,
				MaxWait: durationpb.New(patience)}); err == nil {
				given.Add(1)
			}
		}()
		phantoms = append(phantoms, one)
	}
	for _, one := range phantoms {
		one.silent()
	}
	tasks := map[uint64]bool{}
	for range dead {
		tasks[w.task("hand", "")] = true
	}
	always(t, ttl/2, "nobody holds anything", func() error {
		for id := range tasks {
			got, err := w.fleet.GetTask(w.ctx(), &vigilv1.GetTaskRequest{Task: id})
			if err != nil || got.GetHolder() != "" {
				return fmt.Errorf("task %d is with %q: %v", id, got.GetHolder(), err)
			}
		}
		return nil
	})
	live := w.hand(fmt.Sprintf("hand.%d", dead+1))
	live.beats()
	for id := range tasks {
		n := live.claim(id)
		live.say("complete", id, n)
		if _, err := w.work.Join(w.ctx(), &vigilv1.JoinRequest{Speaker: live.speaker}); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	answers.Wait()
	if n := given.Load(); n > 0 {
		t.Errorf("%d of the dead were given a task", n)
	}
}

// I75, a history that is lost on the way: a task that loses three hosts, which is not
// charged to it, keeps the count of its attempts and of those that were its fault; each
// is told, and the limit applies to all moves together.
func TestI75AttemptsOutliveTheirHosts(t *testing.T) {
	slow(t, "three lost hosts")
	w := fleet(t)
	w.room(role("work", 1, "", func(r *vigilv1.RoleSpec) { r.AttemptLimit = 2 }))
	first := w.runs(1)["work"]
	task := w.task("work", "busy=300s")
	w.taskIs(task, vigilv1.TaskState_IN_PROGRESS)
	w.kill(w.host(first.Host).Machine, first.PID)
	w.eventually("the next life works on it", func() error {
		if a := w.agent("work"); a.GetIncarnationRaw() <= first.Incarnation || a.GetTask() != task {
			return errors.New(w.describe())
		}
		return nil
	})
	for n := range 3 {
		got := w.taskIs(task, vigilv1.TaskState_IN_PROGRESS)
		if got.GetAttempt() != uint32(n+2) {
			t.Fatalf("attempt %d, want %d", got.GetAttempt(), n+2)
		}
		h := w.host(w.agent("work").GetHost())
		life := w.agent("work").GetIncarnationRaw()
		if err := h.PowerOff(); err != nil {
			t.Fatal(err)
		}
		w.eventually("it works on another host", func() error {
			if a := w.agent("work"); a.GetIncarnationRaw() <= life || a.GetTask() != task {
				return errors.New(w.describe())
			}
			return nil
		})
		if err := errors.Join(h.On(), h.Start()); err != nil {
			t.Fatal(err)
		}
		w.settled()
	}
	w.taskIs(task, vigilv1.TaskState_IN_PROGRESS)
	last := w.runs(1)["work"]
	w.kill(w.host(last.Host).Machine, last.PID)
	if got := w.taskIs(task, vigilv1.TaskState_FAILED); got.GetAttempt() != 5 {
		t.Errorf("it failed with attempt %d", got.GetAttempt())
	}
	var told []string
	for _, e := range w.events("task.claimed") {
		if e.GetTask() == task {
			told = append(told, fmt.Sprint(e.GetAttempt()))
		}
	}
	if got := strings.Join(told, " "); got != "1 2 3 4 5" {
		t.Errorf("the history tells of attempts %s", got)
	}
}

// I77, the late end of an older life: an exit report that comes when the next life is
// at work, and comes three times, changes nothing about that life or its task.
func TestI77LateExitTouchesNobody(t *testing.T) {
	w := fleet(t)
	w.room(role("work", 1, ""))
	first := w.runs(1)["work"]
	h := w.host(first.Host)
	w.kill(h.Machine, first.PID)
	second := w.next("work", first.Incarnation)
	task := w.task("work", "busy=4s")
	w.taskIs(task, vigilv1.TaskState_IN_PROGRESS)
	before := w.agent("work")
	report := &vigilv1.ReportExitRequest{Host: w.hostState(h).GetId(), Agent: before.GetId(),
		Incarnation: first.Incarnation, Code: -1, Signal: "killed", Reason: "late"}
	for range 3 {
		if _, err := vigilv1.NewHostAgentClient(shared.conn).ReportExit(w.ctx(), report); err != nil &&
			!errors.Is(err, client.ErrSuperseded) {
			t.Errorf("the report was not understood: %v", err)
		}
		if now := w.agent("work"); now.GetIncarnationRaw() != second.Incarnation ||
			now.GetProcess() != "running" || now.GetTask() != task ||
			now.GetFailures() != before.GetFailures() {
			t.Errorf("the next life was touched: %s", w.describe())
		}
	}
	if got := w.taskIs(task, vigilv1.TaskState_COMPLETED); got.GetAttempt() != 1 {
		t.Errorf("it took %d attempts", got.GetAttempt())
	}
}

// I78, the stalled worker that comes back under the same name: beats, progress and
// completion of the older life are refused as superseded; the task ends once, with the
// result of the newer life.
func TestI78SameNameIsNotTheSameLife(t *testing.T) {
	w := peaceful(t)
	w.room(role("hand", 1, "", byHand))
	old := w.hand("hand")
	task := w.task("hand", "")
	first := old.claim(task)
	old.say("start", task, first)
	old.silent()
	now := w.hand("hand")
	now.beats()
	second := now.claim(task)
	now.say("start", task, second)
	if v := old.beat(); v != "superseded" {
		t.Errorf("a beat of the older life: %q", v)
	}
	for word, say := range old.words(task, first) {
		if err := say(); !errors.Is(err, client.ErrSuperseded) {
			t.Errorf("%s of the older life: %v", word, err)
		}
	}
	now.say("complete", task, second)
	got := w.taskIs(task, vigilv1.TaskState_COMPLETED)
	if got.GetAttempt() != second || len(w.events("task.completed")) != 1 {
		t.Errorf("attempt %d, %d completions", got.GetAttempt(), len(w.events("task.completed")))
	}
}

// I79, a valid result thrown away: what comes after the end of the lease is taken while
// nobody else has the task, and kept to look at when the task was canceled meanwhile.
func TestI79LateResultIsNotLost(t *testing.T) {
	w := peaceful(t)
	w.room(role("hand", 2, "", byHand))
	a, b := w.hand("hand"), w.hand("hand.2")
	free, gone := w.task("hand", ""), w.task("hand", "")
	n, m := a.claim(free), b.claim(gone)
	a.silent()
	b.silent()
	w.closeTask(gone)
	a.say("complete", free, n)
	w.taskIs(free, vigilv1.TaskState_COMPLETED)
	if err := b.words(gone, m)["complete"](); !errors.Is(err, client.ErrSuperseded) && !errors.Is(err, client.ErrLate) {
		t.Errorf("a result for a canceled task: %v", err)
	}
	if got := w.taskIs(gone, vigilv1.TaskState_CANCELED); len(got.GetLateResults()) != 1 ||
		got.GetLateResults()[0].GetAttempt() != m {
		t.Errorf("its result was not kept: %v", got.GetLateResults())
	}
}

// I80, the completion that cannot be delivered: an agent that finishes while no server
// can be reached hands its result to the host; it arrives once after the agentd was
// killed and the servers are back, and the agent is free again.
func TestI80CompletionIsDeliveredLater(t *testing.T) {
	w := fleet(t)
	h := w.extra("h80", 48, 8)
	w.scripted(h, "cli", fmt.Sprintf(`#!/bin/sh
while %[1]s wait-for-task --start; do
	/bin/sleep 2
	%[1]s task complete --timeout 3s "a result that waited"
done
`, w.Program()))
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	w.room(role("work", 1, "", on(h), by("cli"), lasting(6*ttl)))
	task := w.task("work", "")
	w.taskIs(task, vigilv1.TaskState_IN_PROGRESS)
	spool := filepath.Join(w.lifeFolder(h, "work"), "spool")
	w.cut(h.Machine, stand.Both)
	w.eventually("the result is on disk", func() error {
		list, err := os.ReadDir(spool)
		if err == nil && len(list) == 0 {
			err = errNotYet("the spool is empty")
		}
		return err
	})
	if err := h.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	w.heal(h.Machine)
	if got := w.taskIs(task, vigilv1.TaskState_COMPLETED); got.GetResult() != "a result that waited" {
		t.Errorf("result %q, attempt %d", got.GetResult(), got.GetAttempt())
	}
	if n := len(w.events("task.completed")); n != 1 {
		t.Errorf("%d completions", n)
	}
	next := w.task("work", "")
	w.taskIs(next, vigilv1.TaskState_COMPLETED)
}
