package sim

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var (
	seedFlag  = flag.Uint64("sim.seed", 0, "seed of the plan; 0: fixed ones")
	hoursFlag = flag.Float64("sim.hours", 0, "simulated hours of one day; 0: as fits")
	daysFlag  = flag.Int("sim.days", 0, "simulated days of TestMonth")
	timeFlag  = flag.Duration("sim.time", 0, "TestMonth runs days for so long")
	outFlag   = flag.String("sim.out", "",
		"folder for the records of days that fail; empty: a new one below the temporary folder")
	childFlag = flag.Bool("sim.child", false, "print the result for TestMonth; used by it alone")
)

// TestMain has the collector run seldom, unless the environment says how often: a
// simulated hour makes much garbage and keeps little.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	os.Exit(m.Run())
}

// A day, or a part of it, of faults at everything: all laws hold, by the ledgers of
// those who live in the simulation. Without flags it is some hours of three and of
// five servers.
func TestSimulatedDay(t *testing.T) {
	hours := *hoursFlag
	if *seedFlag != 0 {
		oneDay(t, config{seed: *seedFlag}, cmp.Or(hours, 24))
		return
	}
	if hours == 0 {
		hours = 0.7
		if testing.Short() || raceEnabled {
			hours = 0.2
		}
	}
	// What the restore of a backup undoes, package check cannot judge; whole days have it.
	// An outage of 40 minutes would be all that is in one hour.
	without := []string{"backup restored", "backup with other TTLs restored", "all servers away for 40 minutes"}
	for _, c := range []config{{seed: 20, n: 3, without: without}, {seed: 23, n: 5, without: without}} {
		t.Run(fmt.Sprintf("%d servers", c.n), func(t *testing.T) { oneDay(t, c, hours) })
	}
}

// What is rare in a day, hour after hour: outages of all servers for longer than half an
// hour, in which no frozen life may end, and backups from before or after another TTL.
func TestRareFaultsOfServers(t *testing.T) {
	if raceEnabled || testing.Short() {
		t.Skip("takes hours of simulated time")
	}
	for i, name := range []string{"all servers away for 40 minutes", "backup with other TTLs restored"} {
		t.Run(name, func(t *testing.T) {
			w := oneDay(t, config{seed: 40 + uint64(i), n: 3, faults: []string{name}}, 1)
			if w.ledger.counts["fault: "+name] == 0 {
				t.Error("it did not strike")
			}
			if i == 1 && w.ledger.counts["backups with other TTLs restored"] == 0 {
				t.Error("no backup was restored")
			}
		})
	}
}

func oneDay(t *testing.T, cfg config, hours float64) *world {
	cfg.length = time.Duration(hours * float64(time.Hour))
	cfg.brisk = cfg.brisk || cfg.seed%10 == 9
	w := simulate(t, cfg)
	w.report(t, hours)
	return w
}

// simulate runs one world to its end.
func simulate(t *testing.T, cfg config) (w *world) {
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(t, cfg)
		w.run()
	})
	return w
}

// report fails the test for each breach of law and leaves the record of the day.
func (w *world) report(t *testing.T, hours float64) {
	t.Helper()
	w.checked()
	breaches, summary := w.ledger.breaches, w.summary()
	t.Log(summary)
	for _, b := range breaches {
		t.Errorf("%s: %s", b.law, b.text)
	}
	if len(breaches) > 0 {
		run := w.runOf(hours)
		dir := filepath.Join(folder(t), fmt.Sprintf("seed-%d", w.cfg.seed))
		if err := w.ledger.story.write(dir, run, w.watch.account.events, breaches, summary); err != nil {
			t.Errorf("write the record: %v", err)
		}
		t.Logf("the record is in %s; to repeat: %s", dir, run.Command)
	}
	if *childFlag {
		printResult(w)
	}
}

// repeats is the command that runs a day again.
func repeats(seed uint64, hours float64) string {
	return fmt.Sprintf("go test ./jepsen/sim -run 'SimulatedDay$' -count=1 -v -timeout=1h "+
		"-sim.seed=%d -sim.hours=%g", seed, hours)
}

// folder is where records go.
func folder(t *testing.T) string {
	if *outFlag != "" {
		return *outFlag
	}
	dir, err := os.MkdirTemp("", "vigil-sim-")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (w *world) summary() string {
	l, b := w.ledger, &strings.Builder{}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(b, "seed %d: %v of simulated time, %v of cluster time, %d elections, %d requests delivered late\n",
		w.cfg.seed, l.length.Round(time.Minute), time.Duration(w.watch.clock).Round(time.Minute),
		w.watch.elections, w.lateCalls.Load())
	fmt.Fprintf(b, "%d servers; messages: %d lost, %d late, %d twice; %d snapshots sent\n", w.n,
		w.wire.lost.Load(), w.wire.late.Load(),
		w.wire.doubled.Load(), w.wire.installs.Load())
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
	for _, s := range []struct{ key, name string }{{"a write", "a write of people"},
		{"a write after faults", "a write after faults"}, {"crash", "crashed, runs again"},
		{"crash again", "crashed repeatedly, runs again"}, {"clean", "exited, runs again"},
		{"host", "host lost it, runs again"}} {
		if d := l.recoveries[s.key]; len(d) > 0 {
			slices.Sort(d)
			fmt.Fprintf(b, "  %-36s p50 %v, p99 %v, most %v of %d\n", s.name, d[len(d)/2].Round(time.Millisecond),
				d[len(d)*99/100].Round(time.Millisecond), d[len(d)-1].Round(time.Millisecond), len(d))
		}
	}
	return b.String()
}
