//go:build linux

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vigil/jepsen/history"
	"vigil/jepsen/nemesis"
	"vigil/jepsen/workload"
)

func TestBadFlagsNameTheRemedy(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-time 0s", "1s to 11h"},
		{"-faults -1", "0 to 100000"},
		{"-agents 0", "1 to 100"},
		{"-servers 4", "3 or 5"},
		{"-hosts 9", "0 to 5"},
		{"-ttl 1s", "2s to 1m"},
		{"-rate 0", "1 to 1000"},
		{"-workloads claims", strings.Join(workload.Names(), ", ")},
		{"-nemesis nonsense", "jepsen list"},
		{"5m", "no flag"},
		{"-nosuch", "-nosuch"},
	} {
		var told bytes.Buffer
		_, err := parse(strings.Fields(c.args), &told)
		if err == nil || !strings.Contains(err.Error()+told.String(), c.want) {
			t.Errorf("%s: %v, want %q", c.args, err, c.want)
		}
	}
}

func TestCommandRepeatsTheRun(t *testing.T) {
	for _, length := range [][]string{{"-time", "90s"}, {"-faults", "40", "-agents", "11"}} {
		repeats(t, append(length, "-seed", "7", "-nemesis", "leader_*,-leader_killed", "-workloads",
			"claim,reads", "-servers", "5", "-log-store", "mixed"))
	}
}

func repeats(t *testing.T, args []string) {
	t.Helper()
	first, err := parse(args, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := parse(strings.Fields(strings.ReplaceAll(strings.TrimPrefix(first.command(),
		"bin/jepsen run "), "'", "")), &bytes.Buffer{})
	if err != nil {
		t.Fatalf("%s: %v", first.command(), err)
	}
	if *first != *again {
		t.Errorf("%s gives %+v, want %+v", first.command(), again, first)
	}
}

func TestFoldersAreNeverReplaced(t *testing.T) {
	o := &options{out: t.TempDir()}
	if _, err := o.folder(); err == nil || !strings.Contains(err.Error(), "name a new folder") {
		t.Errorf("a folder that is there is taken: %v", err)
	}
}

func TestListNamesEveryKind(t *testing.T) {
	var out bytes.Buffer
	if code, err := command(context.Background(), []string{"list"}, &out, &out); code != kept || err != nil {
		t.Fatalf("code %d, %v", code, err)
	}
	seen := map[string]bool{}
	for _, k := range nemesis.Kinds() {
		if seen[k.Name] {
			t.Errorf("two kinds are called %s", k.Name)
		}
		seen[k.Name] = true
		if !strings.Contains(out.String(), k.Name) || len(k.Says) < 20 {
			t.Errorf("kind %s says %q", k.Name, k.Says)
		}
	}
}

func TestCheckJudgesARecord(t *testing.T) {
	folder := t.TempDir()
	run := history.Run{Command: "bin/jepsen run", Servers: []string{"s1", "s2", "s3"}, TTL: 3e9, Began: 1e9,
		Calm: 2e9, Ended: 3e9}
	if err := history.WriteRun(folder, run); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "ledger"), 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := history.Create(folder)
	if err != nil {
		t.Fatal(err)
	}
	r.Op(history.Op{Workload: "register", Process: 1, Kind: "write", Key: "room/a", Value: "1", Rev: 1,
		Call: 1e9, Return: 2e9, Outcome: history.OK})
	r.Op(history.Op{Workload: "register", Process: 1, Kind: "read", Key: "room/a", Value: "2", Rev: 2,
		Call: 21e8, Return: 25e8, Outcome: history.OK})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	code, err := command(context.Background(), []string{"check", folder}, &out, &out)
	if code != broken || err != nil || !strings.Contains(out.String(), "registers") {
		t.Errorf("a read of what nobody wrote: code %d, %v: %s", code, err, out.String())
	}
	if code, err := command(context.Background(), []string{"check", t.TempDir()}, &out,
		&out); code != failed || err == nil {
		t.Errorf("an empty folder: code %d, %v", code, err)
	}
}

func TestDefaultFolderIsBesideTheProgram(t *testing.T) {
	t.Chdir(t.TempDir())
	// As the Makefile builds it: the program must not be in the way.
	if err := os.MkdirAll("bin", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("bin", "jepsen"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if folder, err := (&options{}).folder(); err != nil ||
		!strings.HasPrefix(filepath.Base(filepath.Dir(folder)), "runs") {
		t.Errorf("%s, %v", folder, err)
	}
}
