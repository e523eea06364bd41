package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// process is one life of a process: a pid alone may be used again.
type process struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // when it was started, in ticks since boot; "" where that is not known
}

// processOf identifies a running process.
func processOf(pid int) process { return process{pid, startOf(pid)} }

// alive tells whether it still runs.
func (p process) alive() bool {
	if p.PID <= 0 {
		return false
	}
	proc, err := os.FindProcess(p.PID)
	if err != nil || !exists(proc) {
		return false
	}
	return p.Start == "" || startOf(p.PID) == p.Start
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

// startOf gives the start of a process; "" when it is gone, a zombie, or unknown.
func startOf(pid int) string {
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

// ancestors lists a process and those above it.
func ancestors(pid int) (all []process) {
	for ; pid > 1 && len(all) < 64; pid = parentOf(pid) {
		all = append(all, processOf(pid))
	}
	return all
}

// owner finds whose life a command by hand belongs to: the parent, or, when that is
// a shell that only runs one line for somebody, as AI tools do, whoever that is.
func owner() process {
	parent := os.Getppid()
	for pid := parent; pid > 1; pid = parentOf(pid) {
		if !oneLiner(pid) {
			return processOf(pid)
		}
	}
	return processOf(parent)
}

// oneLiner tells whether the process is a shell with a command in its arguments.
func oneLiner(pid int) bool {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return false
	}
	args := strings.Split(strings.TrimRight(string(b), "\x00"), "\x00")
	switch strings.TrimPrefix(filepath.Base(args[0]), "-") {
	case "sh", "bash", "dash", "zsh", "ash", "ksh", "fish":
	default:
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

// lookEvery is how often processes and pipes are looked at.
const lookEvery = 500 * time.Millisecond

// whenGone calls fn once p is gone, unless ctx ends first.
func whenGone(ctx context.Context, p process, fn func()) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for p.alive() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
	fn()
}
