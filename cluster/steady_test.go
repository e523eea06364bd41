package cluster_test

import (
	"testing"
	"testing/synctest"
	"time"

	"vigil/cluster/clustertest"
)

// While fewer than three servers vote the cluster stands no loss, so a new one votes as soon as it has caught up: the
// founder may be lost a moment later. Where three vote a new one shows for a second that it stays.
func TestNewServerVotesAtOnceWhereFewDo(t *testing.T) {
	for _, c := range []struct {
		voters int
		steady bool
	}{{1, false}, {2, false}, {3, true}} {
		synctest.Test(t, func(t *testing.T) {
			k := clustertest.New(t, c.voters, clustertest.Spare(1))
			k.Restart(c.voters)
			rep := k.Replica(k.Leader())
			begin := time.Now()
			if err := rep.AddServer(within(t, time.Minute), k.ID(c.voters), k.Addr(c.voters)); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begin); (took >= time.Second) != c.steady {
				t.Errorf("beside %d voters a new one has its vote after %v", c.voters, took)
			}
		})
	}
}

// A server asks for itself while an operator adds it, or a call is repeated: whoever waits is told that it has its
// vote, whichever call gave it.
func TestSeveralAddOneServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := clustertest.New(t, 3, clustertest.Spare(1))
		k.Restart(3)
		rep := k.Replica(k.Leader())
		const callers = 5
		errs := make(chan error, callers)
		for i := range callers {
			go func() {
				time.Sleep(time.Duration(i) * 200 * time.Millisecond) // simulated
				errs <- rep.AddServer(within(t, time.Minute), k.ID(3), k.Addr(3))
			}()
		}
		for range callers {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if got := roleOf(k.Replica(k.Leader()), k.ID(3)); got != "voter" {
			t.Errorf("it is a %s", got)
		}
	})
}
