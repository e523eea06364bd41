package agentd

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Room is what is left on a disk for agentd.
type Room struct {
	Bytes  uint64
	Inodes *uint64 // nil: the file system has no bound of its own
}

// roomAt measures the disk that a folder is on.
func roomAt(folder string) (Room, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(folder, &st); err != nil {
		return Room{}, fmt.Errorf("measure the disk of %s: %w", folder, err)
	}
	room := Room{Bytes: uint64(st.Bavail) * uint64(st.Bsize)}
	if st.Files > 0 {
		free := uint64(st.Ffree)
		room.Inodes = &free
	}
	return room, nil
}

// availableMemory reads MemAvailable: what new programs can have without swapping.
func availableMemory() (uint64, error) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, fmt.Errorf("read available memory: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var kib uint64
		if n, _ := fmt.Sscanf(lines.Text(), "MemAvailable: %d kB", &kib); n == 1 {
			return kib << 10, nil
		}
	}
	return 0, fmt.Errorf("read available memory: /proc/meminfo has no line MemAvailable (%v)", lines.Err())
}

// freeProcesses tells how many more processes and threads there may be: of the kernel, and of the control group of
// this process and each above it. root is "/", or a folder that stands for it in tests.
func freeProcesses(root string) (uint64, error) {
	free := ^uint64(0)
	left := func(most, now uint64) { free = min(free, most-min(now, most)) }
	load, err := os.ReadFile(filepath.Join(root, "proc/loadavg"))
	if err != nil {
		return 0, fmt.Errorf("count processes: %w", err)
	}
	_, rest, _ := strings.Cut(string(load), "/") // 0.1 0.2 0.3 2/715 12345: of 715 threads 2 run
	all, _, _ := strings.Cut(rest, " ")
	now, err := strconv.ParseUint(all, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("count processes: /proc/loadavg is %q", load)
	}
	for _, name := range []string{"pid_max", "threads-max"} {
		most, err := number(filepath.Join(root, "proc/sys/kernel", name))
		if err != nil {
			return 0, fmt.Errorf("count processes: %w", err)
		}
		left(most, now)
	}
	groups, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return free, nil // a kernel without control groups bounds nothing by them
	}
	for line := range strings.Lines(string(groups)) {
		path, unified := strings.CutPrefix(strings.TrimSpace(line), "0::")
		for ; unified && path != "/" && path != "."; path = filepath.Dir(path) {
			group := filepath.Join(root, "sys/fs/cgroup", path)
			most, err := number(filepath.Join(group, "pids.max"))
			if err != nil { // max, or not this controller
				continue
			}
			if now, err := number(filepath.Join(group, "pids.current")); err == nil {
				left(most, now)
			}
		}
	}
	return free, nil
}

// number reads a file that holds one number.
func number(name string) (uint64, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s holds %q and no number", name, text)
	}
	return n, nil
}
