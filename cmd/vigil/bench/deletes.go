package bench

import (
	"context"
	"fmt"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

func deletesSpec() *Spec {
	return &Spec{
		Name: "deletes", Short: "How long one entry takes while great rooms are deleted",
		Long: `Fills the state machine of one server in this process with 1,000,000 agents of 10,000 roles in 40
rooms and --count tasks, half of them in the first room, half of them finished, and 10,000 lives that
hold one. Then deletes all rooms, one after the other, with the exits of their lives, and as many
empty rooms in between. It measures the time of each entry of the log.`,
		Uses: []string{"count"}, CountHelp: "tasks", Alone: true,
		Defaults: Options{Count: fleetTasks}, run: runDeletes,
	}
}

func runDeletes(ctx context.Context, r *run) error {
	x := newAlone(r)
	r.say("declaring %d agents", fleetAgents)
	x.fleet(fleetAgents, func(int, *noun.RoleSpec) {})
	r.say("creating %d tasks", r.Count)
	x.tasks(r.Count)
	r.say("starting lives")
	x.employ()
	if x.failed != nil {
		return x.failed
	}
	x.count()
	began := time.Now()
	for n := 0; n < fleetRoles && ctx.Err() == nil && x.failed == nil; n += rolesARoom {
		r.say("deleting %s", fleetRoom(n))
		x.must(fsm.ApplyRoom{Room: "small", Roles: []noun.RoleSpec{{Name: "a"}}, By: "bench"})
		x.must(fsm.DeleteRoom{Room: fleetRoom(n), By: "bench"})
		x.must(fsm.DeleteRoom{Room: "small", By: "bench"})
		x.exits(n)
		if x.failed == nil && x.s.Room(fleetRoom(n)) != nil {
			return fmt.Errorf("room %s is still there when all its lives have ended", fleetRoom(n))
		}
	}
	r.report.Seconds = time.Since(began).Seconds()
	if c := x.s.Counts(); ctx.Err() == nil && x.failed == nil && (c.Agents != 0 || c.Tasks != fsm.Counts{}.Tasks) {
		return fmt.Errorf("%d agents and %v tasks are left", c.Agents, c.Tasks)
	}
	if err := x.close(); err != nil {
		return err
	}
	r.report.PerSecond = float64(r.report.Count) / r.report.Seconds
	return ctx.Err()
}

// tasks creates tasks, half of them for the first room, and cancels half of them.
func (x *alone) tasks(count int) {
	const batch = 500
	for made := 0; made < count; {
		first := made
		var reqs []fsm.Request
		for ; len(reqs) < batch && made < count; made++ {
			role := made / 2 % fleetRoles
			if made%2 == 0 {
				role %= rolesARoom
			}
			reqs = append(reqs,
				fsm.Request{Cmd: fsm.CreateTask{Room: fleetRoom(role), Role: fleetRole(role), Title: "build the thing",
					Text: "as described in the file", By: "bench"}})
		}
		var cancels []fsm.Request
		for i, out := range x.apply("tasks", reqs...) {
			if (first+i)/14%2 == 0 { // of each role some
				cancels = append(cancels, fsm.Request{Cmd: fsm.CancelTask{Task: out.Task, By: "bench"}})
			}
		}
		x.apply("cancels", cancels...)
	}
}

// employ starts the first agent of each role and lets it claim a task.
func (x *alone) employ() {
	for role := range fleetRoles {
		a := x.s.AgentByName(noun.AgentName(fleetRoom(role), fleetRole(role), 1))
		h, inc := noun.HostID(1+role%fleetHosts), x.s.NextInc(a)
		sp := fsm.Speaker{Agent: a.Name, Inc: inc}
		x.must(fsm.OrderStart{Agent: a.ID, Inc: inc, Host: h})
		x.must(fsm.AcceptOrder{Host: h, Boot: "b1", Agent: a.ID, Inc: inc})
		x.must(fsm.ReportStarted{Host: h, Agent: a.ID, Inc: inc, PID: 1})
		x.must(fsm.Join{Speaker: sp})
		x.must(fsm.Claim{Speaker: sp})
	}
}

// exits ends the lives of a room's roles, in batches.
func (x *alone) exits(first int) {
	var reqs []fsm.Request
	for role := first; role < first+rolesARoom; role++ {
		a := x.s.AgentByName(noun.AgentName(fleetRoom(role), fleetRole(role), 1))
		reqs = append(reqs, fsm.Request{Cmd: fsm.ReportExit{Host: a.Host, Agent: a.ID, Inc: a.Inc}})
	}
	x.apply("exits", reqs...)
}
