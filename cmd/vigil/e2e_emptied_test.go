//go:build linux

package main_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"vigil/rpc/gen/vigilv1"
)

// A server that has lost its directory ends with words that say what to do, however it
// is started; once removed it joins.
func TestEmptiedServerIsRefusedUntilItIsRemoved(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	l := f.leader()
	i := (l + 1) % 3
	id := []string{"s1", "s2", "s3"}[i]
	f.servers[i].signal(syscall.SIGKILL)
	f.servers[i].end()
	join := func() *proc {
		return spawn(t, id+" joining", "server", "--insecure", "--id", id, "--data-dir", f.path(id), "--addr", f.api[i],
			"--raft-addr", f.raft[i], "--join", f.api[l])
	}
	if err := os.RemoveAll(f.path(id)); err != nil {
		t.Fatal(err)
	}
	p := join()
	if code := p.end(); code != 1 || !strings.Contains(p.out.String(), "vigil server remove "+id) {
		t.Errorf("L8: emptied: exit code %d: %s", code, p.out.tail())
	}
	if _, err := f.status.RemoveServer(f.ctx(), &vigilv1.RemoveServerRequest{Server: id}); err != nil {
		t.Fatal(err)
	}
	f.servers[i] = join()
	f.voters(3)
}
