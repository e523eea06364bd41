package agentd

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"vigil/agentd/accounts"
	"vigil/agentd/proc"
	"vigil/agentd/runner"
)

// A2: a host with runners says when it registers what holds the processes of its agents together; one
// without runners has nobody to hold.
func TestA02RegistrationNamesTheContainment(t *testing.T) {
	shared := runner.Runner{Name: "a", Program: "/bin/true", User: runner.SameUser()}
	for _, runners := range [][]runner.Runner{nil, {shared}} {
		f := newFake(t, time.Minute)
		a, err := Open(Config{DataDir: t.TempDir(), Conn: f.conn, Addrs: []string{"x"}, Seams: Seams{Boot: "b"},
			Shim: shimCommand(), Offer: Offer{Runners: runners}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		switch word := next(t, f.registers).GetContainment(); {
		case runners == nil && word != "":
			t.Errorf("without runners: %q", word)
		case runners != nil && word != "group" && word != "weak": // they share an account
			t.Errorf("with a runner: %q", word)
		}
		cancel()
		if err := next(t, done); err != nil {
			t.Error(err)
		}
	}
}

// Only where no agent shares an account is a host sealed: who shares one can use the other's socket.
func TestSharedAccountIsNotSealed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	s := &site{mark: "sealed-test", scans: proc.NewScanner(), log: hclog.NewNullLogger()}
	own := &syscall.Credential{Uid: accounts.Default().Probe(), Gid: accounts.Default().Probe()}
	alone, _ := s.contain(map[string]*syscall.Credential{runner.OwnAccounts: own})
	level, _ := s.scans.Contain(proc.Mark{Host: "sealed-test", Agent: 9, Incarnation: 1}, own)
	if alone != level {
		t.Errorf("accounts of their own: %s, measured is %s", alone, level)
	}
	shared, _ := s.contain(map[string]*syscall.Credential{"somebody": own})
	both, _ := s.contain(map[string]*syscall.Credential{"somebody": own, runner.OwnAccounts: own})
	if shared == proc.Sealed || both != shared {
		t.Errorf("a shared account: %s; beside accounts of their own: %s", shared, both)
	}
}
