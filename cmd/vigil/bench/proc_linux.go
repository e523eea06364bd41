package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ownGroup keeps signals of the terminal away from the process and ends it when
// this one dies.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// stepBack gives the processors to others first. It is for a process of ownGroup: a priority is that of a
// thread, and of a group all threads are found.
func stepBack(pid int) error {
	if err := unix.Setpriority(unix.PRIO_PGRP, pid, loadNice); err != nil {
		return fmt.Errorf("lower the priority of the load: %w", err)
	}
	return nil
}

// memory reads what the process holds: all of it, and without pages of files.
func (p *process) memory() (rss, anon int64) {
	if p == nil {
		return 0, 0
	}
	file := fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid)
	return kibField(file, "VmRSS") << 10, kibField(file, "RssAnon") << 10
}

// tick is the unit of times below /proc: USER_HZ, which is 100 on every Linux that
// Go runs on.
const tick = 10 * time.Millisecond

// cpuTime is what the process has used of all processors.
func (p *process) cpuTime() time.Duration {
	if p == nil {
		return 0
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	// The name of the program may hold spaces; numbers begin behind its bracket.
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	if err1 != nil || err2 != nil {
		return 0
	}
	return time.Duration(user+system) * tick
}

// threadTime is what the calling thread has used.
func threadTime() time.Duration {
	var at unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at) != nil {
		return 0
	}
	return time.Duration(at.Nano())
}

// ownTime is what this process has used.
func ownTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// openFiles is how many files a process may open; 0: nobody knows.
func openFiles() int {
	var most syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &most) != nil {
		return 0
	}
	return int(min(most.Max, 1<<30))
}
