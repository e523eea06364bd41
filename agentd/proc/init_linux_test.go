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
// ends with the code of what it runs.
func TestA10FirstProcessReaps(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes a PID namespace")
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TEST_PROC=first")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	out, err := cmd.CombinedOutput()
	if want := "it is gone\n"; string(out) != want || fmt.Sprint(err) != "exit status 7" {
		t.Errorf("said %q and ended with %v, want %q and code 7", out, err, want)
	}
}
