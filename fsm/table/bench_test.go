package table

import (
	"testing"

	"github.com/tidwall/btree"
)

// The comparison behind the paged tables: 1,000,000 values by dense id, updated in
// a scattered order after a copy was taken.

// lease is a value of the size of those that change most.
type lease struct {
	Until int64
	_     [7]int64
}

const tableValues = 1_000_000

func scattered(i int) uint64 { return uint64(i) * 2654435761 % tableValues }

func BenchmarkTableUpdateAfterCopy(b *testing.B) {
	var t Table[uint64, lease]
	for id := range uint64(tableValues) {
		t.Put(id)
	}
	view := t.Copy()
	b.ResetTimer()
	for i := range b.N {
		t.Mut(scattered(i)).Until++
	}
	_ = view
}

func BenchmarkTreeUpdateAfterCopy(b *testing.B) {
	t := btree.NewMap[uint64, *lease](0)
	for id := range uint64(tableValues) {
		t.Set(id, &lease{})
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
