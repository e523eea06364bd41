package agentd

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// What the client learns of the servers is written down for the agents and for the next
// daemon, told with the host, in the log, and given to the agents that start from then on.
func TestN25HostFollowsTheServers(t *testing.T) {
	var mu sync.Mutex
	known := []string{"a:1", "b:1"}
	r := newRig(t, time.Minute, true, func(c *Config) {
		c.Servers = func() []string { mu.Lock(); defer mu.Unlock(); return known }
	})
	if got := next(t, r.registers).GetServers(); strings.Join(got, ",") != "a:1,b:1" {
		t.Errorf("registered with %v", got)
	}
	written := func(want string) {
		t.Helper()
		until(t, "the file "+want, func() bool {
			text, err := os.ReadFile(ServersFile(r.dir))
			info, err2 := os.Stat(ServersFile(r.dir))
			return err == nil && err2 == nil && info.Mode().Perm() == 0o644 && string(text) == want
		})
	}
	written("a:1\nb:1\n")
	mu.Lock()
	known = []string{"c:1", "a:1", "b:1"}
	mu.Unlock()
	r.advance(2 * time.Second)
	if got := next(t, r.registers).GetServers(); strings.Join(got, ",") != "c:1,a:1,b:1" {
		t.Errorf("registered with %v", got)
	}
	written("c:1\na:1\nb:1\n")
	until(t, "the line in the log", func() bool {
		return strings.Contains(r.log.String(), "the servers of the cluster have changed")
	})
	r.stream.orders(t, order("start", 1, 1, "env"))
	env := next(t, next(t, r.agents).words)
	for _, want := range []string{"VIGIL_SERVERS=" + ServersFile(r.dir), "VIGIL_ADDR=c:1,a:1,b:1"} {
		if !strings.Contains(env, want) {
			t.Errorf("%s is missing in %s", want, env)
		}
	}
}
