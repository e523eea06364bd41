package table

import (
	"maps"
	"math/rand/v2"
	"testing"
)

type key uint32

// The table against its naive twin, a map that is cloned: the same values in the same order, and
// copies that stay what they were.
func TestTwinOfTheTableAgrees(t *testing.T) {
	type view struct {
		table Table[key, int]
		twin  map[key]int
	}
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		var tab Table[key, int]
		twin := map[key]int{}
		var views []view
		for step := range 4000 {
			// Most ids lie close together, some far: pages and parts come and go.
			id := key(r.Uint32N(200))
			if r.IntN(10) == 0 {
				id = key(r.Uint32N(1 << 20))
			}
			switch r.IntN(8) {
			case 0, 1, 2:
				*tab.Put(id), twin[id] = step, step
			case 3, 4:
				if v := tab.Mut(id); v != nil {
					*v, twin[id] = -step, -step
				}
			case 5, 6:
				tab.Del(id)
				delete(twin, id)
			case 7:
				if r.IntN(20) == 0 {
					views = append(views, view{tab.Copy(), maps.Clone(twin)})
				}
			}
		}
		for i, v := range append(views, view{tab, twin}) {
			same(t, seed, i, &v.table, v.twin)
		}
	}
}

// same compares a table with its twin by every way of reading.
func same(t *testing.T, seed uint64, at int, tab *Table[key, int], twin map[key]int) {
	t.Helper()
	r := tab.Reader()
	if r.Len() != len(twin) || tab.Len() != len(twin) {
		t.Fatalf("seed %d, view %d: %d values, %d are expected", seed, at, tab.Len(), len(twin))
	}
	up, down := []key(nil), []key(nil)
	for id, v := range r.From(0) {
		if want, ok := twin[id]; !ok || *v != want {
			t.Fatalf("seed %d, view %d: %d is %d, %d is expected (%v)", seed, at, id, *v, want, ok)
		}
		if len(up) > 0 && up[len(up)-1] >= id {
			t.Fatalf("seed %d, view %d: %d comes behind %d", seed, at, id, up[len(up)-1])
		}
		up = append(up, id)
	}
	for id := range r.Back(1 << 31) {
		down = append(down, id)
	}
	if len(up) != len(twin) || len(down) != len(twin) {
		t.Fatalf("seed %d, view %d: %d values upwards, %d downwards, %d are expected", seed, at, len(up),
			len(down), len(twin))
	}
	for i, id := range down {
		if up[len(up)-1-i] != id {
			t.Fatalf("seed %d, view %d: upwards and downwards differ at %d", seed, at, id)
		}
	}
	for id, want := range twin {
		if v := r.Get(id); v == nil || *v != want {
			t.Fatalf("seed %d, view %d: %d gives %v, %d is expected", seed, at, id, v, want)
		}
	}
	if r.Get(1<<30) != nil {
		t.Fatalf("seed %d, view %d: a value that nobody made", seed, at)
	}
}

// What is charged is what the values cost, whatever was done to them in between.
func TestEveryValueIsCharged(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var tab Table[key, int]
	*tab.Put(7) = 70
	sum, unsettled := int64(0), false
	cost := func(v *int) int64 { return int64(*v) }
	tab.Measure(cost, func(_ *int, bytes int64) { sum += bytes }, &unsettled)
	for range 3000 {
		id := key(r.Uint32N(100))
		switch r.IntN(4) {
		case 0:
			*tab.Put(id) = r.IntN(1000)
		case 1:
			if v := tab.Mut(id); v != nil {
				*v = r.IntN(1000)
			}
		case 2:
			tab.Del(id)
		case 3:
			tab.Copy()
		}
		grown := 0
		tab.Settle(func(*int) { grown++ })
		want := int64(0)
		for id, v := range tab.From(0) {
			want += cost(v)
			if bytes, settled := tab.Charged(id); !settled || bytes != cost(v) {
				t.Fatalf("%d costs %d and is charged %d, settled: %v", id, cost(v), bytes, settled)
			}
		}
		if sum != want {
			t.Fatalf("%d is charged, the values cost %d (%d have grown)", sum, want, grown)
		}
	}
	if !unsettled {
		t.Fatal("nobody was told that something is to be settled")
	}
}
