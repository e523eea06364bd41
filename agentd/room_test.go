package agentd

import (
	"os"
	"path/filepath"
	"testing"
)

// The least of all bounds counts: those of the kernel, and of each control group above agentd.
func TestFreeProcesses(t *testing.T) {
	for _, c := range []struct {
		name string
		set  map[string]string
		want uint64
		fail bool
	}{
		{"the kernel's", nil, 32768 - 700, false},
		{"fewer threads", map[string]string{"proc/sys/kernel/threads-max": "1000\n"}, 300, false},
		{"no more", map[string]string{"proc/sys/kernel/threads-max": "600\n"}, 0, false},
		{"of its group", map[string]string{"proc/self/cgroup": "0::/system.slice/vigil.service\n",
			"sys/fs/cgroup/system.slice/vigil.service/pids.max":     "max\n",
			"sys/fs/cgroup/system.slice/pids.max":                   "900\n",
			"sys/fs/cgroup/system.slice/pids.current":               "890\n",
			"sys/fs/cgroup/system.slice/vigil.service/pids.current": "5\n"}, 10, false},
		{"of its container", map[string]string{"proc/self/cgroup": "9:pids:/\n0::/\n",
			"sys/fs/cgroup/pids.max": "300\n", "sys/fs/cgroup/pids.current": "100\n"}, 200, false},
		{"of its container, above its own", map[string]string{"proc/self/cgroup": "0::/agentd\n",
			"sys/fs/cgroup/agentd/pids.max": "max\n", "sys/fs/cgroup/agentd/pids.current": "7\n",
			"sys/fs/cgroup/pids.max": "300\n", "sys/fs/cgroup/pids.current": "301\n"}, 0, false},
		{"no kernel of ours", map[string]string{"proc/loadavg": "what\n"}, 0, true},
	} {
		root := machine(t, map[string]string{"proc/loadavg": "0.10 0.20 0.30 2/700 12345\n",
			"proc/sys/kernel/pid_max": "32768\n", "proc/sys/kernel/threads-max": "100000\n"}, c.set)
		got, err := freeProcesses(root)
		if (err != nil) != c.fail {
			t.Errorf("%s: %v", c.name, err)
		}
		if got != c.want {
			t.Errorf("%s: %d are free, not %d", c.name, got, c.want)
		}
	}
	if n, err := freeProcesses("/"); err != nil || n == 0 {
		t.Errorf("of this machine: %d, %v", n, err)
	}
}

// machine is a folder with these files, which stands for the root of a machine. Later sets replace files of earlier
// ones.
func machine(t *testing.T, sets ...map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for _, files := range sets {
		for name, text := range files {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

// What the machine has is not what a container may have: the least of all bounds counts, without what the kernel gives
// back of its cache.
func TestAvailableMemory(t *testing.T) {
	const container = "proc/self/cgroup"
	for _, c := range []struct {
		name string
		set  map[string]string
		want uint64
		fail bool
	}{
		{"the machine's", nil, 1000 << 10, false},
		{"no bound", map[string]string{container: "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n",
			"sys/fs/cgroup/a/memory.current": "5\n"}, 1000 << 10, false},
		{"of its container", map[string]string{container: "0::/\n", "sys/fs/cgroup/memory.max": "50000\n",
			"sys/fs/cgroup/memory.current": "40000\n",
			"sys/fs/cgroup/memory.stat":    "anon 10000\ninactive_file 3000\nactive_file 20000\nslab_reclaimable 4000\n"},
			25000, false},
		{"it does not tell its cache", map[string]string{container: "0::/\n", "sys/fs/cgroup/memory.max": "50000\n",
			"sys/fs/cgroup/memory.current": "40000\n"}, 10000, false},
		{"more than there is", map[string]string{container: "0::/\n", "sys/fs/cgroup/memory.max": "9223372036854771712\n",
			"sys/fs/cgroup/memory.current": "40000\n"}, 1000 << 10, false},
		{"all is used", map[string]string{container: "0::/\n", "sys/fs/cgroup/memory.max": "50000\n",
			"sys/fs/cgroup/memory.current": "60000\n"}, 0, false},
		{"of a slice above it", map[string]string{container: "0::/system.slice/vigil.service\n",
			"sys/fs/cgroup/system.slice/vigil.service/memory.max":     "90000\n",
			"sys/fs/cgroup/system.slice/vigil.service/memory.current": "10000\n",
			"sys/fs/cgroup/system.slice/memory.max":                   "90000\n",
			"sys/fs/cgroup/system.slice/memory.current":               "80000\n"}, 10000, false},
		{"no kernel of ours", map[string]string{"proc/meminfo": "MemFree: 3 kB\n"}, 0, true},
		{"no number", map[string]string{"proc/meminfo": "MemAvailable: much\n"}, 0, true},
	} {
		got, err := availableMemory(machine(t,
			map[string]string{"proc/meminfo": "MemTotal:    2000 kB\nMemAvailable:    1000 kB\n"}, c.set))
		if (err != nil) != c.fail {
			t.Errorf("%s: %v", c.name, err)
		}
		if got != c.want {
			t.Errorf("%s: %d bytes are available, not %d", c.name, got, c.want)
		}
	}
	if n, err := availableMemory("/"); err != nil || n < 1<<20 || n > 1<<50 {
		t.Errorf("of this machine: %d bytes, %v", n, err)
	}
}
