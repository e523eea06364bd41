package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	out := flag.String("out", "", "file for the table; empty: standard output")
	filter := flag.String("run", "", "only rows that begin so, as in I5; the others are shown as not tried")
	flag.Parse()
	code, err := run(*out, *filter)
	if err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		code = 2
	}
	os.Exit(code)
}

func run(out, filter string) (int, error) {
	began := time.Now()
	packages, err := withRows()
	if err != nil {
		return 0, err
	}
	found := map[string][]result{}
	for _, pkg := range packages {
		if err := try(pkg, filter, found); err != nil {
			return 0, err
		}
	}
	text, bad := table(found, began)
	if out == "" {
		_, err = os.Stdout.WriteString(text)
	} else {
		err = os.WriteFile(out, []byte(text), 0o644)
	}
	if err != nil || len(bad) == 0 {
		return 0, err
	}
	fmt.Fprintln(os.Stderr, "not passed:", strings.Join(bad, ", "))
	return 1, nil
}

// result is what one test said.
type result struct {
	name, pkg, action string // pass, fail or skip
	why               string // of a skip: its line
	took              time.Duration
}

// withRows finds the packages that have tests named after rows.
func withRows() ([]string, error) {
	cmd := exec.Command("go", "test", "-list", "^TestI[0-9]", "./...")
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list tests: %w", err)
	}
	var packages []string
	any := false
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) > 0 && strings.HasPrefix(fields[0], "TestI"):
			any = true
		case len(fields) > 1 && fields[0] == "ok":
			if any {
				packages = append(packages, fields[1])
			}
			any = false
		}
	}
	if len(packages) == 0 {
		return nil, errors.New("no test is named after a row")
	}
	return packages, nil
}

// own are packages whose tests take the flag that lets slow rows run.
const own = "vigil/jepsen/incidents"

// try runs the tests of a package and adds what they said, by row.
func try(pkg, filter string, found map[string][]result) error {
	pattern := "^TestI[0-9]"
	if filter != "" {
		pattern = "^Test" + filter + "[0-9]*[A-Z]"
	}
	args := []string{"test", "-json", "-count", "1", "-timeout", "1h", "-run", pattern, pkg}
	if pkg == own {
		args = append(args, "-all")
	}
	cmd := exec.Command("go", args...)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("test %s: %w", pkg, err)
	}
	seen, err := listen(pipe, pkg, found)
	// That a test failed is in the results.
	var exit *exec.ExitError
	if e := cmd.Wait(); e != nil && !errors.As(e, &exit) {
		err = errors.Join(err, e)
	} else if e != nil && seen == 0 {
		err = errors.Join(err, fmt.Errorf("test %s: nothing was run: %w", pkg, e))
	}
	return err
}

// event is one line of go test -json.
type event struct {
	Action, Test, Output string
	Elapsed              float64
}

func listen(from io.Reader, pkg string, found map[string][]result) (seen int, err error) {
	lines := map[string]string{} // the last line of output, by test
	s := bufio.NewScanner(from)
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		var e event
		if err := json.Unmarshal(s.Bytes(), &e); err != nil {
			return seen, fmt.Errorf("test %s: %w: %s", pkg, err, s.Text())
		}
		if e.Test == "" || strings.Contains(e.Test, "/") {
			continue
		}
		switch e.Action {
		case "output":
			text := strings.TrimSpace(e.Output)
			if text != "" && !strings.HasPrefix(text, "---") && !strings.HasPrefix(text, "===") {
				lines[e.Test] = text
				fmt.Fprintln(os.Stderr, e.Test+":", text)
			}
		case "pass", "fail", "skip":
			r := result{name: e.Test, pkg: strings.TrimPrefix(pkg, "vigil/"), action: e.Action,
				took: time.Duration(e.Elapsed * float64(time.Second))}
			if e.Action == "skip" {
				_, r.why, _ = strings.Cut(lines[e.Test], ": ")
			}
			id := rowOf(e.Test)
			found[id] = append(found[id], r)
			seen++
			fmt.Fprintf(os.Stderr, "%s %s %s\n", strings.ToUpper(e.Action), e.Test, r.took.Round(100*time.Millisecond))
		}
	}
	return seen, s.Err()
}

// rowOf gives I57 for TestI57PartitionedHostRejoins.
func rowOf(test string) string {
	id := strings.TrimPrefix(test, "Test")
	end := 1
	for end < len(id) && id[end] >= '0' && id[end] <= '9' {
		end++
	}
	return id[:end]
}

// words gives "partitioned host rejoins" for TestI57PartitionedHostRejoins.
func words(test string) string {
	var b strings.Builder
	for i, c := range strings.TrimPrefix(test, "Test"+rowOf(test)) {
		if c >= 'A' && c <= 'Z' {
			if i > 0 {
				b.WriteByte(' ')
			}
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// table writes the rows with their results; bad are those that did not pass.
func table(found map[string][]result, began time.Time) (text string, bad []string) {
	var b strings.Builder
	counts := map[string]int{}
	var lines strings.Builder
	for _, r := range rows {
		for _, l := range lay(r, found[r.ID]) {
			fmt.Fprintf(&lines, "| %s | [%s](%s) | %s | %s | %s | %s |\n", r.ID, r.System, r.Link,
				l.verdict, l.what, l.where, l.took)
		}
		verdict := sum(r, found[r.ID])
		counts[verdict]++
		if verdict == "FAILED" || verdict == "no test" {
			bad = append(bad, r.ID)
		}
	}
	var tally []string
	for _, v := range []string{"passed", "FAILED", "skipped", "needs a feature", "not tried", "no test"} {
		if counts[v] > 0 {
			tally = append(tally, fmt.Sprintf("%d %s", counts[v], v))
		}
	}
	fmt.Fprintf(&b, "# Incidents of other systems, tried on this one\n\nMade by `make incidents` on %s, "+
		"revision %s, %d processors, in %s; do not edit.\n\n"+
		"Each row is a failure that really happened to another system that keeps agents, jobs or leases "+
		"alive; the link leads to its report.\n"+
		"Tests are named after their row: `TestI57PartitionedHostRejoins`.\n\n%d rows: %s.\n\n| row | "+
		"happened to | result | what is tried | where | took |\n|---|---|---|---|---|---|\n%s",
		began.UTC().Format("2006-01-02"), revision(), runtime.NumCPU(),
		time.Since(began).Round(time.Second), len(rows), strings.Join(tally, ", "), lines.String())
	return b.String(), bad
}

type line struct{ verdict, what, where, took string }

// lay gives a line for each test of a row.
func lay(r row, results []result) (list []line) {
	slices.SortFunc(results, func(a, b result) int { return strings.Compare(a.name, b.name) })
	for _, t := range results {
		l := line{verdict: map[string]string{"pass": "passed", "fail": "**FAILED**",
			"skip": "skipped"}[t.action], what: words(t.name),
			where: "`" + t.pkg + "`", took: fmt.Sprintf("%.1f s", t.took.Seconds())}
		if t.why != "" {
			l.what += ": " + t.why
		}
		list = append(list, l)
	}
	if len(list) == 0 {
		list = append(list, line{verdict: sum(r, nil), what: r.Not})
	}
	return list
}

// sum is the verdict on a row out of all its tests.
func sum(r row, results []result) string {
	has := func(action string) bool {
		return slices.ContainsFunc(results, func(t result) bool { return t.action == action })
	}
	switch {
	case has("fail"):
		return "FAILED"
	case has("pass"):
		return "passed"
	case has("skip"):
		return "skipped"
	case r.Not != "":
		return "needs a feature"
	}
	return "no test"
}

func revision() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
