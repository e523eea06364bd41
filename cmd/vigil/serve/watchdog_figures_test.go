package serve

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"vigil/cluster/duty"
	"vigil/fsm"
)

// Seed 003, Metrics to Track, and Alerting on high cancellation rates: each is shown, and
// the alert rules name nothing that is not.
func TestSeed003MetricsAndAlerts(t *testing.T) {
	d, err := duty.Open(duty.Config{Replica: idleReplica{s: fsm.New()}})
	if err != nil {
		t.Fatal(err)
	}
	shown := make(chan prometheus.Metric, 100)
	dutyFigures{duty: d}.collectWatchdog(shown)
	close(shown)
	have := map[string]bool{}
	for m := range shown {
		_, rest, _ := strings.Cut(m.Desc().String(), `fqName: "`)
		name, _, _ := strings.Cut(rest, `"`)
		have[name] = true
	}
	for seed, name := range map[string]string{
		"watchdog.checks.total":           "vigil_watchdog_checks_total",
		"watchdog.conversations.checked":  "vigil_watchdog_rooms_checked_total",
		"watchdog.conversations.canceled": "vigil_watchdog_rooms_canceled_total",
		"watchdog.errors.total":           "vigil_watchdog_errors_total",
		"watchdog.duration.ms":            "vigil_watchdog_seconds_total",
	} {
		if !have[name] {
			t.Errorf("%s: there is no %s", seed, name)
		}
	}
	rules, err := os.ReadFile("../../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	alerts := regexp.MustCompile(`vigil_watchdog_[a-z_]+`).FindAllString(string(rules), -1)
	if !strings.Contains(strings.Join(alerts, " "), "vigil_watchdog_rooms_canceled_total") {
		t.Error("no rule is about many cancellations")
	}
	for _, name := range alerts {
		if !have[name] {
			t.Errorf("a rule names %s, which is not shown", name)
		}
	}
}

// idleReplica is a state that nobody writes.
type idleReplica struct {
	duty.Replica
	s *fsm.State
}

func (r idleReplica) Read(fn func(*fsm.View)) { fn(&r.s.View) }
