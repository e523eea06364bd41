package proc

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxEnviron is how much of a process's environment is read.
const maxEnviron = 1 << 20

func attributes(spec Spec) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: spec.PTY, Credential: spec.Credential, Pdeathsig: syscall.SIGKILL}
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

// reapAll reaps all children that have ended.
func reapAll() {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		if pid <= 0 && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// marked gives all processes that carry a mark.
func marked() map[int]Mark {
	found := map[int]Mark{}
	buf := make([]byte, 64<<10)
	for _, pid := range pids() {
		var env []byte
		env, buf = environ(pid, buf)
		if m, ok := parseMark(env); ok {
			found[pid] = m
		}
	}
	return found
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

// environ reads what a process was started with, into buf when it fits. It is
// empty for zombies, kernel threads and processes of others.
func environ(pid int, buf []byte) (env, grown []byte) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/environ", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, buf
	}
	defer unix.Close(fd)
	n := 0
	for {
		m, err := unix.Read(fd, buf[n:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || m == 0 {
			return buf[:n], buf
		}
		if n += m; n == len(buf) {
			if n >= maxEnviron {
				return buf, buf
			}
			buf = append(buf, make([]byte, len(buf))...)
		}
	}
}

func parseMark(env []byte) (Mark, bool) {
	var m Mark
	var seen int
	if !bytes.Contains(env, []byte(EnvHost+"=")) {
		return m, false
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		name, value, _ := strings.Cut(string(entry), "=")
		switch name {
		case EnvHost:
			m.Host = value
			seen |= 1
		case EnvAgent:
			n, err := strconv.ParseUint(value, 10, 32)
			if err == nil {
				m.Agent = uint32(n)
				seen |= 2
			}
		case EnvIncarnation:
			n, err := strconv.ParseUint(value, 10, 64)
			if err == nil {
				m.Incarnation = n
				seen |= 4
			}
		}
	}
	return m, seen == 7
}

// signalMarked sends sig to pid if it still carries the mark.
func signalMarked(pid int, mark Mark, sig unix.Signal) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		if errors.Is(err, unix.ENOSYS) && carries(pid, mark) {
			_ = unix.Kill(pid, sig)
		}
		return
	}
	defer unix.Close(fd)
	if carries(pid, mark) {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
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
	env, _ := environ(pid, make([]byte, 16<<10))
	m, ok := parseMark(env)
	return ok && m == mark
}

// groupRuns tells whether the group has a member that is not a zombie.
func groupRuns(pgid int) bool {
	if errors.Is(unix.Kill(-pgid, 0), unix.ESRCH) {
		return false
	}
	// Members are left. Where nobody reaps orphans they may be zombies for ever.
	for _, pid := range pids() {
		if state, _, group := stat(pid); group == pgid && state != 'Z' && state != 'X' {
			return true
		}
	}
	return false
}

// stopped tells whether a process that was sent SIGSTOP runs no instruction of its
// own any more. One that waits for a disk (D) meets the signal before its next one.
func stopped(pid int) bool {
	state, _, _ := stat(pid)
	return state == 0 || strings.IndexByte("TtDZX", state) >= 0
}

// runningOf gives a member of a group that is not stopped, 0 when there is none.
func runningOf(pgid int) int {
	for _, pid := range pids() {
		if _, _, group := stat(pid); group == pgid && !stopped(pid) {
			return pid
		}
	}
	return 0
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
