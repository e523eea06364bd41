package agentd

import (
	"bufio"
	"fmt"
	"os"

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
