package proc

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// L7: whoever runs as an account is found and killed, a dead process that nobody has waited for is not counted, and
// the kernel answers for an account that nobody has.
func TestL7WhoeverRunsAsAnAccountIsKilled(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	const uid = 2_100_234_567
	if hasProcess(uid) {
		t.Fatalf("account %d is not free", uid)
	}
	cmd := exec.Command("/bin/sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !hasProcess(uid) || hasProcess(uid+1) {
		t.Errorf("account %d: %v, the one above: %v", uid, hasProcess(uid), hasProcess(uid+1))
	}
	if n, err := KillAccount(uid); n != 1 || err != nil {
		t.Errorf("killed %d, %v", n, err)
	}
	if n, err := KillAccount(uid); n != 0 || err != nil { // it is a zombie
		t.Errorf("killed %d again, %v", n, err)
	}
	_ = cmd.Wait() // it was killed
	if hasProcess(uid) {
		t.Errorf("account %d has a process when all are gone", uid)
	}
}

func BenchmarkKillAccount(b *testing.B) {
	n := len(pids())
	for b.Loop() {
		if killed, err := KillAccount(2_100_234_567); killed != 0 || err != nil {
			b.Fatal(killed, err)
		}
	}
	b.ReportMetric(float64(n), "processes")
}
