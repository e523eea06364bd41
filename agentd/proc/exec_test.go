//go:build linux

package proc

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// restless gives a tree with a process that has left its session and replaces itself
// again and again; told grows by a byte each time.
func restless(t *testing.T, f *Forker, round int) (tree *Tree, told *os.File) {
	t.Helper()
	dir := t.TempDir()
	script, told := filepath.Join(dir, "loop"), (*os.File)(nil)
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho >>"+dir+"/told\nexec \"$0\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	told, err := os.Create(dir + "/told")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { told.Close() })
	s := spec("", Mark{"restless" + dir, uint32(round) + 1, 1}, discard{})
	s.Path, s.Args = "/bin/sh", []string{"-c", "setsid " + script + " >/dev/null 2>&1 & exec sleep 300"}
	s.Env = []string{"PATH=/usr/bin:/bin"}
	if tree, err = f.Start(s); err != nil {
		t.Fatal(err)
	}
	until(t, "the script", func() bool { return size(t, told) > 20 })
	return tree, told
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func size(t *testing.T, f *os.File) int64 {
	t.Helper()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// L7: a process is not passed over because it is in the middle of an exec: a freeze
// that says nil has reached it, and a tree is not called empty while it runs.
func TestL7WhatExecutesIsNotPassedOver(t *testing.T) {
	f := forker(t)
	for round := range 12 {
		tree, told := restless(t, f, round)
		if err := tree.Freeze(); err != nil {
			t.Fatal(err)
		}
		frozen := size(t, told)
		// Whatever runs gets the processor meanwhile.
		for range 20 {
			pause(nil, 1e6)
		}
		if now := size(t, told); now != frozen {
			t.Errorf("round %d: it ran on after the freeze", round)
		}
		if err := tree.Thaw(); err != nil {
			t.Fatal(err)
		}
		until(t, "the script goes on", func() bool { return size(t, told) > frozen })
		// The leader only: what has left its group must be found by its mark.
		if err := unix.Kill(tree.pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		await(t, tree)
		over := size(t, told)
		for range 20 {
			pause(nil, 1e6)
		}
		if now := size(t, told); now != over {
			t.Errorf("round %d: it runs after the end of its tree", round)
		}
		NewScanner().Bury(tree.mark, nil, func() {})
	}
}
