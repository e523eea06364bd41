//go:build linux

package incidents

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// atOnce is how many of the lives ran at the same moment, at most.
func atOnce(lives []*ledger.Life) int {
	type step struct {
		at int64
		by int
	}
	var steps []step
	for _, l := range lives {
		steps = append(steps, step{l.Start, 1}, step{l.Last() + 1, -1})
	}
	slices.SortFunc(steps, func(a, b step) int { return int(max(-1, min(1, a.at-b.at))) })
	most, now := 0, 0
	for _, s := range steps {
		now += s.by
		most = max(most, now)
	}
	return most
}

// I63, cap not enforced: agents are slots of a role, so that no number of tasks, no
// server and no fail-over makes more of them; all tasks are done, once each (law L8).
func TestI63CapWithFiftyTasks(t *testing.T) {
	w := fleet(t)
	w.room(role("work", 4, "", onDemand))
	const tasks = 50
	var creators []func() error
	for range tasks {
		creators = append(creators, func() error {
			_, err := w.fleet.CreateTask(w.ctx(), &vigilv1.CreateTaskRequest{Room: w.name, Role: "work",
				Title: "a task", Text: "quiet=100ms", By: "test"})
			return err
		})
	}
	lead := w.leader()
	together(t, append(creators, func() error {
		time.Sleep(20 * time.Millisecond) // some are created before, some after
		w.killServer(lead)
		return nil
	})...)
	w.eventually("all tasks are done", func() error {
		done := w.events("task.completed")
		if len(done) < tasks {
			return fmt.Errorf("%d of %d; %s", len(done), tasks, w.describe())
		}
		return nil
	})
	if n := atOnce(w.lives("")); n > 4 {
		t.Errorf("%d lives at once, want at most 4", n)
	}
	once := map[uint64]int{}
	for _, e := range w.events("task.completed") {
		once[e.GetTask()]++
	}
	if len(once) != tasks {
		t.Errorf("%d tasks were completed, want %d", len(once), tasks)
	}
}

// I65, duplicate after a restart of the coordinators: claims are in the log. Agents
// that work while all servers are away finish what they have, in the same life (L10).
func TestI65AllServersRestart(t *testing.T) {
	w := fleet(t)
	const tasks = 20
	w.room(role("work", tasks, "", lasting(patience)))
	before := w.runs(tasks)
	for range tasks {
		w.task("work", "quiet=4s")
	}
	w.eventually("all tasks are in progress", func() error {
		if n := len(w.events("task.started")); n != tasks {
			return fmt.Errorf("%d are; %s", n, w.describe())
		}
		return nil
	})
	var starts []func()
	for _, sv := range w.Servers {
		starts = append(starts, w.killServer(sv))
	}
	for _, start := range starts {
		start()
	}
	w.eventually("all tasks are done", func() error {
		if n := len(w.events("task.completed")); n != tasks {
			return fmt.Errorf("%d are; %s", n, w.describe())
		}
		return nil
	})
	for _, e := range w.events("task.completed") {
		if e.GetAttempt() != 1 {
			t.Errorf("task %d was completed in attempt %d", e.GetTask(), e.GetAttempt())
		}
	}
	for name, l := range w.runs(tasks) {
		if l.Incarnation != before[name].Incarnation {
			t.Errorf("%s lives life %d, was %d", name, l.Incarnation, before[name].Incarnation)
		}
	}
}

// I151, cap blind to some launch paths: there is one way to a process, an order that
// is counted on its host before it exists. Whatever asks for agents, a host of four
// never has five, and says how many it has.
func TestI151EveryWayCountsAgainstTheCap(t *testing.T) {
	w := fleet(t)
	const room = 4
	h := w.extra("small", 52, room)
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	with := func(name string) func(*vigilv1.RoleSpec) { return func(r *vigilv1.RoleSpec) { r.Runner = name } }
	w.room(role("always", 2, "", on(h)), role("asked", 2, "", on(h), onDemand),
		role("terminal", 2, "", on(h), with("pty")), role("shown", 2, "", on(h), with("tmux")))
	var ask []func() error
	for i := range 8 {
		ask = append(ask, w.tasker(w.Servers[i%3], "asked"),
			w.starter(w.Servers[i%3], []string{"always", "asked.2", "terminal", "shown.2"}[i%4]))
	}
	together(t, ask...)
	within := func() error {
		got := w.hostState(h)
		if n := got.GetRunning() + got.GetStarting(); n > room {
			return fmt.Errorf("%d of %d are counted", n, room)
		}
		residents, err := h.Residents()
		if err != nil || len(residents) > room {
			return fmt.Errorf("%d of %d run: %w", len(residents), room, err)
		}
		return nil
	}
	w.runs(room)
	for name := range w.runs(room) {
		_, err := w.fleet.RestartAgent(w.ctx(), &vigilv1.RestartAgentRequest{Agent: w.slot(name), By: "test"})
		if err != nil && !errors.Is(err, client.ErrConflict) {
			t.Fatal(err)
		}
	}
	always(t, 3*time.Second, "the cap holds", within)
	w.runs(room)
	if n := atOnce(w.lives("")); n != room {
		t.Errorf("%d lives at once, want %d", n, room)
	}
	for _, a := range w.agents() {
		if a.GetProcess() == "none" && (a.GetWhyCode() != "no_host" ||
			!strings.Contains(a.GetWhy(), "full")) && a.GetWhyCode() != "no_task" {
			t.Errorf("%s does not run because of %s: %s", a.GetName(), a.GetWhyCode(), a.GetWhy())
		}
	}
}
