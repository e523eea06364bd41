package proc

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A2: a process of an account is found, stopped and killed, and nothing of the probe is left.
func TestA02ProbeFindsStopsAndKills(t *testing.T) {
	accounts := []*syscall.Credential{nil}
	if os.Geteuid() == 0 {
		accounts = append(accounts, &syscall.Credential{Uid: 65534, Gid: 65534})
	}
	for i, c := range accounts {
		mark := Mark{fmt.Sprintf("probe-%d", os.Getpid()), uint32(i + 1), 1}
		if err := NewScanner().Probe(mark, c); err != nil {
			t.Errorf("%v: %v", c, err)
		}
		if left := NewScanner().Find(mark); len(left) != 0 {
			t.Errorf("%v are left", left)
		}
		if level, why := NewScanner().Contain(mark, c); level == Weak {
			t.Errorf("%v: %s (%s)", c, level, why)
		}
	}
}

// A2: root without the right to look at other accounts' processes finds nothing of theirs, as in a container
// with few rights: that is said instead of being found out when two lives overlap.
func TestA02BlindRootIsWeak(t *testing.T) {
	setpriv, err := exec.LookPath("setpriv")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("needs root and setpriv")
	}
	cmd := exec.Command(setpriv, "--bounding-set=-sys_ptrace,-perfmon,-sys_admin", os.Args[0])
	cmd.Env = append(os.Environ(), "TEST_PROC=probe")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "SYS_PTRACE") {
		t.Errorf("%v: %s", err, out)
	}
}
