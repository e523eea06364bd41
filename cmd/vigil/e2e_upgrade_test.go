//go:build linux

package main_test

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"vigil/rpc/gen/vigilv1"
)

// A command that gives 0 and leaves no agentd behind is no upgrade: the loop over the other hosts stops there.
func TestUpgradeRunStopsAtAHostWhoseAgentdDoesNotStart(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.until("h1 is ready", func() (bool, string) {
		h, err := f.fleet.GetHost(f.ctx(), &vigilv1.GetHostRequest{Host: "h1"})
		return err == nil && h.GetState() == "ready", h.String()
	})
	cmd := exec.Command(vigil(t), "upgrade", "run", "h1", "--addr", strings.Join(f.api, ","), "--wait", "10s", "--",
		"kill", "-9", strconv.Itoa(f.agentd.cmd.Process.Pid))
	cmd.Env = environ(t)
	out, err := cmd.CombinedOutput()
	f.agentd.end()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(out), "until h1 is back") {
		t.Errorf("%v, exit code %d: %s", err, code, out)
	}
}
