package docs

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// alertRules is what configs/alerts.yaml holds.
type alertRules struct {
	Groups []struct {
		Rules []struct {
			Alert       string
			Expr        string
			Labels      map[string]string
			Annotations map[string]string
		}
	}
}

// The rules are ones that Prometheus takes, and their unit tests pass.
func TestAlertsAreTried(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: apt-get install prometheus")
	}
	for _, args := range [][]string{{"check", "rules", "alerts.yaml"}, {"test", "rules", "alerts_test.yaml"}} {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = filepath.Join(root, "configs")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// Each alert says what is so and where to read what to do, is tried in both ways, and no heading is about
// an alert that is gone.
func TestEachAlertHasARunbook(t *testing.T) {
	var rules alertRules
	text, err := os.ReadFile(filepath.Join(root, "configs", "alerts.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &rules)
	}
	if err != nil {
		t.Fatal(err)
	}
	tried, err := os.ReadFile(filepath.Join(root, "configs", "alerts_test.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	page := readPage(t, "docs/alerts.md").text
	var headings, alerts []string
	for _, m := range regexp.MustCompile(`(?m)^### (\w+)$`).FindAllStringSubmatch(page, -1) {
		headings = append(headings, m[1])
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			alerts = append(alerts, r.Alert)
			if want := "docs/alerts.md#" + strings.ToLower(r.Alert); r.Annotations["runbook"] != want {
				t.Errorf("%s: runbook %q, want %q", r.Alert, r.Annotations["runbook"], want)
			}
			if r.Annotations["summary"] == "" || !slices.Contains([]string{"warning", "critical"}, r.Labels["severity"]) {
				t.Errorf("%s lacks a summary or a severity", r.Alert)
			}
			for _, story := range []string{"fires", "is quiet"} {
				if !strings.Contains(string(tried), "- name: "+r.Alert+" "+story+"\n") {
					t.Errorf("configs/alerts_test.yaml has no story in which %s %s", r.Alert, story)
				}
			}
		}
	}
	if len(alerts) < 30 || !slices.Equal(alerts, headings) {
		t.Errorf("alerts are\n%v\nand headings of docs/alerts.md\n%v", alerts, headings)
	}
}

// The dashboard is whole: rows of the subjects that people look for, panels that say what they show and do
// not lie on each other.
func TestDashboardIsWhole(t *testing.T) {
	var board struct {
		Panels []struct {
			ID                       int
			Type, Title, Description string
			GridPos                  struct{ X, Y, W, H int }
			Targets                  []struct{ Expr, RefID string }
		}
	}
	text, err := os.ReadFile(filepath.Join(root, "configs", "grafana", "vigil.json"))
	if err == nil {
		err = json.Unmarshal(text, &board)
	}
	if err != nil {
		t.Fatal(err)
	}
	ids, taken, rows := map[int]bool{}, map[[2]int]string{}, []string{}
	for _, p := range board.Panels {
		if ids[p.ID] {
			t.Errorf("%s: number %d is taken", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s lies on %q or beyond the edge", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			rows = append(rows, p.Title)
		} else if p.Title == "" || p.Description == "" || len(p.Targets) == 0 {
			t.Errorf("panel %d says too little: %+v", p.ID, p)
		}
	}
	if want := []string{"Overview", "Agents", "Tasks", "Raft", "Hosts", "API"}; !slices.Equal(rows, want) {
		t.Errorf("rows %v, want %v", rows, want)
	}
}
