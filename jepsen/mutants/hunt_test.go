//go:build mutants

package mutants

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	tableFlag = flag.String("table", "",
		"write the table to this file when every mutant was caught and every hunt was clean")
	resultsFlag = flag.String("results", "", "keep results in this file; what it holds already is not hunted again")
)

// huntLimit bounds one hunt.
const huntLimit = 15 * time.Minute

// result is what one hunt showed.
type result struct {
	Mutant  string  `json:"mutant"` // empty: the product as it is
	Hunt    string  `json:"hunt"`
	Caught  bool    `json:"caught"`
	By      string  `json:"by,omitempty"` // the tests or checks that failed
	Seconds float64 `json:"seconds"`      // with the time to build
	output  string
}

// Every mutant is caught by its hunt, and no hunt catches the product as it is.
func TestMutants(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	known := readResults(t)
	known.tools = place(t)
	var table []result
	for _, m := range All() {
		t.Run(m.Name, func(t *testing.T) {
			got := known.hunt(t, root, m, m.Name)
			if !got.Caught {
				t.Errorf("it survived %s", m.Hunt)
			}
			table = append(table, got)
		})
	}
	for _, m := range All() {
		t.Run("clean/"+m.Name, func(t *testing.T) { // hunts that several mutants share are run once
			if got := known.hunt(t, root, Mutant{Name: m.Name, Hunt: m.Hunt}, ""); got.Caught {
				t.Errorf("%s catches the product as it is, by %s", m.Hunt, got.By)
			}
		})
	}
	if *tableFlag == "" || t.Failed() || len(table) < len(All()) {
		return
	}
	if err := os.WriteFile(*tableFlag, []byte(page(table)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// page is docs/mutants.md.
func page(table []result) string {
	var lines strings.Builder
	hunts := map[string]bool{}
	for i, m := range All() {
		r := table[i]
		hunts[r.Hunt] = true
		fmt.Fprintf(&lines, "| `%s` | %s | %s | %s | `%s` | %.0f s |\n", m.Name, m.Law, m.Says, r.By,
			strings.ReplaceAll(r.Hunt, "|", `\|`), r.Seconds)
	}
	return fmt.Sprintf(`# Mutants

Each line is a build of the product that is broken on purpose, and the part of the suite that notices it: %d mutants, all caught. The %d
different hunts found nothing on the product as it is. Made by `+"`make mutants`"+`; the edits are in `+"`jepsen/mutants`"+`. The last column is
how long the hunt took to its end, with the time to build the mutant; what is found is often found much earlier.

| Mutant | Law | What is broken | Caught by | Hunt | Took |
|---|---|---|---|---|---|
%s`, len(table), len(hunts), lines.String())
}

// results are those of this run and of earlier ones that it goes on from.
type results struct {
	all   []result
	tools string // folder of the judge, which is built clean and once: only what it judges is a mutant
}

// readResults reads the file that the flag names, if there is one.
func readResults(t *testing.T) *results {
	t.Helper()
	r := &results{}
	if *resultsFlag == "" {
		return r
	}
	text, err := os.ReadFile(*resultsFlag)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var one result
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatalf("read results: %v", err)
		}
		r.all = append(r.all, one)
	}
	return r
}

// hunt hunts, unless the result is known. Mutants that survived, and clean hunts that
// found something, are hunted again.
func (r *results) hunt(t *testing.T, root string, m Mutant, name string) result {
	t.Helper()
	for _, one := range r.all {
		if one.Mutant == name && one.Hunt == m.Hunt.String() && one.Caught == (name != "") {
			return one
		}
	}
	if m.Hunt.Root && os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	folder, overlay := place(t), ""
	if name != "" {
		var err error
		if overlay, err = m.Overlay(root, folder); err != nil {
			t.Fatal(err)
		}
	}
	got, err := hunt(root, r.tools, folder, overlay, m.Hunt)
	if err != nil {
		t.Fatal(err)
	}
	got.Mutant = name
	t.Logf("%s: caught %t by %q in %.0f s\n%s", got.Hunt, got.Caught, got.By, got.Seconds, tail(got.output))
	r.all = append(r.all, *got)
	if *resultsFlag == "" {
		return *got
	}
	file, err := os.OpenFile(*resultsFlag, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := json.NewEncoder(file).Encode(got); err != nil {
		t.Fatal(err)
	}
	return *got
}

// place makes a folder through which agents of other accounts can pass.
func place(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "vigil-mutant-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) }) // a system cleans up what is left
	if err := os.Chmod(folder, 0o711); err != nil {
		t.Fatal(err)
	}
	return folder
}

// hunt runs a part of the suite with a mutant (overlay empty: without). The error says
// that nothing can be concluded.
func hunt(root, tools, folder, overlay string, h Hunt) (*result, error) {
	began := time.Now()
	cmd, err := command(root, tools, folder, overlay, h)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, &out, &out
	err = cmd.Run()
	r := &result{Hunt: h.String(), Seconds: time.Since(began).Seconds(), output: out.String()}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return r, nil
	case !errors.As(err, &exit) || exit.ExitCode() != 1:
		return nil, fmt.Errorf("%s: %w\n%s", h, err, tail(r.output))
	}
	if h.Package != "" {
		r.Caught, r.By, err = failedTests(r.output)
	} else {
		r.Caught, r.By, err = brokenChecks(r.output)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", h, err, tail(r.output))
	}
	return r, nil
}

// command is the command of a hunt. Everything that it builds has the mutant in it.
func command(root, tools, folder, overlay string, h Hunt) (*exec.Cmd, error) {
	vigil := filepath.Join(folder, "vigil")
	if h.Package != "" {
		args := []string{"test", "-count=1", "-timeout", huntLimit.String(), "-run", h.Run}
		if overlay != "" {
			args = append(args, "-overlay", overlay)
		}
		args = append(args, h.Package)
		if h.Root { // the tests are about a program that they are given
			args = append(args, "-vigil", vigil, "-all")
			if err := build(root, vigil, overlay, "vigil/cmd/vigil"); err != nil {
				return nil, err
			}
		}
		return exec.Command("go", args...), nil
	}
	judge := filepath.Join(tools, "jepsen")
	if _, err := os.Stat(judge); err != nil {
		if err := build(root, judge, "", "vigil/jepsen"); err != nil {
			return nil, err
		}
	}
	if err := build(root, vigil, overlay, "vigil/cmd/vigil"); err != nil {
		return nil, err
	}
	args := append([]string{"run", "-vigil", vigil, "-out", filepath.Join(folder, "run")}, h.Stand...)
	return exec.Command(judge, args...), nil
}

func build(root, program, overlay, pkg string) error {
	args := []string{"build", "-tags", "stand", "-o", program} // what it is for needs more than loopback
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.Command("go", append(args, pkg)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", pkg, err, out)
	}
	return nil
}

var (
	failed = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
	broken = regexp.MustCompile(`(?m)^  ✗ (.+?) +broken `)
)

// failedTests finds what failed in the output of go test.
func failedTests(output string) (bool, string, error) {
	if strings.Contains(output, "[build failed]") || strings.Contains(output, "[setup failed]") {
		return false, "", errors.New("it does not build")
	}
	var names []string
	for _, m := range failed.FindAllStringSubmatch(output, -1) {
		names = append(names, m[1])
	}
	if len(names) == 0 && strings.Contains(output, "panic: ") {
		names = []string{"a panic"}
	}
	if len(names) == 0 {
		return false, "", errors.New("it failed without a failed test")
	}
	return true, list(names), nil
}

// brokenChecks finds the broken checks in the output of jepsen run.
func brokenChecks(output string) (bool, string, error) {
	var names []string
	for _, m := range broken.FindAllStringSubmatch(output, -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	if len(names) == 0 {
		return false, "", errors.New("the run ended with 1 but names no broken check")
	}
	return true, list(names), nil
}

// list shortens a list of names for the table.
func list(names []string) string {
	const most = 4
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

func tail(text string) string { return text[max(0, len(text)-4000):] }
