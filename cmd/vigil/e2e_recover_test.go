//go:build linux

package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/agentd/runner"
	"vigil/rpc/gen/vigilv1"
)

// Two of three servers are lost for good, the leader among them, while an agent holds a task.
// The third is recovered and goes on; agentd, the agent and clients find it by themselves, the
// same life completes its task, gossip follows, and the cluster grows again.
func TestN07ARecoveredServerGoesOn(t *testing.T) {
	t.Parallel()
	vigil(t)
	f := newFleet(t, func(f *testFleet) {
		f.write("servers.yaml", "settings: {ttl: 6s, stop_grace: 1s}\n") // the hold after a recovery is as long
		f.config = f.path("servers.yaml")
	})
	f.write("h2/agentd.yaml", fmt.Sprintf("servers: [%s]\ninsecure: true\ndata_dir: %q\nname: h2\nrunners:\n"+
		"- {name: holds, program: sh, user: %q, args: [-c, 'while vigil wait-for-task --start >task.txt; do "+
		"until [ -e %q ]; do sleep 0.1; done; vigil task complete done || exit; done']}\n",
		strings.Join(f.api, ", "), f.path("h2data"), runner.SameUser(), f.path("go")))
	h2 := spawn(t, "h2", "agentd", "--config", f.path("h2/agentd.yaml"))
	t.Cleanup(func() { f.clear("h2data", h2) })
	f.role("demo", "holds")
	life := f.joined("demo/holds", "").GetIncarnation()
	task := f.create("demo/holds")
	f.await("start of the task", func(e *vigilv1.Event) bool {
		return e.GetKind() == "task.started" &&
			e.GetTask() == task
	})

	leader := f.leader()
	stays, other := (leader+1)%3, (leader+2)%3
	f.knows(stays, task)
	for _, i := range []int{leader, other} {
		f.servers[i].signal(syscall.SIGKILL)
		<-f.servers[i].done
		if err := os.RemoveAll(f.path(f.servers[i].name)); err != nil {
			t.Fatal(err)
		}
	}
	name := f.servers[stays].name
	dir := f.path(name)
	if p := spawn(t, "recover", "server", "recover", "--data-dir", dir, "--yes"); p.end() != 4 ||
		!strings.Contains(p.out.String(), "in use") {
		t.Errorf("a server that runs: %s", p.out.tail())
	}
	f.servers[stays].signal(syscall.SIGTERM)
	<-f.servers[stays].done
	p := spawn(t, "recover", "server", "recover", "--data-dir", dir, "--yes")
	if code := p.end(); code != 0 ||
		!strings.Contains(p.out.String(), "join: ["+f.api[stays]+"]") {
		t.Fatalf("exit code %d: %s", code, p.out.tail())
	}
	t.Log(p.out.String())
	f.servers[stays] = f.startServer(stays)
	f.servers[stays].shows(regexp.MustCompile(`stint open`))
	f.write("go", "")
	done := f.await("completion", func(e *vigilv1.Event) bool {
		return e.GetKind() == "task.completed" &&
			e.GetTask() == task
	})
	if done.GetIncarnation() != life || done.GetAttempt() != 1 {
		t.Errorf("L10: life %s completed attempt %d, the task was held by life %s", done.GetIncarnation(),
			done.GetAttempt(), life)
	}

	// One that was lost comes back empty with its old configuration; another is new.
	f.servers[other] = f.startServer(other)
	f.servers[other].shows(regexp.MustCompile(`server has joined the cluster`))
	api, raft := freePort(t), freePort(t)
	s4 := spawn(t, "s4", "server", "--insecure", "--id", "s4", "--data-dir", f.path("s4"),
		"--addr", api, "--raft-addr", raft, "--join", f.api[stays])
	s4.shows(regexp.MustCompile(`server has joined the cluster`))
	f.heardBy("h2", 3)
	f.completed(f.create("demo/holds"))
	if g := f.agent("demo/holds"); g.GetIncarnation() != life {
		t.Errorf("L10: the agent's life is %s, was %s", g.GetIncarnation(), life)
	}
	select {
	case <-h2.done:
		t.Errorf("agentd has ended: %s", h2.out.tail())
	default:
	}
}

// role declares a room with one agent of a role that freezes and ends fast.
func (f *testFleet) role(room, role string) {
	f.t.Helper()
	spec := &vigilv1.RoleSpec{Name: role, Runner: role, Replicas: 1, StopGrace: durationpb.New(300 * time.Millisecond)}
	if _, err := f.fleet.ApplyRoom(f.ctx(),
		&vigilv1.ApplyRoomRequest{Room: room, By: "test", Roles: []*vigilv1.RoleSpec{spec}}); err != nil {
		f.t.Fatalf("apply room: %v", err)
	}
}

// knows waits until server i itself knows that work on a task has begun.
func (f *testFleet) knows(i int, task uint64) {
	f.t.Helper()
	f.until("knows of the task", func() (bool, string) {
		p := spawn(f.t, "task show", "task", "show", fmt.Sprint(task), "--stale", "--json", "--addr", f.api[i])
		var got struct{ State string }
		ok := p.end() == 0 && json.Unmarshal([]byte(p.out.String()), &got) == nil && got.State == "IN_PROGRESS"
		return ok, p.out.tail()
	})
}

// heardBy waits until a host is ready and that many servers hear it in gossip.
func (f *testFleet) heardBy(host string, servers int) {
	f.t.Helper()
	f.until(fmt.Sprintf("%d servers hear %s in gossip", servers, host), func() (bool, string) {
		h, err := f.fleet.GetHost(f.ctx(), &vigilv1.GetHostRequest{Host: host})
		if err != nil {
			return false, err.Error()
		}
		n := 0
		for _, v := range h.GetViews() {
			if v.GetGossip() == "alive" {
				n++
			}
		}
		return n == servers && h.GetState() == "ready", fmt.Sprint(h)
	})
}

// until waits for something that has to come; it is told what there was instead.
func (f *testFleet) until(what string, cond func() (ok bool, got string)) {
	f.t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for ctx := f.ctx(); ; {
		ok, got := cond()
		if ok {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			f.t.Fatalf("%s: not within %s: %s", what, patience, got)
		}
	}
}
