package fsm

import (
	"bytes"
	"flag"
	"testing"
)

var (
	seedFlag = flag.Uint64("seed", 0, "run the random tests with this seed only")
	moreFlag = flag.Int("rounds", 1, "run the random tests with so many times the usual number of seeds")
)

// underRace says that the race detector watches.
var underRace bool

// seeds gives the seeds of a random test: fixed ones, or the one asked for. The race detector
// makes these tests five times as long, and one goroutine has no races: there they are left out.
func seeds(t *testing.T, n int) []uint64 {
	t.Helper()
	if *seedFlag != 0 {
		return []uint64{*seedFlag}
	}
	if underRace {
		t.Skip("a random log on one goroutine: make test runs it")
	}
	list := make([]uint64, n**moreFlag)
	for i := range list {
		list[i] = uint64(i + 1)
	}
	return list
}

// L12: the same log gives the same state, however often a server was restored
// from a snapshot on the way, and whatever views are kept alive beside it.
func TestL12ReplayAgrees(t *testing.T) {
	for _, seed := range seeds(t, 6) {
		c := newChaos(seed, true)
		c.plans, c.retries, c.circuit = seed%2 == 1, seed%3 == 1, seed%3 == 1
		c.ends = seed%3 == 2
		c.climbs = true
		plain, restored, viewed := New(), New(), New()
		type view struct {
			img  *Image
			dump []byte
		}
		var views []view
		apply := func(e *Entry) {
			a, b, d := plain.Apply(e), restored.Apply(e), viewed.Apply(e)
			for i := range a.Outcomes {
				if a.Outcomes[i] != b.Outcomes[i] || a.Outcomes[i] != d.Outcomes[i] {
					t.Fatalf("seed %d, entry %d, %#v:\n %+v\n %+v after a restore\n %+v beside views", seed, e.Index,
						e.Requests[i].Cmd, a.Outcomes[i], b.Outcomes[i], d.Outcomes[i])
				}
			}
			if err := plain.Check(); err != nil {
				t.Fatalf("seed %d, entry %d, %+v: %v", seed, e.Index, e.Requests, err)
			}
		}
		for _, e := range c.opening() {
			apply(e)
		}
		for range 2500 {
			apply(c.next(plain))
			if c.one(40) {
				restored = reload(t, restored)
				if err := restored.Check(); err != nil {
					t.Fatalf("seed %d, entry %d: restored: %v", seed, c.index, err)
				}
			}
			if c.one(30) {
				img := viewed.Copy()
				views = append(views, view{img, dump(t, img)})
			}
			if c.one(100) && len(views) > 0 {
				v := views[c.rng.IntN(len(views))]
				if !bytes.Equal(v.dump, dump(t, v.img)) {
					t.Fatalf("seed %d, entry %d: a view of index %d has changed", seed, c.index, v.img.Index())
				}
			}
			if c.index%100 == 0 {
				if plain.Hash() != restored.Hash() || plain.Hash() != viewed.Hash() {
					t.Fatalf("seed %d: states differ at entry %d", seed, c.index)
				}
			}
		}
		for _, v := range views {
			if !bytes.Equal(v.dump, dump(t, v.img)) {
				t.Fatalf("seed %d: the view of index %d has changed", seed, v.img.Index())
			}
		}
		if plain.Hash() != restored.Hash() || plain.Hash() != viewed.Hash() {
			t.Fatalf("seed %d: states differ at the end", seed)
		}
	}
}

func dump(t testing.TB, i *Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := i.Dump(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func reload(t testing.TB, s *State) *State {
	t.Helper()
	next, err := Load(bytes.NewReader(dump(t, s.Copy())))
	if err != nil {
		t.Fatal(err)
	}
	return next
}
