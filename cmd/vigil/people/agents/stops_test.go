package agents

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// A stop of many is of all that could run before it ends: what is stopped for less long is not left out.
func TestAStopTakesWhatWouldStartBefore(t *testing.T) {
	stopped := func(left time.Duration) *vigilv1.Agent {
		g := &vigilv1.Agent{Desired: "stopped"}
		if left > 0 {
			g.StopEndsIn = durationpb.New(left)
		}
		return g
	}
	for _, c := range []struct {
		name string
		g    *vigilv1.Agent
		span time.Duration // 0: without an end
		want bool
	}{
		{"running", &vigilv1.Agent{Desired: "running"}, time.Hour, true},
		{"stopped by its role", &vigilv1.Agent{Desired: "stopped", WhyCode: "stopped",
			Why: "its role is declared as stopped; apply the room with `desired: running`"}, 0, true},
		{"stopped by its role and by ann", &vigilv1.Agent{Desired: "stopped", WhyCode: "stopped",
			Why: "stopped by ann; start it with `vigil agent start web/a`"}, 0, false},
		{"paused until then", &vigilv1.Agent{Desired: "paused", PauseEndsIn: durationpb.New(time.Hour)}, time.Minute, true},
		{"stopped for good", stopped(0), 0, false},
		{"stopped for good, now for an hour", stopped(0), time.Hour, false},
		{"stopped for 10 min, now for an hour", stopped(10 * time.Minute), time.Hour, true},
		{"stopped for 10 min, now for good", stopped(10 * time.Minute), 0, true},
		{"stopped for two hours, now for one", stopped(2 * time.Hour), time.Hour, false},
	} {
		var span *durationpb.Duration
		if c.span > 0 {
			span = durationpb.New(c.span)
		}
		if got := startsBefore(c.g, span); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// The plan of a start says who has stopped what and why, bounded, what is rare first; whom the last start was by has
// not stopped what its role keeps from running.
func TestThePlanOfAStartSaysWhoHasStopped(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	x := &several{App: &cli.App{Terminal: term.Terminal{Now: func() time.Time { return now }}}, verb: "start"}
	add := func(name, by, why string) {
		g := &vigilv1.Agent{Name: name, Desired: "stopped", WhyCode: "stopped", Why: "stopped by " + by, IntentBy: by,
			IntentWhy: why, IntentAt: timestamppb.New(now.Add(-3 * time.Hour))}
		if by == "" {
			g.Why, g.IntentBy = "its role is declared as stopped", "cy"
		}
		if x.stoppedByWhom(g) {
			x.names, x.stops = append(x.names, name), append(x.stops, slotOf(g))
		}
	}
	for i := range 7 {
		add(fmt.Sprintf("web/a.%d", i+2), "ann", "they break main")
	}
	add("web/b", "ben", strings.Repeat("long ", 100)+"\x1b[2J")
	add("web/c", "", "")
	text := x.text()
	for _, want := range []string{
		"start 8 agents: web/a.2, web/a.3, web/a.4, web/a.5, web/a.6 and 3 more\n  stopped by ben, 3h ago: long long",
		": web/b\n  stopped by ann, 3h ago: they break main: web/a.2,",
		" and 2 more\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the plan lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") || len(text) > 500 {
		t.Errorf("the plan is not bounded, or not clean:\n%q", text)
	}
	x.names, x.stops, x.by = nil, nil, "cy"
	add("web/c", "", "")
	if len(x.names) > 0 {
		t.Error("what its role keeps from running counts as stopped by who has started it")
	}
	x.by = ""
	for i := range 9 {
		add(fmt.Sprintf("web/d.%d", i+2), fmt.Sprintf("p%d", i), "")
	}
	if text = x.text(); strings.Count(text, "\n") != 7 || !strings.Contains(text, "  and for 4 more reasons") {
		t.Errorf("the plan is not bounded:\n%s", text)
	}
}

// What is started and stays off, since its role is declared as stopped, is not said to be started.
func TestAStartThatChangesNothingIsNotSaid(t *testing.T) {
	var out strings.Builder
	x := &several{App: &cli.App{Terminal: term.Terminal{Out: &out, Err: io.Discard, Now: time.Now}}, verb: "start",
		did: "started", names: []string{"web/a", "web/b"}}
	x.change = func(_ context.Context, _ *cli.Conn, name string) (*vigilv1.Agent, error) {
		return &vigilv1.Agent{Name: name, Desired: map[string]string{"web/a": "running", "web/b": "stopped"}[name]}, nil
	}
	err := x.do(context.Background(), nil)
	if cli.ExitCode(err) != cli.ExitConflict ||
		!strings.Contains(out.String(), "1 agent was started.\n  web/b: its role") {
		t.Errorf("%v: %s", err, out.String())
	}
}
