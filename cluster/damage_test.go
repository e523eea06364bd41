package cluster_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/raft"

	"vigil/cluster/clustertest"
	"vigil/cluster/logstore"
	"vigil/fsm"
)

// rottenLog reads commands up to an entry with a flipped bit once it is told so.
type rottenLog struct {
	raft.LogStore
	upTo atomic.Uint64
}

func (r *rottenLog) GetLog(index uint64, l *raft.Log) error {
	err := r.LogStore.GetLog(index, l)
	if err == nil && index <= r.upTo.Load() && l.Type == raft.LogCommand && len(l.Data) > 0 {
		l.Data = append([]byte(nil), l.Data...)
		l.Data[len(l.Data)/2] ^= 4
	}
	return err
}

// An entry that the disk has changed is neither applied nor passed over: the server
// ends and says what to do, the others go on. In real time: raft's goroutine stays at
// the entry for ever.
func TestL8DamagedEntryIsNeverApplied(t *testing.T) {
	var logs [3]rottenLog
	c := clustertest.New(t, 3, clustertest.WrapLog(func(i int, s raft.LogStore) raft.LogStore {
		logs[i].LogStore = s
		return &logs[i]
	}))
	k := c.Client()
	room(t, k)
	do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "first"})
	c.Agree()
	victim := (c.Leader() + 1) % 3
	at := c.Replica(victim).Stats().AppliedIndex
	do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "second"})
	c.Agree()
	if err := c.Stop(victim); err != nil {
		t.Fatal(err)
	}
	logs[victim].upTo.Store(at) // read again when it starts
	c.Restart(victim)
	rep := c.Replica(victim)
	var ended error
	c.Await("the end of the server", func() bool {
		ok, err := c.Ended(victim)
		ended = err
		return ok
	})
	if !errors.Is(ended, logstore.ErrDamaged) || !strings.Contains(ended.Error(), "empty its data directory") {
		t.Errorf("ended with %v", ended)
	}
	rep.Read(func(s *fsm.View) {
		if s.LastIndex() > 0 {
			t.Errorf("L8: all commands up to %d are damaged, the state is at %d", at, s.LastIndex())
		}
	})
	c.Isolate(victim) // as the end of its process does
	do(t, k, fsm.CreateTask{Room: "r", Role: "builder", Title: "third"})
	if n := tasks(c.Replica(c.Leader())); n["first"] != 1 || n["second"] != 1 || n["third"] != 1 {
		t.Errorf("L8: tasks %v", n)
	}
}
