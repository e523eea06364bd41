package bench

import (
	"cmp"
	"context"
	"slices"
	"time"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

func beatsSpec() *Spec {
	return &Spec{
		Name: "beats", Short: "Renew leases of many agents, in batches as hosts do",
		Long: `Measures durable beats of agents a second: a beat counts when the answer says that
it is in the log of a majority. Every host has one call under way, with --batch
agents in it. With --single every agent beats in a call of its own (--clients of
them); such calls wait up to 250 ms for others, so their latency says nothing about
speed. With --managed the agents are started through orders, and their fences are
renewed instead of their leases.`,
		Uses: []string{"count", "duration", "batch", "clients", "conns", "single", "managed"}, CountHelp: "agents",
		Defaults: Options{Count: 100_000, Batch: 1000, Duration: 10 * time.Second, Conns: 3},
		run:      runBeats,
	}
}

func runBeats(ctx context.Context, r *run) error {
	clients, err := r.stand.dial(r.Conns, false)
	if err != nil {
		return err
	}
	if r.Single {
		r.Batch = 1
		if len(r.Clients) > 0 {
			r.Count = r.Clients[0]
		} else {
			r.Count = min(r.Count, 10_000)
		}
	}
	h := herdOf(r.Count, 10*time.Minute)
	var list []flock
	if r.Managed {
		list, err = r.manage(ctx, clients[0], h, max(1, r.Count/r.Batch))
	} else {
		var agents []agent
		agents, err = r.gather(ctx, clients[0], h)
		list = flocks(agents, r.Batch, client.BeatLease)
	}
	if err != nil {
		return err
	}
	work := make([]vigilv1.WorkClient, len(clients))
	for i, c := range clients {
		work[i] = vigilv1.NewWorkClient(c)
	}
	r.say("beating for %s", r.Duration)
	before, err := r.begin(ctx)
	if err != nil {
		return err
	}
	t := load{len(list), warmUp(r.Duration), r.Duration}.drive(ctx, func(ctx context.Context, i int) (int, error) {
		return list[i].beat(ctx, work[i%len(work)])
	})
	r.report.take(t)
	r.report.set("agents", h.roles*h.replicas)
	r.report.set("agents_per_call", r.Batch)
	r.report.set("calls_under_way", len(list))
	r.report.set("managed", r.Managed)
	return r.measureAfter(ctx, before)
}

// sortBeats sorts the beats of a call by agent, as hosts do: that packs well.
func sortBeats(req *vigilv1.BeatRequest) {
	order := make([]int, len(req.Agents))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(req.Agents[a], req.Agents[b]) })
	agents, incs := slices.Clone(req.Agents), slices.Clone(req.Incarnations)
	for i, at := range order {
		req.Agents[i], req.Incarnations[i] = agents[at], incs[at]
	}
}
