//go:build linux

package main_test

import (
	"os/exec"
	"strings"
	"testing"
)

// A shim that people start by hand starts nothing, and repeats nothing of what it was told.
func TestShimByHand(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(vigil(t), "shim")
	cmd.Stdin = strings.NewReader(`{"Folder":"/tmp","Env":["VIGIL_TOKEN=geheim`)
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 2 {
		t.Errorf("exit code %d, %v", code, err)
	}
	if text := string(out); !strings.Contains(text, "nothing was started") || !strings.Contains(text, "by agentd") ||
		strings.Contains(text, "geheim") {
		t.Errorf("it says %q", text)
	}
}

// People do not see the command in the help: it is agentd's.
func TestShimIsHidden(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(vigil(t), "--help").Output()
	if err != nil || strings.Contains(string(out), "shim") {
		t.Errorf("%v\n%s", err, out)
	}
}
