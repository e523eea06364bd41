package proc

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func attributes(spec Spec) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: spec.PTY, Credential: spec.Credential,
		Pdeathsig: syscall.SIGKILL}
}

func pipe(fds []int) error { return unix.Pipe2(fds, unix.O_CLOEXEC) }

func setLimits(pid int, l Limits) error {
	for _, r := range []struct {
		what  int
		value uint64
	}{{unix.RLIMIT_NOFILE, l.OpenFiles}, {unix.RLIMIT_AS, l.AddressSpace}, {unix.RLIMIT_CORE, l.CoreSize}} {
		if r.value == 0 {
			continue
		}
		if err := unix.Prlimit(pid, r.what, &unix.Rlimit{Cur: r.value, Max: r.value}, nil); err != nil {
			return err
		}
	}
	return nil
}

// awaitExit returns when pid has exited and leaves it a zombie, so that its
// number stays taken. With reap it meanwhile reaps every other child.
func awaitExit(pid int, reap bool) (exit Exit, reaped bool) {
	kind, id := unix.P_PID, pid
	if reap {
		kind, id = unix.P_ALL, 0
	}
	for {
		var info unix.Siginfo
		err := unix.Waitid(kind, id, &info, unix.WEXITED|unix.WNOWAIT, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err == nil && reap && childOf(&info) != pid:
			_, _ = wait(childOf(&info))
		default:
			return Exit{}, false
		}
	}
}

// childOf reads si_pid, which package unix keeps to itself. It follows three
// integers, at the alignment of a pointer.
func childOf(info *unix.Siginfo) int {
	const word = unsafe.Sizeof(uintptr(0))
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(info), (12+word-1)&^(word-1))))
}

// reapAll reaps all children that have ended and tells whether there are others, of whatever kind.
func reapAll() (left bool) {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG|unix.WALL, nil)
		if pid <= 0 && !errors.Is(err, unix.EINTR) {
			return !errors.Is(err, unix.ECHILD)
		}
	}
}

func pids() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	all := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// signalMarked sends sig to pid if it still carries the mark, and tells whether it did.
func signalMarked(pid int, mark Mark, sig unix.Signal) (sent bool) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return errors.Is(err, unix.ENOSYS) && carries(pid, mark) && unix.Kill(pid, sig) == nil
	}
	defer unix.Close(fd)
	return carries(pid, mark) && unix.PidfdSendSignal(fd, sig, nil, 0) == nil
}

// deathbed is a process that was sent SIGKILL; -1: there is nothing to wait for.
type deathbed int

// kill sends SIGKILL to pid if it still carries the mark.
func kill(pid int, mark Mark) deathbed {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		signalMarked(pid, mark, unix.SIGKILL)
		return -1
	}
	if !carries(pid, mark) {
		unix.Close(fd)
		return -1
	}
	_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	return deathbed(fd)
}

// empty tells whether the process has ended, at most as a zombie. It is not asked
// again after that.
func (b deathbed) empty() bool {
	if b < 0 {
		return true
	}
	fds := []unix.PollFd{{Fd: int32(b), Events: unix.POLLIN}}
	if n, err := unix.Poll(fds, 0); err != nil || n == 0 {
		return false
	}
	unix.Close(int(b))
	return true
}

func carries(pid int, mark Mark) bool {
	look := environs.begin()
	defer look.end()
	return slices.Contains(look.marks(pid), mark)
}

// groupOf gives the members of a process group.
func groupOf(pgid int) (members []int) {
	for _, pid := range pids() {
		if _, _, group := stat(pid); group == pgid {
			members = append(members, pid)
		}
	}
	return members
}

// groupRuns tells whether the group has a member that is not a zombie.
func groupRuns(pgid int) bool { return memberOf(pgid, func(int) bool { return true }) != 0 }

// memberOf gives a member of a group that is not a zombie and fits; 0: there is none.
func memberOf(pgid int, fits func(pid int) bool) int {
	if errors.Is(unix.Kill(-pgid, 0), unix.ESRCH) {
		return 0
	}
	// Members are left. Where nobody reaps orphans they may be zombies for ever.
	for _, pid := range pids() {
		if belongs(pid, pgid) && fits(pid) {
			return pid
		}
	}
	return 0
}

// belongs tells whether a process is a member of a group and not a zombie.
func belongs(pid, pgid int) bool {
	state, _, group := stat(pid)
	return group == pgid && state != 'Z' && state != 'X'
}

// runs tells whether a process is there and has not ended.
func runs(pid int) bool {
	state, _, _ := stat(pid)
	return state != 0 && state != 'Z' && state != 'X'
}

// stat gives state, parent and group; 0 for a process that is gone.
func stat(pid int) (state byte, parent, group int) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0, 0
	}
	// The name stands in brackets and may hold anything, brackets too.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 3 {
		return 0, 0, 0
	}
	parent, _ = strconv.Atoi(fields[1])
	group, _ = strconv.Atoi(fields[2])
	return fields[0][0], parent, group
}

// ancestors gives this process and those that it descends from.
func ancestors() map[int]bool {
	own := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !own[pid]; {
		own[pid] = true
		_, pid, _ = stat(pid)
	}
	return own
}
