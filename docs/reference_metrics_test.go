//go:build linux && !race

package docs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

// scrapes is what vigil dev --metrics writes for Prometheus.
type scrapes struct {
	Jobs []struct {
		Name   string `yaml:"job_name"`
		Scheme string `yaml:"scheme"`
		TLS    struct {
			CA   string `yaml:"ca_file"`
			Cert string `yaml:"cert_file"`
			Key  string `yaml:"key_file"`
		} `yaml:"tls_config"`
		Static []struct{ Targets []string } `yaml:"static_configs"`
	} `yaml:"scrape_configs"`
}

// metric is a family of figures as /metrics tells it.
type metric struct{ name, kind, by, help string }

// row is the metric's line in the page.
func (m metric) row() string {
	return fmt.Sprintf("| `%s` | %s | %s | %s |\n", m.name, m.kind, m.by, cell(m.help))
}

// The metrics of the guide are those of real servers and hosts, and of the program where something has
// to happen first: no figure is missing, and none is told that does not exist.
func TestReferenceOfMetrics(t *testing.T) {
	t.Parallel()
	env := newDemo(t, "--metrics")
	folder := strings.TrimPrefix(env[len(env)-1], "DEMO=")
	text, err := os.ReadFile(filepath.Join(folder, "prometheus.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var all scrapes
	if err := yaml.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	source, named := namedFigures(t)
	page := readPage(t, "docs/guide/metrics.md").text
	for _, job := range all.Jobs {
		list := map[string]metric{}
		for _, s := range job.Static {
			for _, target := range s.Targets {
				maps.Copy(list, scrape(t, job.Scheme, target, job.TLS.CA, job.TLS.Cert, job.TLS.Key))
			}
		}
		mark := "server"
		if job.Name == "vigil-agentd" {
			mark = "host"
		}
		if len(list) < 20 {
			t.Fatalf("%s: only %d figures were found", job.Name, len(list))
		}
		_, rest, _ := strings.Cut(page, "<!-- "+mark+": begin -->\n")
		rest, _, _ = strings.Cut(rest, "<!-- "+mark+": end -->\n")
		for _, m := range regexp.MustCompile(
			"(?m)^\\| `(\\w+)` \\| (\\w+) \\| (.*?) \\| (.*) \\|$").FindAllStringSubmatch(rest, -1) {
			if _, seen := list[m[1]]; !seen && inSource(source, m[1]) {
				list[m[1]] = metric{m[1], m[2], m[3], m[4]} // nothing of the kind has happened yet
			} else if seen && list[m[1]].by == "" {
				seenOne := list[m[1]]
				seenOne.by = m[3]
				list[m[1]] = seenOne
			}
		}
		for _, name := range named {
			if _, told := list[name]; !told && strings.HasPrefix(name, "vigil_agentd_") == (mark == "host") {
				list[name] = fromSource(t, source, name)
			}
		}
		var b strings.Builder
		b.WriteString("| Figure | Kind | By | What it is |\n|---|---|---|---|\n")
		for _, name := range slices.Sorted(maps.Keys(list)) {
			b.WriteString(list[name].row())
		}
		between(t, "docs/guide/metrics.md", mark, b.String())
	}
}

// fromSource makes the line of a figure that only a configuration or an event brings, so that no fleet has shown
// it: its help is the text behind its name. Labels, and a kind that its name does not tell, are put into
// the page by hand, and stay.
func fromSource(t *testing.T, source, name string) metric {
	t.Helper()
	behind := regexp.MustCompile(`"` + name + `",\s*(?:Help:\s*)?((?:"[^"\n]*"[\s+]*)+)`).FindStringSubmatch(source)
	if behind == nil {
		t.Fatalf("docs/guide/metrics.md does not tell of %s, and its help was not found: add its line by hand", name)
	}
	help := ""
	for _, part := range regexp.MustCompile(`"([^"\n]*)"`).FindAllStringSubmatch(behind[1], -1) {
		help += part[1]
	}
	kind := "gauge"
	if strings.HasSuffix(name, "_total") {
		kind = "counter"
	}
	return metric{name: name, kind: kind, help: help}
}

// scrape reads the figures of one server or host that are its own.
func scrape(t *testing.T, scheme, target, ca, cert, key string) map[string]metric {
	t.Helper()
	web := &http.Client{Timeout: time.Minute}
	if scheme == "https" {
		pool := x509.NewCertPool()
		roots, err := os.ReadFile(ca)
		if err != nil || !pool.AppendCertsFromPEM(roots) {
			t.Fatalf("%s: no roots (%v)", ca, err)
		}
		me, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		web.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{me}}}
	} else {
		scheme = "http"
	}
	answer, err := web.Get(scheme + "://" + target + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", target, answer.Status, err)
	}
	return families(string(text))
}

// families reads the form of Prometheus: # HELP NAME TEXT, # TYPE NAME KIND, NAME{LABEL="VALUE"} NUMBER.
func families(text string) map[string]metric {
	list := map[string]metric{}
	label := regexp.MustCompile(`(\w+)="`)
	var m metric
	for _, line := range strings.Split(text, "\n") {
		switch words := strings.SplitN(line, " ", 4); {
		case strings.HasPrefix(line, "# HELP vigil_"):
			m = metric{name: words[2], help: words[3]}
		case strings.HasPrefix(line, "# TYPE "):
			if words[2] == m.name {
				m.kind = words[3]
				list[m.name] = m
			}
		case m.name != "" && strings.HasPrefix(line, m.name) && list[m.name].by == "":
			names, _, _ := strings.Cut(line, "}")
			var by []string
			for _, l := range label.FindAllStringSubmatch(names, -1) {
				if l[1] != "quantile" && l[1] != "le" {
					by = append(by, l[1])
				}
			}
			m.by = strings.Join(by, ", ")
			list[m.name] = m
		}
	}
	return list
}

// namedFigures gives the text of the program's source, and the names of figures that stand there in full.
func namedFigures(t *testing.T) (source string, names []string) {
	t.Helper()
	var b strings.Builder
	full := regexp.MustCompile(`"(vigil_[a-z_]+[a-z])"(.?)`)
	eachFile(t, func(path, text string) {
		ours := regexp.MustCompile(`^(rpc|cluster|agentd|cmd/vigil/serve)/`).MatchString(path)
		if !ours || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return
		}
		b.WriteString(text)
		for _, m := range full.FindAllStringSubmatch(text, -1) {
			if m[2] != ":" && !slices.Contains(names, m[1]) { // a key of a map is the name of somebody else
				names = append(names, m[1])
			}
		}
	})
	if len(names) < 60 {
		t.Fatalf("only %d figures were found in the source", len(names))
	}
	return b.String(), names
}

// inSource looks for a figure whose name may be put together of parts.
func inSource(source, name string) bool {
	for _, prefix := range []string{"", "vigil_", "vigil_cluster_", "vigil_agentd_", "vigil_duty_"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && strings.Contains(source, `"`+rest+`"`) {
			return true
		}
	}
	return false
}
