//go:build linux

package nemesis

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/history"
	"vigil/jepsen/stand"
)

// Config says what is let loose.
type Config struct {
	Field *Field
	Kinds []*Kind // that may be drawn: see Select
	Seed  uint64
	// Gap bounds the wait between two faults of a lane; zero: 0.3 to 2 TTL.
	GapFrom, GapTo time.Duration
	Record         func(history.Fault) // gets every fault after it was undone
}

// Run lets faults loose until ctx ends, heals everything and returns. What is drawn
// follows from the seed, in each lane by itself. The error says that the stand failed.
func Run(ctx context.Context, c Config) error {
	if len(c.Kinds) == 0 {
		return errors.New("there is no kind of fault to draw")
	}
	if c.GapTo == 0 {
		c.GapFrom, c.GapTo = c.Field.TTL*3/10, c.Field.TTL*2
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var lanes []*lane
	for _, name := range []string{Servers, Disks, Clocks, Dependencies, Workers, HostileAgent, HostileHost, Alone} {
		lanes = append(lanes, newLane(c, name, nil))
	}
	for _, h := range c.Field.Stand.Hosts {
		lanes = append(lanes, newLane(c, Host, h))
	}
	errs := make([]error, len(lanes))
	var all sync.WaitGroup
	for i, l := range lanes {
		all.Go(func() {
			if errs[i] = l.run(ctx); errs[i] != nil {
				cancel()
			}
		})
	}
	<-ctx.Done()
	all.Wait()
	return errors.Join(append(errs, Heal(c.Field), upgradeRest(c))...)
}

// upgradeRest upgrades what a run has left of the older build: afterwards all servers are of
// the build under test. It is a fault like any other, since it ends processes, and checks
// must know when (a server that replays its log answers stale reads from the past).
func upgradeRest(c Config) error {
	if older(c.Field) != "" {
		return nil
	}
	ctx, cancel := healTime()
	defer cancel()
	if err := newLane(c, Servers, nil).strike(ctx, upgradeAll); err != nil {
		return err
	}
	if left := c.Field.outdated(); len(left) > 0 {
		return fmt.Errorf("%d servers of the older build are not upgraded within %s", len(left), healing)
	}
	return nil
}

// Heal undoes what strikes may have left behind: at the end of Run there is
// nothing, unless one failed.
func Heal(f *Field) error {
	var errs []error
	for _, heal := range healers {
		errs = append(errs, heal(f))
	}
	return errors.Join(errs...)
}

// stream is what a lane draws from.
func stream(seed uint64, name string, on *stand.Host) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	if on != nil {
		h.Write([]byte(on.Name))
	}
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// lane strikes one fault after the other.
type lane struct {
	Config
	name string
	on   *stand.Host
	r    *rand.Rand
	// slow is how many times longer than others it waits between two faults.
	slow time.Duration
}

// rarely is how much longer lane alone waits, since others wait while it strikes; and calmly how
// much longer lane dependencies does, so that tasks succeed between two outages.
const (
	rarely = 8
	calmly = 3
)

func newLane(c Config, name string, on *stand.Host) *lane {
	l := &lane{Config: c, name: name, on: on, r: stream(c.Seed, name, on)}
	l.Kinds = nil
	for _, k := range c.Kinds {
		if k.Lane == name {
			l.Kinds = append(l.Kinds, k)
		}
	}
	switch l.slow = 1; {
	case name == Alone && len(l.Kinds) < len(c.Kinds):
		l.slow = rarely
	case name == Dependencies:
		l.slow = calmly
	}
	return l
}

// run strikes until ctx ends.
func (l *lane) run(ctx context.Context) error {
	if len(l.Kinds) == 0 {
		return nil
	}
	f := l.Field
	gap := func() time.Duration {
		return l.slow * (l.GapFrom + time.Duration(l.r.Int64N(int64(l.GapTo-l.GapFrom)+1)))
	}
	for f.Pause(ctx, gap()) {
		k := l.draw()
		if k == nil {
			continue // nothing is possible at the moment
		}
		if err := l.strike(ctx, k); err != nil {
			return err
		}
	}
	return nil
}

// draw picks a kind that is possible, nil when none is.
func (l *lane) draw() *Kind {
	var able []*Kind
	sum := 0
	for _, k := range l.Kinds {
		if k.Needs == nil || k.Needs(l.Field) == "" {
			able = append(able, k)
			sum += max(k.Weight, 1)
		}
	}
	n := l.r.IntN(max(sum, 1))
	for _, k := range able {
		if n -= max(k.Weight, 1); n < 0 {
			return k
		}
	}
	return nil
}

func (l *lane) strike(ctx context.Context, k *Kind) error {
	f := l.Field
	// What a fault follows from does not depend on how much earlier ones have drawn.
	r := rand.New(rand.NewPCG(l.r.Uint64(), l.r.Uint64()))
	fault, err := f.Strike(ctx, k, l.on, r)
	if errors.Is(err, ErrNobody) || err == nil && fault == nil {
		return nil
	}
	if fault != nil && l.Record != nil {
		l.Record(*fault)
	}
	if err != nil {
		where := ""
		if l.on != nil {
			where = " on " + l.on.Name
		}
		return fmt.Errorf("fault %s%s: %w", k.Name, where, err)
	}
	return nil
}

// Strike lets one fault loose, when it is its turn. The fault is nil when ctx ended
// before it was.
func (f *Field) Strike(ctx context.Context, k *Kind, on *stand.Host, r *rand.Rand) (*history.Fault, error) {
	done := f.turn(ctx, k)
	if done == nil {
		return nil, nil
	}
	defer done()
	if ctx.Err() != nil {
		return nil, nil
	}
	fault := &history.Fault{Kind: k.Name, Lane: k.Lane, From: ledger.Now()}
	struck, err := k.Strike(ctx, f, on, r)
	if k.Takes && err == nil {
		err = f.revive(fault.From, &struck)
	}
	fault.To, fault.Note, fault.Broken, fault.Effects = ledger.Now(), struck.Note, struck.Broken, struck.Effects
	fault.Attempts = struck.Attempts
	if k.Takes {
		f.follows(ctx, f.Stand.Servers...) // before the next server is taken away
	}
	return fault, err
}

// revive starts servers that have ended by themselves, as the service manager of a
// real machine would: those that were paused in the middle of a write, for instance.
func (f *Field) revive(since int64, s *Struck) error {
	for _, sv := range f.Stand.Servers {
		if sv.Up() {
			continue
		}
		s.Note += fmt.Sprintf("; %s had ended by itself with code %d", sv.Name, sv.Process.Code())
		if err := sv.Start(); err != nil {
			return err
		}
		s.Effects = append(s.Effects, history.Effect{Machine: sv.Name, What: history.Killed, From: since,
			To: ledger.Now()})
	}
	return nil
}
