package cluster_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
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
		Answer: func(_, line string) string {
			if strings.HasPrefix(line, "vigil-seat/1 ") {
				return "nonvoter"
			}
			return ""
		}, Revoked: func(wire.Peer) bool { return false },
		Reject: func(string, string, error) {}, Logger: hclog.NewNullLogger()})
	t.Cleanup(func() { o.Close() })
	return o
}

func (o *outsider) header() raft.RPCHeader {
	return raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(o.says), Addr: []byte(o.addr)}
}

// vote asks a server for its vote as if the leader had handed over.
func (o *outsider) vote(c *clustertest.Cluster, i int, term uint64) (vote raft.RequestVoteResponse, err error) {
	err = o.RequestVote(raft.ServerID(c.ID(i)), raft.ServerAddress(c.Addr(i)), &raft.RequestVoteRequest{
		RPCHeader: o.header(), Term: term, LastLogTerm: term, LastLogIndex: math.MaxInt64, LeadershipTransfer: true}, &vote)
	return vote, err
}

// disturb tries all that would move a server's term, and tells whether any of it was granted.
func (o *outsider) disturb(c *clustertest.Cluster, i int, term uint64) bool {
	id, addr := raft.ServerID(c.ID(i)), raft.ServerAddress(c.Addr(i))
	vote, _ := o.vote(c, i, term)
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
			c.Revoked = func(_ *fsm.View, p cluster.ProvenPeer) bool { return p.ID == "old" && p.Generation < 2 }
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
		own := c.Replica(leader).Stats().Term
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
		if s := c.Replica(leader).Stats(); s.Term != own || s.State != "Leader" {
			t.Errorf("term %d is %d, the leader is %s", own, s.Term, s.State)
		}
		if n := log.count("at=term", "too far ahead"); n != 2 {
			t.Errorf("%d lines about terms", n)
		}
		// A member that answers so: the third has to ask it for its vote.
		at := outside(t, c, c.ID(member), c.Addr(member), ca.Server(c.ID(member), 1))
		c.Resume(member)
		c.Kill(leader)
		forged := &forger{outsider: at}
		go forged.answer()
		c.Await("forged answers to a candidate", func() bool { return forged.pre.Load() > 2 && forged.votes.Load() > 2 })
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

// forger answers candidates with a term that is far ahead: first when they only sound the others out.
type forger struct {
	*outsider
	pre, votes atomic.Int64 // answers with it
}

func (f *forger) answer() {
	const forged = 1 << 63
	for {
		select {
		case <-f.Ended():
			return
		case rpc := <-f.Consumer():
			switch cmd := rpc.Command.(type) {
			case *raft.RequestPreVoteRequest:
				resp := &raft.RequestPreVoteResponse{RPCHeader: f.header(), Term: forged}
				if f.pre.Add(1) > 2 {
					resp.Term, resp.Granted = cmd.Term, true
				}
				rpc.Respond(resp, nil)
			case *raft.RequestVoteRequest:
				f.votes.Add(1)
				rpc.Respond(&raft.RequestVoteResponse{RPCHeader: f.header(), Term: forged}, nil)
			default:
				rpc.Respond(nil, errors.New("no"))
			}
		}
	}
}

// A server that is no member gets no vote as long as a leader is heard, whatever it says of its log.
func TestServerOutsideIsNotElectedBesideALeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := wiretest.New(t, "blue")
		c := clustertest.New(t, 3, secure(ca))
		leader := c.Leader()
		term := c.Replica(leader).Stats().Term
		o := outside(t, c, "waits", "10.9.0.1:7421", ca.Server("waits", 1))
		for i := range 3 {
			if vote, err := o.vote(c, i, term+5); err != nil || vote.Granted || vote.Term != term {
				t.Errorf("server %d: %+v, %v", i, vote, err)
			}
		}
		c.Agree()
		if s := c.Replica(leader).Stats(); s.Term != term || s.State != "Leader" {
			t.Errorf("term %d is %d, the leader is %s", term, s.Term, s.State)
		}
	})
}

// A server that has a seat and has not heard yet who the members are has no vote: raft would give it to
// anybody.
func TestServerThatKnowsNoMembersHasNoVote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := wiretest.New(t, "blue")
		c := clustertest.New(t, 1, clustertest.Spare(1), secure(ca))
		o := outside(t, c, "s1", "10.9.0.1:7421", ca.Server("s1", 1))
		c.Restart(1)
		c.Await("raft to run", func() bool {
			var resp raft.AppendEntriesResponse
			_ = o.AppendEntries("s2", raft.ServerAddress(c.Addr(1)), // upon which it asks what it is
				&raft.AppendEntriesRequest{RPCHeader: o.header(), Term: 2}, &resp)
			return c.Replica(1).Stats().State == "Follower"
		})
		time.Sleep(time.Second) // the leader is silent
		if vote, err := o.vote(c, 1, 5); err == nil {
			t.Errorf("it was asked: %+v", vote)
		}
		if s := c.Replica(1).Stats(); s.Term >= 5 {
			t.Errorf("the term is %d", s.Term)
		}
	})
}

// A question is answered to the server that it is about.
func TestQuestionsInAnothersNameAreNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := wiretest.New(t, "blue")
		log := &lines{}
		c := clustertest.New(t, 3, secure(ca), log.option())
		i := c.Leader()
		o := outside(t, c, "x", "10.9.0.1:7421", ca.Server("x", 1))
		for line, want := range map[string]string{
			"vigil-seat/1 x": "later", "vigil-seat/1 s2": "", "vigil-reach/1 x": "unknown", "vigil-reach/1 s2": "",
		} {
			if got, _ := o.Ask(c.ID(i), c.Addr(i), line); got != want {
				t.Errorf("%s: %q, want %q", line, got, want)
			}
		}
		if n := log.count("at=question", "from=x"); n != 1 {
			t.Errorf("%d lines about it", n)
		}
	})
}
