package cluster_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"vigil/cluster/clustertest"
)

// A server that was a member a moment ago and has lost everything is not up to date
// because of what it had answered then.
func TestServerThatWasAMemberCatchesUpBeforeItVotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		l := c.Leader()
		gone := (l + 1) % 3
		rep := c.Replica(l)
		c.Agree()
		c.Kill(gone)
		if err := rep.RemoveServer(within(t, time.Minute), c.ID(gone), false); err != nil {
			t.Fatal(err)
		}
		err := rep.AddServer(within(t, 10*time.Second), c.ID(gone), c.Addr(gone))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a server that does not run was given a vote: %v", err)
		}
		if n := len(rep.Servers()); n != 2 {
			t.Errorf("it is left behind: %+v", rep.Servers())
		}
	})
}
