//go:build linux

package main_test

import (
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// The first promise: whatever dies comes back, and no task is lost (L3, L8).
func TestFleetOutlivesKills(t *testing.T) {
	t.Parallel()
	began := time.Now()
	f := newFleet(t)
	f.apply("demo", "checksum", "words")
	t.Logf("room applied after %s", time.Since(began))
	first := f.joined("demo/checksum", "")
	t.Logf("agent joined after %s", time.Since(began))
	f.create("demo/checksum")
	next := f.await("hand-off", func(e *vigilv1.Event) bool {
		return e.GetKind() == "task.completed" && strings.HasPrefix(e.GetAgent(), "demo/words")
	})
	t.Logf("first task done after %s", time.Since(began))
	done, err := f.fleet.GetTask(f.ctx(), &vigilv1.GetTaskRequest{Task: next.GetTask()})
	if err != nil || !strings.Contains(done.GetResult(), "50 lines, 400 words") {
		t.Fatalf("the words were not counted: %v, %v", done.GetResult(), err)
	}

	t.Run("an agent killed with -9 is running again as a new incarnation", func(t *testing.T) {
		if err := syscall.Kill(int(first.GetPid()), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		again := f.joined("demo/checksum", first.GetIncarnation())
		t.Logf("killed -> joined again: %s", time.Since(began))
		if again.GetIncarnationRaw() <= first.GetIncarnationRaw() || again.GetPid() == first.GetPid() {
			t.Fatalf("incarnation %s, pid %d after incarnation %s, pid %d",
				again.GetIncarnation(), again.GetPid(), first.GetIncarnation(), first.GetPid())
		}
		if again.GetLastExit().GetSignal() != "killed" {
			t.Fatalf("the evidence of its death is %v", again.GetLastExit())
		}
		f.completed(f.create("demo/words"))
	})

	t.Run("the leader killed with -9 is replaced and no agent notices", func(t *testing.T) {
		before := f.agent("demo/checksum")
		was := f.leader()
		f.servers[was].signal(syscall.SIGKILL)
		f.servers[was].end()
		began := time.Now()
		task := f.create("demo/checksum")
		t.Logf("killed -> first write: %s", time.Since(began))
		f.completed(task)
		if now := f.leader(); now == was {
			t.Fatalf("the dead server s%d still leads", was+1)
		}
		if after := f.agent("demo/checksum"); after.GetIncarnation() != before.GetIncarnation() {
			t.Fatalf("L10: the agent was replaced: incarnation %s, then %s", before.GetIncarnation(),
				after.GetIncarnation())
		}
		f.servers[was] = f.startServer(was)
	})

	t.Run("the leader told to stop hands over", func(t *testing.T) {
		was := f.leader()
		f.servers[was].signal(syscall.SIGTERM)
		began := time.Now()
		task := f.create("demo/checksum")
		t.Logf("told to stop -> first write: %s", time.Since(began))
		f.completed(task)
		if code := f.servers[was].end(); code != 0 {
			t.Fatalf("the server ended with %d", code)
		}
		f.servers[was] = f.startServer(was)
	})

	t.Run("agentd told to stop ends its agents and says good-bye", func(t *testing.T) {
		pid := int(f.agent("demo/checksum").GetPid())
		f.agentd.signal(syscall.SIGTERM)
		if code := f.agentd.end(); code != 0 {
			t.Fatalf("agentd ended with %d", code)
		}
		if alive(pid) {
			t.Fatalf("agent process %d outlived its agentd", pid)
		}
		hosts, err := f.fleet.ListHosts(f.ctx(), &vigilv1.ListHostsRequest{})
		if err != nil || len(hosts.GetHosts()) != 1 || hosts.GetHosts()[0].GetState() != "left" {
			t.Fatalf("hosts: %v, %v", hosts, err)
		}
		for _, s := range f.servers {
			s.shows(regexp.MustCompile(`server starts`)) // before it the signal would kill it
			s.signal(syscall.SIGTERM)
		}
		for _, s := range f.servers {
			if code := s.end(); code != 0 {
				t.Fatalf("%s ended with %d", s.name, code)
			}
		}
	})
}

// A server that names the cluster with --join becomes a voter, and leaves again.
func TestServerJoinsAndLeaves(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.apply("demo", "words")
	f.joined("demo/words", "")
	api, raft := freePort(t), freePort(t)
	joiner := spawn(t, "s4", "server", "--insecure", "--id", "s4", "--data-dir", f.path("s4"), "--addr", api,
		"--raft-addr", raft, "--join", f.api[0])
	joiner.shows(regexp.MustCompile(`server has joined the cluster`))
	f.await("announcement of s4", func(e *vigilv1.Event) bool {
		return e.GetKind() == "server.announced" && strings.HasPrefix(e.GetText(), "s4 ")
	})
	list, err := f.status.ListServers(f.ctx(), &vigilv1.ListServersRequest{})
	if err != nil || len(list.GetServers()) != 4 {
		t.Fatalf("servers: %v, %v", list, err)
	}
	if s := list.GetServers()[3]; s.GetId() != "s4" || !s.GetVoter() || s.GetApiAddr() != api {
		t.Fatalf("the new server is %v", s)
	}
	c, err := client.Open(client.Config{Addrs: []string{api}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	task, err := vigilv1.NewFleetClient(c).CreateTask(f.ctx(),
		&vigilv1.CreateTaskRequest{Room: "demo", Role: "words", Title: "w", Text: "poem.txt"})
	if err != nil {
		t.Fatalf("write through the new server: %v", err)
	}
	f.completed(task.GetId())
	if _, err := f.status.RemoveServer(f.ctx(), &vigilv1.RemoveServerRequest{Server: "s4"}); err != nil {
		t.Fatalf("remove: %v", err)
	}
	if list, err := f.status.ListServers(f.ctx(), &vigilv1.ListServersRequest{}); err != nil ||
		len(list.GetServers()) != 3 {
		t.Fatalf("servers: %v, %v", list, err)
	}
}

// A server without data is told of a cluster before it has asked to join: somebody
// speaks to it. It does not listen, and asks all the same after a restart.
func TestServerThatIsToldTooEarlyJoins(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	api, raft := freePort(t), freePort(t)
	args := []string{"server", "--insecure", "--id", "s4", "--data-dir", f.path("s4"), "--addr", api, "--raft-addr", raft}
	early := spawn(t, "s4", args...)
	early.shows(regexp.MustCompile(`server starts`))
	status, err := f.status.Status(f.ctx(), &vigilv1.StatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", raft)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := fmt.Fprintf(c, "vigil-raft/1 %s\n", status.GetClusterId()); err != nil {
		t.Fatal(err)
	}
	early.shows(regexp.MustCompile(`peer turned away|belongs to cluster`))
	early.signal(syscall.SIGTERM)
	if code := early.end(); code != 0 {
		t.Fatalf("the server ended with %d", code)
	}
	joiner := spawn(t, "s4", append(args, "--join", f.api[0])...)
	joiner.shows(regexp.MustCompile(`server has joined the cluster`))
	list, err := f.status.ListServers(f.ctx(), &vigilv1.ListServersRequest{})
	if err != nil || len(list.GetServers()) != 4 || !list.GetServers()[3].GetVoter() {
		t.Fatalf("servers: %v, %v", list, err)
	}
}

// What a server is told at its start, and what it says when that cannot be.
func TestServerRefusesOtherData(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := spawn(t, "a", "server", "--insecure", "--id", "a", "--data-dir", dir, "--addr", freePort(t),
		"--raft-addr", freePort(t), "--found")
	first.shows(regexp.MustCompile(`stint open`))
	for _, tt := range []struct {
		what, id, want string
		stop           bool
	}{
		{"a directory in use", "a", "in use", false},
		{"data of another server", "b", `belongs to server "a"`, true},
	} {
		if tt.stop {
			first.signal(syscall.SIGTERM)
			if code := first.end(); code != 0 {
				t.Fatalf("the server ended with %d", code)
			}
		}
		p := spawn(t, tt.what, "server", "--insecure", "--id", tt.id, "--data-dir", dir, "--addr", freePort(t),
			"--raft-addr", freePort(t), "--found")
		if code := p.end(); code != 1 || !strings.Contains(p.out.String(), tt.want) {
			t.Errorf("%s: exit code %d, %q", tt.what, code, p.out.tail())
		}
	}
}

// alive tells whether a process runs; a zombie does not.
func alive(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(text), ") Z ")
}

// shows waits until the output matches and gives all of it.
func (p *proc) shows(want *regexp.Regexp) string {
	p.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for {
		if text := p.out.String(); want.MatchString(text) {
			return text
		}
		select {
		case <-tick.C:
		case <-p.done:
			p.t.Fatalf("%s ended before it showed %s:\n%s", p.name, want, p.out.tail())
		case <-limit:
			p.t.Fatalf("%s does not show %s:\n%s", p.name, want, p.out.tail())
		}
	}
}
