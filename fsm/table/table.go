package table

import (
	"iter"
	"slices"
)

const (
	pageBits = 5
	pageSize = 1 << pageBits
	midBits  = 9
	midSize  = 1 << midBits
)

// ID is a dense number that is handed out in order. Each table has a type of its own, so that
// the id of one thing cannot look up another.
type ID interface{ ~uint32 | ~uint64 }

// Table is a sparse array of values by dense id that can be copied in O(1): a
// copy shares all pages, and a page is copied when it is next written to. Ids
// that are handed out in order make an update some ten times faster than in an
// ordered tree (BenchmarkTableUpdateAfterCopy against its twin). The zero value is empty.
//
// Slices, maps and pointers inside a value are shared between copies: they are
// replaced, never changed. A pointer from Mut stays good until the next copy, one
// from Get only until the next write. A table has one writer; copies have any number of readers.
type Table[K ID, T any] struct {
	gen   uint64 // pages of an older generation belong to a copy too
	n     int
	base  uint64 // of the first of mids: old ids leave nothing behind
	mids  []*mid[T]
	spare *page[T]  // an emptied page to be used next
	meter *meter[T] // nil: nobody pays for it
	// visits counts the values that are handed out, one by one or in a loop; nil but in tests.
	visits *int
}

// Len counts the values.
func (t *Table[K, T]) Len() int { return t.n }

// Generation grows with each copy: what was made for an older one is shared with it.
func (t *Table[K, T]) Generation() uint64 { return t.gen }

// CountVisits counts in n every value that is handed out from now on, for tests of what a
// function costs; nil ends it.
func (t *Table[K, T]) CountVisits(n *int) { t.visits = n }

type mid[T any] struct {
	gen   uint64
	n     int
	pages [midSize]*page[T]
}

type page[T any] struct {
	gen  uint64
	used uint32 // one bit a value

	dirty uint32           // one bit a value whose cost is to be settled; 0 in views
	cost  [pageSize]uint32 // what was charged for each value
	vals  [pageSize]T
}

// Get returns the value for reading, nil when there is none.
func (t *Table[K, T]) Get(key K) *T {
	id := uint64(key)
	if t.visits != nil {
		*t.visits++
	}
	hi := id>>(pageBits+midBits) - t.base
	if hi >= uint64(len(t.mids)) || t.mids[hi] == nil {
		return nil
	}
	p := t.mids[hi].pages[id>>pageBits&(midSize-1)]
	if p == nil || p.used&(1<<(id&(pageSize-1))) == 0 {
		return nil
	}
	return &p.vals[id&(pageSize-1)]
}

// Mut returns the value for writing, nil when there is none.
func (t *Table[K, T]) Mut(key K) *T {
	id := uint64(key)
	if t.visits != nil {
		*t.visits++
	}
	hi := id>>(pageBits+midBits) - t.base
	if hi >= uint64(len(t.mids)) || t.mids[hi] == nil {
		return nil
	}
	lo := id >> pageBits & (midSize - 1)
	p := t.mids[hi].pages[lo]
	if p == nil || p.used&(1<<(id&(pageSize-1))) == 0 {
		return nil
	}
	if p.gen != t.gen {
		p = t.own(hi, lo)
	}
	if t.meter != nil {
		t.meter.touch(p, id)
	}
	return &p.vals[id&(pageSize-1)]
}

// pageOf gives the page of an id, nil when there is none.
func (t *Table[K, T]) pageOf(id uint64) *page[T] {
	hi := id>>(pageBits+midBits) - t.base
	if hi >= uint64(len(t.mids)) || t.mids[hi] == nil {
		return nil
	}
	return t.mids[hi].pages[id>>pageBits&(midSize-1)]
}

// Put makes a zero value and returns it for writing.
func (t *Table[K, T]) Put(key K) *T {
	id := uint64(key)
	hi := t.reach(id >> (pageBits + midBits))
	p := t.own(hi, id>>pageBits&(midSize-1))
	bit := uint32(1) << (id & (pageSize - 1))
	if p.used&bit == 0 {
		p.used |= bit
		t.n++
	} else if t.meter != nil {
		t.meter.release(p, id)
	}
	if t.meter != nil {
		t.meter.touch(p, id)
	}
	v := &p.vals[id&(pageSize-1)]
	var zero T
	*v = zero
	return v
}

// reach makes room for a part of the table and returns its place.
func (t *Table[K, T]) reach(part uint64) uint64 {
	if len(t.mids) == 0 {
		t.base = part
	}
	if part < t.base {
		t.mids = slices.Insert(t.mids, 0, make([]*mid[T], t.base-part)...)
		t.base = part
	}
	if need := part - t.base + 1; need > uint64(len(t.mids)) {
		t.mids = append(t.mids, make([]*mid[T], need-uint64(len(t.mids)))...)
	}
	return part - t.base
}

// Del removes a value; pages that become empty are given back.
func (t *Table[K, T]) Del(key K) {
	id := uint64(key)
	if t.Get(key) == nil {
		return
	}
	hi, lo := id>>(pageBits+midBits)-t.base, id>>pageBits&(midSize-1)
	p := t.own(hi, lo)
	if t.meter != nil {
		t.meter.release(p, id)
		p.dirty &^= 1 << (id & (pageSize - 1))
	}
	var zero T
	p.vals[id&(pageSize-1)] = zero
	p.used &^= 1 << (id & (pageSize - 1))
	t.n--
	if p.used == 0 {
		m := t.mids[hi]
		m.pages[lo], t.spare = nil, p
		if m.n--; m.n == 0 {
			t.mids[hi] = nil
		}
		for len(t.mids) > 0 && t.mids[0] == nil {
			t.mids = t.mids[1:]
			t.base++
		}
	}
}

// own returns a page that may be written to.
func (t *Table[K, T]) own(hi, lo uint64) *page[T] {
	m := t.mids[hi]
	switch {
	case m == nil:
		m = &mid[T]{gen: t.gen}
		t.mids[hi] = m
	case m.gen != t.gen:
		c := *m
		c.gen = t.gen
		m = &c
		t.mids[hi] = m
	}
	p := m.pages[lo]
	switch {
	case p == nil:
		if p = t.spare; p == nil {
			p = new(page[T])
		}
		p.gen, t.spare = t.gen, nil
		m.pages[lo] = p
		m.n++
	case p.gen != t.gen:
		c := *p
		c.gen = t.gen
		p = &c
		m.pages[lo] = p
	}
	return p
}

// Copy returns an immutable view; the table goes on with a new generation.
func (t *Table[K, T]) Copy() Table[K, T] {
	view := Table[K, T]{gen: t.gen, n: t.n, base: t.base, mids: slices.Clone(t.mids)}
	t.gen++
	return view
}

// From yields the values with an id of at least key, in order. The loop may remove
// the value it is at.
func (t *Table[K, T]) From(key K) iter.Seq2[K, *T] {
	id := uint64(key)
	return func(yield func(K, *T) bool) {
		mids, first := t.mids, t.base // removals move both
		for part := max(id>>(pageBits+midBits), first); part-first < uint64(len(mids)); part++ {
			m := mids[part-first]
			if m == nil {
				continue
			}
			for lo := range m.pages {
				p := m.pages[lo]
				base := part<<(pageBits+midBits) | uint64(lo)<<pageBits
				if p == nil || base+pageSize <= id {
					continue
				}
				for i := range p.vals {
					at := base | uint64(i)
					if at < id || p.used&(1<<i) == 0 {
						continue
					}
					if t.visits != nil {
						*t.visits++
					}
					if !yield(K(at), &p.vals[i]) {
						return
					}
				}
			}
		}
	}
}

// Back yields the values with an id below key, newest first.
func (t *Table[K, T]) Back(key K) iter.Seq2[K, *T] {
	id := uint64(key)
	return func(yield func(K, *T) bool) {
		for hi := len(t.mids) - 1; hi >= 0; hi-- {
			m, part := t.mids[hi], uint64(hi)+t.base
			if m == nil || part<<(pageBits+midBits) >= id {
				continue
			}
			for lo := midSize - 1; lo >= 0; lo-- {
				p := m.pages[lo]
				base := part<<(pageBits+midBits) | uint64(lo)<<pageBits
				if p == nil || base >= id {
					continue
				}
				for i := pageSize - 1; i >= 0; i-- {
					at := base | uint64(i)
					if at < id && p.used&(1<<i) != 0 && !yield(K(at), &p.vals[i]) {
						return
					}
				}
			}
		}
	}
}
