package fsm

import (
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// tell is the word of the host's agentd about terminals.
func (x *watched) tell(tool, why string, runners ...string) {
	x.t.Helper()
	x.must(ReportTerminals{Host: x.h, Boot: "boot1", Tool: tool, Why: why, Runners: runners, Watched: runners})
}

func (d *drive) eventTexts(kind string) (list []string) {
	for e := range d.s.Events(0) {
		if e.Kind == kind {
			list = append(list, e.Text)
		}
	}
	return list
}

// Looking at panes and nudging: yes with tmux, no without, and every decision of the ladder
// says so.
func TestOverseerDegradedModeIsSaidInEveryDecision(t *testing.T) {
	for name, tt := range map[string]struct {
		tell func(x *watched)
		want string // in every decision; empty: none says anything
	}{
		"tmux":         {func(x *watched) { x.tell("tmux 3.3a", "", "w") }, ""},
		"nobody knows": {func(x *watched) {}, ""},
		"no tmux": {func(x *watched) { x.tell("", "no tmux") },
			"no terminal: no tmux on host h1: nothing can be typed or observed; mail and restarts only"},
		"no tmux, why": {func(x *watched) { x.tell("", "it was not found") },
			"no terminal: no tmux on host h1 (it was not found): nothing can be typed"},
		"not its kind": {func(x *watched) { x.tell("tmux 3.3a", "", "other") },
			"no terminal: its runner w asks for none"},
		"tmux is back": {func(x *watched) { x.tell("", "no tmux"); x.tell("tmux 3.4", "", "w") }, ""},
		"tmux has gone": {func(x *watched) { x.tell("tmux 3.3a", "", "w"); x.tell("", "no tmux", "w") },
			"no terminal: no tmux on host h1"},
	} {
		t.Run(name, func(t *testing.T) {
			x := newWatched(t)
			tt.tell(x)
			x.beating(judge.StalledAfter + time.Second)
			for _, r := range []noun.Rung{noun.RungNudge, noun.RungWake, noun.RungInterrupt, noun.RungRestart} {
				x.up(r)
			}
			for _, kind := range []string{"agent.nudged", "agent.woken", "agent.interrupted", "agent.restarted_stuck"} {
				texts := x.eventTexts(kind)
				if len(texts) != 1 || tt.want != "" && !strings.Contains(texts[0], tt.want) || tt.want == "" &&
					strings.Contains(texts[0], "degraded") {
					t.Errorf("%s: %q, want %q in it", kind, texts, tt.want)
				}
			}
			if got := x.s.Degraded(x.agent(hungName).ID); !strings.HasPrefix(got, tt.want) || tt.want == "" &&
				got != "" {
				t.Errorf("degraded: %q", got)
			}
		})
	}
}

// Without tmux an agent that has died is started all the same, by a direct spawn. The rule is
// mechanical: no fact from a terminal is in it.
func TestOverseerDegradedModeStartsAgents(t *testing.T) {
	x := newWatched(t)
	x.tell("", "no tmux", "w")
	x.must(ReportExit{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.me.Inc, Code: 1})
	x.pass(3 * time.Second)
	if wanted := x.s.Wants(x.agent(hungName)); !wanted || x.s.Misfit(x.s.Host(x.h), x.agent(hungName)) != "" {
		t.Fatalf("it is not wanted, or its host does not fit: %s", x.s.Why(x.agent(hungName).ID).Text)
	}
	x.begin()
	if v := x.verdict(); v != judge.AgentHealthy {
		t.Errorf("%s after its direct start", v)
	}
}

// Heartbeat stale -> restart, with thresholds only, and the restart says that nothing was
// typed.
func TestOverseerDegradedModeRestartsOnThresholds(t *testing.T) {
	x := newWatched(t, func(r *noun.RoleSpec) { r.Ladder = noun.LadderRestart })
	x.tell("", "no tmux")
	x.beating(judge.StalledAfter + time.Second)
	set := x.s.Settings().Ladder
	began := x.clock
	for _, r := range []noun.Rung{noun.RungNudge, noun.RungWake, noun.RungInterrupt} {
		x.up(r)
		x.must(NoteRung{Agent: x.agent(hungName).ID, Inc: x.me.Inc, Rung: r, Reason: "no terminal"})
	}
	x.up(noun.RungRestart)
	if took := x.clock.Sub(began); took != set.Nudge+set.Wake+set.Interrupt {
		t.Errorf("restarted after %s", took)
	}
	if texts := x.eventTexts("agent.restarted_stuck"); !strings.Contains(texts[0],
		"nothing could be typed: nudge, wake, interrupt") {
		t.Errorf("%q", texts)
	}
}

// What is shown comes from what the host sees now, never from what was noted once: it goes
// with the prompt, with the life, with the runner that nobody watches any more, and with an
// agentd of another version.
func TestOverseerCommonIssuesStatusShowsWrongState(t *testing.T) {
	for name, end := range map[string]func(x *watched){
		"prompt": func(x *watched) { x.see(noun.PromptNone, false) },
		"life": func(x *watched) {
			x.must(ReportExit{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.me.Inc, Code: 1})
		},
		"fence":  func(x *watched) { x.jump(time.Hour) },
		"runner": func(x *watched) { x.tell("tmux 3.3a", "", "other") },
	} {
		x := newWatched(t)
		x.tell("tmux 3.3a", "", "w")
		x.see(noun.PromptPermission, false)
		if v := x.verdict(); v != judge.AgentNeedsInput {
			t.Fatalf("%s at the prompt", v)
		}
		end(x)
		if v := x.verdict(); v == judge.AgentNeedsInput || x.agent(hungName).Shows(noun.PromptPermission) ||
			x.agent(hungName).ScreenExcuse() > x.clock {
			t.Errorf("%s: still %s", name, v)
		}
	}
	x := newWatched(t)
	x.tell("tmux 3.3a", "", "w")
	x.must(RegisterHost{Key: "h1", Name: "h1", Boot: "boot1", Version: "older", Runners: []string{"w"},
		Inventory: []Running{{Agent: 1, Inc: x.me.Inc}}})
	if got := x.s.Host(x.h).Terminals(); got != "" {
		t.Errorf("an agentd of another version is said to have %q", got)
	}
}

// A change is an event, a repetition is none, and words of another boot are not taken.
func TestTerminalsOfAHost(t *testing.T) {
	x := newWatched(t)
	for range 2 {
		x.tell("tmux 3.3a", "", "w")
	}
	x.tell("", "it was not found")
	want := []string{"tmux 3.3a",
		"no terminal: no tmux (it was not found): nothing can be typed or observed; mail and restarts only"}
	if got := x.eventTexts("host.terminals"); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	x.want(noun.Superseded, ReportTerminals{Host: x.h, Boot: "other", Tool: "tmux 9"})
	x.want(noun.NotFound, ReportTerminals{Host: 99, Boot: "boot1", Tool: "tmux 9"})
	x.want(noun.Invalid, ReportTerminals{Host: x.h, Boot: "boot1", Tool: strings.Repeat("x", noun.MaxTool+1)})
	if got := x.s.Host(x.h).Terminals(); got != want[1] {
		t.Errorf("%q", got)
	}
	x.room("hand", noun.RoleSpec{Name: "a"})
	x.must(Join{Speaker: Speaker{Agent: "hand/a"}})
	if got := x.s.Degraded(x.agent("hand/a").ID); !strings.Contains(got, "by hand") {
		t.Errorf("started by hand: %q", got)
	}
}
