package cluster_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/cluster/wire/wiretest"
	"vigil/fsm"
)

// secure gives each server the identity by which the cluster knows it.
func secure(ca *wiretest.Authority) clustertest.Option {
	return clustertest.Secure(func(i int) cluster.Identity { return ca.Server(fmt.Sprintf("s%d", i+1), 1) })
}

// lines is what all servers log.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

// count counts the lines that hold all these words.
func (l *lines) count(words ...string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
line:
	for line := range strings.Lines(l.all.String()) {
		for _, w := range words {
			if !strings.Contains(line, w) {
				continue line
			}
		}
		n++
	}
	return n
}

func (l *lines) option() clustertest.Option {
	return clustertest.Configure(func(_ int, c *cluster.Config) {
		c.Logger = hclog.New(&hclog.LoggerOptions{Name: c.ID, Level: hclog.Info, Output: l})
	})
}

// Servers that prove who they are elect, replicate, and outlive their leader.
func TestServersWithIdentitiesOutliveTheirLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3, secure(wiretest.New(t, "blue")))
		k := c.Client()
		room(t, k)
		for range 20 {
			do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "t"})
		}
		c.Agree()
		old := c.Leader()
		c.Kill(old)
		do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "after it"})
		c.Restart(old)
		c.Isolate(c.Leader())
		do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "after the next"})
		c.Heal()
		c.Agree()
	})
}

// replace makes the servers 2, 3 and 4 the members instead of 0, 1 and 2, while 2 is away.
func replace(t *testing.T, c *clustertest.Cluster) {
	t.Helper()
	c.Kill(2)
	for i := 3; i < 5; i++ {
		c.Restart(i)
		if err := c.Replica(c.Leader()).AddServer(within(t, time.Minute), c.ID(i), c.Addr(i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 {
		c.Await("the removal of "+c.ID(i), func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			return c.Replica(c.Leader()).RemoveServer(ctx, c.ID(i), false) == nil
		})
		c.Kill(i)
	}
}

// A voter that was away while all others were replaced finds its log at servers that it does not know.
func TestVoterThatWasAwayReturnsToNewServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3, clustertest.Spare(2), secure(wiretest.New(t, "blue")))
		k := c.Client()
		room(t, k)
		replace(t, c)
		do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "while it is away"})
		c.Restart(2)
		c.Agree()
		if n := len(tasks(c.Replica(2))); n != 1 {
			t.Errorf("L8: it has %d tasks", n)
		}
	})
}

// And when one of the new servers is gone, its vote elects the other one, which it does not know.
func TestVoteOfWhoWasAwayElectsANewServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3, clustertest.Spare(2), secure(wiretest.New(t, "blue")))
		k := c.Client()
		room(t, k)
		replace(t, c)
		do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "while it is away"})
		c.Kill(4)
		c.Kill(3)
		c.Restart(2)
		c.Restart(3)
		do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "of two that do not know each other"})
		c.Agree()
	})
}

// Who is revoked while it is connected is cut off, and the others go on.
func TestRevokedServerIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &lines{}
		var revoked atomic.Pointer[string]
		c := clustertest.New(t, 3, secure(wiretest.New(t, "blue")), log.option(),
			clustertest.Configure(func(_ int, c *cluster.Config) {
				c.Revoked = func(_ *fsm.View, p cluster.ProvenPeer) bool {
					id := revoked.Load()
					return id != nil && *id == p.ID && p.Generation < 2
				}
			}))
		k := c.Client()
		room(t, k)
		old := c.Leader()
		id := c.ID(old)
		revoked.Store(&id)
		c.Await("another leader", func() bool {
			next := c.Replica((old + 1) % 3).Leader().ID
			return next != "" && next != id
		})
		do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "without it"})
		if n := log.count("peer turned away", "from="+id, "is revoked"); n < 1 || n > 2 {
			t.Errorf("%d lines about it", n)
		}
		term := c.Replica(c.Leader()).Stats().Term
		time.Sleep(time.Minute)
		if now := c.Replica(c.Leader()).Stats().Term; now != term {
			t.Errorf("the revoked server moves the term from %d to %d", term, now)
		}
		if leaving := c.Replica(old).Leader(); leaving.Self {
			t.Error("the revoked server leads")
		}
	})
}
