package cluster_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/fsm"
)

// L12: what a server of the cluster could not read is refused and never gets into the
// log, and works as soon as the last server was upgraded.
func TestL12RecordsOfALevelWaitForTheLastServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := withDoors(t, 2, 1, 2)
		k := c.Client()
		do(t, k, fsm.ApplyRoom{Room: "r", Roles: []fsm.RoleSpec{{Name: "a"}}})
		joined := do(t, k, fsm.Join{Speaker: fsm.Speaker{Agent: "r/a"}})
		younger := []fsm.Command{
			fsm.Declare{Speaker: fsm.Speaker{Agent: "r/a", Inc: joined.Inc}, Status: fsm.StatusBusy},
			fsm.ApplyRoom{Room: "r", Roles: []fsm.RoleSpec{{Name: "a", HealthEvery: time.Minute, HealthMissed: 3}}},
			fsm.PutSettings{Values: []fsm.KV{{Key: fsm.DeclareLimitName, Value: "1h"}}},
			fsm.SendMail{From: "ann", To: "r/a", Body: "b"},
			fsm.ReadMail{Speaker: fsm.Speaker{Agent: "r/a", Inc: joined.Inc}},
			fsm.AckMail{Speaker: fsm.Speaker{Agent: "r/a", Inc: joined.Inc}, Mail: 1},
			fsm.PutSettings{Values: []fsm.KV{{Key: "watchdog_threshold", Value: "1h"}}},
			fsm.PutSettings{Values: []fsm.KV{{Key: "ladder_nudge", Value: "1h"}}},
			fsm.WatchRooms{}, fsm.SetRoomWatch{Room: "r", RoomWatch: fsm.RoomWatch{Disabled: true}},
			fsm.BeginEscalations{},
		}
		leader := c.Replica(c.Leader())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, cmd := range younger {
			if _, err := leader.Submit(ctx, fsm.Request{Cmd: cmd}); !errors.Is(err, fsm.ErrOldServers) {
				t.Errorf("%T with a server of level 1: %v", cmd, err)
			}
			out := make([]fsm.Outcome, 2)
			if err := leader.SubmitAll(ctx, []fsm.Request{{Cmd: fsm.OpenSession{}}, {Cmd: cmd}}, out); !errors.Is(err, fsm.ErrOldServers) {
				t.Errorf("%T among others: %v", cmd, err)
			}
		}
		leader.Read(func(s *fsm.State) {
			if s.AgentByName("r/a").Declared != nil || s.Mail(1) != nil || s.RoleByName("r", "a").Spec.HealthEvery != 0 || s.Settings().DeclareLimit != 4*time.Hour {
				t.Error("what was refused has changed the state")
			}
		})
		do(t, k, fsm.PutServer{ID: c.ID(1), RaftAddr: c.Addr(1), Features: 2})
		for _, cmd := range younger {
			if out, err := leader.Submit(ctx, fsm.Request{Cmd: cmd}); err != nil || out.Code != fsm.OK {
				t.Errorf("%T with all servers at level 2: %+v, %v", cmd, out, err)
			}
		}
	})
}

// In the first moments of a cluster not every server has said what it reads: a command
// of a level waits for that, and not for ever.
func TestRecordsOfALevelWaitForAnnouncements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3, clustertest.Configure(func(_ int, cfg *cluster.Config) { cfg.Features = 2 }))
		k := c.Client()
		announce := func(i int) { do(t, k, fsm.PutServer{ID: c.ID(i), RaftAddr: c.Addr(i), Version: "v", Features: 2}) }
		at := c.Leader() // it announces itself
		announce((at + 1) % 3)
		leader := c.Replica(at)
		limit := fsm.Request{Cmd: fsm.PutSettings{Values: []fsm.KV{{Key: fsm.DeclareLimitName, Value: "1h"}}}}
		if _, err := leader.Submit(t.Context(), limit); !errors.Is(err, fsm.ErrOldServers) {
			t.Errorf("with a server that never says what it reads: %v", err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := leader.Submit(short, limit); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a caller of less patience: %v", err)
		}
		answer := make(chan error, 1)
		go func() {
			_, err := leader.Submit(t.Context(), limit)
			answer <- err
		}()
		time.Sleep(time.Second)
		synctest.Wait()
		announce((at + 2) % 3)
		time.Sleep(time.Second)
		synctest.Wait()
		select {
		case err := <-answer:
			if err != nil {
				t.Errorf("once all have said it: %v", err)
			}
		default:
			t.Error("it still waits although all have said it")
		}
	})
}

// L12: a leader begins a feature level as soon as the last server reads it, not before, and
// what needs the level waits for that.
func TestL12LevelBeginsWithTheLastServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3, clustertest.Configure(func(_ int, cfg *cluster.Config) { cfg.Features = cluster.FeatureLevel }))
		k := c.Client()
		level := func() (level uint32) {
			c.Replica(c.Leader()).Read(func(s *fsm.State) { level = s.Level() })
			return level
		}
		announce := func(i int, features uint32) {
			do(t, k, fsm.PutServer{ID: c.ID(i), RaftAddr: c.Addr(i), Version: "v", Features: features})
		}
		at := c.Leader() // it announces itself
		announce((at+1)%3, 3)
		announce((at+2)%3, 2)
		time.Sleep(time.Minute)
		if got := level(); got != 0 {
			t.Fatalf("level %d has begun, and a server reads 2", got)
		}
		if _, err := c.Replica(at).Submit(t.Context(), fsm.Request{Cmd: fsm.RaiseLevel{Level: 3}}); !errors.Is(err, fsm.ErrOldServers) {
			t.Errorf("raised by hand: %v", err)
		}
		do(t, k, fsm.ApplyRoom{Room: "r", Roles: []fsm.RoleSpec{{Name: "a"}}})
		planned := fsm.Request{Cmd: fsm.CreateTask{Room: "r", Role: "a", Title: "t", Expect: time.Hour}}
		if _, err := c.Replica(at).Submit(t.Context(), planned); !errors.Is(err, fsm.ErrOldServers) {
			t.Errorf("a task with an expectation: %v", err)
		}
		announce((at+2)%3, 3)
		time.Sleep(time.Second)
		synctest.Wait()
		if got := level(); got != 3 {
			t.Errorf("level %d a second after the last server was upgraded, want 3", got)
		}
		if out, err := c.Replica(at).Submit(t.Context(), planned); err != nil || out.Task != 1 {
			t.Errorf("a task with an expectation: %+v, %v", out, err)
		}
	})
}
