package conf

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/noun"
)

// Each variable alone sets its setting, and no other.
func TestWatchdogEnvironmentVariables(t *testing.T) {
	defaults := noun.DefaultSettings().Watchdog
	for _, x := range []struct {
		seed, name, value string
		change            func(*noun.WatchdogSettings)
	}{
		{"WATCHDOG_ENABLED=false", "VIGIL_WATCHDOG_ENABLED",
			"false", func(w *noun.WatchdogSettings) { w.Enabled = false }},
		{"WATCHDOG_INTERVAL_MS=300000", "VIGIL_WATCHDOG_INTERVAL",
			"7m", func(w *noun.WatchdogSettings) { w.Interval = 7 * time.Minute }},
		{"WATCHDOG_STALLED_THRESHOLD_MS=600000", "VIGIL_WATCHDOG_THRESHOLD",
			"600001ms", func(w *noun.WatchdogSettings) { w.Threshold = 600001 * time.Millisecond }},
		{"WATCHDOG_MIN_AGE_MS=120000", "VIGIL_WATCHDOG_MIN_AGE",
			"3m", func(w *noun.WatchdogSettings) { w.MinAge = 3 * time.Minute }},
		{"startupDelayMs", "VIGIL_WATCHDOG_START_DELAY",
			"45s", func(w *noun.WatchdogSettings) { w.StartDelay = 45 * time.Second }},
		{"the grace before a cancellation", "VIGIL_WATCHDOG_GRACE", "90s",
			func(w *noun.WatchdogSettings) { w.Grace = 90 * time.Second }},
		{"WATCHDOG_MAX_CANCELLATIONS=10", "VIGIL_WATCHDOG_MAX_CANCELLATIONS",
			"3", func(w *noun.WatchdogSettings) { w.MaxCancellations = 3 }},
	} {
		f, err := parseServerFile("s.yaml", "id: s1\n")
		if err != nil {
			t.Fatal(err)
		}
		err = f.WatchdogEnv(func(name string) string {
			if name == x.name {
				return x.value
			}
			return ""
		})
		if err != nil {
			t.Errorf("%s: %v", x.seed, err)
			continue
		}
		set, want := noun.DefaultSettings(), defaults
		for _, kv := range f.ClusterConfig().Seed {
			if err := set.Set(kv.Key, kv.Value); err != nil {
				t.Errorf("%s: %v", x.seed, err)
			}
		}
		if x.change(&want); set.Watchdog != want {
			t.Errorf("%s: %s=%s makes %+v, want %+v", x.seed, x.name, x.value, set.Watchdog, want)
		}
	}
}

// Every key in the file and in the environment, which wins; mistakes name the place.
func TestWatchdogConfiguration(t *testing.T) {
	f, err := parseServerFile("s.yaml",
		"id: s1\nwatchdog:\n  enabled: true\n  interval: 6m\n  threshold: 11m\n  min_age: 3m\n"+
			"  start_delay: 31s\n  grace: 2m\n  max_cancellations: 11\n  untaken: cancel\n")
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"VIGIL_WATCHDOG_ENABLED": "false", "VIGIL_WATCHDOG_MAX_CANCELLATIONS": "12"}
	if err := f.WatchdogEnv(func(name string) string { return env[name] }); err != nil {
		t.Fatal(err)
	}
	set := noun.DefaultSettings()
	for _, kv := range f.ClusterConfig().Seed {
		if err := set.Set(kv.Key, kv.Value); err != nil {
			t.Fatal(err)
		}
	}
	want := noun.WatchdogSettings{Interval: 6 * time.Minute, Threshold: 11 * time.Minute, MinAge: 3 * time.Minute,
		StartDelay: 31 * time.Second, Grace: 2 * time.Minute, MaxCancellations: 12, Untaken: noun.UntakenCancel}
	if set.Watchdog != want {
		t.Errorf("settings are\n%+v, want\n%+v", set.Watchdog, want)
	}
	for text, says := range map[string]string{
		"watchdog:\n  intervall: 5m\n":    `s.yaml:2:14: unknown key "intervall" below watchdog`,
		"watchdog:\n  interval: often\n":  `s.yaml:2:13: setting watchdog_interval: "often" is no duration`,
		"watchdog:\n  enabled: perhaps\n": `setting watchdog_enabled: "perhaps" is neither true nor false`,
		"settings:\n  watchdog_grace: 1m\n" +
			"watchdog:\n  grace: 2m\n": "watchdog_grace stands below settings too",
	} {
		if _, err := parseServerFile("s.yaml", text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is answered %v, want %q", text, err, says)
		}
	}
	env["VIGIL_WATCHDOG_GRACE"] = "soon"
	if err := f.WatchdogEnv(func(name string) string { return env[name] }); err == nil ||
		!strings.Contains(err.Error(), "VIGIL_WATCHDOG_GRACE") {
		t.Errorf("a wrong variable is answered %v", err)
	}
}

// The limits in a room's file.
func TestWatchdogRoomFile(t *testing.T) {
	rooms, err := ParseRooms("f", "room: a\nwatchdog: {idle_limit: 1h, deadline: 8h, disabled: true}\n---\nroom: b\n")
	if err != nil {
		t.Fatal(err)
	}
	if w := rooms[0].GetWatch(); w.GetIdleLimit().AsDuration() != time.Hour ||
		w.GetDeadline().AsDuration() != 8*time.Hour || !w.GetDisabled() {
		t.Errorf("read as %v", w)
	}
	if rooms[1].GetWatch() != nil {
		t.Errorf("nothing is read as %v", rooms[1].GetWatch())
	}
	if _, err := ParseRooms("f", "room: a\nwatchdog: {idle: 1h}\n"); err == nil ||
		!strings.Contains(err.Error(), `unknown key "idle"`) {
		t.Errorf("an unknown key is answered %v", err)
	}
}
