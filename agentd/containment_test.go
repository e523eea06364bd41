package agentd

import (
	"context"
	"testing"
	"time"

	"vigil/agentd/runner"
)

// A2: a host with runners says when it registers what holds the processes of its agents together; one
// without runners has nobody to hold.
func TestA02RegistrationNamesTheContainment(t *testing.T) {
	for _, runners := range [][]runner.Runner{nil, {{Name: "a", Program: "/bin/true", User: runner.SameUser()}}} {
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
		case runners != nil && word != "sealed" && word != "group" && word != "weak":
			t.Errorf("with a runner: %q", word)
		}
		cancel()
		if err := next(t, done); err != nil {
			t.Error(err)
		}
	}
}
