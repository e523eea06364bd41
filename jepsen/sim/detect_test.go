package sim

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

var detectFlag = flag.Float64("sim.detect", 0, "simulated hours of a run about detection; 0: as fits")

// Healthy agents of which other watchdogs have thought that they are dead: for a week of
// leader changes, outages and suspended hosts none of them is asked twice, restarted,
// taken a task from or canceled, and none is called dead.
func TestFalseAlarms(t *testing.T) {
	hours, revision := detectHours(t), built(t)
	c, w := falseAlarms(t, max(*seedFlag, 1), time.Duration(hours*float64(time.Hour)))
	t.Log(w.summary())
	t.Log(c.text())
	for _, b := range w.ledger.breaches {
		t.Errorf("%s: %s", b.law, b.text)
	}
	for _, p := range c.parts {
		if p.words.Load() == 0 && p.open > 0 {
			t.Errorf("%s: nobody has said anything", p.name)
		}
	}
	document(t, "healthy agents", revision, w, falseTable(c, w, w.ledger.length))
}

// detectHours is for how long a run about detection goes.
func detectHours(t *testing.T) float64 {
	switch {
	case *detectFlag != 0:
		return *detectFlag
	case raceEnabled:
		t.Skip("two hundred agents take minutes, and nothing runs here that does not run in the week")
	case testing.Short():
		return 1.5
	}
	return 6
}

func falseAlarms(t *testing.T, seed uint64, length time.Duration) (*cast, *world) {
	c := &cast{parts: healthyParts(), racks: 6, extra: [][]noun.KV{laptop, laptop}}
	w := c.play(t, config{seed: seed, n: 3}, length, func() {
		c.shake(40*time.Minute, "server killed", "majority killed", "all servers killed",
			"server stopped in an orderly way", "server frozen shortly",
			"server frozen for long", "leader isolated", "leadership handed over",
			"leadership handed over again and again", "messages lost",
			"messages late and out of order", "calls late and twice", "disk stalled shortly",
			"API of a server out of reach")
	}, func() {
		c.harass(harm{label: rack[0], pause: 40 * time.Minute,
			faults: []string{"host cut for less than the TTL", "host hears no answers", "host cut from one server",
				"daemon killed, agents go on", "calls of a host slow", "host flaps", "host rebooted",
				"host cut for longer than the TTL"}})
	}, func() {
		c.harass(harm{label: rack[0], pause: 90 * time.Minute, least: 2 * time.Second, most: 50 * time.Second,
			faults: []string{"host suspended"}})
	}, func() {
		c.harass(harm{label: laptop[0], pause: 40 * time.Minute, least: 20 * time.Second, most: 6 * time.Minute,
			faults: []string{"host suspended"}})
	})
	return c, w
}

// play runs a cast for so long.
func (c *cast) play(t *testing.T, cfg config, length time.Duration, background ...func()) (w *world) {
	cfg.steady, cfg.cast = true, c
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(t, cfg)
		defer w.end()
		c.run(length, background...)
	})
	return w
}

// text is what was counted, for people.
func (c *cast) text() string {
	b := &strings.Builder{}
	o := c.lookout
	fmt.Fprintf(b, "%d terms, %d looks at all verdicts\n", len(o.stints), o.looks)
	for _, kind := range slices.Sorted(maps.Keys(o.counts)) {
		words := uint64(0)
		for _, p := range c.parts {
			if p.kind == kind {
				words += p.words.Load()
			}
		}
		fmt.Fprintf(b, "%s: %d words\n", kind, words)
		for _, what := range slices.Sorted(maps.Keys(o.counts[kind])) {
			fmt.Fprintf(b, "   %-34s %d\n", what, o.counts[kind][what])
		}
	}
	for _, cause := range o.causes {
		fmt.Fprintf(b, "nudged: %s\n", cause)
	}
	return b.String()
}

// Everybody who hangs, is deaf or dead in any of the known ways is found within the bound
// of its kind, also when the leader changes in the middle, and what has to follows.
func TestTrueAlarms(t *testing.T) {
	hours, revision := detectHours(t), built(t)
	c, w, list := trueAlarms(t, max(*seedFlag, 1), time.Duration(hours*float64(time.Hour)))
	t.Log(w.summary())
	t.Log(c.text())
	for _, b := range w.ledger.breaches {
		t.Errorf("%s: %s", b.law, b.text)
	}
	for _, x := range list {
		t.Logf("%-40s %4d runs, %4d with a change of leader; found p50 %v, most %v; %s p50 %v, most %v",
			x.ill.kind, x.runs, x.shaken, middle(x.found), most(x.found),
			x.ill.decided, middle(x.over), most(x.over))
		if x.runs == 0 && hours >= 6 {
			t.Errorf("%s: it never happened", x.ill.kind)
		}
	}
	document(t, "sick agents", revision, w, trueTable(c, w, list, w.ledger.length))
}

func middle(list []time.Duration) time.Duration {
	if len(list) == 0 {
		return 0
	}
	return list[len(list)/2].Round(100 * time.Millisecond)
}

func most(list []time.Duration) time.Duration {
	if len(list) == 0 {
		return 0
	}
	return list[len(list)-1].Round(100 * time.Millisecond)
}

func trueAlarms(t *testing.T, seed uint64, length time.Duration) (c *cast, w *world, list []*outcome) {
	c = &cast{parts: append(healthyParts(), sickParts()...), racks: 8,
		extra: [][]noun.KV{laptop, laptop, doomed, doomed, torn, torn, quick, quick}}
	cfg := config{seed: seed, n: 3, steady: true, cast: c}
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(t, cfg)
		defer w.end()
		c.run(length, func() {
			c.shake(6*time.Hour, "leadership handed over", "leadership handed over again and again",
				"server killed", "server frozen shortly", "leader isolated", "messages late and out of order")
		})
		var set noun.Settings
		now := w.clock()
		if st := w.ready(time.Minute); st != nil {
			st.rep.Read(func(s *fsm.View) { set, now = *s.Settings(), s.Clock() })
		}
		c.lookout.look()
		list = c.lookout.outcomes(&set, now)
	})
	return c, w, list
}
