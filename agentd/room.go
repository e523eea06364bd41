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
	// ReadOnly: nothing can be written, as after an error of the disk that made the kernel mount it anew.
	ReadOnly bool
}

// mountedReadOnly is ST_RDONLY of Linux, and MNT_RDONLY of the others.
const mountedReadOnly = 1

// roomAt measures the disk that a folder is on.
func roomAt(folder string) (Room, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(folder, &st); err != nil {
		return Room{}, fmt.Errorf("measure the disk of %s: %w", folder, err)
	}
	room := Room{Bytes: uint64(st.Bavail) * uint64(st.Bsize), ReadOnly: st.Flags&mountedReadOnly != 0}
	if st.Files > 0 {
		free := uint64(st.Ffree)
		room.Inodes = &free
	}
	return room, nil
}

// availableMemory is what new programs can have without swapping: of the machine, and of what the control group of
// this process and each above it may have. root is "/", or a folder that stands for it in tests.
func availableMemory(root string) (uint64, error) {
	free, err := numberAfter(filepath.Join(root, "proc/meminfo"), "MemAvailable:")
	if err != nil {
		return 0, fmt.Errorf("read available memory: %w", err)
	}
	free <<= 10 // kB
	for _, group := range controlGroups(root) {
		most, err := number(filepath.Join(group, "memory.max"))
		if err != nil { // max, or not this controller
			continue
		}
		now, err := number(filepath.Join(group, "memory.current"))
		if err != nil {
			continue
		}
		now -= min(reclaimable(filepath.Join(group, "memory.stat")), now)
		free = min(free, most-min(now, most))
	}
	return free, nil
}

// reclaimable is what the kernel takes back before it refuses any, as far as it tells: pages of files that nobody has
// read lately, and half of the others and of what it remembers of files, as it reckons itself in MemAvailable.
func reclaimable(stat string) (bytes uint64) {
	for words, share := range map[string]uint64{"inactive_file ": 1, "active_file ": 2, "slab_reclaimable ": 2} {
		n, _ := numberAfter(stat, words) // what is not told is not believed
		bytes += n / share
	}
	return bytes
}

// controlGroups gives the folders of the control group of this process and of each above it, up to the root of those
// that it sees. In a container that is the container's own group, and has its bounds; the machine's has none.
func controlGroups(root string) (folders []string) {
	groups, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return nil // a kernel without control groups bounds nothing by them
	}
	for line := range strings.Lines(string(groups)) {
		path, unified := strings.CutPrefix(strings.TrimSpace(line), "0::/")
		if !unified {
			continue
		}
		for path = filepath.Clean("/" + path); ; path = filepath.Dir(path) {
			folders = append(folders, filepath.Join(root, "sys/fs/cgroup", path))
			if path == "/" {
				break
			}
		}
	}
	return folders
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
	for _, group := range controlGroups(root) {
		most, err := number(filepath.Join(group, "pids.max"))
		if err != nil { // max, or not this controller
			continue
		}
		if now, err := number(filepath.Join(group, "pids.current")); err == nil {
			left(most, now)
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

// numberAfter reads the number that follows some words at the begin of a line.
func numberAfter(name, words string) (uint64, error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), words); ok {
			var n uint64
			if _, err := fmt.Sscan(rest, &n); err != nil {
				return 0, fmt.Errorf("%s holds %q and no number", name, lines.Text())
			}
			return n, nil
		}
	}
	return 0, fmt.Errorf("%s has no line %s (%v)", name, strings.TrimSpace(words), lines.Err())
}
