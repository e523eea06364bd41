//go:build linux

package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vigil/jepsen/history"
	"vigil/jepsen/stand"
)

// without lets a test run without what heals a real stand.
func without(t *testing.T, instead ...func(*Field) error) {
	old := healers
	healers = instead
	t.Cleanup(func() { healers = old })
}

// scene is lanes with kinds that only say when they strike.
type scene struct {
	mu      sync.Mutex
	now     map[string]int // kinds that strike at this moment, by lane
	taking  int
	clashes []string
	order   []string // of one lane
	faults  []history.Fault
}

func (s *scene) kind(name, lane string, takes bool, long time.Duration) *Kind {
	return &Kind{Name: name, Lane: lane, Takes: takes,
		Strike: func(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
			s.enter(name, lane, takes, 1)
			f.Pause(ctx, f.Span(r, 0, 1)+long)
			s.enter(name, lane, takes, -1)
			return Struck{Note: name}, nil
		}}
}

// enter notes that a strike begins (1) or ends (-1), and what else goes on.
func (s *scene) enter(name, lane string, takes bool, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now[lane] += n
	if takes {
		s.taking += n
	}
	if n < 0 {
		return
	}
	if lane == Servers {
		s.order = append(s.order, name)
	}
	others := 0
	for l, n := range s.now {
		if l != Alone {
			others += n
		}
	}
	if s.taking > 1 || s.now[Alone] > 1 || s.now[Alone] == 1 && others > 0 || s.now[Servers] > 1 {
		s.clashes = append(s.clashes, fmt.Sprintf("%s struck while %v", name, s.now))
	}
}

// play runs some kinds for a while of simulated time.
func play(t *testing.T, seed uint64) *scene {
	s := &scene{now: map[string]int{}}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		f := &Field{Stand: &stand.Stand{Hosts: []*stand.Host{{Machine: &stand.Machine{Name: "h1"}},
			{Machine: &stand.Machine{Name: "h2"}}}}, TTL: time.Second}
		kinds := []*Kind{
			s.kind("a", Servers, true, 0), s.kind("b", Servers, false, time.Second),
			s.kind("c", Servers, true, time.Second),
			s.kind("d", Disks, true, 0), s.kind("e", Clocks, false, 0),
			s.kind("f", Host, false, time.Second), s.kind("g", Alone, true, 0),
		}
		err := Run(ctx, Config{Field: f, Kinds: kinds, Seed: seed, Record: func(h history.Fault) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.faults = append(s.faults, h)
		}})
		if err != nil {
			t.Error(err)
		}
	})
	return s
}

// Lanes strike side by side, but what takes a server away does so alone, and what
// needs quiet has it.
func TestLanesKeepApart(t *testing.T) {
	without(t)
	s := play(t, 1)
	if len(s.clashes) > 0 {
		t.Errorf("%d clashes, the first: %s", len(s.clashes), s.clashes[0])
	}
	count := map[string]int{}
	for _, h := range s.faults {
		count[h.Lane]++
	}
	for _, lane := range []string{Servers, Disks, Clocks, Host, Alone} {
		if count[lane] < 10 {
			t.Errorf("lane %s struck %d times in 10 minutes", lane, count[lane])
		}
	}
	if count[Alone] > count[Servers]/2 {
		t.Errorf("the others were disturbed %d times for %d faults of servers", count[Alone], count[Servers])
	}
	t.Logf("faults by lane: %v", count)
}

// The same seed draws the same faults, another one draws others.
func TestSeedsRepeat(t *testing.T) {
	without(t)
	first, again, other := play(t, 7), play(t, 7), play(t, 8)
	n := min(len(first.order), len(again.order))
	if n < 10 || !slices.Equal(first.order[:n], again.order[:n]) {
		t.Errorf("the same seed draws %v, then %v", first.order, again.order)
	}
	if n := min(n, len(other.order)); slices.Equal(first.order[:n], other.order[:n]) {
		t.Errorf("two seeds draw %v", other.order)
	}
}

// A stand that fails ends the run and is healed; nothing to strike does not.
func TestRunEndsWhenTheStandFails(t *testing.T) {
	broken, healed, nothing := errors.New("nft is gone"), 0, 0
	without(t, func(*Field) error { healed++; return nil })
	synctest.Test(t, func(t *testing.T) {
		strikes := 0
		kinds := []*Kind{
			{Name: "bad", Lane: Servers, Strike: func(context.Context, *Field, *stand.Host,
				*rand.Rand) (Struck, error) {
				if strikes++; strikes < 3 {
					return Struck{}, ErrNobody
				}
				return Struck{}, broken
			}},
			{Name: "never", Lane: Servers, Weight: 1000,
				Needs: func(*Field) string { nothing++; return "it takes more" },
				Strike: func(context.Context, *Field, *stand.Host,
					*rand.Rand) (Struck, error) {
					panic("it is not possible")
				}},
		}
		f := &Field{Stand: &stand.Stand{}, TTL: time.Second}
		err := Run(t.Context(), Config{Field: f, Kinds: kinds, Record: func(h history.Fault) {
			if h.Kind != "bad" || strikes != 3 {
				t.Errorf("recorded %v at strike %d", h, strikes)
			}
		}})
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), "bad") {
			t.Errorf("the error is %v", err)
		}
	})
	if healed != 1 || nothing == 0 {
		t.Errorf("healed %d times, asked %d times", healed, nothing)
	}
	if err := Run(t.Context(), Config{Field: &Field{}}); err == nil {
		t.Error("a run without kinds does something")
	}
}

// Kinds are described, named once, and found by words.
func TestSelect(t *testing.T) {
	lanes := []string{Servers, Disks, Clocks, Host, Dependencies, Workers, HostileAgent, HostileHost, Alone}
	seen := map[string]bool{}
	for _, k := range Kinds() {
		if seen[k.Name] || !slices.Contains(lanes, k.Lane) || !strings.HasSuffix(k.Says, ".") ||
			k.Strike == nil || k.Weight < 0 {
			t.Errorf("kind %+v is not as kinds are", k)
		}
		seen[k.Name] = true
	}
	names := func(words ...string) []string {
		list, err := Select(words...)
		if err != nil {
			return []string{err.Error()}
		}
		var names []string
		for _, k := range list {
			names = append(names, k.Name)
		}
		return names
	}
	if all := names(); len(all) != len(Kinds()) {
		t.Errorf("no words give %d kinds", len(all))
	}
	if got := names("leader_paused*", "-leader_paused_briefly", "ring",
		"majorities_ring"); !strings.Contains(got[0], `"ring"`) {
		t.Errorf("an unknown word gives %v", got)
	}
	if got, want := names("leader_paused*", "-*_briefly", "majorities_ring"),
		[]string{"leader_paused", "leader_paused_beyond_ttl", "majorities_ring"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, name := range names("-servers") {
		if slices.Contains(names(Servers), name) {
			t.Errorf("%s was taken away", name)
		}
	}
	for _, words := range [][]string{{"servers", "-servers"}, {"[a"}} {
		if _, err := Select(words...); err == nil {
			t.Errorf("%v selects something", words)
		}
	}
}
