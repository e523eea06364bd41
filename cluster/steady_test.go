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
