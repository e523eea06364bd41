package shim

import (
	"bytes"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// BootClock reads CLOCK_BOOTTIME: it never steps and runs through suspend.
func BootClock() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		// Every kernel that Go runs on has it; going on without a clock would let two
		// lives overlap.
		panic("read CLOCK_BOOTTIME: " + err.Error())
	}
	return time.Duration(ts.Nano())
}

// awakeClock reads CLOCK_MONOTONIC, which stands still while the machine is suspended.
func awakeClock() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("read CLOCK_MONOTONIC: " + err.Error()) // every kernel has it
	}
	return time.Duration(ts.Nano())
}

// byBootTime makes the alarm go by CLOCK_BOOTTIME, unless the kernel refuses.
func (a *alarm) byBootTime() bool {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return false
	}
	file := os.NewFile(uintptr(fd), "alarm")
	go func() {
		count := make([]byte, 8)
		for {
			if _, err := file.Read(count); err != nil {
				return // stop was called
			}
			signalOne(a.rings)
		}
	}()
	a.set = func(d time.Duration) {
		// It fails for impossible times only.
		_ = unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}, nil)
	}
	a.stop = func() { file.Close() }
	return true
}

// becomeShim makes orphans of the agent come to this process, and gives it a name
// in lists of processes.
func becomeShim() error {
	_ = os.WriteFile("/proc/self/comm", []byte("vigil-shim"), 0)
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// oomFile tells how soon the kernel ends a process where memory is short: from -1000, never, to 1000. What a process
// forks inherits it.
const oomFile = "/proc/self/oom_score_adj"

// stepBack has what is forked from now on go no later than any program of this machine: an agentd that the kernel is to
// spare has that for itself. outlive, once the agent runs, asks the kernel to take memory from others before this
// process. Without the right to ask everything stays as it is.
func stepBack() (outlive func()) { return stepBackIn(oomFile) }

func stepBackIn(file string) (outlive func()) {
	text, _ := os.ReadFile(file)
	inherited, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	ask := func(score int) error { return os.WriteFile(file, []byte(strconv.Itoa(score)), 0) }
	if inherited < 0 {
		_ = ask(0)
	}
	return func() {
		if ask(min(inherited, -500)) != nil {
			_ = ask(inherited) // what it had it may have again
		}
	}
}

// startTime gives when a process began, in ticks since boot; 0: it is gone.
func startTime(pid int) uint64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	// The name stands in brackets and may hold anything, brackets too.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 20 {
		return 0
	}
	n, _ := strconv.ParseUint(fields[19], 10, 64)
	return n
}

// handle is a hold on one process: its number cannot come to mean another one.
type handle struct{ file *os.File }

// openHandle fails when the process is not the one that began then; began 0: any.
func openHandle(pid int, began uint64) (*handle, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	if began != 0 && startTime(pid) != began {
		unix.Close(fd)
		return nil, unix.ESRCH
	}
	return &handle{os.NewFile(uintptr(fd), "pidfd")}, nil
}

// wait returns when the process has ended or the handle was closed.
func (h *handle) wait() {
	conn, err := h.file.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Read(func(fd uintptr) (done bool) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 0)
		return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
	})
}

func (h *handle) kill() {
	conn, err := h.file.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) { _ = unix.PidfdSendSignal(int(fd), unix.SIGKILL, nil, 0) })
}

func (h *handle) close() { h.file.Close() }

// allocate gives a file room on disk that only it can use.
func allocate(f *os.File, size int64) error {
	err := unix.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, unix.EOPNOTSUPP) { // the file system cannot promise anything
		_, err = f.Write(make([]byte, size))
	}
	return err
}

// pair gives the two ends of a socket: ours, which no program that is started inherits, and that of a new shim.
func pair() (ours *net.UnixConn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	return endsOf(fds)
}

// becomeFile makes the descriptor as another name of the file behind fd, which is closed.
func becomeFile(fd, as int) error {
	err := unix.Dup3(fd, as, 0)
	unix.Close(fd)
	return err
}
