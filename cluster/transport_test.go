package cluster

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// beating is a transport whose heartbeats the test sends.
type beating struct {
	raft.Transport
	beat func(raft.RPC)
}

func (b *beating) SetHeartbeatHandler(fn func(raft.RPC)) { b.beat = fn }

// L12: no heartbeat changes term or state beside raft's own goroutine. Whoever led until then could still write
// entries, under the term of the next leader (github.com/hashicorp/raft/issues/695).
func TestL12HeartbeatsChangeNothingBesideRaft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, snaps := raft.NewInmemStore(), raft.NewInmemSnapshotStore()
		addr, own := raft.NewInmemTransport("a:1")
		conf := raft.DefaultConfig()
		conf.LocalID, conf.Logger = "a", hclog.NewNullLogger()
		if err := raft.BootstrapCluster(conf, store, store, snaps, own,
			raft.Configuration{Servers: []raft.Server{{ID: "a", Address: addr}}}); err != nil {
			t.Fatal(err)
		}
		rf, err := raft.NewRaft(conf, &raft.MockFSM{}, store, store, snaps, own)
		if err != nil {
			t.Fatal(err)
		}
		n := &node{}
		n.raft.Store(rf)
		_, other := raft.NewInmemTransport("a:2")
		inner := &beating{Transport: other}
		trans := newWatchedTransport(inner, &gate{n}, &trailing{node: n})
		beside := 0
		trans.SetHeartbeatHandler(func(rpc raft.RPC) {
			beside++
			rpc.Respond(&raft.AppendEntriesResponse{}, nil)
		})
		// whether a heartbeat of that term comes past raft's goroutine
		past := func(term uint64) bool {
			t.Helper()
			before := beside
			answers := make(chan raft.RPCResponse, 1)
			go inner.beat(raft.RPC{Command: &raft.AppendEntriesRequest{Term: term}, RespChan: answers})
			select {
			case rpc := <-trans.Consumer():
				rpc.Respond(&raft.AppendEntriesResponse{}, nil)
				<-answers
			case <-answers:
			}
			return beside > before
		}
		term := rf.CurrentTerm() // nothing is elected before time has passed
		if !past(term) {
			t.Error("a heartbeat of the term in which this server follows waits for raft, which may wait for the disk")
		}
		if past(term + 1) {
			t.Error("a heartbeat of a newer term came past raft")
		}
		for rf.State() != raft.Leader {
			time.Sleep(time.Second)
		}
		for _, term := range []uint64{rf.CurrentTerm(), rf.CurrentTerm() + 1} {
			if past(term) {
				t.Errorf("a heartbeat of term %d came past raft on the leader of term %d", term, rf.CurrentTerm())
			}
		}
		if err := rf.Shutdown().Error(); err != nil {
			t.Fatal(err)
		}
		if err := trans.Close(); err != nil {
			t.Fatal(err)
		}
		late := make(chan raft.RPCResponse, 1)
		inner.beat(raft.RPC{Command: &raft.AppendEntriesRequest{Term: 9}, RespChan: late})
		if r := <-late; r.Error == nil {
			t.Error("a heartbeat after the end was taken")
		}
	})
}
