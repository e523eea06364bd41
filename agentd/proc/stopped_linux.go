package proc

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Which threads run. A freeze has succeeded when no thread of the tree runs an instruction of
// its own any more. One that waits for a disk (D) runs none either, and meets its signal, or
// the freezer of its control group, before its next one; it may wait for hours, when it is
// the disk of a network that is gone, and nothing can end that.

// threadStates gives the states of all threads of a process, as in proc(5); empty: it is gone.
func threadStates(pid int) (states string) {
	for _, tid := range threads(pid) {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(tid) + "/stat")
		if err != nil {
			continue // it has ended
		}
		// The name stands in brackets and may hold anything, brackets too.
		if rest := bytes.TrimLeft(text[bytes.LastIndexByte(text, ')')+1:], " "); len(rest) > 0 {
			states += string(rest[:1])
		}
	}
	return states
}

func threads(pid int) (tids []int) {
	list, _ := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task") // gone: none
	for _, entry := range list {
		if tid, err := strconv.Atoi(entry.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids
}

// only tells whether all states are among those.
func only(states, those string) bool { return strings.Trim(states, those) == "" }

// stopped tells whether a process that was sent SIGSTOP runs no instruction of its own any
// more; mine tells whether the number is still that of a process of the tree.
func stopped(pid int, mine func(pid int) bool) bool {
	if only(threadStates(pid), "TtZX") {
		return true
	}
	// The kernel gives the signal of a process to one thread, which stops the others. When
	// that one waits for a disk the others run on; so each gets one of its own.
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case err == nil:
		defer unix.Close(fd) // the number is nobody else's meanwhile
	case !errors.Is(err, unix.ENOSYS):
		return !runs(pid)
	}
	if !mine(pid) {
		return true
	}
	for _, tid := range threads(pid) {
		_ = unix.Tgkill(pid, tid, unix.SIGSTOP) // gone is fine
	}
	return only(threadStates(pid), "TtDZX")
}

// runningOf gives a member of a group that is not stopped, 0 when there is none.
func runningOf(pgid int) int {
	mine := func(pid int) bool { _, _, group := stat(pid); return group == pgid }
	for _, pid := range pids() {
		if mine(pid) && !stopped(pid, mine) {
			return pid
		}
	}
	return 0
}

// waits tells whether all that keeps the group from being frozen is threads that wait for a
// disk. Frozen threads are shown as sleeping (S); any other sleeper would have been woken.
func (c *Cgroup) waits() bool {
	var states string
	err := filepath.WalkDir(c.unified, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "cgroup.procs" {
			return err
		}
		list, err := os.ReadFile(path)
		for pid := range strings.FieldsSeq(string(list)) {
			if n, err := strconv.Atoi(pid); err == nil {
				states += threadStates(n)
			}
		}
		return err
	})
	return err == nil && strings.Contains(states, "D") && only(states, "DSTtZXI")
}
