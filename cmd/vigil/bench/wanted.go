package bench

import (
	"context"
	"fmt"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

func wantedSpec() *Spec {
	return &Spec{
		Name: "wanted", Short: "How long agents that fit no host hold up everything else",
		Long: `Declares --count agents of 10,000 roles, none of which fits any of 1,000 hosts, in the state
machine of one server in this process, and lets the leader's duty plan starts for --duration.
Meanwhile a host changes every second, which makes the planner look at all of them again, and every
second a role is declared that fits. It measures the processor time for which the planner holds
the lock, the time that an entry takes, and how long it takes until such a role has its start.`,
		Uses: []string{"count", "duration"}, CountHelp: "agents", Alone: true,
		Defaults: Options{Count: fleetAgents, Duration: 20 * time.Second}, run: runWanted,
	}
}

func runWanted(ctx context.Context, r *run) error {
	x := newAlone(r)
	r.say("declaring %d agents", r.Count)
	x.fleet(r.Count, func(i int, spec *noun.RoleSpec) {
		switch i % 3 {
		case 0:
			spec.Runner = "none"
		case 1:
			spec.Labels = []noun.KV{{Key: "gpu", Value: "yes"}, {Key: "os", Value: "linux"}}
		default: // each of them many hosts have, both none has
			spec.Labels = []noun.KV{{Key: "rack", Value: "1"}, {Key: "row", Value: "2"}}
		}
	})
	if x.failed != nil {
		return x.failed
	}
	x.count()
	stop, err := x.lead(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	var starts samples
	for i := 0; time.Since(began) < r.Duration && ctx.Err() == nil && x.failed == nil; i++ {
		r.say("planning: %d s", int(time.Since(began).Seconds()))
		reason := [...]string{"short of memory", ""}[i%2]
		x.must(fsm.ReportPressure{Host: 1, Boot: "b1", Reason: reason})
		room := fmt.Sprint("fits", i)
		at := time.Now()
		x.must(fsm.ApplyRoom{Room: room, Roles: []noun.RoleSpec{{Name: "a", Runner: "worker"}}, By: "bench"})
		for ordered := false; !ordered && ctx.Err() == nil && time.Since(at) < time.Minute; {
			time.Sleep(time.Millisecond)
			x.mu.RLock()
			ordered = x.s.AgentByName(room+"/a").Proc == noun.ProcOrdered
			x.mu.RUnlock()
		}
		starts.add(time.Since(at))
		time.Sleep(time.Until(began.Add(time.Duration(i+1) * time.Second)))
	}
	r.report.Seconds = time.Since(began).Seconds()
	if err := stop(); err != nil {
		return err
	}
	if err := x.close(); err != nil {
		return err
	}
	r.report.PerSecond = float64(r.report.Count) / r.report.Seconds
	r.report.set("start_p50_ms", starts.percentile(0.5))
	r.report.set("start_max_ms", starts.max())
	return ctx.Err()
}
