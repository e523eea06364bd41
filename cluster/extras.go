package cluster

import (
	"fmt"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// Match has m append to the entries that this server seals while it leads. It is called before Run.
func (r *Replica) Match(m fsm.Matcher) { r.batch.matcher = m }

// packExtras appends what the matcher has for the entry, and tells how many commands that is.
func (b *batcher) packExtras(s *sealed) int {
	if b.matcher == nil {
		return 0
	}
	k := &b.sealer
	extras := b.matcher.Extras()
	packed := make([]fsm.Extra, 0, len(extras))
	for i := range extras {
		before := k.enc.Size()
		if err := k.enc.Request(&extras[i].Request); err != nil {
			k.enc.Cut(before)
			go extras[i].Done(noun.Outcome{}, fmt.Errorf("propose command: %w", err))
			continue
		}
		packed = append(packed, extras[i])
	}
	if len(packed) == 0 {
		return 0
	}
	g := b.pool.Get().(*group)
	reqs := make([]fsm.Request, len(packed))
	for i := range packed {
		reqs[i] = packed[i].Request
	}
	g.many(reqs)
	g.taken = true
	s.parts = append(s.parts, part{g: g, n: len(reqs)})
	go b.tell(g, packed)
	return len(packed)
}

// tell waits for the entry and gives the extras their outcomes.
func (b *batcher) tell(g *group, extras []fsm.Extra) {
	err := <-g.done
	for i := range extras {
		extras[i].Done(g.outs[i], err)
	}
	b.release(g)
}
