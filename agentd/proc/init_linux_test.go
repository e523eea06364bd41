package proc

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// leaveOrphan leaves a process that has lost its parent and ends, and says what became of it.
func leaveOrphan() string {
	out, err := exec.Command("/bin/sh", "-c", "sleep 0 >/dev/null & echo $!").Output()
	if err != nil {
		return err.Error()
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		return err.Error()
	}
	for end := time.Now().Add(patience); time.Now().Before(end); pause(nil, 10*time.Millisecond) {
		if syscall.Kill(pid, 0) == syscall.ESRCH { // a dead one that nobody has waited for is still there
			return "it is gone"
		}
	}
	return "it is there for ever"
}

// A10: as the first process of a container, vigil waits for what others have left, passes signals on, and
// ends with the code of what it runs, which knows that all else ends then.
func TestA10FirstProcessReaps(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes a PID namespace")
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TEST_PROC=first")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	out, err := cmd.CombinedOutput()
	if want := "it is gone, ends with it: true, inherited: false\n"; string(out) != want ||
		fmt.Sprint(err) != "exit status 7" {
		t.Errorf("said %q and ended with %v, want %q and code 7", out, err, want)
	}
}

// Who was not started by the first process ends alone, whatever its environment says.
func TestA10OnlyTheProgramOfAContainerEndsIt(t *testing.T) {
	if os.Getppid() == 1 {
		t.Skip("the first process of this machine or container runs the test itself")
	}
	t.Setenv(envInit, "1")
	if EndsContainer() {
		t.Error("this test thinks that it is the program of a container")
	}
	if _, left := os.LookupEnv(envInit); left {
		t.Error("what it starts inherits the word")
	}
}
