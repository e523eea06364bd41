//go:build linux

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/gen/vigilv1"
)

// quickLadder makes the ladder fast enough to look at.
const quickLadder = "settings set ladder_interval=1s ladder_nudge=1s ladder_wake=1s " +
	"ladder_interrupt=1s ladder_restart=1h ladder_cooldown=0s"

// reporting asks a role for a health report each second.
func reporting(s *vigilv1.RoleSpec) {
	s.Health = &vigilv1.HealthSpec{Every: durationpb.New(time.Second), Missed: 1}
}

// An agent whose process lives and whose beats go on, but that does nothing any more, is
// nudged, woken, interrupted and restarted, and its task is completed by the next life.
func TestHungAgentClimbsTheLadder(t *testing.T) {
	t.Parallel()
	c := newCrew(t, alone)
	c.says(quickLadder, "ladder_nudge")
	c.role("hang", reporting)
	first := c.joined("hang/a", "")
	began := time.Now()
	task := c.task("hang", "held mute")
	c.sees("task.started", "hang/a", task)
	for _, kind := range []string{"agent.nudged", "agent.rung_failed", "agent.woken", "agent.interrupted",
		"agent.restarted_stuck"} {
		e := c.sees(kind, "hang/a", 0)
		c.took(kind, began)
		if e.GetIncarnation() != first.GetIncarnation() || strings.Contains(e.GetText(), "held") {
			t.Errorf("%s of life %s: %q", kind, e.GetIncarnation(), e.GetText())
		}
		if kind == "agent.rung_failed" && !strings.Contains(e.GetText(), "nudge: ") {
			t.Errorf("an agent without a terminal: %q", e.GetText())
		}
	}
	c.completed(task)
	c.took("completed by the next life", began)
	if n := c.starts("hang/a"); n != 2 || c.attempt(task) != 2 {
		t.Errorf("%d lives in the ledger, attempt %d has completed the task, want 2 and 2", n, c.attempt(task))
	}
	g := c.agent("hang/a")
	if x := g.GetLastExit(); x.GetKind() != "timed_out" ||
		!strings.Contains(x.GetReason(), "no answer to a nudge and an inquiry") {
		t.Errorf("the last death: %v", x)
	}
}

// Where the role leaves a restart to humans, one is told, and the agent is left alone.
func TestHungAgentOfACautiousRole(t *testing.T) {
	t.Parallel()
	c := newCrew(t, alone)
	c.says(quickLadder, "ladder_nudge")
	c.role("care", func(s *vigilv1.RoleSpec) {
		reporting(s)
		s.Ladder = "escalate"
	})
	first := c.joined("care/a", "")
	task := c.task("care", "held mute")
	c.sees("agent.needs_human", "care/a", 0)
	c.says("escalation list", "agent_stuck", "care/a")
	c.says("agent explain care/a", "stuck", "escalate", "rung 3", "nothing follows: a human was told", "unresponsive")
	c.says("agent status care/a --json", `"rung":`, `"escalate"`, `"next":`)
	if g := c.agent("care/a"); g.GetIncarnation() != first.GetIncarnation() || g.GetTask() != task ||
		g.GetOrder() != "none" {
		t.Errorf("it is at life %s with task %d and order %s", g.GetIncarnation(), g.GetTask(), g.GetOrder())
	}
}

// muteRunner hangs in a terminal after it has started its task, and writes down when it is
// interrupted.
const muteRunner = `name: mute
kind: tmux
program: sh
args:
  - -c
  - |
    trap 'echo "interrupted $VIGIL_INCARNATION" >>"$HOME/ledger"' INT
    line=$(vigil wait-for-task --start) || exit
    case "$line" in *" attempt 1,"*) vigil declare healthy; while :; do sleep 1; done;; esac
    vigil task complete done
    sleep 3600
`

// In a terminal the nudge is typed and the interrupt key is pressed.
func TestHungAgentInATerminal(t *testing.T) {
	t.Parallel()
	c := newTerminalCrew(t, muteRunner, "")
	c.says("settings set ladder_interval=1s ladder_nudge=1s ladder_wake=1s ladder_interrupt=30s "+
		"ladder_cooldown=0s", "ladder_nudge")
	c.role("web", func(s *vigilv1.RoleSpec) {
		reporting(s)
		s.Runner = "mute"
	})
	c.joined("web/a", "")
	task := c.task("web", "t")
	c.sees("agent.interrupted", "web/a", 0)
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		screen, err := c.fleet.LookAtAgent(c.ctx(), &vigilv1.LookAtAgentRequest{Agent: "web/a", Lines: 100})
		ledger, _ := os.ReadFile(filepath.Join(getenv(t, "HOME"), "ledger")) // it may not be there yet
		if err == nil && strings.Contains(screen.GetText(), "How are you getting on?") &&
			strings.Contains(string(ledger), "interrupted") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("nothing was typed: screen %q (%v), ledger %q", screen.GetText(), err, ledger)
		}
	}
	c.says("settings set ladder_interrupt=1s", "1s")
	c.sees("agent.restarted_stuck", "web/a", 0)
	c.completed(task)
}

// deafRunner is in its room and takes no task in its first life, and ignores what asks it to
// end.
const deafRunner = `name: deaf
kind: tmux
program: sh
args:
  - -c
  - |
    echo "life $VIGIL_INCARNATION" >>"$HOME/ledger"
    if [ "$(wc -l <"$HOME/ledger")" = 1 ]; then
      trap '' TERM INT HUP
      vigil run --grace 1h -- sh -c 'trap "" TERM INT HUP; while :; do sleep 1; done'
    fi
    vigil wait-for-task --start && vigil task complete done
    sleep 3600
`

// An agent that is there, takes no task, and traps TERM: it is found, goes up the ladder, is
// killed, and its next life does the work.
func TestDeafAgentThatTrapsTERM(t *testing.T) {
	t.Parallel()
	c := newTerminalCrew(t, deafRunner, "")
	c.says(quickLadder, "ladder_nudge")
	c.role("mute", func(s *vigilv1.RoleSpec) {
		s.Runner, s.PendingLimit = "deaf", durationpb.New(time.Second)
	})
	first := c.joined("mute/a", "")
	task := c.task("mute", "t")
	for _, kind := range []string{"agent.nudged", "agent.woken", "agent.interrupted", "agent.restarted_stuck"} {
		if e := c.sees(kind, "mute/a", 0); e.GetIncarnation() != first.GetIncarnation() ||
			!strings.Contains(e.GetText(), "deaf") {
			t.Errorf("%s of life %s: %q", kind, e.GetIncarnation(), e.GetText())
		}
	}
	c.completed(task)
	if x := c.agent("mute/a").GetLastExit(); x.GetKind() != "timed_out" || x.GetSignal() != "killed" {
		t.Errorf("it traps TERM, and its death is %v", x)
	}
}
