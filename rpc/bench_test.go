package rpc

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"vigil/fsm"
	"vigil/rpc/gen/vigilv1"
)

// BenchmarkUnary creates tasks one by one over TCP, client included. The replica is
// in memory and has no log, so this is the cost of the API alone.
func BenchmarkUnary(b *testing.B) {
	for _, shape := range []struct{ clients, conns int }{{1, 1}, {64, 8}, {1000, 12}} {
		b.Run(fmt.Sprintf("clients=%d", shape.clients), func(b *testing.B) {
			w := start(b, 1)
			w.room("demo", "builder", 1)
			b.ReportAllocs()
			pressure(b, w, shape.clients, shape.conns)
		})
	}
}

// pressure lets clients create b.N tasks together and reports rate and latencies.
func pressure(b *testing.B, w *world, clients, conns int) {
	var stubs []vigilv1.FleetClient
	for range conns {
		c, err := grpc.NewClient("passthrough:///"+w.nodes[0].addr,
			grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		stubs = append(stubs, vigilv1.NewFleetClient(c))
	}
	text := strings.Repeat("x", 100)
	took := make([][]time.Duration, clients)
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	began := time.Now()
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				t := time.Now()
				if _, err := stubs[c%conns].CreateTask(context.Background(), &vigilv1.CreateTaskRequest{
					Room: "demo", Role: "builder", Title: "t", Text: text}); err != nil {
					b.Error(err)
					return
				}
				took[c] = append(took[c], time.Since(t))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	all := slices.Concat(took...)
	slices.Sort(all)
	b.ReportMetric(float64(len(all))/time.Since(began).Seconds(), "calls/s")
	b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
}

// BenchmarkParked parks waits and reports what one costs in memory, client not
// included as far as that can be told in one process.
func BenchmarkParked(b *testing.B) {
	const n = 10_000
	for range b.N {
		w := start(b, 1)
		w.room("demo", "builder", n)
		speakers := make([]*vigilv1.Speaker, n)
		for i := range n {
			out, err := w.out(fsm.Join{Speaker: fsm.Speaker{Agent: "demo/builder.*"}})
			if err != nil {
				b.Fatal(err)
			}
			name := ""
			w.nodes[0].Read(func(st *fsm.View) { name = st.Agent(out.Agent).Name })
			speakers[i] = &vigilv1.Speaker{Agent: name, Incarnation: uint64(out.Inc)}
		}
		before := heap()
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		for _, s := range speakers {
			wg.Go(func() { _, _ = w.work(0).Wait(ctx, &vigilv1.WaitRequest{Speaker: s}) })
		}
		w.parkedAt(0, n)
		b.ReportMetric(float64(heap()-before)/n, "B/wait(both-ends)")
		cancel()
		wg.Wait()
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// BenchmarkBatch creates tasks a hundred to a call; one iteration is one task.
func BenchmarkBatch(b *testing.B) {
	const size, clients = 100, 16
	w := start(b, 1)
	w.room("demo", "builder", 1)
	writes := make([]*vigilv1.Write, size)
	for i := range writes {
		writes[i] = &vigilv1.Write{Op: &vigilv1.Write_CreateTask{CreateTask: &vigilv1.CreateTaskRequest{
			Room: "demo", Role: "builder", Title: "t", Text: strings.Repeat("x", 100)}}}
	}
	many(b, b.N/size+1, clients, func() error {
		_, err := w.work(0).Batch(context.Background(), &vigilv1.BatchRequest{Writes: writes})
		return err
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
}

// BenchmarkBeat renews the agents of a host, a thousand to a call; one iteration is
// one agent's beat.
func BenchmarkBeat(b *testing.B) {
	const size, clients = 1000, 16
	w := start(b, 1)
	w.room("demo", "builder", size)
	req := &vigilv1.BeatRequest{}
	for range size {
		out, err := w.out(fsm.Join{Speaker: fsm.Speaker{Agent: "demo/builder.*"}})
		if err != nil {
			b.Fatal(err)
		}
		req.Agents, req.Incarnations = append(req.Agents, uint32(out.Agent)), append(req.Incarnations, uint64(out.Inc))
		req.Kinds = append(req.Kinds, fsm.BeatLease)
	}
	many(b, b.N/size+1, clients, func() error {
		r, err := w.work(0).Beat(context.Background(), req)
		if err == nil && r.GetRenewed() != size {
			err = fmt.Errorf("%d of %d renewed", r.GetRenewed(), size)
		}
		return err
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "beats/s")
}

// many lets clients make n calls together.
func many(b *testing.B, n, clients int, call func() error) {
	var left atomic.Int64
	left.Store(int64(n))
	b.ResetTimer()
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if err := call(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
}
