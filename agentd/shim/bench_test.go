//go:build linux

package shim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkStart starts agents and leaves them running; it reports the memory of a
// shim. TEST_VIGIL names the real program, which is larger than the test's.
func BenchmarkStart(b *testing.B) {
	l := launcher("")
	if path := os.Getenv("TEST_VIGIL"); path != "" {
		l = &Launcher{Command: []string{path, "shim"}}
	}
	dir := b.TempDir()
	var shims []*Shim
	for n := 0; b.Loop(); n++ {
		folder := filepath.Join(dir, itoa(n))
		if err := os.Mkdir(folder, 0o755); err != nil {
			b.Fatal(err)
		}
		lock, err := takeLock(folder)
		if err != nil {
			b.Fatal(err)
		}
		spec := specFor(folder, "", "")
		spec.Path, spec.Args, spec.Env = "/bin/sleep", []string{"300"}, nil
		s, err := l.Start(spec, lock)
		if err != nil {
			b.Fatal(err)
		}
		shims = append(shims, s)
	}
	b.StopTimer()
	var rss, private, threads int
	for _, s := range shims {
		pid := itoa(s.Started().Shim)
		rss += field(pid, "smaps_rollup", "Rss:")
		private += field(pid, "smaps_rollup", "Private_Dirty:")
		threads += field(pid, "status", "Threads:")
		s.Stop(0, "end")
	}
	for _, s := range shims {
		s.Wait(func(string) {})
	}
	b.ReportMetric(float64(rss)/float64(len(shims)), "KiB-rss/shim")
	b.ReportMetric(float64(private)/float64(len(shims)), "KiB-private/shim")
	b.ReportMetric(float64(threads)/float64(len(shims)), "threads/shim")
}

// field reads a number from a file of the kernel about a process.
func field(pid, file, name string) int {
	text, _ := os.ReadFile("/proc/" + pid + "/" + file)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			n := 0
			for _, c := range strings.Fields(rest)[0] {
				n = 10*n + int(c-'0')
			}
			return n
		}
	}
	return 0
}
