package agentd

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vigil/agentd/shim"
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

// A start that hangs takes neither its slot nor its fence for ever, and four of them
// do not stop the starts of the host. One that comes to an end after all is taken up.
func TestStartThatHangs(t *testing.T) {
	p := &puppets{t: t, started: make(chan *puppet, 100), asked: make(chan string, 1000), hang: make(chan struct{})}
	r := &rig{fake: newFake(t, time.Minute), dir: t.TempDir(), log: &lockedBuffer{}, shims: p}
	p.open(t, r, true)
	free := sync.OnceFunc(func() { close(p.hang) })
	t.Cleanup(free) // the daemon waits for them
	var orders []*vigilv1.Order
	for agent := uint32(1); agent <= DefaultMaxStarting+1; agent++ {
		orders = append(orders, order("start", agent, 1, "sleep"))
	}
	r.stream.orders(t, orders...)
	for range DefaultMaxStarting {
		next(t, r.accepts)
	}
	for range DefaultMaxStarting { // their journals are written, or the clock would overtake those
		next(t, p.asked)
	}
	r.stream.settle(t)
	r.advance(hangLimit - time.Second)
	none(t, r.stucks, "reported too early")
	none(t, r.accepts, "too many start at once")
	r.advance(2 * time.Second)
	for range DefaultMaxStarting {
		if s := next(t, r.stucks); s.GetIncarnation() != 1 || !strings.Contains(s.GetReason(), "start") {
			t.Errorf("report %v", s)
		}
	}
	if a := next(t, r.accepts); a.GetAgent() != DefaultMaxStarting+1 {
		t.Errorf("accepted %v", a)
	}
	next(t, p.asked)
	drained(r.beats)
	r.advance(16 * time.Second)
	for b := next(t, r.beats); len(b.GetAgents()) != 1 ||
		b.GetAgents()[0] != DefaultMaxStarting+1; b = next(t, r.beats) {
	}
	// L7: its shim may run yet, so it is not said to be gone.
	r.set(func() {
		r.onBeat = func(*vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) {
			return &vigilv1.BeatResponse{HostGone: true}, nil
		}
	})
	next(t, r.registers)
	r.advance(16 * time.Second)
	if i := next(t, r.registers).GetInventory(); len(i) != DefaultMaxStarting+1 {
		t.Errorf("inventory %v", i)
	}
	r.set(func() { r.onBeat = nil })
	free()
	for range DefaultMaxStarting + 1 {
		next(t, p.started).exit <- shim.Exit{Ordered: true}
		next(t, r.exits)
	}
	for range DefaultMaxStarting { // some may have been overtaken by the end
		select {
		case s := <-r.stucks:
			if s.GetReason() != "" {
				t.Errorf("report %v", s)
			}
		default:
		}
	}
}

// The end of a life that is not told yet is not told as "gone with its host" by a
// registration, and no beat speaks for it (laws L8, L11).
func TestRegistrationBeforeTheReportOfAnEnd(t *testing.T) {
	r, p := newPuppetRig(t, true)
	next(t, r.registers)
	r.stream.orders(t, order("start", 1, 1, "sleep"))
	one := next(t, p.started)
	next(t, r.starts)
	told := make(chan struct{})
	r.set(func() {
		r.onExit = func(*vigilv1.ReportExitRequest) error {
			select {
			case <-told:
				return nil
			default:
				return no("unavailable")
			}
		}
		r.onBeat = func(b *vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) {
			if len(b.GetAgents()) > 0 {
				t.Errorf("beat %v", b)
			}
			return &vigilv1.BeatResponse{HostGone: true}, nil
		}
	})
	one.exit <- shim.Exit{Code: 1, UsageLimit: true, RetryAfter: time.Hour}
	next(t, r.exits)
	r.advance(16 * time.Second)
	if i := next(t, r.registers).GetInventory(); len(i) != 1 || i[0].GetAgent() != 1 || i[0].GetIncarnation() != 1 {
		t.Errorf("inventory %v", i)
	}
	close(told)
	until(t, "the report", func() bool { // the calls before were refused
		left, _ := filepath.Glob(filepath.Join(r.dir, "lives", "*"))
		return len(left) == 0
	})
	drained(r.registers)
	r.advance(16 * time.Second)
	next(t, r.registers) // may have been on its way
	r.advance(16 * time.Second)
	if i := next(t, r.registers).GetInventory(); len(i) != 0 {
		t.Errorf("inventory %v after the report", i)
	}
}
