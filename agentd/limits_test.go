package agentd

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"vigil/rpc/gen/vigilv1"
)

// However much is ordered, a few agents start at a time and the others wait their
// turn (incident: thundering herd).
func TestFewAgentsStartAtOnce(t *testing.T) {
	r := newRig(t, time.Minute, false, func(c *Config) { c.MaxStarting = 2 })
	open := make(chan struct{})
	r.set(func() { r.onAccept = func(*vigilv1.AcceptOrderRequest) error { <-open; return nil } })
	var orders []*vigilv1.Order
	for agent := uint32(1); agent <= 6; agent++ {
		orders = append(orders, order("start", agent, 1, "wait"))
	}
	r.stream.orders(t, orders...)
	r.stream.settle(t)
	next(t, r.accepts)
	next(t, r.accepts)
	none(t, r.accepts, "a third agent is on its way")
	close(open)
	for range orders {
		next(t, r.agents).expect(t, "up")
	}
	none(t, r.exits, "an agent ended")
}

// An order that has left the list while it waited for its turn starts nothing.
func TestOrderThatIsWithdrawnWhileItWaits(t *testing.T) {
	r := newRig(t, time.Minute, false, func(c *Config) { c.MaxStarting = 1 })
	open := make(chan struct{})
	r.set(func() { r.onAccept = func(*vigilv1.AcceptOrderRequest) error { <-open; return nil } })
	first := order("start", 1, 1, "wait")
	r.stream.orders(t, first, order("start", 2, 1, "wait"))
	next(t, r.accepts)
	r.stream.orders(t, first)
	r.stream.settle(t)
	close(open)
	next(t, r.agents).expect(t, "up")
	next(t, r.starts)
	r.start(t, "wait", 3, 1)
	if a := next(t, r.accepts); a.GetAgent() != 3 {
		t.Errorf("accepted %v", a)
	}
	none(t, r.accepts, "a withdrawn order was accepted")
}

func TestStartsKeepTheirDistance(t *testing.T) {
	r := newRig(t, time.Minute, true, func(c *Config) { c.MaxStarting, c.StartEvery = 2, time.Minute })
	r.stream.orders(t, order("start", 1, 1, "wait"), order("start", 2, 1, "wait"), order("start", 3, 1, "wait"))
	for range 2 { // these may come together
		next(t, r.agents).expect(t, "up")
		next(t, r.starts)
		next(t, r.accepts)
	}
	r.advance(40 * time.Second)
	for len(next(t, r.beats).GetAgents()) == 0 { // a look at the clock has happened
	}
	none(t, r.accepts, "the third start came too early")
	r.advance(21 * time.Second)
	next(t, r.agents).expect(t, "up")
}

// Below the floor no order is accepted and the cluster knows why, until there is a
// quarter more than the floor.
func TestMemoryFloor(t *testing.T) {
	var free atomic.Int64
	free.Store(300 << 20)
	r := newRig(t, time.Minute, true, func(c *Config) {
		c.MinFreeMemory = 200 << 20
		c.Memory = func() (uint64, error) { return uint64(free.Load()), nil }
	})
	if p := next(t, r.pressures); p.GetReason() != "" || p.GetHost() != 7 || p.GetBoot() != "boot-1" {
		t.Errorf("pressure %v: what an earlier agentd said still stands", p)
	}
	for i, step := range []struct {
		mib    int64
		reason string
		told   bool
	}{
		{199, "is short of memory: 199 MiB are available, 200 MiB are wanted", true},
		{100, "", false},
		{249, "", false}, // a gap, so that it does not flap
		{250, "", true},
		{200, "", false},
		{199, "is short of memory: 199 MiB are available, 200 MiB are wanted", true},
	} {
		free.Store(step.mib << 20)
		drained(r.beats)
		r.advance(16 * time.Second)
		next(t, r.beats)
		if step.told {
			if p := next(t, r.pressures); p.GetReason() != step.reason {
				t.Errorf("step %d: %q, want %q", i, p.GetReason(), step.reason)
			}
		}
		none(t, r.pressures, "told without need")
	}
	r.stream.orders(t, order("start", 1, 1, "wait"))
	r.stream.settle(t)
	drained(r.beats)
	r.advance(16 * time.Second)
	next(t, r.beats)
	none(t, r.accepts, "accepted without memory")
	free.Store(1 << 30)
	r.advance(2 * time.Second)
	next(t, r.agents).expect(t, "up")
}

// A machine that does not tell its memory has no floor.
func TestMemoryThatCannotBeRead(t *testing.T) {
	r := newRig(t, time.Minute, false, func(c *Config) {
		c.MinFreeMemory = 1 << 60
		c.Memory = func() (uint64, error) { return 0, errors.New("no such file") }
	})
	r.start(t, "wait", 1, 1)
}

func TestAvailableMemory(t *testing.T) {
	if n, err := availableMemory(); err != nil || n < 1<<20 || n > 1<<50 {
		t.Errorf("%d bytes, %v", n, err)
	}
}
