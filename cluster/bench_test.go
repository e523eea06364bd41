package cluster_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/cluster/wire/wiretest"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// The benchmarks run three servers in one process, with TCP between them and
// bolt with fsync under each.

const benchAgents = 10_000

func benchCluster(b *testing.B, opts ...clustertest.Option) (*clustertest.Cluster, *cluster.Replica) {
	b.Helper()
	c := clustertest.New(b, 3, append(opts, clustertest.OnDisk())...)
	rep := c.Replica(c.Leader())
	out := c.Submit(fsm.Request{Cmd: fsm.ApplyRoom{Room: "r",
		Roles: []noun.RoleSpec{{Name: "builder", Replicas: benchAgents}}}})
	if out.Code != noun.OK {
		b.Fatalf("apply room: %s", out.Detail)
	}
	return c, rep
}

// each runs do in n goroutines until b.N units are done.
func each(b *testing.B, n, unit int, do func(worker int) error) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	took := make([][]time.Duration, n)
	b.ResetTimer()
	for w := range n {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				begun := time.Now()
				if err := do(w); err != nil {
					b.Error(err)
					return
				}
				took[w] = append(took[w], time.Since(begun))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	all := slices.Concat(took...)
	slices.Sort(all)
	b.ReportMetric(all[len(all)/2].Seconds()*1000, "p50-ms")
	b.ReportMetric(all[len(all)*99/100].Seconds()*1000, "p99-ms")
	b.ReportMetric(float64(b.N*unit)/b.Elapsed().Seconds(), "units/s")
	b.ReportMetric(0, "ns/op")
}

func BenchmarkBeats(b *testing.B) {
	_, rep := benchCluster(b)
	ctx := context.Background()
	var agents []noun.AgentID
	var incs []noun.Incarnation
	for i := 0; i < benchAgents; i += 1000 {
		reqs, outs := make([]fsm.Request, 1000), make([]noun.Outcome, 1000)
		for j := range reqs {
			name := "r/builder"
			if n := i + j + 1; n > 1 {
				name = fmt.Sprintf("r/builder.%d", n)
			}
			reqs[j].Cmd = fsm.Join{Speaker: fsm.Speaker{Agent: name}}
		}
		if err := rep.SubmitAll(ctx, reqs, outs); err != nil {
			b.Fatal(err)
		}
		for _, out := range outs {
			if out.Code != noun.OK {
				b.Fatalf("join: %s %s", out.Code, out.Detail)
			}
			agents, incs = append(agents, out.Agent), append(incs, out.Inc)
		}
	}
	kinds := make([]uint8, 1000)
	for i := range kinds {
		kinds[i] = fsm.BeatLease
	}
	each(b, 64, 1000, func(w int) error {
		from := w % (benchAgents / 1000) * 1000
		ans, err := rep.Beat(ctx,
			fsm.HostBeats{Packed: fsm.PackBeats(nil, agents[from:from+1000], incs[from:from+1000], kinds)})
		if err == nil && (ans.Renewed != 1000 || len(ans.Exceptions) > 0) {
			err = fmt.Errorf("%d renewed, %d exceptions", ans.Renewed, len(ans.Exceptions))
		}
		return err
	})
}

func BenchmarkSubmitAll(b *testing.B) {
	_, rep := benchCluster(b)
	const size = 500
	each(b, 16, size, func(int) error {
		reqs, outs := make([]fsm.Request, size), make([]noun.Outcome, size)
		for i := range reqs {
			reqs[i].Cmd = fsm.CreateTask{Room: "r", Role: "builder", Title: "a task", By: "bench"}
		}
		if err := rep.SubmitAll(context.Background(), reqs, outs); err != nil {
			return err
		}
		if outs[size-1].Code != noun.OK {
			return fmt.Errorf("create task: %s", outs[size-1].Detail)
		}
		return nil
	})
}

func BenchmarkSubmitSingle1000(b *testing.B) {
	_, rep := benchCluster(b)
	each(b, 1000, 1, func(int) error {
		_, err := rep.Submit(context.Background(),
			fsm.Request{Cmd: fsm.CreateTask{Room: "r", Role: "builder", Title: "a task", By: "bench"}})
		return err
	})
}

func BenchmarkSubmitSingle1(b *testing.B) { benchSingle(b) }

// The same between servers that prove who they are.
func BenchmarkSubmitSingle1Secure(b *testing.B) { benchSingle(b, secure(wiretest.New(b, "blue"))) }

func benchSingle(b *testing.B, opts ...clustertest.Option) {
	_, rep := benchCluster(b, opts...)
	each(b, 1, 1, func(int) error {
		_, err := rep.Submit(context.Background(),
			fsm.Request{Cmd: fsm.CreateTask{Room: "r", Role: "builder", Title: "a task", By: "bench"}})
		return err
	})
}

func BenchmarkBarrier(b *testing.B) {
	_, rep := benchCluster(b)
	each(b, 100, 1, func(int) error { return rep.Barrier(context.Background()) })
}
