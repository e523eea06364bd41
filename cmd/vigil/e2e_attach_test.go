//go:build linux

package main_test

import (
	"strings"
	"testing"

	"vigil/rpc/gen/vigilv1"
)

// People sit at the terminal of an agent of another machine: what one types gets there key by key, in the same
// life; a second one is told who it is, and looks on; what ends a seat, also a signal, gives the terminal back.
func TestTerminalIsAttachedFromAnywhere(t *testing.T) {
	t.Parallel()
	c := newAsking(t)
	c.role("perm", func(s *vigilv1.RoleSpec) { s.Runner, s.Ladder = "ask", "restart" })
	first := c.joined("perm/a", "")
	task := c.task("perm", "asks")
	line := func(who, flags string) string {
		return "VIGIL_USER=" + who + " " + vigil(t) + " agent attach perm/a " + flags + " --addr " +
			strings.Join(c.api, ",") + "; echo it ended with $?; read x"
	}
	ann := newPane(t, "60", "12", line("ann", ""))
	ann.shows("Do you want to proceed?", "What you type goes to perm/a", "Ctrl-] leaves")
	c.screen("perm/a", sized(60, 11)) // all of her terminal but its last line
	ann.tmux("resize-window", "-x", "70", "-y", "20")
	c.screen("perm/a", sized(70, 19))
	bob := newPane(t, "120", "40", line("bob", ""))
	bob.shows("ann types at the terminal of perm/a", "--take takes it from them", "it ended with 4")
	bob.close()
	eve := newPane(t, "120", "40", line("eve", "--read-only"))
	eve.shows("Do you want to proceed?", "You look at perm/a")
	ann.press("yes, é", "BSpace", "e")
	eve.shows("yes, e")
	ann.press("Enter")
	c.completed(task)
	if done, err := c.fleet.GetTask(c.ctx(), &vigilv1.GetTaskRequest{Task: task}); err != nil ||
		done.GetResult() != "told: yes, e" {
		t.Errorf("the agent has read %q, %v", done.GetResult(), err)
	}
	ann.press("C-]")
	ann.shows("You have left the terminal of perm/a.", "it ended with 0")
	c.waits("perm/a", "its free terminal", func(g *vigilv1.Agent) bool { return g.GetTypist() == nil })
	c.screen("perm/a", sized(200, 50))
	eve.press("C-]")
	eve.shows("it ended with 0")

	bob = newPane(t, "120", "40", line("bob", ""))
	bob.shows("What you type goes to perm/a")
	carl := newPane(t, "120", "40", line("carl", "--take"))
	carl.shows("What you type goes to perm/a")
	bob.press("x")
	bob.shows("carl types at the terminal of perm/a")
	c.waits("perm/a", "carl at its terminal", func(g *vigilv1.Agent) bool { return g.GetTypist().GetBy() == "carl" })
	carl.close() // its terminal is gone: a hangup
	c.waits("perm/a", "its free terminal", func(g *vigilv1.Agent) bool { return g.GetTypist() == nil })
	if g := c.agent("perm/a"); g.GetIncarnation() != first.GetIncarnation() {
		t.Errorf("it is at life %s, was at %s", g.GetIncarnation(), first.GetIncarnation())
	}
	c.says("agent stop perm/a", "perm/a")
	bob.shows("it ended with 0")
	if screen := bob.shows("has ended"); strings.Contains(screen, "\x1b[7m") {
		t.Errorf("the terminal was not given back: %q", screen)
	}
}

// sized is a size of a terminal.
func sized(columns, rows uint32) func(c, r uint32) bool {
	return func(c, r uint32) bool { return c == columns && r == rows }
}

// screen waits until the terminal of an agent has a size that is right.
func (c *crew) screen(agent string, right func(columns, rows uint32) bool) {
	c.t.Helper()
	stream, err := c.fleet.FollowScreen(c.ctx(), &vigilv1.FollowScreenRequest{Agent: agent})
	shown := &vigilv1.Screen{}
	for err == nil {
		var next *vigilv1.Screen
		if next, err = stream.Recv(); err == nil {
			if shown = next; right(shown.GetColumns(), shown.GetRows()) {
				return
			}
		}
	}
	c.t.Fatalf("the terminal of %s has %d columns and %d rows at last: %v", agent,
		shown.GetColumns(), shown.GetRows(), err)
}
