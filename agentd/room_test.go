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
		{"no kernel of ours", map[string]string{"proc/loadavg": "what\n"}, 0, true},
	} {
		root := t.TempDir()
		files := map[string]string{"proc/loadavg": "0.10 0.20 0.30 2/700 12345\n", "proc/sys/kernel/pid_max": "32768\n",
			"proc/sys/kernel/threads-max": "100000\n"}
		for name, text := range c.set {
			files[name] = text
		}
		for name, text := range files {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
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
