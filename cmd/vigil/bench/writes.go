package bench

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"vigil/rpc/gen/vigilv1"
)

func writesSpec() *Spec {
	return &Spec{
		Name: "writes", Short: "Single small writes, one in each call",
		Long: `Every client creates tasks, one call after the other: a write that is acknowledged
when a majority has it on disk. Each number in --clients is measured by itself; the
main figures are those of the last.`,
		Uses:     []string{"duration", "clients", "conns"},
		Defaults: Options{Clients: []int{1, 64, 1000}, Duration: 8 * time.Second, Conns: 8},
		run:      runWrites,
	}
}

func runWrites(ctx context.Context, r *run) error {
	clients, err := r.stand.dial(r.Conns, false)
	if err != nil {
		return err
	}
	h := herd{roles: 16, replicas: 4}
	if err := r.declare(ctx, clients[0], h); err != nil {
		return err
	}
	fleet := make([]vigilv1.FleetClient, len(clients))
	for i, c := range clients {
		fleet[i] = vigilv1.NewFleetClient(c)
	}
	var n atomic.Uint64
	for _, callers := range r.Clients {
		r.say("%d clients for %s", callers, r.Duration)
		before, err := r.begin(ctx)
		if err != nil {
			return err
		}
		t := load{callers, warmUp(r.Duration), r.Duration}.drive(ctx, func(ctx context.Context, i int) (int, error) {
			k := n.Add(1)
			room, role := h.role(r.tag, int(k)%h.roles)
			_, err := fleet[i%len(fleet)].CreateTask(ctx, &vigilv1.CreateTaskRequest{Room: room, Role: role,
				Title: "write " + strconv.FormatUint(k, 10), Text: "a small task of the benchmark", By: "bench"})
			return 1, err
		})
		r.report.take(t)
		for _, f := range []Figure{
			{"per_second", float64(t.ops) / t.seconds}, {"p50_ms", t.percentile(0.50)},
			{"p99_ms", t.percentile(0.99)}, {"max_ms", t.max()},
		} {
			r.report.set(fmt.Sprintf("%s_%d_clients", f.Name, callers), f.Value)
		}
		if err := r.measureAfter(ctx, before); err != nil {
			return err
		}
	}
	r.report.set("connections", len(clients))
	return nil
}
