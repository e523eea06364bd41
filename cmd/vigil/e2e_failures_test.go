//go:build linux

package main_test

import (
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// The failures that vigil is there to end, each with the time to recovery. The
// numbers are those of the story that people tell: F1 the agent crashes, F2 its
// daemon crashes, F3 everybody restarts it at once.
func TestFailuresOfProcesses(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	t.Run("F1 the agent crashes while it waits", func(t *testing.T) {
		c := c.in(t)
		c.role("f1", nil)
		first := c.joined("f1/a", "")
		began := c.kill(first)
		second := c.joined("f1/a", first.GetIncarnation())
		c.took("killed -> waiting again", began)
		if second.GetIncarnationRaw() != first.GetIncarnationRaw()+1 {
			t.Errorf("life %s follows life %s", second.GetIncarnation(), first.GetIncarnation())
		}
		c.completed(c.task("f1", "easy"))
		if n := c.starts("f1/a"); n != 2 {
			t.Errorf("%d lives in the ledger, want 2", n)
		}
	})

	t.Run("F1 the agent crashes in the middle of a task", func(t *testing.T) {
		c := c.in(t)
		c.role("f1b", nil)
		first := c.joined("f1b/a", "")
		task := c.task("f1b", "held")
		c.sees("task.started", "f1b/a", task)
		began := c.kill(first)
		c.sees("task.recovered", "", task)
		c.took("killed -> task recovered", began)
		done := c.sees("task.completed", "f1b/a", task)
		c.took("killed -> task done by the next life", began)
		if done.GetIncarnation() == first.GetIncarnation() || done.GetAttempt() != 2 {
			t.Errorf("done by life %s at attempt %d", done.GetIncarnation(), done.GetAttempt())
		}
		if n := c.starts("f1b/a"); n != 2 {
			t.Errorf("%d lives in the ledger, want 2", n)
		}
	})

	t.Run("F2 agentd crashes and is started again", func(t *testing.T) {
		c := c.in(t)
		c.role("f2a", func(s *vigilv1.RoleSpec) { s.Ttl = nil })
		c.joined("f2a/a", "") // which may come before the report of its start
		before := c.waits("f2a/a", "its pid", func(g *vigilv1.Agent) bool { return g.GetPid() != 0 })
		for range 3 {
			c.host.signal(syscall.SIGKILL)
			c.host.end()
			c.startHost()
		}
		c.completed(c.task("f2a", "easy"))
		if after := c.agent("f2a/a"); after.GetPid() != before.GetPid() ||
			after.GetIncarnation() != before.GetIncarnation() || c.starts("f2a/a") != 1 {
			t.Errorf("the agent noticed: life %s, pid %d, then life %s, pid %d", before.GetIncarnation(),
				before.GetPid(), after.GetIncarnation(), after.GetPid())
		}
	})

	t.Run("F2 agentd crashes and stays away", func(t *testing.T) {
		c := c.in(t)
		c.role("f2", func(s *vigilv1.RoleSpec) { s.Replicas = 2 })
		c.joined("f2/a", "")
		task := c.task("f2", "held")
		holder := c.agent(c.sees("task.started", "", task).GetAgent())
		c.host.signal(syscall.SIGKILL)
		c.host.end()
		began := time.Now()
		c.sees("task.recovered", "", task)
		if d := c.took("agentd killed -> task recovered (ttl 2s)", began); d > patience/2 {
			t.Errorf("L2: the task was recovered after %s", d)
		}
		if !alive(int(holder.GetPid())) {
			t.Errorf("L10: agent process %d is not frozen but gone", holder.GetPid())
		}
		began = time.Now()
		c.startHost()
		c.sees("task.completed", "", task)
		c.took("agentd back -> task done", began)
		for _, name := range []string{"f1/a", "f1b/a", "f2a/a", "f2/a", "f2/a.2"} {
			if a := c.running(name); c.starts(name) > int(a.GetIncarnationRaw()) {
				t.Errorf("%s: %d lives in the ledger, but it lives for the %s. time", name, c.starts(name),
					a.GetIncarnation())
			}
		}
		c.took("agentd back -> all agents running", began)
	})

	t.Run("F2 agentd stays away beyond the fence, and its agent goes on", func(t *testing.T) {
		c := c.in(t)
		// Longer than the silence after which a host is in doubt and gets no orders.
		c.role("f2c", func(s *vigilv1.RoleSpec) { s.Ttl = durationpb.New(10 * time.Second) })
		before := c.joined("f2c/a", "")
		for range 2 {
			c.host.signal(syscall.SIGKILL)
			c.host.end()
			c.sees("agent.fence_ended", "f2c/a", 0)
			began := time.Now()
			c.startHost()
			c.sees("agent.adopted", "f2c/a", 0)
			c.took("agentd back -> life taken up", began)
			c.completed(c.task("f2c", "easy"))
		}
		// L10: nothing has replaced it, although its host was put back into service.
		if after := c.running("f2c/a"); after.GetPid() != before.GetPid() ||
			after.GetIncarnation() != before.GetIncarnation() || c.starts("f2c/a") != 1 {
			t.Errorf("it was replaced: %v, then %v", before, after)
		}
	})

	t.Run("F3 everybody asks for an agent in the moment of its death", func(t *testing.T) {
		c := c.in(t)
		c.role("f3", nil)
		first := c.joined("f3/a", "")
		began := c.kill(first)
		for _, id := range c.everybody("f3", false) {
			if id != 0 {
				c.completedAny(id)
			}
		}
		c.took("killed -> all tasks done", began)
		if n := c.starts("f3/a"); n != 2 {
			t.Errorf("L4: %d lives in the ledger, want 2", n)
		}
	})

	for name, start := range map[string]string{
		"F3 everybody restarts an agent whose death nobody knows yet": "always",
		"F3 everybody wants an agent that does not run":               "on_demand",
	} {
		t.Run(name, func(t *testing.T) { c.in(t).storm(strings.ReplaceAll("f3-"+start, "_", "-"), start) })
	}
}

// running waits until an agent is in its room.
func (c *crew) running(name string) *vigilv1.Agent {
	c.t.Helper()
	if a := c.agent(name); a.GetParticipant() != "DISCONNECTED" {
		return a
	}
	c.sees("agent.joined", name, 0)
	return c.agent(name)
}

// storm asks for one agent 20 times at once, through all three servers, while its
// host is frozen; then the host goes on (law L4).
func (c *crew) storm(room, start string) {
	c.role(room, func(s *vigilv1.RoleSpec) { s.Start, s.Ttl = start, durationpb.New(30*time.Second) })
	name, lives := room+"/a", 1
	if start == "always" {
		first := c.joined(name, "")
		lives = 2
		defer c.host.signal(syscall.SIGCONT)
		c.host.signal(syscall.SIGSTOP)
		c.kill(first)
	} else {
		defer c.host.signal(syscall.SIGCONT)
		c.host.signal(syscall.SIGSTOP)
	}
	began := time.Now()
	tasks := c.everybody(room, true)
	c.took("20 calls answered", began)
	began = time.Now()
	c.host.signal(syscall.SIGCONT)
	for _, id := range tasks {
		if id != 0 {
			c.completedAny(id)
		}
	}
	c.took("host goes on -> all tasks done", began)
	if n := c.starts(name); n != lives {
		c.t.Errorf("L4: %d lives in the ledger, want %d", n, lives)
	}
}

// everybody sends 20 calls at once, over three connections; it gives the tasks.
// Without restart nobody asks to end what runs.
func (c *crew) everybody(room string, restart bool) []uint64 {
	c.t.Helper()
	var fleets []vigilv1.FleetClient
	for _, addr := range c.api {
		conn, err := client.Open(client.Config{Addrs: []string{addr}, Name: "everybody"})
		if err != nil {
			c.t.Fatal(err)
		}
		defer conn.Close()
		fleets = append(fleets, vigilv1.NewFleetClient(conn))
	}
	ctx, name := c.ctx(), room+"/a"
	var calls sync.WaitGroup
	tasks, errs := make([]uint64, 20), make([]error, 20)
	for i := range 20 {
		f := fleets[i%len(fleets)]
		calls.Go(func() {
			switch {
			case i%4 == 0 || i%4 == 1 && !restart:
				_, errs[i] = f.SetAgent(ctx, &vigilv1.SetAgentRequest{Agent: name, Desired: "running", By: "test"})
			case i%4 == 1:
				_, errs[i] = f.RestartAgent(ctx, &vigilv1.RestartAgentRequest{Agent: name, By: "test"})
			default:
				var task *vigilv1.Task
				task, errs[i] = f.CreateTask(ctx,
					&vigilv1.CreateTaskRequest{Room: room, Role: "a", Title: fmt.Sprint("easy ", i), By: "test"})
				tasks[i] = task.GetId()
			}
		})
	}
	calls.Wait()
	for i, err := range errs {
		if err != nil {
			c.t.Errorf("call %d: %v", i, err)
		}
	}
	return tasks
}

// completedAny waits until a task is completed, whatever was seen before.
func (c *crew) completedAny(task uint64) {
	c.t.Helper()
	c.seen = 0
	c.completed(task)
}
