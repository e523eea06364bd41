package report

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"vigil/jepsen/check"
	"vigil/jepsen/history"
)

var keep = flag.String("keep", "", "folder in which invented reports are kept, to be looked at")

// judged is an invented run with what the checks say of it.
type judged struct {
	*invented
	results []check.Result
}

func judge(v *invented) judged { return judged{v, check.All(v.rec, v.lives)} }

// usual is a run of five minutes; with the operations of a real one when it is to be
// looked at.
func usual() *invented {
	ops := 10_000
	if *keep != "" {
		ops = 50_000
	}
	return invent(5*time.Minute, ops, 200, 200)
}

// The usual run, made and judged once.
var (
	keptRun    = sync.OnceValue(func() judged { return judge(usual()) })
	spoiledRun = sync.OnceValue(func() judged {
		v := usual()
		v.spoil()
		return judge(v)
	})
)

// written makes the report of a run and gives the text of its files.
func written(t *testing.T, name string, v judged) (folder string, files map[string]string) {
	t.Helper()
	folder = t.TempDir()
	if *keep != "" {
		folder = filepath.Join(*keep, name)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := Write(folder, v.rec, v.lives, v.results); err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for _, file := range []string{"report.html", "summary.txt", "verdict.json"} {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		files[file] = string(text)
	}
	return folder, files
}

// plain takes the words of a page, and fails when it is not well formed. The page is
// written so that a strict reader can read it, but for its scripts.
func plain(t *testing.T, page string) string {
	t.Helper()
	page = regexp.MustCompile(`(?s)<script>.*?</script>|<style>.*?</style>|<!doctype html>`).ReplaceAllString(page, "")
	page = regexp.MustCompile(` (hidden|defer)([ >])`).ReplaceAllString(page, ` $1=""$2`)
	d := xml.NewDecoder(strings.NewReader(page))
	d.Entity = xml.HTMLEntity
	var words strings.Builder
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return words.String()
		}
		if err != nil {
			line, column := d.InputPos()
			t.Fatalf("the page is not well formed at %d:%d: %v", line, column, err)
		}
		switch x := token.(type) {
		case xml.CharData:
			words.Write(x)
		case xml.StartElement:
			for _, a := range x.Attr {
				if strings.HasPrefix(a.Value, "http") || strings.HasPrefix(a.Value, "//") {
					t.Errorf("the page asks for %s", a.Value)
				}
				if a.Name.Local == "data-text" {
					words.WriteString("\n" + a.Value + "\n")
				}
			}
		}
	}
}

// Everything that is broken, every fault and every law is on the page, as text.
func TestReportShowsEverything(t *testing.T) {
	v := spoiledRun()
	_, files := written(t, "broken", v)
	words := plain(t, files["report.html"])
	findings := 0
	for _, r := range v.results {
		for _, want := range []string{r.Name, r.Law, r.Says} {
			if !strings.Contains(words, want) {
				t.Errorf("%q of check %s is not on the page", want, r.Name)
			}
		}
		for i, f := range r.Findings {
			findings++
			if i < findingsShown && !strings.Contains(words, f.What) {
				t.Errorf("the finding %q is not on the page", f.What)
			}
		}
	}
	if findings < 4 {
		t.Errorf("only %d findings: too little is tried", findings)
	}
	for i, f := range v.rec.Faults {
		if !strings.Contains(files["report.html"], fmt.Sprintf(`id="fault%d"`, i+1)) ||
			!strings.Contains(words, f.Kind) || !strings.Contains(words, f.Note) {
			t.Fatalf("fault %d (%s) is not on the page", i, f.Kind)
		}
	}
	for _, l := range v.lives {
		if want := fmt.Sprintf("%s, life %d on %s", l.Agent, l.Incarnation, l.Host); !strings.Contains(words, want) {
			t.Fatalf("the life %q is not on the page", want)
		}
	}
	if !strings.Contains(words, v.rec.Run.Command) || strings.Contains(files["report.html"], "<script>alert") {
		t.Error("the command is missing, or a key was taken for markup")
	}
	if !strings.HasPrefix(files["summary.txt"], "Broken: ") ||
		!strings.Contains(files["summary.txt"], v.rec.Run.Command) {
		t.Errorf("summary: %s", files["summary.txt"])
	}
}

// verdict.json is read by programs: it says the same.
func TestVerdictIsReadable(t *testing.T) {
	for want, v := range map[string]judged{check.Kept: keptRun(), check.Broken: spoiledRun()} {
		_, files := written(t, want, v)
		var got struct {
			Verdict, Sentence string
			Faults            int
			Kinds             []struct{ Count int } `json:"faults_by_kind"`
			Results           []struct {
				Name, Verdict string
				Found         int
			}
		}
		if err := json.Unmarshal([]byte(files["verdict.json"]), &got); err != nil {
			t.Fatal(err)
		}
		sum := 0
		for _, k := range got.Kinds {
			sum += k.Count
		}
		if got.Verdict != want || got.Faults != len(v.rec.Faults) || sum != got.Faults ||
			len(got.Results) != len(v.results) {
			t.Errorf("verdict %s, want %s, %d faults (%d by kind), %d results: %s", got.Verdict, want,
				got.Faults, sum, len(got.Results), got.Sentence)
		}
		for i, r := range v.results {
			if got.Results[i].Name != r.Name || got.Results[i].Verdict != r.Verdict ||
				got.Results[i].Found != len(r.Findings) {
				t.Errorf("of %s: %+v", r.Name, got.Results[i])
			}
		}
		plain(t, files["report.html"])
	}
}

// Timelines and files of the run are linked where they are.
func TestReportLinksFiles(t *testing.T) {
	v := spoiledRun()
	folder, _ := written(t, "links", v)
	for _, name := range []string{"s1", "h3", "ledger"} {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "ledger", v.lives[0].File), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(folder, v.rec, v.lives, v.results); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`href="s1/"`, `href="h3/"`, `href="ledger/lifecycle%25work.1-1-`,
		`href="timelines/`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("there is no link %s", want)
		}
	}
	drawn := 0
	for _, r := range v.results {
		for _, line := range r.Timelines {
			drawn++
			if info, err := os.Stat(filepath.Join(folder, timelines, line.Name+".html")); err != nil ||
				info.Size() < 10_000 {
				t.Errorf("timeline %s: %v", line.Name, err)
			}
		}
	}
	if drawn < 2 {
		t.Errorf("%d timelines", drawn)
	}
}

// An empty run has a report too.
func TestReportOfNothing(t *testing.T) {
	_, files := written(t, "nothing", judge(&invented{rec: &history.Record{}}))
	if words := plain(t, files["report.html"]); !strings.Contains(words, "Nothing to judge") ||
		!strings.Contains(words, "No fault struck.") {
		t.Error("the page does not say that there is nothing")
	}
}

// A long run with many faults and lives still makes a page that a browser opens at
// once. How many operations it had does not matter for its size.
func TestLargeReport(t *testing.T) {
	_, files := written(t, "large", judge(invent(30*time.Minute, 20_000, 1000, 1000)))
	if n := len(files["report.html"]); n > 5<<20 {
		t.Errorf("the page has %d bytes", n)
	}
}

// The report of a run of half an hour at full speed.
func BenchmarkWrite(b *testing.B) {
	v := judge(invent(30*time.Minute, 250_000, 1000, 1000))
	folder := b.TempDir()
	for b.Loop() {
		if err := Write(folder, v.rec, v.lives, v.results); err != nil {
			b.Fatal(err)
		}
	}
	info, err := os.Stat(filepath.Join(folder, "report.html"))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size()), "bytes/page")
}

func TestWriteSaysWhatFails(t *testing.T) {
	err := Write(filepath.Join(t.TempDir(), "missing"), &history.Record{}, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "write report") {
		t.Errorf("error %v", err)
	}
}
