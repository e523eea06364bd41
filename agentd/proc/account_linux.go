package proc

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// KillAccount kills every process that runs as an account, and returns how many there were when none is left.
// It is for accounts that belong to one agent. The error says what cannot be killed within 5 s.
func KillAccount(uid uint32) (killed int, err error) {
	if !hasProcess(uid) {
		return 0, nil
	}
	seen := map[int]bool{}
	gone := within5(func() bool {
		left := false
		for _, pid := range pids() {
			if runsAs(pid, uid) && runs(pid) {
				seen[pid], left = true, true
				killAs(pid, uid)
			}
		}
		return !left
	})
	if !gone {
		return len(seen), fmt.Errorf("processes of account %d outlive SIGKILL", uid)
	}
	return len(seen), nil
}

// hasProcess asks the kernel whether any process has an account as its real one, which is a question of microseconds
// also where a host has many. A process that gains no rights keeps the real account of the one that began it.
func hasProcess(uid uint32) bool {
	_, err := unix.Getpriority(unix.PRIO_USER, int(uid))
	return !errors.Is(err, unix.ESRCH) // what cannot be asked must be looked for
}

// killAs sends SIGKILL to pid if it still runs as an account.
func killAs(pid int, uid uint32) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // it is gone, or the kernel is older than 5.3 and its number may be anybody's
	}
	defer unix.Close(fd)
	if runsAs(pid, uid) {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // whether it did shows at the next look
	}
}

// runsAs tells whether an account is one of those that a process has: real, effective, saved, for files. The
// owner of its folder in /proc would not say it of a process that forbids dumps.
func runsAs(pid int, uid uint32) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), "\nUid:\t")
	line, _, _ := strings.Cut(rest, "\n")
	return slices.Contains(strings.Fields(line), strconv.FormatUint(uint64(uid), 10))
}
