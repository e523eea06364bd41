package fsm

import (
	"slices"
	"testing"

	"vigil/fsm/noun"
)

// Law L12: states that differ are never silent: three of three servers, or two while the third
// is down. Once a majority has said which is right, that is known and the dispute is over.
func TestF17StatesThatDifferRaiseAnAlarm(t *testing.T) {
	for _, tc := range []struct {
		name     string
		reports  []noun.KV
		alarm    bool // somebody is told that states differ ...
		lasts    bool // ... and that is not decided
		diverged []string
	}{
		{name: "all agree", reports: []noun.KV{{Key: "a", Value: "1"}, {Key: "b", Value: "1"}, {Key: "c", Value: "1"}}},
		{name: "two agree, one is down", reports: []noun.KV{{Key: "a", Value: "1"}, {Key: "b", Value: "1"}}},
		{name: "three differ", reports: []noun.KV{{Key: "a", Value: "1"}, {Key: "b", Value: "2"},
			{Key: "c", Value: "3"}}, alarm: true, lasts: true},
		{name: "two differ, one is down", reports: []noun.KV{{Key: "a", Value: "1"}, {Key: "c", Value: "2"}},
			alarm: true, lasts: true},
		{name: "two differ, the third decides", reports: []noun.KV{{Key: "a", Value: "1"}, {Key: "c", Value: "2"},
			{Key: "b", Value: "2"}}, alarm: true, diverged: []string{"a"}},
		{name: "the third differs", reports: []noun.KV{{Key: "a", Value: "1"}, {Key: "c", Value: "1"},
			{Key: "b", Value: "2"}}, diverged: []string{"b"}},
		{name: "one repeats itself and a stranger speaks",
			reports: []noun.KV{{Key: "a", Value: "1"}, {Key: "a", Value: "2"}, {Key: "x", Value: "3"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := newDrive(t)
			d.must(Mark{Voters: []string{"a", "b", "c"}})
			at := d.index
			for _, r := range tc.reports {
				d.must(ReportHash{Server: r.Key, Index: at, Hash: []byte(r.Value)})
			}
			d.s = reload(t, d.s)
			var alarm *noun.Escalation
			for e := range d.s.Escalations(0) {
				if e.Kind == noun.EscStatesDiffer {
					alarm = e
				}
			}
			if (alarm != nil) != tc.alarm || alarm != nil && d.s.Lasts(alarm) != tc.lasts {
				t.Errorf("alarm %+v", alarm)
			}
			if !slices.Equal(d.s.Diverged(), tc.diverged) {
				t.Errorf("diverged is %v, want %v", d.s.Diverged(), tc.diverged)
			}
		})
	}
}

// A server that is known to have diverged raises no new alarm with each comparison; another
// that differs from the last one left does.
func TestF17AKnownDivergenceHasNoSay(t *testing.T) {
	d := newDrive(t)
	compare := func(reports ...noun.KV) (disputes int) {
		d.must(Mark{Voters: []string{"a", "b", "c"}})
		at := d.index
		before := d.happened("servers.differ")
		for _, r := range reports {
			d.must(ReportHash{Server: r.Key, Index: at, Hash: []byte(r.Value)})
		}
		return d.happened("servers.differ") - before
	}
	if n := compare(noun.KV{Key: "a", Value: "1"}, noun.KV{Key: "b", Value: "1"},
		noun.KV{Key: "c", Value: "9"}); n != 0 {
		t.Errorf("a majority decided, and %d disputes", n)
	}
	if n := compare(noun.KV{Key: "a", Value: "1"}, noun.KV{Key: "c", Value: "9"}); n != 0 {
		t.Errorf("c is known to have diverged, and %d disputes", n)
	}
	if n := compare(noun.KV{Key: "a", Value: "1"}, noun.KV{Key: "b", Value: "2"},
		noun.KV{Key: "c", Value: "9"}); n != 2 {
		t.Errorf("the two that are left differ: %d reports said so, want that of b and that of c", n)
	}
}
