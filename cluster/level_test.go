package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/cluster/record"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// testLevel is a feature level above the baseline that exists in tests alone.
const testLevel = cluster.FeatureLevel + 1

// ofTestLevel makes servers of a build that reads testLevel.
func ofTestLevel() clustertest.Option {
	return clustertest.Configure(func(_ int, cfg *cluster.Config) { cfg.Features = testLevel })
}

func announce(t *testing.T, c *clustertest.Cluster, i int, features uint32) {
	t.Helper()
	do(t, c.Client(), fsm.PutServer{ID: c.ID(i), RaftAddr: c.Addr(i), Version: "v", Features: features})
}

func levelOf(r *cluster.Replica) (level uint32) {
	r.Read(func(s *fsm.View) { level = s.Level() })
	return level
}

// L12: a leader begins a feature level as soon as the last member reads it, not before, by
// one record; what has begun goes on whoever joins later.
func TestL12LevelBeginsWithTheLastMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3, ofTestLevel())
		at := c.Leader() // it announces itself
		raise := fsm.Request{Cmd: fsm.RaiseLevel{Level: testLevel}}
		announce(t, c, (at+1)%3, testLevel)
		time.Sleep(time.Minute)
		if _, err := c.Replica(at).Submit(t.Context(), raise); !errors.Is(err, noun.ErrOldServers) {
			t.Errorf("with a member that never says what it reads: %v", err)
		}
		announce(t, c, (at+2)%3, cluster.FeatureLevel)
		time.Sleep(time.Minute)
		if got := levelOf(c.Replica(at)); got != cluster.FeatureLevel {
			t.Fatalf("level %d has begun, and a server reads %d", got, cluster.FeatureLevel)
		}
		if _, err := c.Replica(at).Submit(t.Context(), raise); !errors.Is(err, noun.ErrOldServers) {
			t.Errorf("raised by hand: %v", err)
		}
		announce(t, c, (at+2)%3, testLevel)
		time.Sleep(time.Second)
		synctest.Wait()
		if got := levelOf(c.Replica(at)); got != testLevel {
			t.Errorf("level %d a second after the last server was upgraded, want %d", got, testLevel)
		}
		do(t, c.Client(), fsm.DropServer{ID: c.ID((at + 1) % 3)})
		time.Sleep(time.Minute)
		if got := levelOf(c.Replica(at)); got != testLevel {
			t.Errorf("level %d when a member has not announced itself", got)
		}
	})
}

// A command of a level waits a moment for the servers to say what they read, and not for
// ever.
func TestRecordsOfALevelWaitForAnnouncements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3, ofTestLevel())
		at := c.Leader()
		announce(t, c, (at+1)%3, testLevel)
		raise := fsm.Request{Cmd: fsm.RaiseLevel{Level: testLevel}}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Replica(at).Submit(short, raise); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a caller of less patience: %v", err)
		}
		answer := make(chan error, 1)
		go func() {
			_, err := c.Replica(at).Submit(t.Context(), raise)
			answer <- err
		}()
		time.Sleep(time.Second)
		synctest.Wait()
		announce(t, c, (at+2)%3, testLevel)
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

// A server that meets a level which it does not read stops: its state would drift.
func TestL12ServerThatCannotReadTheLevelStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const older = 2 // a build of the baseline, wrongly announced as a newer one
		c := clustertest.New(t, 3, clustertest.Configure(func(i int, cfg *cluster.Config) {
			if cfg.Features = testLevel; i == older {
				cfg.Features = cluster.FeatureLevel
			}
		}))
		if c.Leader() == older { // a leader announces itself
			c.Kill(older)
			c.Await("another leader", func() bool { l := c.Leader(); return l >= 0 && l != older })
			c.Restart(older)
		}
		for i := range 3 {
			announce(t, c, i, testLevel)
		}
		c.Await("the end of the older build", func() bool {
			ended, err := c.Ended(older)
			return ended && errors.Is(err, record.ErrUnknown)
		})
		if got := levelOf(c.Replica(c.Leader())); got != testLevel {
			t.Errorf("level %d on the others", got)
		}
	})
}

// It stops also where it meets the level in a snapshot, as one does that was away meanwhile: the leader would send it
// that for ever.
func TestL12ServerThatIsSentALevelStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3, clustertest.Configure(func(i int, cfg *cluster.Config) {
			if cfg.Limits.TrailingLogs = 2; i < 2 {
				cfg.Features = testLevel
			}
		}))
		const older = 2
		c.Leader()
		c.Kill(older)
		c.Await("another leader", func() bool { l := c.Leader(); return l >= 0 && l != older })
		for i := range 3 {
			announce(t, c, i, testLevel)
		}
		c.Await("the level begins", func() bool { return levelOf(c.Replica(c.Leader())) == testLevel })
		for range 8 {
			do(t, c.Client(), fsm.PutSettings{Values: []noun.KV{{Key: "ladder_nudge", Value: "1h"}}})
		}
		for i := range 2 {
			if err := cluster.TakeSnapshot(c.Replica(i)); err != nil {
				t.Fatal(err)
			}
		}
		c.Restart(older)
		c.Await("the end of the older build", func() bool {
			ended, err := c.Ended(older)
			return ended && errors.Is(err, record.ErrUnknown)
		})
	})
}

// A backup of a level that a server does not read is refused: that server would end, and the leader with it.
func TestBackupOfALevelThatNotAllReadIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		newer := fsm.New()
		newer.Apply(&fsm.Entry{Index: 1, Requests: []fsm.Request{{Cmd: fsm.RaiseLevel{Level: testLevel}}}})
		var backup bytes.Buffer
		if err := newer.Copy().Dump(&backup); err != nil {
			t.Fatal(err)
		}
		k := c.Client()
		err := c.Replica(c.Leader()).Restore(within(t, time.Minute), &backup, fsm.OthersUnsaid)
		if !errors.Is(err, noun.ErrOldServers) {
			t.Errorf("got %v", err)
		}
		room(t, k)
	})
}

// A member that has not announced itself (added under a wrong address, or an empty
// replacement that still loads) switches nothing off: every kind of command and a restore
// work as ever, and at once.
func TestF01UnannouncedMemberSwitchesNothingOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		k := c.Client()
		do(t, k, fsm.ApplyRoom{Room: "r", Roles: []noun.RoleSpec{{Name: "a"}}})
		joined := do(t, k, fsm.Join{Speaker: fsm.Speaker{Agent: "r/a"}})
		rep := c.Replica(c.Leader())
		adding := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { adding <- rep.AddServer(ctx, "d", "nowhere:1") }()
		c.Await("the new member", func() bool { return len(rep.Servers()) == 4 })
		me := fsm.Speaker{Agent: "r/a", Inc: joined.Inc}
		for _, cmd := range []fsm.Command{
			fsm.Declare{Speaker: me, Status: noun.StatusBusy},
			fsm.SendMail{From: "ann", To: "r/a", Body: "b"}, fsm.ReadMail{Speaker: me},
			fsm.AckMail{Speaker: me, Mail: 1},
			fsm.PutSettings{Values: []noun.KV{{Key: "ladder_nudge", Value: "1h"}}},
			fsm.SetRoomWatch{Room: "r", RoomWatch: noun.RoomWatch{Disabled: true}},
			fsm.CreateTask{Room: "r", Role: "a", Title: "t", Expect: time.Hour},
		} {
			began := time.Now()
			if out, err := rep.Submit(t.Context(), fsm.Request{Cmd: cmd}); err != nil ||
				out.Code != noun.OK || time.Since(began) > time.Second {
				t.Errorf("%T after %s: %+v, %v", cmd, time.Since(began), out, err)
			}
		}
		cancel()
		if err := <-adding; err == nil {
			t.Error("a server that is not there was added")
		}
	})
}

// L12: settings of the configuration that came with a level are put when it has begun, not before.
func TestL12SeedsWaitForTheirLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 1, clustertest.Configure(func(_ int, cfg *cluster.Config) {
			cfg.Seed = []noun.KV{{Key: "ttl", Value: "40s"}, {Key: "retry_first", Value: "7s"}}
		}))
		c.Await("the settings", func() bool {
			var ttl time.Duration
			var level uint32
			c.Replica(c.Leader()).Read(func(s *fsm.View) { ttl, level = s.Settings().TTL, s.Level() })
			return ttl == 40*time.Second && level == cluster.FeatureLevel
		})
	})
}
