package fsm

import (
	"bytes"
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"

	"vigil/fsm/noun"
)

var millionFlag = flag.Bool("million", false, "measure 1,000,000 agents and 1,000,000 tasks (some 2 GiB)")

// fill makes rooms of 250 roles with 1,000 replicas each, and as many tasks.
func fill(b testing.TB, agents, tasks int) (*State, *drive) {
	d := &drive{t: nil, s: New(), term: 1}
	one := func(c Command) {
		if out := d.whole(Request{Cmd: c}).Outcomes[0]; out.Code != noun.OK {
			b.Fatalf("%T: %+v", c, out)
		}
	}
	one(LeaderEstablished{Server: "a"})
	const replicas = 1000
	for room := 0; room*250*replicas < agents; room++ {
		var roles []noun.RoleSpec
		for r := 0; r < 250 && (room*250+r)*replicas < agents; r++ {
			roles = append(roles, noun.RoleSpec{Name: fmt.Sprintf("role%d", r),
				Runner: "worker", Replicas: uint32(min(replicas, agents))})
		}
		one(ApplyRoom{Room: fmt.Sprintf("room%d", room), Roles: roles, By: "bench"})
	}
	for made := 0; made < tasks; {
		e := d.entry()
		for ; len(e.Requests) < 1000 && made < tasks; made++ {
			role := made % ((agents + replicas - 1) / replicas)
			e.Requests = append(e.Requests,
				Request{Cmd: CreateTask{Room: fmt.Sprintf("room%d", role/250), Role: fmt.Sprintf("role%d", role%250),
					Title: "build the thing", Text: "as described in the file", By: "bench"}})
		}
		d.s.Apply(e)
	}
	return d.s, d
}

// joined lets the first n agents join by hand and gives their speakers.
func joined(b testing.TB, d *drive, n int) []Speaker {
	var list []Speaker
	e := d.entry()
	for a := range d.s.Agents("") {
		if len(list) == n {
			break
		}
		list = append(list, Speaker{Agent: a.Name, Inc: d.s.NextInc(a)})
		e.Requests = append(e.Requests, Request{Cmd: Join{Speaker: Speaker{Agent: a.Name}}})
	}
	for _, out := range d.s.Apply(e).Outcomes {
		if out.Code != noun.OK {
			b.Fatalf("%+v", out)
		}
	}
	return list
}

// BenchmarkBeats renews leases in host batches of 1,000.
func BenchmarkBeats(b *testing.B) {
	_, d := fill(b, 100_000, 0)
	joined(b, d, 100_000)
	var batches [][]byte
	for first := 1; first <= 100_000; first += 1000 {
		var ids []noun.AgentID
		var incs []noun.Incarnation
		var kinds []uint8
		for i := range 1000 {
			ids, incs, kinds = append(ids, noun.AgentID(first+i)), append(incs, 1), append(kinds, BeatLease)
		}
		batches = append(batches, PackBeats(nil, ids, incs, kinds))
	}
	e := d.entry()
	e.Beats = make([]HostBeats, 1)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		e.Index++
		e.Beats[0].Packed = batches[n%len(batches)]
		n++
		if d.s.Apply(e).Beats[0].Renewed != 1000 {
			b.Fatal("not renewed")
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(n)/1000, "ns/beat")
}

// lifecycle runs tasks from creation to completion, with sessions, in entries of
// 250 commands; copyEvery > 0 keeps the last Copy alive, taken every so many entries.
func lifecycle(b *testing.B, agents, tasks, copyEvery int) {
	s, d := fill(b, agents, 0)
	const workers = 250
	sps := joined(b, d, workers)
	_ = tasks
	e := d.entry()
	for range 4 {
		e.Requests = append(e.Requests, Request{Cmd: OpenSession{Client: "bench"}})
	}
	var ss []noun.SessionID
	for _, out := range s.Apply(e).Outcomes {
		ss = append(ss, out.Session)
	}
	seq := uint64(0)
	var image *Image
	n, entries := 0, 0
	reqs := make([]Request, workers)
	apply := func(make func(i int) Command) []noun.Outcome {
		for i := range reqs {
			if i%len(ss) == 0 {
				seq++
			}
			reqs[i] = Request{Session: ss[i%len(ss)], Seq: seq, Cmd: make(i)}
		}
		if entries++; copyEvery > 0 && entries%copyEvery == 0 {
			image = s.Copy()
		}
		d.clock += noun.Time(5 * time.Millisecond)
		return s.Apply(d.entry(reqs...)).Outcomes
	}
	ids := make([]noun.TaskID, workers)
	b.ReportAllocs()
	for b.Loop() {
		apply(func(int) Command {
			return CreateTask{Room: "room0", Role: "role0", Title: "build", Text: "the thing", By: "bench"}
		})
		for i, out := range apply(func(i int) Command { return Claim{Speaker: sps[i]} }) {
			if ids[i] = out.Task; out.Code != noun.OK {
				b.Fatalf("%+v", out)
			}
		}
		apply(func(i int) Command { return StartTask{Work: Work{Speaker: sps[i], Task: ids[i], Attempt: 1}} })
		if out := apply(func(i int) Command {
			return CompleteTask{Work: Work{Speaker: sps[i], Task: ids[i], Attempt: 1}, Result: "done"}
		})[0]; out.Code != noun.OK {
			b.Fatalf("%+v", out)
		}
		n += workers
	}
	runtime.KeepAlive(image)
	b.ReportMetric(float64(b.Elapsed())/float64(n), "ns/lifecycle")
	b.ReportMetric(0, "ns/op")
}

func BenchmarkLifecycle(b *testing.B)          { lifecycle(b, 10_000, 0, 0) }
func BenchmarkLifecycleWithViews(b *testing.B) { lifecycle(b, 10_000, 0, 100) }

// TestMillion prints what 1,000,000 agents and 1,000,000 tasks cost.
func TestMillion(t *testing.T) {
	if !*millionFlag {
		t.Skip("needs -million")
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const n = 1_000_000
	before := heap()
	began := time.Now()
	s, d := fill(t, n, n)
	t.Logf("filled in %s: %d MiB", time.Since(began), (heap()-before)>>20)
	began = time.Now()
	e := d.entry()
	for a := range s.Agents("") {
		e.Requests = append(e.Requests, Request{Cmd: Join{Speaker: Speaker{Agent: a.Name}}})
	}
	s.Apply(e)
	e = nil
	t.Logf("all joined in %s: %d MiB live heap, %d live", time.Since(began), (heap()-before)>>20, s.Counts().Live)
	began = time.Now()
	img := s.Copy()
	t.Logf("copy: %s", time.Since(began))
	var out bytes.Buffer
	out.Grow(400 << 20)
	began = time.Now()
	if err := img.Dump(&out); err != nil {
		t.Fatal(err)
	}
	t.Logf("dump: %s, %d MiB", time.Since(began), out.Len()>>20)
	img, s, d = nil, nil, nil
	began = time.Now()
	next, err := Load(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("load: %s", time.Since(began))
	out = bytes.Buffer{}
	t.Logf("restored: %d MiB live heap", (heap()-before)>>20)
	runtime.KeepAlive(next)
}
