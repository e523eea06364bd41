//go:build linux

package incidents

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"vigil/jepsen/stand"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// short bounds a call that is meant to fail.
func (w *world) short() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	w.t.Cleanup(cancel)
	return ctx
}

// writes creates tasks, one after the other, and remembers those that were acknowledged.
type writes struct {
	w    *world
	stop context.CancelFunc
	done chan struct{}

	mu    sync.Mutex
	acked []uint64
}

// writes begins to create tasks for a role, until end or the end of the test.
func (w *world) writes(role string) *writes {
	w.t.Helper()
	c, err := client.Open(client.Config{Addrs: w.Addrs(), Name: "writes"})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	all := &writes{w: w, stop: cancel, done: make(chan struct{})}
	w.t.Cleanup(func() { all.end(); c.Close() })
	tasks := vigilv1.NewFleetClient(c)
	go func() {
		defer close(all.done)
		for n := 1; ctx.Err() == nil; n++ {
			call, end := context.WithTimeout(ctx, 2*time.Second)
			got, err := tasks.CreateTask(call, &vigilv1.CreateTaskRequest{Room: w.name, Role: role,
				Title: fmt.Sprint("write ", n), By: "test"})
			end()
			if err == nil {
				all.mu.Lock()
				all.acked = append(all.acked, got.GetId())
				all.mu.Unlock()
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	return all
}

func (a *writes) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.acked)
}

// more waits until so many more were acknowledged.
func (a *writes) more(n int) {
	a.w.t.Helper()
	want := a.count() + n
	a.w.eventually(fmt.Sprint(n, " more writes are acknowledged"), func() error {
		if now := a.count(); now < want {
			return fmt.Errorf("%d of %d", now, want)
		}
		return nil
	})
}

// end stops and gives what was acknowledged.
func (a *writes) end() []uint64 {
	a.stop()
	<-a.done
	return a.acked
}

// kept checks that every server has all of these tasks, and that no server's state
// differs from that of the others.
func (w *world) kept(tasks []uint64) {
	w.t.Helper()
	for _, sv := range w.Servers {
		w.goesOn(sv)
		has, own := map[uint64]bool{}, vigilv1.NewFleetClient(w.at(sv))
		for after := uint64(0); ; {
			page, err := own.ListTasks(w.ctx(), &vigilv1.ListTasksRequest{Room: w.name, After: after, Limit: 1000,
				Stale: true})
			if err != nil {
				w.t.Fatal(err)
			}
			for _, task := range page.GetTasks() {
				has[task.GetId()] = true
			}
			if after = page.GetNextAfter(); after == 0 {
				break
			}
		}
		lost := 0
		for _, id := range tasks {
			if !has[id] {
				lost++
			}
		}
		if lost > 0 {
			w.t.Errorf("%s lacks %d of %d tasks that were acknowledged", sv.Name, lost, len(tasks))
		}
	}
	for _, sv := range w.status().GetServers() {
		if sv.GetDiverged() {
			w.t.Errorf("the state of %s differs", sv.GetId())
		}
	}
	w.t.Logf("%d tasks were acknowledged", len(tasks))
}

// reseed takes a server out of the cluster, empties it and takes it in again.
func (w *world) reseed(sv *stand.Server) {
	w.t.Helper()
	w.eventually(sv.Name+" is no member", func() error {
		list, err := w.cluster.ListServers(w.ctx(), &vigilv1.ListServersRequest{})
		if err != nil {
			return err
		}
		if len(list.GetServers()) < len(w.Servers) {
			return nil
		}
		_, err = w.cluster.RemoveServer(w.ctx(), &vigilv1.RemoveServerRequest{Server: sv.Name})
		return errors.Join(err, errNotYet("look again"))
	})
	if err := errors.Join(sv.Kill(), sv.Empty(), sv.Start()); err != nil {
		w.t.Fatal(err)
	}
	w.eventually(sv.Name+" is a member again", func() error {
		list, err := w.cluster.ListServers(w.ctx(), &vigilv1.ListServersRequest{})
		if err != nil {
			return err
		}
		for _, one := range list.GetServers() {
			if one.GetId() == sv.Name && one.GetVoter() {
				return nil
			}
		}
		_, err = w.cluster.AddServer(w.ctx(), &vigilv1.AddServerRequest{Id: sv.Name, RaftAddr: sv.RaftAddr()})
		return errors.Join(err, errNotYet("look again"))
	})
	w.goesOn(sv)
}
