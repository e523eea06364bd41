package serve

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"vigil/cluster/duty"
	"vigil/fsm"
)

// Each figure of the watchdog is shown, and the alert rules name nothing that is not.
func TestWatchdogMetricsAndAlerts(t *testing.T) {
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
	rules, err := os.ReadFile("../../../configs/alerts.yaml")
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
	page, err := os.ReadFile("../../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range d.Figures().Duties {
		if line := "| `" + f.Duty + "` " + f.Says + " |"; !strings.Contains(string(page), line) {
			t.Errorf("docs/alerts.md lacks %q", line)
		}
	}
}

// idleReplica is a state that nobody writes.
type idleReplica struct {
	duty.Replica
	s *fsm.State
}

func (r idleReplica) Read(fn func(*fsm.View)) { fn(&r.s.View) }
