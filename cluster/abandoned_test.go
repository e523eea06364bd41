package cluster_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"vigil/cluster/logstore"
	"vigil/fsm"
)

// A leader ends in the middle of a restore, before any other server has the backup, and those go on without it. If
// it had not yet cut its log it goes on as if it had never begun; else it is sent what it had, or says that it cannot
// go on, and how it comes back.
func TestL8RestoreThatNobodyElseGot(t *testing.T) {
	for step := 1; step <= 4; step++ {
		for _, cut := range []bool{false, true} {
			t.Run(fmt.Sprintf("step %d, logs cut %v", step, cut), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					in := newInstalling(t, 0)
					in.victim = in.Leader()
					in.write(5)
					var backup bytes.Buffer
					if err := in.Replica(in.victim).Snapshot(t.Context(), &backup); err != nil {
						t.Fatal(err)
					}
					in.write(20)
					in.Cluster.Agree()
					in.Isolate(in.victim)
					log := in.logs[in.victim]
					log.arm((step+1)/2, step%2 == 0)
					rep, ctx := in.Replica(in.victim), within(t, time.Minute)
					go func() { _ = rep.Restore(ctx, bytes.NewReader(backup.Bytes()), fsm.OthersUnsaid) }()
					<-log.dead
					in.ends(in.victim, logstore.ErrDiskStuck)
					in.Heal()
					in.write(3)
					if cut {
						in.cut()
					}
					in.Restart(in.victim)
					if step > 1 && !cut { // else it is sent a snapshot that holds all it had
						err := in.ends(in.victim, logstore.ErrDamaged)
						if !strings.Contains(err.Error(), "remove this server") {
							t.Errorf("no remedy: %v", err)
						}
						return
					}
					in.write(3)
					in.Cluster.Agree()
					in.again()
					in.again()
					in.Replica(in.victim).Read(func(v *fsm.View) {
						if n := v.OpenTasks(); n != 5+20+3+3+1+1 {
							t.Errorf("%d tasks", n)
						}
					})
				})
			})
		}
	}
}

// ends awaits the end of a server by itself, for that reason.
func (in *installing) ends(i int, why error) (err error) {
	in.t.Helper()
	in.Await("the end of the process", func() (ended bool) {
		ended, err = in.Ended(i)
		return ended
	})
	if !errors.Is(err, why) {
		in.t.Fatalf("ended with %v, want %v", err, why)
	}
	return err
}
