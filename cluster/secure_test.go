package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/cluster/wire"
	"vigil/cluster/wire/wiretest"
	"vigil/fsm"
	"vigil/fsm/noun"
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

// outsider speaks raft to servers, as whoever it says to be.
type outsider struct {
	*wire.Transport
	says, addr string
}

func outside(t *testing.T, c *clustertest.Cluster, says, addr string, identity cluster.Identity) *outsider {
	l, dial := c.Outside(addr)
	o := &outsider{says: says, addr: addr}
	o.Transport = wire.Listen(wire.Config{ID: says, Advertise: addr, Listener: l, Dial: dial, Identity: identity,
		Cluster: func() string { return "blue" }, Learn: func(string) error { return nil },
		Answer: func(string, string) string { return "" }, Revoked: func(string, uint64) bool { return false },
		Reject: func(string, string, error) {}, Logger: hclog.NewNullLogger()})
	t.Cleanup(func() { o.Close() })
	return o
}

func (o *outsider) header() raft.RPCHeader {
	return raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(o.says), Addr: []byte(o.addr)}
}

// disturb tries all that would move a server's term, and tells whether any of it was granted.
func (o *outsider) disturb(c *clustertest.Cluster, i int, term uint64) bool {
	id, addr := raft.ServerID(c.ID(i)), raft.ServerAddress(c.Addr(i))
	var vote raft.RequestVoteResponse
	_ = o.RequestVote(id, addr, &raft.RequestVoteRequest{RPCHeader: o.header(), Term: term, LastLogTerm: term,
		LastLogIndex: math.MaxInt64, LeadershipTransfer: true}, &vote)
	var pre raft.RequestPreVoteResponse
	_ = o.RequestPreVote(id, addr, &raft.RequestPreVoteRequest{RPCHeader: o.header(), Term: term, LastLogTerm: term,
		LastLogIndex: math.MaxInt64}, &pre)
	var entries raft.AppendEntriesResponse
	for _, prev := range []uint64{0, 1} { // a heartbeat, and one that is none
		_ = o.AppendEntries(id, addr, &raft.AppendEntriesRequest{RPCHeader: o.header(), Term: term, PrevLogEntry: prev,
			PrevLogTerm: prev}, &entries)
	}
	var snapshot raft.InstallSnapshotResponse
	_ = o.InstallSnapshot(id, addr, &raft.InstallSnapshotRequest{RPCHeader: o.header(), Term: term, Size: 4}, &snapshot,
		strings.NewReader("data"))
	var now raft.TimeoutNowResponse
	_ = o.TimeoutNow(id, addr, &raft.TimeoutNowRequest{RPCHeader: o.header()}, &now)
	return vote.Granted || pre.Granted || entries.Success || snapshot.Success
}

// Nobody but a server of the cluster moves a term, and whoever tries is named once.
func TestStrangersDoNotMoveTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := wiretest.New(t, "blue")
		log := &lines{}
		c := clustertest.New(t, 3, secure(ca), log.option(), clustertest.Configure(func(_ int, c *cluster.Config) {
			c.Revoked = func(_ *fsm.View, id string, generation uint64) bool { return id == "old" && generation < 2 }
		}))
		leader := c.Leader()
		term := c.Replica(leader).Stats().Term
		for n, s := range []struct {
			says     string
			identity cluster.Identity
			who, why string // of the line that names it
		}{
			{"s1", nil, "from=10.9.0.0", "handshake"},
			{"s1", wiretest.New(t, "blue").Server("s1", 1), "from=10.9.0.1", "handshake"},
			{"s1", ca.Issue("host", "s1", 1), "from=10.9.0.2", "is no server"},
			{"old", ca.Server("old", 1), "from=old", "is revoked"},
			{"s1", ca.Server("waits", 1), "from=waits", "in the name of"},
		} {
			o := outside(t, c, s.says, fmt.Sprintf("10.9.0.%d:7421", n), s.identity)
			for i := range 3 {
				for range 3 {
					if o.disturb(c, i, term+5) {
						t.Errorf("%s %s: it was granted", s.who, s.why)
					}
				}
			}
			// One line of each server. The one in whose name it comes is not spoken to.
			if n, all := log.count(s.who, s.why), log.count(s.who+" "); n < 2 || n > 3 || all > 4 {
				t.Errorf("%s %s: %d lines, %d about it", s.who, s.why, n, all)
			}
		}
		if s := c.Replica(leader).Stats(); s.Term != term || s.State != "Leader" {
			t.Errorf("term %d is %d, the leader is %s", term, s.Term, s.State)
		}
		do(t, c.Client(), fsm.ApplyRoom{Room: "r", Roles: []noun.RoleSpec{{Name: "builder"}}})
		c.Agree()
	})
}

// A term near its end, in a request or in an answer, would end elections for good: also from a member.
func TestForgedTermsReachNoServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := wiretest.New(t, "blue")
		log := &lines{}
		c := clustertest.New(t, 3, secure(ca), log.option())
		leader := c.Leader()
		member := (leader + 1) % 3
		c.Kill(member)
		o := outside(t, c, c.ID(member), "10.9.0.1:7421", ca.Server(c.ID(member), 1))
		third := 3 - leader - member
		for _, term := range []uint64{1 << 63, math.MaxUint64, 1<<32 + 1000} {
			for _, i := range []int{leader, third} {
				if o.disturb(c, i, term) {
					t.Errorf("term %d was granted something", term)
				}
			}
		}
		o.Close()
		if n := log.count("at=term", "too far ahead"); n != 2 {
			t.Errorf("%d lines about terms", n)
		}
		// A member that answers so: the third has to ask it for its vote.
		at := outside(t, c, c.ID(member), c.Addr(member), ca.Server(c.ID(member), 1))
		c.Resume(member)
		c.Kill(leader)
		var asked atomic.Int64
		go answerWith(at, 1<<63, &asked)
		c.Await("an answer to a candidate", func() bool { return asked.Load() > 1 })
		at.Close()
		if s := c.Replica(third).Stats(); s.Term > 1000 {
			t.Errorf("the term is %d", s.Term)
		}
		c.Restart(member)
		c.Restart(leader)
		do(t, c.Client(), fsm.ApplyRoom{Room: "r", Roles: []noun.RoleSpec{{Name: "builder"}}})
		c.Agree()
	})
}

// answerWith grants each vote with a term that is ahead, until the transport is closed.
func answerWith(o *outsider, term uint64, asked *atomic.Int64) {
	for {
		select {
		case <-o.Ended():
			return
		case rpc := <-o.Consumer():
			switch rpc.Command.(type) {
			case *raft.RequestPreVoteRequest:
				asked.Add(1)
				rpc.Respond(&raft.RequestPreVoteResponse{RPCHeader: o.header(), Term: term}, nil)
			case *raft.RequestVoteRequest:
				asked.Add(1)
				rpc.Respond(&raft.RequestVoteResponse{RPCHeader: o.header(), Term: term}, nil)
			default:
				rpc.Respond(nil, errors.New("no"))
			}
		}
	}
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
				c.Revoked = func(_ *fsm.View, id string, generation uint64) bool {
					p := revoked.Load()
					return p != nil && *p == id && generation < 2
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
