package bench

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"vigil/agentd/proc"
)

// killHost kills a daemon, everything below it and everything that carries its
// host's mark, as fast as a power failure as far as that can be done, and returns
// when nothing of it is left. It gives the time of the first kill.
func killHost(daemon int, key string) (time.Time, error) {
	pids, err := ofHost(daemon, key)
	if err != nil {
		return time.Time{}, err
	}
	began := time.Now()
	for len(pids) > 0 {
		for _, pid := range pids {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return began, fmt.Errorf("kill process %d of the host: %w", pid, err)
			}
		}
		if time.Since(began) > daemonLimit {
			return began, fmt.Errorf("processes %v of the host do not end", pids)
		}
		if pids, err = ofHost(0, key); err != nil {
			return began, err
		}
	}
	return began, nil
}

// ofHost lists a daemon (0: it is gone), its descendants and the processes with the
// mark of its host (empty: none has it). Zombies are not listed.
func ofHost(daemon int, key string) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	parents := map[int]int{}
	var marked []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// What ends meanwhile is left out.
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 2 || fields[0] == "Z" || fields[0] == "X" {
			continue
		}
		parents[pid], _ = strconv.Atoi(fields[1]) // the kernel writes a number
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if key != "" && err == nil && marks(string(env), key) {
			marked = append(marked, pid)
		}
	}
	var list []int
	if daemon > 0 {
		list = family(parents, daemon)
	}
	for _, pid := range marked {
		for _, p := range family(parents, pid) {
			if !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
	}
	return list, nil
}

// marks tells whether an environment carries the mark of the host with that key,
// whichever of its data directories it comes from.
func marks(env, key string) bool {
	for entry := range strings.SplitSeq(env, "\x00") {
		if mark, ok := strings.CutPrefix(entry, proc.EnvMark+"="); ok {
			return strings.HasPrefix(mark, proc.HostMark(key)+"-")
		}
	}
	return false
}
