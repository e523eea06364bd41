package table

import "iter"

// Reader shows a table and cannot change it. What its pointers show must not be changed either.
type Reader[K ID, T any] struct{ t *Table[K, T] }

// Reader returns one that shows the table as it is at any time, not a copy.
func (t *Table[K, T]) Reader() Reader[K, T] { return Reader[K, T]{t} }

// Get returns the value, nil when there is none.
func (r Reader[K, T]) Get(key K) *T { return r.t.Get(key) }

// From yields the values with an id of at least key, in order.
func (r Reader[K, T]) From(key K) iter.Seq2[K, *T] { return r.t.From(key) }

// Back yields the values with an id below key, newest first.
func (r Reader[K, T]) Back(key K) iter.Seq2[K, *T] { return r.t.Back(key) }

// Len counts the values.
func (r Reader[K, T]) Len() int { return r.t.n }

// Charged is what was charged for a value, see Table.Charged.
func (r Reader[K, T]) Charged(key K) (bytes int64, settled bool) { return r.t.Charged(key) }
