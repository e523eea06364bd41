//go:build linux

package main_test

import (
	"fmt"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/gen/vigilv1"
)

// F4: a task that was claimed and never started does not stay so.
func TestTaskIsNotStuckInAcknowledged(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	t.Run("its agent hangs", func(t *testing.T) {
		c := c.in(t)
		c.role("hang", func(s *vigilv1.RoleSpec) {
			s.AckLimit, s.StartLimit = durationpb.New(2*time.Second), durationpb.New(3*time.Second)
		})
		first := c.joined("hang/a", "")
		began := time.Now()
		task := c.task("hang", "stuck")
		c.sees("task.recovered", "", task)
		c.took("created -> recovered (ack_limit 2s)", began)
		done := c.sees("task.completed", "", task)
		c.took("created -> done by the next life (start_limit 3s, ttl 2s)", began)
		if done.GetIncarnation() == first.GetIncarnation() || c.starts("hang/a") != 2 {
			t.Errorf("done by life %s; %d lives in the ledger, want 2", done.GetIncarnation(), c.starts("hang/a"))
		}
	})

	t.Run("its agent hangs and there is another one", func(t *testing.T) {
		c := c.in(t)
		c.role("pair", func(s *vigilv1.RoleSpec) {
			s.Replicas, s.AckLimit, s.StartLimit = 2, durationpb.New(2*time.Second), durationpb.New(time.Minute)
		})
		c.running("pair/a")
		c.running("pair/a.2")
		began := time.Now()
		task := c.task("pair", "stuck")
		c.sees("task.completed", "", task)
		c.took("created -> done by the other agent (ack_limit 2s)", began)
	})

	t.Run("I103 its agent hangs and another one beats under its name", func(t *testing.T) {
		c := c.in(t)
		c.role("name", func(s *vigilv1.RoleSpec) { s.Proof, s.StartLimit = "agent", durationpb.New(3*time.Second) })
		first := c.joined("name/a", "")
		task := c.task("name", "held") // started, and silent from then on
		c.sees("task.claimed", "name/a", task)
		cmd := exec.Command("sh", "-c", `while :; do "$0" beat --addr "$1"; echo "beat: $?"; sleep 0.3; done`,
			vigil(t), strings.Join(c.api, ","))
		cmd.Env = append(environ(c.t), "VIGIL_AGENT=name/a", "VIGIL_INCARNATION="+first.GetIncarnation(),
			"VIGIL_TOKEN=stolen")
		other := launch(t, "another agent", cmd)
		if got := other.shows(regexp.MustCompile(`(?s)^.*?beat: (\d+)\n`)); !strings.Contains(got,
			"VIGIL_TOKEN") || !strings.HasSuffix(got, "beat: 1\n") {
			t.Errorf("a beat under the wrong identity was answered %q", got)
		}
		if e := c.sees("agent.identity_refused", "name/a", 0); strings.Contains(e.GetText(), "stolen") {
			t.Errorf("the event tells the token: %v", e)
		}
		c.sees("task.recovered", "", task) // its lease has ended in spite of those beats
		if c.sees("task.completed", "", task).GetIncarnation() == first.GetIncarnation() {
			t.Error("the silent life has completed it")
		}
	})

	t.Run("its agent dies", func(t *testing.T) {
		c := c.in(t)
		c.role("dies", nil)
		first := c.joined("dies/a", "")
		task := c.task("dies", "stuck")
		c.sees("task.claimed", "dies/a", task)
		began := c.kill(first)
		c.sees("task.recovered", "", task)
		c.took("killed -> recovered", began)
		c.sees("task.completed", "", task)
		c.took("killed -> done by the next life", began)
	})

	t.Run("whoever claimed it by hand is gone", func(t *testing.T) {
		c := c.in(t)
		c.role("gone", byHand(time.Minute, 2))
		task := c.task("gone", "by hand")
		caller := c.shell("gone/a")
		caller.shows(regexp.MustCompile(fmt.Sprintf(`(?m)^claimed task %d,`, task)))
		began := time.Now()
		caller.signal(syscall.SIGKILL)
		c.sees("task.recovered", "", task)
		c.took("caller killed -> recovered (ttl 1m)", began)
		c.cli("wait-for-task", "--agent", "gone/a.2").claimed(task)
		c.took("caller killed -> claimed by another agent", began)
	})

	t.Run("whoever claimed it by hand forgets it", func(t *testing.T) {
		c := c.in(t)
		c.role("forgets", func(s *vigilv1.RoleSpec) {
			byHand(time.Minute, 2)(s)
			s.AckLimit = durationpb.New(500 * time.Millisecond)
		})
		task := c.task("forgets", "by hand")
		caller := c.shell("forgets/a")
		caller.shows(regexp.MustCompile(fmt.Sprintf(`(?m)^claimed task %d,`, task)))
		began := time.Now()
		c.sees("task.recovered", "", task)
		c.took("claimed -> recovered (ack_limit 500ms)", began)
		c.cli("wait-for-task", "--agent", "forgets/a.2").claimed(task)
		late := c.cli("task", "complete", "too late", "--agent", "forgets/a", "--incarnation",
			c.agent("forgets/a").GetIncarnation(),
			"--task", fmt.Sprint(task), "--attempt", "1")
		if code := late.end(); code != 7 || !strings.Contains(late.out.String(), "drop the work") {
			t.Errorf("L6: a late result ended with %d: %s", code, late.out.tail())
		}
	})
}

// shell is a caller that claims a task by hand and then does nothing.
func (c *crew) shell(agent string) *proc {
	c.t.Helper()
	return launch(c.t, "caller of "+agent, exec.Command("sh", "-c",
		`line=$("$0" wait-for-task --addr "$1" --agent "$2" --follow-pid $$); echo "claimed $line"; sleep 3600; true`,
		vigil(c.t), strings.Join(c.api, ","), agent))
}

// F6: whatever ends a waiting command leaves the room at once (law L5); what
// cannot be noticed by it is noticed by its lease.
func TestKilledWaitLeavesTheRoom(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	c.role("long", byHand(time.Minute, 8))
	c.role("short", byHand(time.Second, 1))
	for i, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			if sig == syscall.SIGHUP && signal.Ignored(sig) {
				t.Skip("this test ignores SIGHUP, as under nohup, and so does what it starts")
			}
			c := c.in(t)
			name := fmt.Sprintf("long/a.%d", i+2)
			p := c.cli("wait-for-task", "--agent", name)
			c.sees("agent.joined", name, 0)
			began := time.Now()
			p.signal(sig)
			c.sees("agent.left", name, 0)
			c.took("signal -> left the room", began)
			if code := p.end(); code != 128+int(sig) {
				t.Errorf("exit code %d, want %d: %s", code, 128+int(sig), p.out.tail())
			}
		})
	}

	t.Run("killed", func(t *testing.T) {
		c := c.in(t)
		p := c.cli("wait-for-task", "--agent", "short/a")
		c.sees("agent.joined", "short/a", 0)
		began := time.Now()
		p.signal(syscall.SIGKILL)
		c.sees("agent.lease_ended", "short/a", 0)
		c.took("killed -> lease ended (ttl 1s)", began)
		task := c.task("short", "after the kill")
		c.cli("wait-for-task", "--agent", "short/a").claimed(task)
		c.took("killed -> task claimed by another process", began)
	})

	t.Run("nobody reads its output", func(t *testing.T) {
		c := c.in(t)
		cmd := exec.Command(vigil(t), "wait-for-task", "--agent", "long/a.5", "--addr", strings.Join(c.api, ","))
		reader, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		p := launch(t, "wait-for-task", cmd)
		c.sees("agent.joined", "long/a.5", 0)
		began := time.Now()
		if err := reader.Close(); err != nil {
			t.Fatal(err)
		}
		c.sees("agent.left", "long/a.5", 0)
		c.took("reader gone -> left the room", began)
		if code := p.end(); code != 1 {
			t.Errorf("exit code %d, want 1: %s", code, p.out.tail())
		}
	})

	t.Run("its parent is gone", func(t *testing.T) {
		c := c.in(t)
		p := launch(t, "parent", exec.Command("sh", "-c", `"$0" wait-for-task --agent long/a.6 --addr "$1"; true`,
			vigil(t), strings.Join(c.api, ",")))
		c.sees("agent.joined", "long/a.6", 0)
		began := time.Now()
		p.signal(syscall.SIGKILL)
		c.sees("agent.left", "long/a.6", 0)
		c.took("parent killed -> left the room", began)
	})

	t.Run("its time is over", func(t *testing.T) {
		c := c.in(t)
		p := c.cli("wait-for-task", "--agent", "long/a.7", "--timeout", "300ms")
		c.sees("agent.left", "long/a.7", 0)
		if code := p.end(); code != 6 || !strings.Contains(p.out.String(), "no task came within 300ms") {
			t.Errorf("exit code %d, want 6: %s", code, p.out.tail())
		}
	})
}
