package fsm

import (
	"testing"

	"github.com/tidwall/btree"
)

// The comparison behind the paged tables: 1,000,000 values by dense id, updated in
// a scattered order after a copy was taken.

const tableValues = 1_000_000

func scattered(i int) uint64 { return uint64(i) * 2654435761 % tableValues }

func BenchmarkTableUpdateAfterCopy(b *testing.B) {
	var t table[Lease]
	for id := range uint64(tableValues) {
		t.put(id)
	}
	view := t.copy()
	b.ResetTimer()
	for i := range b.N {
		t.mut(scattered(i)).Until++
	}
	_ = view
}

func BenchmarkTreeUpdateAfterCopy(b *testing.B) {
	t := btree.NewMap[uint64, *Lease](0)
	for id := range uint64(tableValues) {
		t.Set(id, &Lease{})
	}
	view := t.Copy()
	b.ResetTimer()
	for i := range b.N {
		id := scattered(i)
		old, _ := t.Get(id)
		next := *old
		next.Until++
		t.Set(id, &next)
	}
	_ = view
}
