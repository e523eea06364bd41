package bench

import (
	"context"
	"fmt"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

func ondemandSpec() *Spec {
	return &Spec{
		Name: "ondemand", Short: "What a task costs whose role has 10,000 agents on demand",
		Long: `Fills the state machine of one server in this process with 1,000,000 agents on demand of 10,000
roles, and a role of 10,000 more. Creates and cancels --count tasks for that role, each of which makes
its agents wanted and unwanted again; then creates one task for each of 1,000 roles and lets the
leader's duty order their starts. It measures the time of each entry of the log, and the processor
time for which the planner holds the lock.`,
		Uses: []string{"count"}, CountHelp: "tasks", Alone: true,
		Defaults: Options{Count: 100_000}, run: runOndemand,
	}
}

func runOndemand(ctx context.Context, r *run) error {
	const giant, started = 10_000, 1_000
	x := newAlone(r)
	r.say("declaring %d agents", fleetAgents+giant)
	onDemand := func(_ int, spec *noun.RoleSpec) { spec.Start = noun.StartOnDemand }
	x.fleet(fleetAgents, onDemand)
	x.must(fsm.ApplyRoom{Room: "giant", Roles: []noun.RoleSpec{{Name: "a", Runner: "worker", Replicas: giant,
		Start: noun.StartOnDemand}}, By: "bench"})
	r.say("creating and cancelling %d tasks", r.Count)
	if x.failed != nil {
		return x.failed
	}
	x.count()
	began := time.Now()
	for n := 0; n < r.Count && ctx.Err() == nil && x.failed == nil; n++ {
		task := x.must(fsm.CreateTask{Room: "giant", Role: "a", Title: "build the thing", By: "bench"}).Task
		x.must(fsm.CancelTask{Task: task, By: "bench"})
	}
	r.report.Seconds = time.Since(began).Seconds()
	r.say("starting %d agents for tasks", started)
	stop, err := x.lead(ctx)
	if err != nil {
		return err
	}
	at := time.Now()
	for role := range started {
		x.must(fsm.CreateTask{Room: fleetRoom(role), Role: fleetRole(role), Title: "build the thing", By: "bench"})
	}
	orders := 0
	for orders < started && time.Since(at) < time.Minute && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
		x.mu.RLock()
		orders = int(x.s.Counts().Processes[noun.ProcOrdered])
		x.mu.RUnlock()
	}
	took := time.Since(at)
	if err := stop(); err != nil {
		return err
	}
	if orders != started && ctx.Err() == nil {
		return fmt.Errorf("%d starts are ordered for %d tasks", orders, started)
	}
	if err := x.close(); err != nil {
		return err
	}
	r.report.PerSecond = float64(r.report.Count) / r.report.Seconds
	r.report.set("all_ordered_seconds", took.Seconds())
	return ctx.Err()
}
