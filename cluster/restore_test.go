package cluster_test

import (
	"bytes"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vigil/cluster"
	"vigil/cluster/clustertest"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// numbers hands out a task and a session, again and again, and notes them.
type numbers struct {
	mu       sync.Mutex
	twice    int
	given    int
	tasks    map[noun.TaskID]bool
	sessions map[noun.SessionID]bool
}

func (n *numbers) draw(t *testing.T, r *cluster.Replica) {
	task, err := r.Submit(t.Context(), fsm.Request{Cmd: fsm.CreateTask{Room: "r", Role: "builder", Title: "t"}})
	session, serr := r.Submit(t.Context(), fsm.Request{Cmd: fsm.OpenSession{}})
	n.mu.Lock()
	defer n.mu.Unlock()
	if err == nil && task.Code == noun.OK {
		n.given++
		if n.tasks[task.Task] {
			n.twice++
		}
		n.tasks[task.Task] = true
	}
	if serr == nil && session.Code == noun.OK {
		n.given++
		if n.sessions[session.Session] {
			n.twice++
		}
		n.sessions[session.Session] = true
	}
}

// A backup is restored, again and again, while clients write: no number is handed
// out twice, and all servers agree on the next.
func TestL6NumbersAreNotHandedOutAgainAfterARestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		room(t, c.Client())
		var backup bytes.Buffer
		if err := c.Replica(c.Leader()).Snapshot(t.Context(), &backup); err != nil {
			t.Fatal(err)
		}
		n := numbers{tasks: map[noun.TaskID]bool{}, sessions: map[noun.SessionID]bool{}}
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					for i := range 3 { // one of them leads
						n.draw(t, c.Replica(i))
					}
					time.Sleep(5 * time.Millisecond)
				}
			})
		}
		for range 3 {
			time.Sleep(500 * time.Millisecond)
			if err := c.Replica(c.Leader()).Restore(within(t, time.Minute),
				bytes.NewReader(backup.Bytes()), fsm.OthersUnsaid); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Second)
		close(stop)
		wg.Wait()
		c.Agree()
		if n.twice > 0 || n.given < 100 {
			t.Errorf("L6: of %d numbers %d were handed out twice", n.given, n.twice)
		}
	})
}

// A backup may come over a slow line for hours: servers that are lost meanwhile are replaced, and it is restored into
// the cluster as that is then.
func TestSlowBackupHoldsUpNoChangeOfMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		room(t, c.Client())
		l := c.Leader()
		rep, lost := c.Replica(l), (l+1)%3
		var backup bytes.Buffer
		if err := rep.Snapshot(t.Context(), &backup); err != nil {
			t.Fatal(err)
		}
		c.Kill(lost)
		in, line := io.Pipe()
		defer line.Close()
		ctx, restored := within(t, time.Hour), make(chan error, 1)
		go func() {
			err := rep.Restore(ctx, in, fsm.OthersUnsaid)
			in.CloseWithError(err)
			restored <- err
		}()
		if _, err := line.Write(backup.Next(backup.Len() / 2)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second) // the others notice the loss
		if err := rep.RemoveServer(within(t, time.Minute), c.ID(lost), false); err != nil {
			t.Fatalf("while the backup comes: %v", err)
		}
		if _, err := line.Write(backup.Bytes()); err != nil {
			t.Fatal(err)
		}
		line.Close()
		if err := <-restored; err != nil {
			t.Fatal(err)
		}
		if n := len(rep.Servers()); n != 2 {
			t.Errorf("%d servers after the restore, want the two that are left", n)
		}
		c.Agree()
	})
}
