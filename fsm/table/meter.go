package table

// meter says what every value of a table costs. Nobody books anything by hand: the table takes
// note of each value that is handed out for writing, made or removed, and Settle compares what
// it costs with what was charged. So no path can forget it.
type meter[T any] struct {
	cost      func(*T) int64
	charge    func(v *T, bytes int64)
	unsettled *bool
	dirty     []uint64 // handed out for writing since the last settlement
}

// Measure charges what is in the table, and from then on what becomes of it: charge gets a
// value with what it costs more, or less, than was charged before. Costs of a value are below
// 4 GiB. unsettled is set when there is something for Settle to do.
func (t *Table[K, T]) Measure(cost func(*T) int64, charge func(v *T, bytes int64), unsettled *bool) {
	t.meter = &meter[T]{cost: cost, charge: charge, unsettled: unsettled}
	for id, v := range t.From(0) {
		bytes := cost(v)
		page := t.pageOf(uint64(id))
		page.cost[id&(pageSize-1)], page.dirty = uint32(bytes), 0
		charge(v, bytes)
	}
}

// touch notes that a value is about to change.
func (m *meter[T]) touch(p *page[T], id uint64) {
	if bit := uint32(1) << (id & (pageSize - 1)); p.dirty&bit == 0 {
		p.dirty |= bit
		m.dirty = append(m.dirty, id)
		*m.unsettled = true
	}
}

// release gives back what a value has cost that goes.
func (m *meter[T]) release(p *page[T], id uint64) {
	at := id & (pageSize - 1)
	m.charge(&p.vals[at], -int64(p.cost[at]))
	p.cost[at] = 0
}

// Settle charges what has changed in a table that is measured. grown is called with each value
// that costs more than before, and may change or remove it and others.
func (t *Table[K, T]) Settle(grown func(*T)) {
	m := t.meter
	for i := 0; i < len(m.dirty); i++ { // it may grow meanwhile
		id := m.dirty[i]
		p, at := t.pageOf(id), id&(pageSize-1)
		if p == nil || p.dirty&(1<<at) == 0 {
			continue // removed
		}
		p.dirty &^= 1 << at
		bytes := m.cost(&p.vals[at])
		more := bytes - int64(p.cost[at])
		p.cost[at] = uint32(bytes)
		m.charge(&p.vals[at], more)
		if more > 0 {
			grown(&p.vals[at])
		}
	}
	m.dirty = m.dirty[:0]
}

// Charged is what was charged for a value, and whether that is what it costs now. The value
// must exist.
func (t *Table[K, T]) Charged(key K) (bytes int64, settled bool) {
	page, at := t.pageOf(uint64(key)), uint64(key)&(pageSize-1)
	return int64(page.cost[at]), page.dirty&(1<<at) == 0
}
