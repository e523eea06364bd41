//go:build linux

package main_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// F7: a server whose memory_limit is below what the budgets need says so in its log when it
// starts, and in status.
func TestF07TooLittleMemoryIsSaidAtStartAndInStatus(t *testing.T) {
	t.Parallel()
	vigil(t)
	f := &testFleet{t: t, dir: t.TempDir()}
	api, raft := freePort(t), freePort(t)
	f.write("server.yaml", "memory_limit: 256MiB\n")
	s := spawn(t, "s1", "server", "--insecure", "--config", f.path("server.yaml"), "--id", "s1",
		"--data-dir", f.path("s1"), "--addr", api, "--raft-addr", raft, "--found")
	s.shows(regexp.MustCompile(`\[WARN\] .*memory limit of server s1 is 256 MiB`))
	text, err := exec.Command(vigil(t), "--addr", api, "status").CombinedOutput()
	if err != nil {
		t.Fatalf("status: %v\n%s", err, text)
	}
	if !strings.Contains(string(text), "memory limit of server s1 is 256 MiB") {
		t.Errorf("status:\n%s", text)
	}
}
