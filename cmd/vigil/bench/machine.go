package bench

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine says where the figures come from.
type Machine struct {
	Cores     int     `json:"cores"`
	MemoryMiB int64   `json:"memory_mib"`
	CPU       string  `json:"cpu"`
	Kernel    string  `json:"kernel"`
	OS        string  `json:"os"`
	Go        string  `json:"go"`
	Load      float64 `json:"load"` // average of the minute before
}

func readMachine() Machine {
	m := Machine{Cores: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(b))
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(b), " ")
		m.Load, _ = strconv.ParseFloat(first, 64) // 0 says that it is not known
	}
	m.MemoryMiB = kibField("/proc/meminfo", "MemTotal") / 1024
	m.CPU = textField("/proc/cpuinfo", "model name")
	return m
}

// String is one line for people.
func (m Machine) String() string {
	return fmt.Sprintf("%d cores (%s), %d MiB, %s, kernel %s, %s, load %.2f", m.Cores, m.CPU, m.MemoryMiB,
		m.OS, m.Kernel, m.Go, m.Load)
}

// textField reads the first "name: value" of a file below /proc; empty when there
// is none.
func textField(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		key, value, ok := strings.Cut(lines.Text(), ":")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// kibField reads a size of a file below /proc; 0 when there is none.
func kibField(file, name string) int64 {
	n, err := strconv.ParseInt(strings.TrimSuffix(textField(file, name), " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
