//go:build linux

package shim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Where the kernel is to spare agentd it spares the shim as well, and not the agent, nor what that starts.
func TestAgentsGoFirstWhenMemoryIsShort(t *testing.T) {
	const own = "/proc/self/oom_score_adj"
	before, err := os.ReadFile(own)
	if err == nil {
		err = os.WriteFile(own, []byte("-900"), 0)
	}
	if err != nil {
		t.Skipf("needs the right to be spared: %v", err)
	}
	r := newRig(t)
	s, a, children := r.start(r.spec("deaf+session"))
	if err := os.WriteFile(own, before, 0); err != nil {
		t.Error(err)
	}
	score := func(pid int) string {
		text, _ := os.ReadFile("/proc/" + itoa(pid) + "/oom_score_adj")
		return strings.TrimSpace(string(text))
	}
	for _, one := range append(children, a) {
		if got := score(one.pid); got != "0" {
			t.Errorf("%s has the score %s", one.mode, got)
		}
	}
	until(t, "the score of the shim", func() bool { return score(s.Started().Shim) == "-900" })
}

// The same where the test itself may not ask for it: what is asked of the kernel before and after the fork.
func TestWhatIsAskedOfTheKernelAboutMemory(t *testing.T) {
	for inherited, want := range map[string][2]string{
		"-900": {"0", "-900"}, "-1000": {"0", "-1000"}, "-300": {"0", "-500"},
		"0": {"0", "-500"}, "200": {"200", "-500"}} {
		file := filepath.Join(t.TempDir(), "score")
		if err := os.WriteFile(file, []byte(inherited+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		score := func() string {
			text, _ := os.ReadFile(file)
			return strings.TrimSpace(string(text))
		}
		outlive := stepBackIn(file)
		before := score()
		outlive()
		if got := [2]string{before, score()}; got != want {
			t.Errorf("inherited %s: forked at %s, and %s afterwards; want %s", inherited, got[0], got[1], want)
		}
	}
}

// Limits hold for the whole tree, where the host lets them, and the end says so.
func TestMemoryLimitOfTheTree(t *testing.T) {
	r := newRig(t)
	spec := r.spec("polite")
	spec.Limits.Memory = 200 << 20
	s, a, _ := r.start(spec)
	if strings.Contains(s.Started().Degraded, "not enforced") {
		t.Skip(s.Started().Degraded)
	}
	a.tell("eat 400")
	exit := wait(t, s)
	if exit.Signal != "killed" || exit.Ordered || !strings.Contains(exit.Reason, "memory limit of 209715200 bytes") {
		t.Errorf("exit %+v", exit)
	}
}

// A program that was told by nobody to end, and was not killed, did not die for want of memory: what the kernel has
// killed was something else of its tree, perhaps hours ago.
func TestMemoryIsToBlameForVictimsOnly(t *testing.T) {
	const limit, ours, others = 1 << 20, "it reached its memory limit of 1048576 bytes", "the kernel ended it: "
	killed := Exit{Code: -1, Signal: "killed"}
	for name, tt := range map[string]struct {
		exit        Exit
		killed, own bool
		limit       uint64
		want        string
	}{
		"its own limit":           {killed, true, true, limit, ours},
		"a shell's word of it":    {Exit{Code: 137}, true, true, limit, ours},
		"the machine's memory":    {killed, true, false, limit, others},
		"the same without limit":  {killed, true, false, 0, others},
		"a limit of somebody":     {killed, true, true, 0, others},
		"killed by somebody":      {killed, false, true, limit, ""},
		"a child of it, and 1":    {Exit{Code: 1}, true, true, limit, ""},
		"a child of it, and 0":    {Exit{}, true, true, limit, ""},
		"a child, and terminated": {Exit{Code: -1, Signal: "terminated"}, true, true, limit, ""},
	} {
		got := starved(tt.exit, tt.killed, tt.own, tt.limit)
		if got != tt.want && (tt.want != others || !strings.HasPrefix(got, others)) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// The same with the kernel itself.
func TestMemoryLimitThatKilledAChild(t *testing.T) {
	r := newRig(t)
	spec := r.spec("polite")
	spec.Limits.Memory = 200 << 20
	s, a, _ := r.start(spec)
	if strings.Contains(s.Started().Degraded, "not enforced") {
		t.Skip(s.Started().Degraded)
	}
	a.tell("child eat 400")
	if said := a.await("child"); said != "child signal: killed" {
		t.Errorf("its child ended: %s", said)
	}
	a.tell("exit 1")
	if exit := wait(t, s); exit.Code != 1 || exit.Reason != "" {
		t.Errorf("exit %+v", exit)
	}
}
