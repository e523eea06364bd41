package main

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"vigil/cluster/duty"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// Seed 003, Environment Variables: each of them alone sets its setting, and no other.
func TestSeed003EnvironmentVariables(t *testing.T) {
	defaults := noun.DefaultSettings().Watchdog
	for _, x := range []struct {
		seed, name, value string
		change            func(*noun.WatchdogSettings)
	}{
		{"WATCHDOG_ENABLED=false", "VIGIL_WATCHDOG_ENABLED", "false", func(w *noun.WatchdogSettings) { w.Enabled = false }},
		{"WATCHDOG_INTERVAL_MS=300000", "VIGIL_WATCHDOG_INTERVAL", "7m", func(w *noun.WatchdogSettings) { w.Interval = 7 * time.Minute }},
		{"WATCHDOG_STALLED_THRESHOLD_MS=600000", "VIGIL_WATCHDOG_THRESHOLD", "600001ms", func(w *noun.WatchdogSettings) { w.Threshold = 600001 * time.Millisecond }},
		{"WATCHDOG_MIN_AGE_MS=120000", "VIGIL_WATCHDOG_MIN_AGE", "3m", func(w *noun.WatchdogSettings) { w.MinAge = 3 * time.Minute }},
		{"startupDelayMs", "VIGIL_WATCHDOG_START_DELAY", "45s", func(w *noun.WatchdogSettings) { w.StartDelay = 45 * time.Second }},
		{"the grace before a cancellation", "VIGIL_WATCHDOG_GRACE", "90s", func(w *noun.WatchdogSettings) { w.Grace = 90 * time.Second }},
		{"WATCHDOG_MAX_CANCELLATIONS=10", "VIGIL_WATCHDOG_MAX_CANCELLATIONS", "3", func(w *noun.WatchdogSettings) { w.MaxCancellations = 3 }},
	} {
		f, err := parseServerFile("s.yaml", "id: s1\n")
		if err != nil {
			t.Fatal(err)
		}
		err = f.watchdogEnv(func(name string) string {
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
		for _, kv := range f.clusterConfig().Seed {
			if err := set.Set(kv.Key, kv.Value); err != nil {
				t.Errorf("%s: %v", x.seed, err)
			}
		}
		if x.change(&want); set.Watchdog != want {
			t.Errorf("%s: %s=%s makes %+v, want %+v", x.seed, x.name, x.value, set.Watchdog, want)
		}
	}
}

// idleReplica is a state that nobody writes.
type idleReplica struct {
	duty.Replica
	s *fsm.State
}

func (r idleReplica) Read(fn func(*fsm.View)) { fn(&r.s.View) }

// Seed 003, Metrics to Track, and Alerting on high cancellation rates: each is shown, and
// the alert rules name nothing that is not.
func TestSeed003MetricsAndAlerts(t *testing.T) {
	d, err := duty.Open(duty.Config{Replica: idleReplica{s: fsm.New()}, Unheard: func() map[string]bool { return nil },
		Escalate: &duty.Escalate{Notifiers: []duty.Notifier{{Name: "hook",
			Send: func(context.Context, string, []byte) error { return nil }}}}})
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(dutyFigures{duty: d})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := ""
			for _, l := range m.GetLabel() {
				labels += "," + l.GetName() + "=" + strconv.Quote(l.GetValue())
			}
			have[f.GetName()+"{"+strings.TrimPrefix(labels, ",")+"}"] = true
		}
	}
	const canceled = `vigil_duty_orders_total{duty="silence",order="cancel",outcome="accepted"}`
	for seed, name := range map[string]string{
		"watchdog.checks.total":           `vigil_duty_passes_total{duty="silence"}`,
		"watchdog.conversations.checked":  `vigil_duty_visited_total{duty="silence"}`,
		"watchdog.conversations.canceled": canceled,
		"watchdog.errors.total":           `vigil_duty_errors_total{duty="silence"}`,
		"watchdog.duration.ms":            `vigil_duty_look_seconds_total{duty="silence"}`,
	} {
		if !have[name] {
			t.Errorf("%s: there is no %s", seed, name)
		}
	}
	rules, err := os.ReadFile("../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	alerts := regexp.MustCompile(`vigil_duty_[a-z_]+\{[^}]*\}`).FindAllString(string(rules), -1)
	if !slices.Contains(alerts, canceled) {
		t.Error("no rule is about many cancellations")
	}
	for _, name := range alerts {
		shown := have[name]
		if rest, notices := strings.CutPrefix(name, `vigil_duty_effects_total{duty="notices",`); notices {
			shown = have[`vigil_duty_effects_total{duty="notices",`+strings.Replace(rest, "}", `,target="hook"}`, 1)]
		}
		if !shown {
			t.Errorf("a rule names %s, which is not shown", name)
		}
	}
	for _, f := range d.Figures().Duties {
		if line := "| `" + f.Duty + "` " + f.Says + " |"; !strings.Contains(string(rules), line) {
			t.Errorf("docs/alerts.md lacks %q", line)
		}
	}
}
