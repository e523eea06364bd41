package agentd

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"vigil/agentd/runner"
	"vigil/rpc/gen/vigilv1"
)

func TestCrashIsReportedWithItsEvidence(t *testing.T) {
	r := newRig(t, time.Minute, false)
	r.set(func() {
		failures := 2
		r.onExit = func(*vigilv1.ReportExitRequest) error {
			if failures--; failures >= 0 {
				return no("no_leader")
			}
			return nil
		}
	})
	a := r.start(t, "crash", 1, 1)
	a.conn.Write([]byte("die\n"))
	next(t, r.exits)
	next(t, r.exits)
	x := next(t, r.exits)
	if x.GetCode() != 3 || x.GetSignal() != "" || x.GetReason() != "" || x.GetStartFailed() || x.GetHost() != 7 {
		t.Errorf("exit %v", x)
	}
	tail := x.GetTail()
	if !utf8.ValidString(tail) || len(tail) > 8<<10 || len(tail) < 8<<10/2 ||
		!strings.HasSuffix(tail, "line 1999 ?\nlast words\n") ||
		!strings.HasPrefix(tail, "line ") {
		t.Errorf("tail of %d bytes: %q", len(tail), tail)
	}
	// It restarts nothing by itself.
	r.start(t, "wait", 2, 1)
	none(t, r.agents, "restarted without an order")
}

func TestKilledAgentIsReportedWithItsSignal(t *testing.T) {
	r := newRig(t, time.Minute, false)
	r.stream.orders(t, order("start", 1, 1, "wait"))
	pid := next(t, r.agents).expect(t, "up")
	p, _ := os.FindProcess(pid)
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if x := next(t, r.exits); x.GetSignal() != "killed" || x.GetCode() != -1 {
		t.Errorf("exit %v", x)
	}
}

func TestStopEscalatesToKill(t *testing.T) {
	r := newRig(t, time.Minute, false)
	a := r.start(t, "deaf", 1, 1)
	stop := order("stop", 1, 1, "")
	stop.StopGrace.Seconds, stop.StopGrace.Nanos = 3, 0 // it has to say its word within that, on any machine
	stop.Reason = "a human said so"
	r.stream.orders(t, stop)
	a.expect(t, "deaf to SIGTERM")
	a.gone(t)
	if x := next(t, r.exits); x.GetSignal() != "killed" || x.GetReason() != "a human said so" {
		t.Errorf("exit %v", x)
	}
}

// Nothing of an incarnation outlives its exit report, not even what has left the
// process group and the session.
func TestGrandchildrenAreGoneBeforeTheReport(t *testing.T) {
	r := newRig(t, time.Minute, false)
	r.stream.orders(t, order("start", 1, 1, "fork"))
	var all []int
	for range 3 {
		all = append(all, next(t, r.agents).expect(t, "up"))
	}
	start := next(t, r.starts)
	p, _ := os.FindProcess(int(start.GetPid()))
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	next(t, r.exits)
	for _, pid := range all {
		if s := state(pid); s != 0 && s != 'Z' {
			t.Errorf("process %d is in state %c after the exit report", pid, s)
		}
	}
}

func TestShutdownStopsReportsAndLeaves(t *testing.T) {
	r := newRig(t, time.Minute, false)
	a := r.start(t, "wait", 1, 1)
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	a.expect(t, "bye")
	if x := next(t, r.exits); x.GetReason() != "host is shutting down" || x.GetCode() != 0 {
		t.Errorf("exit %v", x)
	}
	next(t, r.leaves)
}

func TestShutdownIsBounded(t *testing.T) {
	r := newRig(t, time.Minute, false, func(c *Config) { c.ShutdownLimit = 200 * time.Millisecond })
	a := r.start(t, "deaf", 1, 1) // its grace is 20 s
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	a.gone(t)
	if x := next(t, r.exits); x.GetSignal() != "killed" {
		t.Errorf("exit %v", x)
	}
}

// A runner's account gets its own folder, home and groups, and nothing of root's.
func TestRunnerUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if _, err := user.Lookup("nobody"); err != nil {
		t.Skip(err)
	}
	r := newRig(t, time.Minute, false, func(c *Config) {
		// The temporary folders of tests are closed to others.
		for dir := c.DataDir; strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) {
			if err := os.Chmod(dir, 0o711); err != nil {
				t.Fatal(err)
			}
		}
		c.Runners = append(c.Runners, runner.Runner{Name: "other", Program: "sh", User: "nobody",
			Args: []string{"-c", "id -un; touch made && pwd; echo $USER; touch $VIGIL_SPOOL/.x && echo " +
				"spooled; ls $VIGIL_SPOOL/..; cat ../../../host_key"}})
	})
	r.stream.orders(t, order("start", 1, 1, "other"))
	x := next(t, r.exits)
	want := "nobody\n" + filepath.Join(r.dir, "work/demo/r1") + "\nnobody\nspooled\n"
	if !strings.HasPrefix(x.GetTail(), want) || x.GetCode() == 0 {
		t.Errorf("exit %v", x)
	}
}

// Agents that work in one directory have each a folder for what is their own, which stays from life to life.
func TestAgentsOfOneDirectoryHaveFilesOfTheirOwn(t *testing.T) {
	shared := t.TempDir()
	r := newRig(t, time.Minute, false, func(c *Config) {
		script := `pwd; echo "$VIGIL_DIRECTORY"; stat -c %a "$VIGIL_FILES"; cat "$VIGIL_FILES/mine"
			echo "$VIGIL_FILES" >"$VIGIL_FILES/mine"`
		for name, dir := range map[string]string{"shared": shared, "alone": ""} {
			c.Runners = append(c.Runners, runner.Runner{Name: name, Program: "sh", User: runner.SameUser(), Directory: dir,
				Args: []string{"-c", script}})
		}
	})
	says := func(agent uint32, inc uint64, runner string) []string {
		r.stream.orders(t, order("start", agent, inc, runner))
		x := next(t, r.exits)
		if x.GetAgent() != agent || x.GetStartFailed() {
			t.Fatalf("exit %v", x)
		}
		return strings.Split(strings.TrimSpace(x.GetTail()), "\n")
	}
	for agent := range uint32(2) {
		if got := says(agent+1, 1, "shared"); len(got) != 4 || got[0] != shared || got[1] != shared || got[2] != "700" ||
			!strings.Contains(got[3], "No such file") {
			t.Errorf("agent %d: %q", agent+1, got)
		}
	}
	for agent := range uint32(2) {
		files := filepath.Join(r.dir, fmt.Sprintf("files/demo/r%d", agent+1))
		if got := says(agent+1, 2, "shared"); got[len(got)-1] != files {
			t.Errorf("agent %d: %q, want %s", agent+1, got, files)
		}
	}
	work := filepath.Join(r.dir, "work/demo/r1") // without a directory it is alone
	if got := says(1, 3, "alone"); len(got) != 4 || got[0] != work || got[1] != "" {
		t.Errorf("without a directory: %q", got)
	}
}

// What a shell says when it finds no program, or may not execute it, is told in words with
// a remedy.
func TestN03MissingProgramIsToldWithARemedy(t *testing.T) {
	r := newRig(t, time.Minute, false, func(c *Config) {
		for _, code := range []string{"126", "127", "3"} {
			c.Runners = append(c.Runners, runner.Runner{Name: "exit-" + code, Program: "sh",
				User: runner.SameUser(), Args: []string{"-c", "exit " + code}})
		}
	})
	for i, want := range []string{"cannot be executed by its account (exit code 126)",
		"was not found (exit code 127): `vigil agent logs` shows which; install it"} {
		r.stream.orders(t, order("start", uint32(i+1), 1, []string{"exit-126", "exit-127"}[i]))
		if x := next(t, r.exits); !strings.Contains(x.GetReason(), want) || x.GetOrdered() {
			t.Errorf("report %v", x)
		}
	}
	r.stream.orders(t, order("start", 9, 1, "exit-3"))
	if x := next(t, r.exits); x.GetReason() != "" {
		t.Errorf("report %v", x)
	}
}
