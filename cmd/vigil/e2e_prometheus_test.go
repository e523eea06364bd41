//go:build linux

package main_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"vigil/rpc/freeport"
)

// onlyWhenItHappens are figures that have a line once something has gone wrong, has been done, or is configured.
var onlyWhenItHappens = []string{"vigil_rpc_denied_total", "vigil_rpc_limited_total",
	"vigil_backup_last_good_timestamp_seconds", "vigil_backup_every_seconds", "vigil_http_cert_expires_seconds"}

// quietWhenWell are the expressions of the dashboard that have no data in a fleet in which all is well.
var quietWhenWell = regexp.MustCompile(`vigil_rpc_(denied|limited)_total|code!="ok"|vigil_agent_repairs_total|` +
	`vigil_agentd_look|vigil_raft_heartbeat_timeouts`)

// Real figures of servers and hosts are by the conventions of Prometheus, a real Prometheus reads them all,
// knows every figure that an alert or the dashboard names, and has something to draw.
func TestFiguresInPrometheus(t *testing.T) {
	t.Parallel()
	prometheus, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is not installed: apt-get install prometheus")
	}
	d := newDemo(t, "--metrics", "--every", "300ms")
	defer d.quit()
	p := newScraper(t, prometheus, d.dir)
	p.check(d.dir)
	known := p.names()
	alerts, board := p.rules(), dashboard(t)
	if len(alerts) < 30 || len(board) < 60 {
		t.Fatalf("%d expressions of alerts, %d of the dashboard", len(alerts), len(board))
	}
	name := regexp.MustCompile(`\b(?:vigil|process|go)_[a-z_]+\b`)
	for _, expr := range slices.Concat(alerts, board) {
		for _, n := range name.FindAllString(expr, -1) {
			if !known[n] && !slices.Contains(onlyWhenItHappens, n) {
				t.Errorf("%s: there is no figure %s", expr, n)
			}
		}
		p.query(expr)
	}
	for _, expr := range board {
		if !quietWhenWell.MatchString(expr) {
			p.until("data of "+expr, func() bool { return p.query(expr) > 0 })
		}
	}
	for _, alert := range p.firing() {
		t.Errorf("nothing is wrong, and %s fires", alert)
	}
}

// scraper is a Prometheus that reads the figures of a demo.
type scraper struct {
	t      *testing.T
	base   string
	config map[string]any
	log    *os.File
}

// newScraper starts a Prometheus with the configuration that the demo has written, in a hurry, and waits
// until it has read every target.
func newScraper(t *testing.T, program, dir string) *scraper {
	t.Helper()
	var config map[string]any
	text, err := os.ReadFile(filepath.Join(dir, "prometheus.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &config)
	}
	if err != nil {
		t.Fatal(err)
	}
	rules, err := os.ReadFile("../../configs/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	config["global"] = map[string]string{"scrape_interval": "1s", "evaluation_interval": "1s"}
	return startScraper(t, program, config, string(rules))
}

// startScraper is newScraper with a configuration and rules of the caller.
func startScraper(t *testing.T, program string, config map[string]any, rules string) *scraper {
	t.Helper()
	p := &scraper{t: t, config: config}
	own := t.TempDir()
	p.config["rule_files"] = []string{filepath.Join(own, "rules.yaml")}
	text, err := yaml.Marshal(p.config)
	if err == nil {
		err = os.WriteFile(filepath.Join(own, "prometheus.yaml"), text, 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(own, "rules.yaml"), []byte(rules), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	addrs, err := freeport.Addrs(1)
	if err != nil {
		t.Fatal(err)
	}
	p.base = "http://" + addrs[0] + "/api/v1/"
	if p.log, err = os.Create(filepath.Join(own, "log")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--config.file="+filepath.Join(own, "prometheus.yaml"),
		"--storage.tsdb.path="+filepath.Join(own, "data"), "--web.listen-address="+addrs[0])
	cmd.Stdout, cmd.Stderr = p.log, p.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		p.log.Close()
	})
	targets := len(p.targets("vigil")) + len(p.targets("vigil-agentd"))
	p.until("figures of every server and host", func() bool { return targets > 0 && p.query("up == 1") == targets })
	return p
}

// targets are the addresses of a job.
func (p *scraper) targets(job string) (addrs []string) {
	p.t.Helper()
	text, err := json.Marshal(p.config["scrape_configs"])
	var jobs []struct {
		Name  string                       `json:"job_name"`
		Lists []struct{ Targets []string } `json:"static_configs"`
	}
	if err == nil {
		err = json.Unmarshal(text, &jobs)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	for _, j := range jobs {
		if j.Name == job {
			addrs = append(addrs, j.Lists[0].Targets...)
		}
	}
	return addrs
}

func (p *scraper) until(what string, ok func() bool) {
	p.t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			log, _ := os.ReadFile(p.log.Name()) // what cannot be read is not shown
			p.t.Fatalf("Prometheus has no %s; its log:\n%s", what, log)
		}
	}
}

// get asks Prometheus; false: it does not answer yet.
func (p *scraper) get(path string, args url.Values, into any) bool {
	p.t.Helper()
	resp, err := http.Get(p.base + path + "?" + args.Encode())
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if resp.StatusCode == http.StatusServiceUnavailable {
		return false // it starts
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Status != "success" {
		p.t.Errorf("%s %s: %s (%v)", path, args, answer.Error, err)
		return false
	}
	if err := json.Unmarshal(answer.Data, into); err != nil {
		p.t.Fatal(err)
	}
	return true
}

// query gives how many series an expression has now; one that Prometheus refuses fails the test.
func (p *scraper) query(expr string) int {
	p.t.Helper()
	var got struct{ Result []json.RawMessage }
	p.get("query", url.Values{"query": {expr}}, &got)
	return len(got.Result)
}

// names are the figures that it has.
func (p *scraper) names() map[string]bool {
	p.t.Helper()
	var list []string
	p.get("label/__name__/values", nil, &list)
	names := map[string]bool{}
	for _, n := range list {
		names[n] = true
	}
	return names
}

// rule is one alert as Prometheus sees it.
type rule struct{ Name, Query, Health, LastError, State string }

func (p *scraper) list() (all []rule) {
	p.t.Helper()
	var got struct{ Groups []struct{ Rules []rule } }
	p.get("rules", nil, &got)
	for _, g := range got.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

// rules gives the expressions of the alerts once it has evaluated each.
func (p *scraper) rules() (exprs []string) {
	p.t.Helper()
	p.until("evaluation of every rule", func() bool {
		exprs = nil
		for _, r := range p.list() {
			if r.LastError != "" {
				p.t.Fatalf("%s: %s", r.Name, r.LastError)
			}
			if r.Health != "ok" {
				return false
			}
			exprs = append(exprs, r.Query)
		}
		return len(exprs) > 0
	})
	return exprs
}

func (p *scraper) firing() (names []string) {
	for _, r := range p.list() {
		if r.State == "firing" {
			names = append(names, r.Name)
		}
	}
	return names
}

// check gives the figures of a server and of a host to promtool, and looks at what hosts tell them apart by:
// nothing of which there are more in a larger fleet.
func (p *scraper) check(dir string) {
	t := p.t
	t.Helper()
	identity := filepath.Join(dir, "identity")
	cert, err := tls.LoadX509KeyPair(filepath.Join(identity, "leaf.crt"), filepath.Join(identity, "leaf.key"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if pem, err := os.ReadFile(filepath.Join(identity, "roots.crt")); err != nil || !roots.AppendCertsFromPEM(pem) {
		t.Fatalf("roots: %v", err)
	}
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: roots}}}
	defer client.CloseIdleConnections()
	for _, from := range []string{"https://" + p.targets("vigil")[0], "http://" + p.targets("vigil-agentd")[0]} {
		resp, err := client.Get(from + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s (%v)", from, resp.Status, err)
		}
		cmd := exec.Command("promtool", "check", "metrics")
		cmd.Stdin = strings.NewReader(string(text))
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("promtool check metrics of %s: %v\n%s", from, err, out)
		}
		if strings.HasPrefix(from, "https:") {
			continue // rpc counts what servers give
		}
		for _, m := range regexp.MustCompile(`(?m)^vigil_\w+\{(\w+)=`).FindAllStringSubmatch(string(text), -1) {
			if !slices.Contains([]string{"phase", "kind", "outcome", "reason"}, m[1]) {
				t.Errorf("a host tells figures apart by %s", m[1])
			}
		}
		if !strings.Contains(string(text), "vigil_agentd_agents{phase=") {
			t.Errorf("%s is no host: %s", from, text)
		}
	}
}

// dashboard gives every expression of the dashboard.
func dashboard(t *testing.T) (exprs []string) {
	t.Helper()
	var board struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	text, err := os.ReadFile("../../configs/grafana/vigil.json")
	if err == nil {
		err = json.Unmarshal(text, &board)
	}
	if err != nil {
		t.Fatal(fmt.Errorf("read the dashboard: %w", err))
	}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			exprs = append(exprs, target.Expr)
		}
	}
	return exprs
}
