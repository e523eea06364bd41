package agentd

import (
	"slices"
	"sync"
	"testing"
	"time"
)

// What else of the program fails is told with the host, also what changes while a registration is under way, and
// taken back when it works; nothing of it ends the daemon or an agent.
func TestTroublesAreWarningsOfTheHost(t *testing.T) {
	var mu sync.Mutex
	now := []string{"no gossip"}
	set := func(all ...string) {
		mu.Lock()
		defer mu.Unlock()
		now = all
	}
	r := newRig(t, time.Minute, true, func(c *Config) {
		c.Warnings = []string{"from the configuration"}
		c.Troubles = func() []string {
			mu.Lock()
			defer mu.Unlock()
			return now
		}
	})
	told := func(want ...string) {
		t.Helper()
		for {
			r := next(t, r.registers) // the one before it may be told twice
			if slices.Equal(r.GetWarnings(), append([]string{"from the configuration"}, want...)) {
				return
			}
		}
	}
	told("no gossip")
	a := r.start(t, "wait", 1, 1)
	set("no gossip", "no metrics")
	told("no gossip", "no metrics")
	set()
	told()
	drained(r.registers)
	drained(r.beats)
	r.advance(16 * time.Second)
	next(t, r.beats) // a look at everything has happened
	none(t, r.registers, "told without a change")
	set("no gossip")
	told("no gossip")
	a.conn.Write([]byte("are you there?\n"))
	a.expect(t, "heard")
}
