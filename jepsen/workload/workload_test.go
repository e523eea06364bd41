//go:build linux

package workload

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/history"
)

// expected is what a run must show, as WORKLOAD KIND OUTCOME or WORKLOAD KIND ERROR.
var expected = []string{
	"register write ok", "register read ok", "register cas ok", "register cas conflict",
	"claim create ok", "claim claim ok", "claim claim conflict", "claim next ok", "claim start ok", "claim complete ok",
	"claim fail ok", "claim handoff ok", "claim cancel ok", "claim get ok", "claim complete superseded",
	"lifecycle create ok", "lifecycle claim ok", "lifecycle complete ok",
	"sdk create ok", "sdk claim ok", "sdk complete ok", "sdk cancel ok",
	"dedup restart ok", "dedup crash ok",
	"outage rules ok", "outage create ok", "outage cancel ok", "outage index ok",
	"intent stop ok", "intent start ok", "intent pause ok", "intent resume ok", "intent look ok",
	"requests create ok", "requests cancel ok", "requests set ok",
	"reads write ok", "reads read ok", "reads index ok",
	"mail send ok", "mail read ok", "mail ack ok",
}

// The workloads run against real servers and hosts, one of which is killed and started
// again, and record what they promise to record.
func TestWorkloads(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("starts real processes, which the race detector does not see")
	}
	f := newFleet(t)
	folder := filepath.Join(f.folder, "record")
	record, err := history.Create(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := history.WriteRun(folder, history.Run{}); err != nil {
		t.Fatal(err)
	}
	s, err := Open(Config{Addrs: f.api, Record: record, Runner: "ticker", Seed: 1, Rate: 40, Say: t.Logf,
		SDK: &SDK{Folder: t.TempDir(), Ledger: f.ledger(),
			Access: [][]string{{"VIGIL_ADDR=" + strings.Join(f.api, ",")}}}}, Names())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.Prepare(ctx); err != nil {
		t.Fatal(err)
	}
	run, stop := context.WithCancel(ctx)
	ran := make(chan error, 1)
	go func() { ran <- s.Run(run) }()
	f.servers[2].kill()
	f.servers[2] = f.server(2)
	awaitAll(t, ctx, record, folder)
	awaitWorkers(t, ctx, s, f.ledger())
	stop()
	if err := <-ran; err != nil {
		t.Error(err)
	}
	quiet, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.Quiesce(quiet); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := record.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := history.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(count(got.Ops))
	checkOps(t, got.Ops)
	checkEnd(t, got)
	if want := []string{"lifecycle/work", "dedup/work", "intent/work",
		"intent-room/work", "outage/fetch", "outage/build"}; !slices.Equal(s.Fenced(), want) {
		t.Errorf("fenced roles: got %v, want %v", s.Fenced(), want)
	}
	lives, err := ledger.Read(f.ledger())
	if err != nil || len(lives) == 0 {
		t.Errorf("the ledger has %d lives (%v)", len(lives), err)
	}
}

// awaitAll waits until the record shows all that is expected, events and looks too.
func awaitAll(t *testing.T, ctx context.Context, record *history.Recorder, folder string) {
	t.Helper()
	for {
		if err := record.Flush(); err != nil {
			t.Fatal(err)
		}
		got, err := history.Read(folder)
		if err != nil {
			t.Fatal(err)
		}
		var missing []string
		seen := map[string]bool{}
		for _, op := range got.Ops {
			seen[op.Workload+" "+op.Kind+" "+op.Outcome] = true
			seen[op.Workload+" "+op.Kind+" "+op.Error] = true
		}
		for _, what := range expected {
			if !seen[what] {
				missing = append(missing, what)
			}
		}
		if len(missing) == 0 && len(got.Events) > 0 && len(got.Looks) > 0 {
			return
		}
		if !pause(ctx, 300*time.Millisecond) {
			t.Fatalf("not seen within %s: %s (%d events, %d looks)\n%s", patience,
				strings.Join(missing, ", "), len(got.Events), len(got.Looks), count(got.Ops))
		}
	}
}

// awaitWorkers waits until each worker in another language was told of a completed task, two of them after they were
// killed or told to end.
func awaitWorkers(t *testing.T, ctx context.Context, s *Set, folder string) {
	t.Helper()
	if len(s.Workers()) == 0 {
		t.Log("no worker in another language is here")
		return
	}
	signals := []os.Signal{syscall.SIGKILL, syscall.SIGTERM}
	for _, again := range []bool{false, true} {
		for _, w := range s.Workers() {
			for !completes(t, folder, w.name, again && w == s.Workers()[0] || again && w == s.Workers()[len(s.Workers())-1]) {
				if !pause(ctx, 300*time.Millisecond) {
					t.Fatalf("worker %s completes nothing", w.name)
				}
			}
		}
		if !again {
			if s.Workers()[0].Signal(signals[0]) != nil || s.Workers()[len(s.Workers())-1].Signal(signals[1]) != nil {
				t.Error("the workers to end have ended before")
			}
		}
	}
}

// completes tells whether a life of a worker was told of a completed task; again: of its second process.
func completes(t *testing.T, folder, name string, again bool) bool {
	t.Helper()
	lives, err := ledger.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	start := "-" + name + ".1.life"
	return slices.ContainsFunc(lives, func(l *ledger.Life) bool {
		return l.Host == history.Client && strings.HasSuffix(l.File, start) != again &&
			strings.Contains(l.File, "-"+name+".") &&
			slices.ContainsFunc(l.Said, func(w ledger.Said) bool { return w.What == "complete" })
	})
}

// count lists what was done how often.
func count(ops []history.Op) string {
	n := map[string]int{}
	for _, op := range ops {
		n[fmt.Sprintf("%s %s %s %s", op.Workload, op.Kind, op.Outcome, op.Error)]++
	}
	var list []string
	for what, times := range n {
		list = append(list, fmt.Sprintf("%s: %d", what, times))
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// checkOps checks what holds for every operation.
func checkOps(t *testing.T, ops []history.Op) {
	t.Helper()
	type process struct {
		workload string
		id       int
	}
	last := map[process]history.Op{}
	values := map[string]bool{}
	slices.SortStableFunc(ops, func(a, b history.Op) int { return int(max(-1, min(1, a.Call-b.Call))) })
	for _, op := range ops {
		p := process{op.Workload, op.Process}
		if op.Return < op.Call || op.Outcome == "" || (op.Outcome == history.OK) != (op.Error == "") {
			t.Errorf("%+v is no whole operation", op)
		}
		batch := op.Workload == "lifecycle" && op.Kind == "create" || op.Kind == "final"
		if was, ok := last[p]; ok && !(batch && was.Call == op.Call) {
			if was.Return > op.Call {
				t.Errorf("a process did two things at once: %+v and %+v", was, op)
			}
			if was.Outcome == history.Unknown && op.Workload != "watch" { // a watch goes on where it was

				t.Errorf("a process went on after an unknown outcome: %+v", op)
			}
		}
		last[p] = op
		copied := op.Workload == "requests"
		written := op.Value != "" && !copied &&
			slices.Contains([]string{"write", "cas", "create", "complete", "handoff"}, op.Kind)
		if name := op.Workload + op.Key + op.Value; written && values[name] {
			t.Errorf("a value was written twice: %+v", op)
		} else if written {
			values[name] = true
		}
	}
}

// checkEnd checks what Quiesce records.
func checkEnd(t *testing.T, got *history.Record) {
	t.Helper()
	shown, finals, newest := map[string]string{}, map[string]int{}, map[int]uint64{}
	var last uint64
	for _, op := range got.Ops {
		switch {
		case op.Workload == "lifecycle" && op.Kind == "final":
			shown[op.Value] = op.State
		case op.Workload == "watch" && op.Kind == "last":
			last = op.Index
		}
		if op.Kind == "final" && op.Outcome == history.OK {
			finals[op.Workload]++
		}
	}
	for _, op := range got.Ops {
		if op.Workload == "lifecycle" && op.Kind == "create" && op.Outcome == history.OK &&
			shown[op.Value] != "COMPLETED" {
			t.Errorf("task %d (%s) was created and is %q at the end", op.Task, op.Value, shown[op.Value])
		}
	}
	for _, w := range []string{"claim", "lifecycle", "sdk", "outage", "requests", "reads", "mail"} {
		if finals[w] == 0 {
			t.Errorf("%s has read nothing at the end", w)
		}
	}
	for _, e := range got.Events {
		if before := newest[e.Watcher]; e.Seq != before+1 && before != 0 {
			t.Errorf("watcher %d got event %d after %d", e.Watcher, e.Seq, before)
		}
		newest[e.Watcher] = e.Seq
	}
	if last == 0 || len(newest) < watchersMany {
		t.Errorf("the newest event is %d, and %d watchers got some", last, len(newest))
	}
	for w, seq := range newest {
		if seq < last {
			t.Errorf("watcher %d came to event %d of %d", w, seq, last)
		}
	}
}
