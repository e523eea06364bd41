//go:build linux

package main_test

import (
	"strings"
	"testing"

	"vigil/rpc/gen/vigilv1"
)

// says runs a command that has to end well and to print all of these.
func (c *crew) says(command string, want ...string) {
	c.t.Helper()
	p := c.cli(strings.Fields(command)...)
	if code := p.end(); code != 0 {
		c.t.Fatalf("%s ended with %d: %s", command, code, p.out.tail())
	}
	for _, w := range want {
		if !strings.Contains(p.out.String(), w) {
			c.t.Errorf("%s printed %s\nwithout %q", command, p.out.String(), w)
		}
	}
}

func (c *crew) agent(name string) *vigilv1.Agent {
	c.t.Helper()
	got, err := c.fleet.GetAgent(c.ctx(), &vigilv1.GetAgentRequest{Agent: name})
	if err != nil {
		c.t.Fatal(err)
	}
	return got.GetAgent()
}

// L9: what people say with the command line holds until they take it back: a pause
// lets the process live and gives it nothing to do, a drain empties the host.
func TestPeoplePauseAndDrain(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	c.role("web", nil)
	c.sees("agent.joined", "web/a", 0)
	before := c.agent("web/a")

	t.Run("pause", func(t *testing.T) {
		c := c.in(t)
		for _, scope := range []string{"agent pause web/a", "room pause web", "pause"} {
			c.says(scope+" --why upgrade", "paused")
			task := c.task("web", "while paused")
			c.says("agent explain web/a", "upgrade", "waiting, but gets no task", "resume")
			c.says("status", "ready of")
			if got := c.agent("web/a"); got.GetPid() != before.GetPid() || got.GetTask() != 0 {
				t.Errorf("%s: pid %d works on task %d, want pid %d without one", scope, got.GetPid(),
					got.GetTask(), before.GetPid())
			}
			c.says(strings.Replace(scope, "pause", "resume", 1))
			c.completed(task)
			c.sees("agent.joined", "web/a", 0) // it waits again
		}
	})

	t.Run("restart while paused is refused", func(t *testing.T) {
		c := c.in(t)
		c.says("agent pause web/a", "desired paused")
		c.refuses(badInput{"", []string{"agent", "restart", "web/a"}, 4, []string{"web/a", "vigil agent resume web/a"}})
		c.says("agent resume web/a", "desired running")
	})

	t.Run("drain", func(t *testing.T) {
		c := c.in(t)
		c.says("host drain crew --wait", "host crew is drained")
		c.says("host list", "draining")
		c.says("host explain crew", "drained by", "vigil host undrain crew", "SERVER")
		c.says("agent explain web/a", "waiting for a host", "crew is drained by")
		if n := c.starts("web/a"); n != 1 {
			t.Errorf("%d starts, want 1: nothing may start on a drained host", n)
		}
		c.says("host undrain crew", "no longer drained")
		c.completed(c.task("web", "after the drain"))
		if n := c.starts("web/a"); n != 2 {
			t.Errorf("%d starts, want 2", n)
		}
	})

	t.Run("N34 for a time", func(t *testing.T) {
		c := c.in(t)
		for command, is := range map[string]string{"agent stop web/a": "stopped", "agent pause web/a": "paused",
			"room pause web": "paused", "pause": "paused"} {
			c.says(command+" --for 1h --why upgrade", is, " until ")
			c.says("agent deadlines web/a", "end of the ")
			c.says(command+" --for 1s", is) // a later word beats it
			c.completed(c.task("web", "after the end of: "+command))
		}
		c.says("events", "the stop for 1s by ", "the pause for 1s by ", "is over")
		c.says("host drain crew --for 1h --wait", "host crew is drained", " until ")
		c.says("host drain crew --for 1s", "it is drained until ")
		c.completed(c.task("web", "after the end of the drain"))
	})

	t.Run("waits until it has come true", func(t *testing.T) {
		c := c.in(t)
		c.says("agent stop web/a --wait", "desired stopped")
		if got := c.agent("web/a"); got.GetProcess() != "none" || got.GetParticipant() != "DISCONNECTED" {
			t.Fatalf("stopped, and yet process %s, %s", got.GetProcess(), got.GetParticipant())
		}
		c.says("agent start web/a --wait", "desired running")
		old := c.agent("web/a")
		if old.GetProcess() != "running" || old.GetParticipant() == "DISCONNECTED" {
			t.Fatalf("started, and yet process %s, %s", old.GetProcess(), old.GetParticipant())
		}
		c.says("agent restart web/a --wait", "desired running")
		if got := c.agent("web/a"); got.GetIncarnationRaw() <= old.GetIncarnationRaw() ||
			got.GetProcess() != "running" {
			t.Fatalf("restarted, and yet incarnation %s, process %s", got.GetIncarnation(), got.GetProcess())
		}
	})
}
