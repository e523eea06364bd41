package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

func (s *cannedServer) GetWatchdog(context.Context, *vigilv1.GetWatchdogRequest) (*vigilv1.GetWatchdogResponse, error) {
	return &vigilv1.GetWatchdogResponse{Enabled: true, CanceledTotal: 3, History: []*vigilv1.Cancellation{
		{Room: "c", At: timestamppb.New(time.Unix(7200, 0)), Reason: "idle_timeout", Tasks: 2, Roles: []string{"a", "b"}, Hosts: []string{"h2"}},
		{Room: "b", At: timestamppb.New(time.Unix(7100, 0)), Reason: "deadline", Tasks: 1, Roles: []string{"b"}},
		{Room: "a", At: timestamppb.New(time.Unix(7000, 0)), Reason: "idle_timeout", Tasks: 1, Roles: []string{"b"}, Hosts: []string{"h1"}},
	}}, nil
}

// Seed 003, Historical analysis of cancellation patterns: by role, host and hour.
func TestSeed003HistoryShowsPatterns(t *testing.T) {
	s := newCanned(t)
	code, out, _ := terminalRun{env: declareEnv(t, s)}.do(t, "watchdog", "history")
	for _, want := range []string{"idle_timeout", "deadline", "by role  b 3, a 1", "by host  h1 1, h2 1", "by hour  01h 2, 02h 1"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("it ends with %d and prints\n%s\nwithout %q", code, out, want)
		}
	}
}

// Seed 003, Environment Variables and Configuration: every key in the file and in the
// environment, which wins; mistakes name the place.
func TestSeed003Configuration(t *testing.T) {
	f, err := parseServerFile("s.yaml", "id: s1\nwatchdog:\n  enabled: true\n  interval: 6m\n  threshold: 11m\n  min_age: 3m\n  start_delay: 31s\n  grace: 2m\n  max_cancellations: 11\n")
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"VIGIL_WATCHDOG_ENABLED": "false", "VIGIL_WATCHDOG_MAX_CANCELLATIONS": "12"}
	if err := f.watchdogEnv(func(name string) string { return env[name] }); err != nil {
		t.Fatal(err)
	}
	set := noun.DefaultSettings()
	for _, kv := range f.clusterConfig().Seed {
		if err := set.Set(kv.Key, kv.Value); err != nil {
			t.Fatal(err)
		}
	}
	want := noun.WatchdogSettings{Interval: 6 * time.Minute, Threshold: 11 * time.Minute, MinAge: 3 * time.Minute,
		StartDelay: 31 * time.Second, Grace: 2 * time.Minute, MaxCancellations: 12}
	if set.Watchdog != want {
		t.Errorf("settings are\n%+v, want\n%+v", set.Watchdog, want)
	}
	for text, says := range map[string]string{
		"watchdog:\n  intervall: 5m\n":                              `s.yaml:2:14: unknown key "intervall" below watchdog`,
		"watchdog:\n  interval: often\n":                            `s.yaml:2:13: setting watchdog_interval: "often" is no duration`,
		"watchdog:\n  enabled: perhaps\n":                           `setting watchdog_enabled: "perhaps" is neither true nor false`,
		"settings:\n  watchdog_grace: 1m\nwatchdog:\n  grace: 2m\n": "watchdog_grace stands below settings too",
	} {
		if _, err := parseServerFile("s.yaml", text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is answered %v, want %q", text, err, says)
		}
	}
	env["VIGIL_WATCHDOG_GRACE"] = "soon"
	if err := f.watchdogEnv(func(name string) string { return env[name] }); err == nil || !strings.Contains(err.Error(), "VIGIL_WATCHDOG_GRACE") {
		t.Errorf("a wrong variable is answered %v", err)
	}
}

// Seed 003, Per-Conversation Overrides: a room's file.
func TestSeed003RoomFile(t *testing.T) {
	rooms, err := parseRooms("f", "room: a\nwatchdog: {idle_limit: 1h, deadline: 8h, disabled: true}\n---\nroom: b\n")
	if err != nil {
		t.Fatal(err)
	}
	if w := rooms[0].GetWatch(); w.GetIdleLimit().AsDuration() != time.Hour || w.GetDeadline().AsDuration() != 8*time.Hour || !w.GetDisabled() {
		t.Errorf("read as %v", w)
	}
	if rooms[1].GetWatch() != nil {
		t.Errorf("nothing is read as %v", rooms[1].GetWatch())
	}
	if _, err := parseRooms("f", "room: a\nwatchdog: {idle: 1h}\n"); err == nil || !strings.Contains(err.Error(), `unknown key "idle"`) {
		t.Errorf("an unknown key is answered %v", err)
	}
}

// What people read of a room's silence.
func TestRoomTellsOfItsSilence(t *testing.T) {
	a := &cli.App{Terminal: term.Terminal{Now: func() time.Time { return time.Unix(9000, 0) }}}
	for want, room := range map[string]*vigilv1.Room{
		"":                                 {},
		"exempt: r/a has declared in_tool": {Quiet: &vigilv1.RoomQuiet{State: "exempt", Why: "r/a has declared in_tool"}},
		"stalling: idle timeout, silent for 11m, it is canceled in 30s (limit 10m, deadline 2h)": {
			Quiet: &vigilv1.RoomQuiet{State: "stalling", Reason: "idle_timeout", Silent: durationpb.New(11 * time.Minute), CancelIn: durationpb.New(30 * time.Second)},
			Watch: &vigilv1.RoomWatch{IdleLimit: durationpb.New(10 * time.Minute), Deadline: durationpb.New(2 * time.Hour)}},
		"active: silent for 3m, stalled in 7m": {Quiet: &vigilv1.RoomQuiet{State: "active", Silent: durationpb.New(3 * time.Minute), DueIn: durationpb.New(7 * time.Minute)}},
	} {
		if got := watchText(a, room); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	room := &vigilv1.Room{Name: "web", Canceled: &vigilv1.Cancellation{At: timestamppb.New(time.Unix(8940, 0)), Reason: "idle_timeout", Tasks: 2}}
	if got := canceledText(a, room); !strings.Contains(got, "idle timeout, 2 tasks; `vigil room reopen web`") {
		t.Errorf("%q", got)
	}
}
