//go:build linux

package main_test

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"vigil/rpc/gen/vigilv1"
)

// A server that has lost its directory ends with words that say what to do, however it
// is started; once removed it joins.
func TestEmptiedServerIsRefusedUntilItIsRemoved(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if st, err := f.status.Status(f.ctx(), &vigilv1.StatusRequest{}); err == nil && st.GetLeader() != "" {
			break
		}
		if time.Now().After(end) {
			t.Fatal("no leader")
		}
	}
	l := f.leader()
	i := (l + 1) % 3
	id := []string{"s1", "s2", "s3"}[i]
	f.servers[i].signal(syscall.SIGKILL)
	f.servers[i].end()
	join := func() *proc {
		return spawn(t, id+" joining", "server", "--insecure", "--id", id, "--data-dir", f.path(id), "--addr", f.api[i],
			"--raft-addr", f.raft[i], "--join", f.api[l])
	}
	for name, start := range map[string]func() *proc{"founder": func() *proc { return f.startServer(i) },
		"joining": join} {
		if err := os.RemoveAll(f.path(id)); err != nil {
			t.Fatal(err)
		}
		p := start()
		if code := p.end(); code != 1 || !strings.Contains(p.out.String(), "vigil server remove "+id) {
			t.Errorf("L8: emptied, as %s: exit code %d: %s", name, code, p.out.tail())
		}
	}
	if _, err := f.status.RemoveServer(f.ctx(), &vigilv1.RemoveServerRequest{Server: id}); err != nil {
		t.Fatal(err)
	}
	f.servers[i] = join()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		list, err := f.status.ListServers(f.ctx(), &vigilv1.ListServersRequest{})
		if err == nil &&
			slices.ContainsFunc(list.GetServers(), func(s *vigilv1.Server) bool {
				return s.GetId() == id &&
					s.GetVoter()
			}) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("it has not joined: %v, %v", list.GetServers(), err)
		}
	}
}
