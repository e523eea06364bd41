package life

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Process is one life of a process: a pid alone may be used again.
type Process struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // when it was started, in ticks since boot; "" where that is not known
}

// ProcessOf identifies a running process.
func ProcessOf(pid int) Process { return Process{pid, StartOf(pid)} }

// Alive tells whether it still runs.
func (p Process) Alive() bool {
	if p.PID <= 0 {
		return false
	}
	proc, err := os.FindProcess(p.PID)
	if err != nil {
		return false
	}
	defer func() { _ = proc.Release() }() // what is asked each second would hold a file for each, until they are collected
	if !exists(proc) {
		return false
	}
	return p.Start == "" || StartOf(p.PID) == p.Start
}

// stat gives the fields of /proc/PID/stat after the name, nil where there is none;
// the first one is the state.
func stat(pid int) []string {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return nil
	}
	at := bytes.LastIndexByte(b, ')') // the name may hold anything
	if at < 0 {
		return nil
	}
	return strings.Fields(string(b[at+1:]))
}

// StartOf gives the start of a process; "" when it is gone, a zombie, or unknown.
func StartOf(pid int) string {
	if f := stat(pid); len(f) > 19 && f[0] != "Z" && f[0] != "X" {
		return f[19]
	}
	return ""
}

// parentOf gives the parent's pid, 0 when it is not known.
func parentOf(pid int) int {
	if f := stat(pid); len(f) > 1 {
		ppid, _ := strconv.Atoi(f[1]) // 0 says unknown
		return ppid
	}
	return 0
}

// Ancestors lists a process and those above it.
func Ancestors(pid int) (all []Process) {
	for ; pid > 1 && len(all) < 64; pid = parentOf(pid) {
		all = append(all, ProcessOf(pid))
	}
	return all
}

// Owner finds whose life a command by hand belongs to: the parent, or, when that is
// a shell that only runs one line for somebody, as AI tools do, whoever that is.
func Owner() Process {
	parent := os.Getppid()
	for pid := parent; pid > 1; pid = parentOf(pid) {
		if !oneLiner(pid) {
			return ProcessOf(pid)
		}
	}
	return ProcessOf(parent)
}

// argsOf gives the command line of a process, nil where it is not known.
func argsOf(pid int) []string {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil || len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimRight(string(b), "\x00"), "\x00")
}

// nameOf is the name of the program of a command line.
func nameOf(args []string) string { return strings.TrimPrefix(filepath.Base(args[0]), "-") }

func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "ash", "ksh", "fish"}, name)
}

// oneLiner tells whether the process is a shell with a command in its arguments.
func oneLiner(pid int) bool {
	args := argsOf(pid)
	if len(args) == 0 || !isShell(nameOf(args)) {
		return false
	}
	for _, arg := range args[1:] {
		if !strings.HasPrefix(arg, "-") {
			return false
		}
		if !strings.HasPrefix(arg, "--") && strings.HasSuffix(arg, "c") {
			return true
		}
	}
	return false
}

// LookEvery is how often processes and pipes are looked at.
const LookEvery = 500 * time.Millisecond

// WhenGone calls fn once p is gone, unless ctx ends first.
func WhenGone(ctx context.Context, p Process, fn func()) {
	tick := time.NewTicker(LookEvery)
	defer tick.Stop()
	for p.Alive() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
	fn()
}
