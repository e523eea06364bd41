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

const (
	// maxEnviron is how much of a process's environment is read: more than the kernel
	// gives to any program (6 MiB with its arguments).
	maxEnviron = 8 << 20
	// execTries and execPause (nanoseconds) bound how long a process in the middle of
	// an exec is waited for.
	execTries = 100
	execPause = 100_000
)

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
//
// A process in the middle of an exec has no environment for a moment, and one that is
// asked meanwhile seems to carry no mark. So an empty answer is believed only when
// there is a reason for it (L7: nothing of the tree may be passed over).
func environ(pid int, buf []byte) (env, grown []byte) {
	folder := "/proc/" + strconv.Itoa(pid)
	for try := 0; ; try++ {
		var read bool
		env, buf, read = readEnviron(folder, buf)
		if !read || len(env) > 0 || try == execTries {
			return env, buf
		}
		switch whyEmpty(pid) {
		case isEmpty:
			return env, buf
		case leaderEnded:
			if env, buf = threadEnviron(folder, buf); len(env) > 0 {
				return env, buf
			}
		}
		if try > 0 {
			_ = unix.Nanosleep(&unix.Timespec{Nsec: execPause}, nil) // cut short is fine
		}
	}
}

// readEnviron reads one environment as it is; read tells whether that was allowed.
func readEnviron(folder string, buf []byte) (env, grown []byte, read bool) {
	fd, err := unix.Open(folder+"/environ", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, buf, false
	}
	defer unix.Close(fd)
	n := 0
	for {
		m, err := unix.Read(fd, buf[n:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || m == 0 {
			return buf[:n], buf, err == nil
		}
		if n += m; n == len(buf) {
			if n >= maxEnviron {
				return buf, buf, true
			}
			buf = append(buf, make([]byte, len(buf))...)
		}
	}
}

// threadEnviron reads the environment of a process whose first thread has ended.
func threadEnviron(folder string, buf []byte) (env, grown []byte) {
	tasks, _ := os.ReadDir(folder + "/task") // gone: nothing to read
	for _, task := range tasks {
		if env, buf, _ = readEnviron(folder+"/task/"+task.Name(), buf); len(env) > 0 {
			break
		}
	}
	return env, buf
}

// emptiness is why an environment was read as empty.
type emptiness uint8

const (
	isEmpty     emptiness = iota // it is, or the process runs no instruction any more
	executes                     // it was in the middle of an exec, and may be still
	leaderEnded                  // the first thread has ended, others go on
)

func whyEmpty(pid int) emptiness {
	// Numbers of fields as in proc(5), less the three up to the state.
	const flagsAt, threadsAt, envStartAt, envEndAt = 9 - 3, 20 - 3, 50 - 3, 51 - 3
	const exiting, kernelThread = 0x4, 0x200000
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return isEmpty
	}
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(f) <= envEndAt {
		return isEmpty
	}
	number := func(i int) uint64 {
		n, _ := strconv.ParseUint(f[i], 10, 64)
		return n
	}
	flags := number(flagsAt)
	switch {
	case flags&kernelThread != 0:
		return isEmpty
	case flags&exiting != 0 || strings.Contains("ZXx", f[0]):
		if number(threadsAt) > 1 {
			return leaderEnded
		}
		return isEmpty
	case number(envEndAt) == 0, number(envEndAt) > number(envStartAt):
		return executes
	}
	return isEmpty
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
