package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fake is a vigil and its peers: it notes how it was called, and prints a report that says of itself
// which of the calls it was.
func fake() {
	file := filepath.Join(os.Getenv(fakeEnv), "calls")
	before, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		panic(err)
	}
	calls := append(strings.Split(strings.TrimSuffix(string(before), "\n"), "\n"), strings.Join(os.Args[1:], " "))
	if len(before) == 0 {
		calls = calls[1:]
	}
	if err := os.WriteFile(file, []byte(strings.Join(calls, "\n")+"\n"), 0o600); err != nil {
		panic(err)
	}
	server, rate := "", 1500*len(calls)
	if os.Args[1] == "run" {
		server, rate = `"server":"etcd 9.9",`, 1000
	}
	fmt.Printf(`{"name":%q,%s"per_second":%d,"servers_cpu_cores":0.25,"bench_cpu_cores":0.05,`+
		`"p50_ms":70,"errors":%d,"first_error":"no luck",`+
		`"machine":{"cores":7,"load":1.5}}`, os.Args[2], server, rate, len(calls)-1)
}

// Both sides are measured in turn, the peer first in odd rounds; what each says is compared, and nothing
// is left behind.
func TestSidesAreMeasuredInTurn(t *testing.T) {
	seen, work := t.TempDir(), t.TempDir()
	t.Setenv(fakeEnv, seen)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	err = command(t.Context(), []string{"compare", "-vigil", program, "-rounds", "2", "-duration", "3s", "-secure",
		"-dir", work, "-only", "tasks,restart"}, &out, &errs)
	if err != nil {
		t.Fatal(err, errs.String())
	}
	text, err := os.ReadFile(filepath.Join(seen, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	var calls []string
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		call, dir, ok := strings.Cut(line, " --dir ")
		if !ok || !strings.HasPrefix(dir, work) {
			t.Errorf("%q was not told where to work", line)
		}
		calls = append(calls, call)
	}
	const (
		peer    = "run nats-tasks -clients 512 -conns 4 -duration 3s --secure"
		own     = "bench tasks --batch 1 --clients 512 --conns 4 --duration 3s --json --secure"
		restart = "bench restart --count 40 --json --secure"
	)
	if want := []string{peer, own, restart, own, peer, restart}; !slices.Equal(calls, want) {
		t.Errorf("called were\n%s\nwant\n%s", strings.Join(calls, "\n"), strings.Join(want, "\n"))
	}
	for _, want := range []string{
		"vigil, etcd 9.9. 2 rounds of 3s in turn, with TLS and certificates on both ends; 7 cores",
		"4 errors, one of them: no luck.",
		"| 1,000/s, 3,000/s | 1,000/s, 6,000/s |",
		" | 1,000/s | 4,500/s | ",
		" | 300 us, 100 us | 300 us, 50.0 us |",
		" | 4.50 (3 to 6) | at least 2: met |\n",
		" | 46.0 ms to 62.0 ms, quoted | 70.0 ms | ",
		" | at most 60.0 ms: **missed** |\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
		t.Errorf("%v was left: %v", left, err)
	}
}

// A program that fails, says no JSON, or lacks a figure ends the comparison and is named.
func TestSideThatFailsIsNamed(t *testing.T) {
	t.Setenv(fakeEnv, t.TempDir())
	folder := t.TempDir()
	for script, want := range map[string]string{
		"echo it is broken >&2; exit 3":    "vigil bench restart --count 40 --json: exit status 3: it is broken",
		"echo hello":                       "read its report",
		`echo '{"name":"x","p50_ms":"?"}'`: "the report of x has ? as p50_ms",
		`echo '{"name":"x","p50_ms":0}'`:   "not a number above 0",
	} {
		program := filepath.Join(folder, "vigil")
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		args := []string{"compare", "-vigil", program, "-only", "restart"}
		err := command(t.Context(), args, &bytes.Buffer{}, &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
	}
}

func TestRatiosAndAims(t *testing.T) {
	for _, c := range []struct {
		name string
		s    sides
		want string
	}{
		{"a shorter time is better",
			sides{row{unit: milliseconds, aim: aim{atMost: 0.9}}, []float64{2, 1, 4}, []float64{1, 0.9, 4}},
			"|  | 2 ms | 1 ms |  | 0.90 (0.50 to 1) | at most 0.90: met |"},
		{"a longer one is missed",
			sides{row{unit: milliseconds, aim: aim{atMost: 1}}, []float64{1000}, []float64{1500}},
			"|  | 1 s | 1.50 s |  | 1.50 (1.50 to 1.50) | at most 1: **missed** |"},
		{"a higher rate is better",
			sides{row{unit: perSecond, aim: aim{atLeast: 3}}, []float64{1000, 9000}, []float64{4000, 27000}},
			"|  | 5,000/s | 15,500/s |  | 3.50 (3 to 4) | at least 3: met |"},
		{"a lower one is missed",
			sides{row{unit: perSecond, aim: aim{atLeast: 2}}, []float64{123}, []float64{245}},
			"|  | 123/s | 245/s |  | 1.99 (1.99 to 1.99) | at least 2: **missed** |"},
		{"a quoted figure has bounds",
			sides{row{unit: milliseconds, aim: aim{figure: 60}, quoted: [2]float64{50, 100}}, nil, []float64{60, 55}},
			"|  | 50.0 ms to 100 ms, quoted | 57.5 ms |  | 0.85 (0.55 to 1.20) | at most 60.0 ms: met |"},
		{"without an aim nothing is missed",
			sides{row{unit: milliseconds}, []float64{1}, []float64{12.34}},
			"|  | 1 ms | 12.3 ms |  | 12.3 (12.3 to 12.3) | none set |"},
	} {
		var out bytes.Buffer
		if err := writeRatios(&out, []*sides{&c.s}); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Split(out.String(), "\n"); lines[2] != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.name, lines[2], c.want)
		}
	}
}

// Each row has a job, and each job a row: nothing is measured in vain.
func TestRowsFitTheJobs(t *testing.T) {
	used := map[string]bool{}
	for _, r := range rows() {
		i := slices.IndexFunc(jobs(), func(j job) bool { return j.name == r.job })
		if i < 0 {
			t.Fatalf("row %s: there is no job %s", r.what, r.job)
		}
		used[r.job] = true
		if quoted := jobs()[i].peer == nil; quoted != (r.quoted[0] > 0) || quoted != (r.peer == "") {
			t.Errorf("row %s: is its peer measured or quoted?", r.what)
		}
	}
	for _, j := range jobs() {
		if !used[j.name] {
			t.Errorf("job %s has no row", j.name)
		}
		if j.peer == nil {
			continue
		}
		i := slices.IndexFunc(measurements(), func(m measurement) bool { return m.name == j.peer[0] })
		if i < 0 {
			t.Fatalf("job %s: there is no measurement %s", j.name, j.peer[0])
		}
		if _, err := measurements()[i].parse(j.peer[1:], t.Output()); err != nil {
			t.Errorf("job %s: %v", j.name, err)
		}
	}
}
