package sim

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestMain(m *testing.M) {
	flag.Float64("sim.days", 0, "simulated days; 0: as fits into a normal test run")
	flag.Uint64("sim.seed", 0, "seed of the plan; 0: a fixed one")
	flag.Parse()
	os.Exit(m.Run())
}

func flagged[T any](name string) T {
	return flag.Lookup(name).Value.(flag.Getter).Get().(T)
}

// Days of faults at everything: all laws hold, by the ledgers of those who live in
// the simulation.
func TestSimulatedWeek(t *testing.T) {
	cfg := config{seed: flagged[uint64]("sim.seed"), length: 24 * time.Hour}
	if cfg.seed == 0 {
		cfg.seed = 20
	}
	if testing.Short() || raceEnabled {
		cfg.length = 2 * time.Hour
	}
	if days := flagged[float64]("sim.days"); days > 0 {
		cfg.length = time.Duration(days * float64(24*time.Hour))
	}
	began := time.Now()
	for _, b := range simulate(t, cfg, true) {
		t.Errorf("%s: %s", b.law, b.text)
	}
	t.Logf("took %v", time.Since(began).Round(time.Second))
}

// simulate runs one world and gives the breaches of law.
func simulate(t *testing.T, cfg config, report bool) (found []breach) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, cfg)
		w.run()
		found = w.ledger.breaches
		if report {
			t.Log(w.summary())
		}
	})
	return found
}

func (w *world) summary() string {
	l, b := w.ledger, &strings.Builder{}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(b, "seed %d: %v of simulated time, %v of cluster time, %d elections, %d requests delivered late\n",
		w.cfg.seed, w.since().Round(time.Minute), time.Duration(w.watch.clock).Round(time.Minute), w.watch.elections, w.lateCalls.Load())
	var names []string
	for k := range l.counts {
		names = append(names, k)
	}
	slices.Sort(names)
	for _, k := range names {
		fmt.Fprintf(b, "  %-36s %d\n", k, l.counts[k])
	}
	fmt.Fprintf(b, "  longest time without a completion    %v\n", l.longest.Round(time.Second))
	fmt.Fprintf(b, "  latest notice of an ended lease      %v\n", time.Duration(w.watch.lateMost))
	for _, s := range []struct{ key, name string }{{"a write", "a write of people"}, {"crash", "crashed, runs again"},
		{"crash again", "crashed repeatedly, runs again"}, {"clean", "exited, runs again"}, {"host", "host lost it, runs again"}} {
		if d := l.recoveries[s.key]; len(d) > 0 {
			slices.Sort(d)
			fmt.Fprintf(b, "  %-36s p50 %v, p99 %v, most %v of %d\n", s.name, d[len(d)/2].Round(time.Millisecond),
				d[len(d)*99/100].Round(time.Millisecond), d[len(d)-1].Round(time.Millisecond), len(d))
		}
	}
	return b.String()
}
