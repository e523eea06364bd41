package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// chokes is a defect of the state machine.
func chokes(_ *fsm.View, e *fsm.Entry) {
	for i := range e.Requests {
		if c, ok := e.Requests[i].Cmd.(fsm.OpenSession); ok && c.Client == "poison" {
			panic("a law is broken")
		}
	}
}

// chokedServer gives the data of a server that has ended at an entry, and how it ended.
func chokedServer(t *testing.T) (dir string, broken *cluster.BrokenInvariant, c *clustertest.Cluster) {
	t.Helper()
	c = clustertest.New(t, 1, clustertest.OnDisk(), clustertest.Configure(func(_ int, cfg *cluster.Config) {
		dir, cfg.Defect = cfg.DataDir, chokes
	}))
	if out := c.Submit(fsm.Request{Cmd: fsm.PutServer{ID: c.ID(0), RaftAddr: c.Addr(0), Version: "v",
		Features: cluster.FeatureLevel}}); out.Code != noun.OK {
		t.Fatal(out)
	}
	c.Await("the feature level begins", func() (begun bool) {
		c.Replica(0).Read(func(v *fsm.View) { begun = v.Level() == cluster.FeatureLevel })
		return begun
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := c.Replica(0).Submit(ctx, fsm.Request{Cmd: fsm.OpenSession{Client: "poison"}}); err == nil {
		t.Fatal("it is applied")
	}
	c.Await("the server ends", func() bool {
		ended, err := c.Ended(0)
		errors.As(err, &broken)
		return ended
	})
	if broken == nil {
		t.Fatal("the server does not say at which entry it ended")
	}
	return dir, broken, c
}

// What a server says when it ends at an entry is all that the command needs, which says what it is about and asks
// before it changes anything.
func TestSkipEntryPassesOverWhatCannotBeApplied(t *testing.T) {
	dir, broken, c := chokedServer(t)
	said := ServerError(broken)
	want := fmt.Sprintf("vigil server skip-entry --data-dir DIR --index %d --sum %s", broken.Index, broken.Sum)
	if cli.ExitCode(said) != cli.ExitUnknown || !strings.Contains(said.Error(), want) ||
		!strings.Contains(said.Error(), "OpenSession") {
		t.Fatalf("the server ends with %v", said)
	}
	var out bytes.Buffer
	run := func(s skipping) error {
		out.Reset()
		s.App, s.dir, s.how.Defect = &cli.App{Terminal: term.Terminal{Out: &out, Err: &out}}, dir, chokes
		if s.how.Index == 0 {
			s.how.Index, s.how.Sum = broken.Index, broken.Sum[:cluster.SumDigits]
		}
		return s.run()
	}
	for _, tt := range []struct {
		name string
		s    skipping
		code int
		says string
	}{
		{"only looking", skipping{dry: true}, 0, "Nothing was changed."},
		{"nobody to ask", skipping{}, cli.ExitUsage, "a law is broken"},
		{"another entry", skipping{yes: true,
			how: cluster.Refusing{Index: broken.Index, Sum: strings.Repeat("0", 16)}}, cli.ExitConflict, ""},
		{"nothing to take back", skipping{
			how: cluster.Refusing{Index: broken.Index, Sum: broken.Sum, Undo: true}}, cli.ExitConflict, ""},
		{"yes", skipping{yes: true}, 0, "passes over entry"},
		{"once more", skipping{yes: true}, 0, "to be passed over"},
	} {
		if err := run(tt.s); cli.ExitCode(err) != tt.code || !strings.Contains(out.String(), tt.says) {
			t.Errorf("%s: %v, %s", tt.name, err, out.String())
		}
	}
	c.Restart(0)
	if out := c.Submit(fsm.Request{Cmd: fsm.OpenSession{Client: "well"}}); out.Code != noun.OK {
		t.Errorf("after it: %+v", out)
	}
}
