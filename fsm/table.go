package fsm

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

// table is a sparse array of values by dense id that can be copied in O(1): a
// copy shares all pages, and a page is copied when it is next written to. Ids
// that are handed out in order make an update some ten times faster than in an
// ordered tree (BenchmarkTableUpdateAfterCopy against its twin).
//
// Slices, maps and pointers inside a value are shared between copies: they are
// replaced, never changed. A pointer from mut stays good until the next copy, one
// from get only until the next write: Apply uses mut throughout.
type table[T any] struct {
	gen   uint64 // pages of an older generation belong to a copy too
	n     int
	base  uint64 // of the first of mids: old ids leave nothing behind
	mids  []*mid[T]
	spare *page[T]  // an emptied page to be used next
	meter *meter[T] // nil: nobody pays for it, see ledger
	// visits counts the values that are handed out, one by one or in a loop; nil but in tests.
	visits *int
}

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

// get returns the value for reading, nil when there is none.
func (t *table[T]) get(id uint64) *T {
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

// mut returns the value for writing, nil when there is none.
func (t *table[T]) mut(id uint64) *T {
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
func (t *table[T]) pageOf(id uint64) *page[T] {
	hi := id>>(pageBits+midBits) - t.base
	if hi >= uint64(len(t.mids)) || t.mids[hi] == nil {
		return nil
	}
	return t.mids[hi].pages[id>>pageBits&(midSize-1)]
}

// put makes a zero value and returns it for writing.
func (t *table[T]) put(id uint64) *T {
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
func (t *table[T]) reach(part uint64) uint64 {
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

// del removes a value; pages that become empty are given back.
func (t *table[T]) del(id uint64) {
	if t.get(id) == nil {
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
func (t *table[T]) own(hi, lo uint64) *page[T] {
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

// copy returns an immutable view; the table goes on with a new generation.
func (t *table[T]) copy() table[T] {
	view := table[T]{gen: t.gen, n: t.n, base: t.base, mids: slices.Clone(t.mids)}
	t.gen++
	return view
}

// from yields the values with an id of at least id, in order. The loop may remove
// the value it is at.
func (t *table[T]) from(id uint64) iter.Seq2[uint64, *T] {
	return func(yield func(uint64, *T) bool) {
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
					if !yield(at, &p.vals[i]) {
						return
					}
				}
			}
		}
	}
}

// back yields the values with an id below id, newest first.
func (t *table[T]) back(id uint64) iter.Seq2[uint64, *T] {
	return func(yield func(uint64, *T) bool) {
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
					if at < id && p.used&(1<<i) != 0 && !yield(at, &p.vals[i]) {
						return
					}
				}
			}
		}
	}
}
