package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"vigil/cluster/record"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// sealer is what the sealing goroutine has taken from the queue and not yet sealed.
type sealer struct {
	enc     record.Encoder
	stint   *stint   // for which the backlog was taken
	backlog []*group // commands and barriers; the first may be sealed in part
	done    int      // requests of the first that are sealed
	beats   []*group
	fresh   []*group // memory of takeAll
	words   []fsm.Word
	packed  []byte // memory of packWords
}

func (s *sealer) pending() bool { return len(s.backlog) > 0 || len(s.beats) > 0 }

// fail ends everything in the backlog.
func (s *sealer) fail(err error) {
	for _, g := range s.backlog {
		g.finish(max(1, len(g.reqs)-s.done), err)
		s.done = 0
	}
	for _, g := range s.beats {
		g.finish(1, err)
	}
	clear(s.backlog)
	clear(s.beats)
	s.backlog, s.beats, s.done = s.backlog[:0], s.beats[:0], 0
}

// part is a run of one group's requests in an entry; n is 0 for a barrier.
type part struct {
	g       *group
	from, n int
}

// sealed is one entry on its way.
type sealed struct {
	stint *stint
	data  []byte
	parts []part
	beats []*group
	at    time.Time
	fut   proposal
}

// seal is the sealing goroutine: it waits until something is due and one of the
// two slots is free, takes all there is, stamps it, and hands it to raft.
func (b *batcher) seal(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if wait := b.idle(); wait > 0 {
			timer.Reset(wait)
			select {
			case <-ctx.Done():
				return
			case <-b.wake:
			case <-timer.C:
			}
			continue
		}
		select {
		case b.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		s := b.build()
		if s == nil {
			<-b.slots
			continue
		}
		b.answering.Add(1)
		s.fut = b.propose(s.data) // waits while raft's main loop writes the entry before
		b.inflight <- s
	}
}

// build builds the next entry; nil when the stint is over.
func (b *batcher) build() *sealed {
	k := &b.sealer
	st := b.takeAll()
	if st == nil {
		return nil
	}
	s := &sealed{stint: st}
	k.enc.Reset()
	b.packBeats(s)
	commands := b.packRequests(s)
	commands += b.packExtras(s)
	k.packWords()
	stamp := st.clock.seal()
	s.at = time.Now()
	s.data = k.enc.Seal(st.term, stamp, noun.Wall(s.at.UnixNano()))

	b.mu.Lock()
	b.sealed, b.stamped = s.at, stamp
	b.flying++
	b.mu.Unlock()
	if len(s.parts) == 0 && len(s.beats) == 0 {
		b.met.ticks.Inc()
	}
	b.met.batch.Observe(float64(commands))
	return s
}

// takeAll moves the queue to the backlog and gives the stint to seal for.
func (b *batcher) takeAll() *stint {
	k := &b.sealer
	b.mu.Lock()
	st := b.stint
	closed := b.closed
	stale := k.stint != st
	taken := b.queue
	b.queue, b.spare = b.spare[:0], nil
	k.fresh = append(k.fresh[:0], b.beats...)
	clear(b.beats)
	b.beats, b.weight, b.more = b.beats[:0], 0, false
	for i, g := range taken {
		if g.gone {
			taken[i] = nil
		} else {
			g.taken = true
		}
	}
	b.mu.Unlock()

	if stale {
		if closed == nil {
			closed = noun.ErrNotLeader // of the stint that the backlog was taken for
		}
		k.fail(closed)
		k.stint = st
	}
	for _, g := range taken {
		if g != nil {
			k.backlog = append(k.backlog, g)
		}
	}
	k.beats = append(k.beats, k.fresh...)
	clear(k.fresh)
	clear(taken)
	b.mu.Lock()
	b.spare = taken[:0]
	b.mu.Unlock()
	if st == nil {
		k.fail(closed)
	}
	return st
}

// packBeats puts the waiting beats into the entry.
func (b *batcher) packBeats(s *sealed) {
	k := &b.sealer
	n := 0
	for n < len(k.beats) && (n == 0 || k.enc.Size() < b.cfg.Limits.EntryBytes) {
		k.enc.Beats(&k.beats[n].beat)
		n++
	}
	if n == 0 {
		return
	}
	s.beats = append(s.beats, k.beats[:n]...)
	rest := copy(k.beats, k.beats[n:])
	clear(k.beats[rest:])
	k.beats = k.beats[:rest]
}

// packRequests puts as much of the backlog into the entry as fits and tells how
// many commands that is. The first one always goes in, beside beats too: these come without end, and what waited
// for an entry without them would hold up all writes behind it.
func (b *batcher) packRequests(s *sealed) int {
	k := &b.sealer
	begin := k.enc.Size()
	commands, groups := 0, 0
	full := false
	for ; groups < len(k.backlog) && !full; groups++ {
		g := k.backlog[groups]
		p := part{g: g, from: k.done}
		for k.done < len(g.reqs) {
			before := k.enc.Size()
			err := k.enc.Request(&g.reqs[k.done])
			if size := k.enc.Size() - before; err == nil && size > maxCommand {
				err = fmt.Errorf("propose command: %w: %d bytes, at most %d", ErrTooLarge, size, maxCommand)
			}
			if err != nil {
				k.enc.Cut(before)
				k.done++
				// What is behind it in the group goes its way; the caller learns of the error.
				if p.n > 0 {
					s.parts = append(s.parts, p)
				}
				p = part{g: g, from: k.done}
				g.finish(1, err)
				continue
			}
			if full = commands > 0 && k.enc.Size()-begin > b.cfg.Limits.EntryBytes; full {
				k.enc.Cut(before)
				break
			}
			k.noteWord(g, &g.reqs[k.done])
			if b.matcher != nil {
				b.matcher.See(g.reqs[k.done].Cmd)
			}
			k.done++
			p.n++
			commands++
		}
		if p.n > 0 || len(g.reqs) == 0 {
			s.parts = append(s.parts, p)
		}
		if full {
			break
		}
		k.done = 0
	}
	rest := copy(k.backlog, k.backlog[groups:])
	clear(k.backlog[rest:])
	k.backlog = k.backlog[:rest]
	return commands
}

// noteWord keeps what the request proves for its entry, unless it has waited for too long:
// then it says little of how its speaker is now.
func (k *sealer) noteWord(g *group, r *fsm.Request) {
	if r.Word.Inc != 0 && time.Since(g.at) <= r.Word.Fresh {
		k.words = append(k.words, r.Word)
	}
}

// packWords puts what the words of the entry prove into it.
func (k *sealer) packWords() {
	if len(k.words) > 0 {
		k.packed = fsm.PackWords(k.packed[:0], k.words)
		k.enc.Words(k.packed)
		k.words = k.words[:0]
	}
}

// settle waits for one entry and gives its callers their answers. Entries come in
// the order in which they were sealed.
func (b *batcher) settle(s *sealed) {
	err := s.fut.Error()
	refused := refusals{fail: b.fail}
	for errors.Is(err, raft.ErrLeadershipTransferInProgress) {
		// It was not appended. The transfer either fails, then it goes in, or ends the stint.
		if refused.again(s.stint.ctx, 5*time.Millisecond) != nil {
			err = raft.ErrNotLeader
			break
		}
		s.fut = b.propose(s.data)
		err = s.fut.Error()
	}
	var ans *answer
	switch {
	case err == nil:
		ans, _ = s.fut.Response().(*answer)
		if ans == nil { // the machine could not read it
			err = noun.ErrUnknownOutcome
		}
	case errors.Is(err, raft.ErrNotLeader):
		err = noun.ErrNotLeader
	default:
		err = fmt.Errorf("%w (%w)", noun.ErrUnknownOutcome, err)
	}
	b.answering.Add(-1)
	s.stint.clock.settled()
	took := time.Since(s.at).Seconds()
	b.met.commit.Observe(took)
	b.met.recent.Observe(took)
	b.mu.Lock()
	b.flying--
	if ans != nil && ans.more && b.stint == s.stint {
		b.more = true
	}
	b.mu.Unlock()
	<-b.slots
	b.signal()
	distribute(s, ans, err)
}

// distribute gives every caller its outcomes.
func distribute(s *sealed, ans *answer, err error) {
	at := 0
	for _, p := range s.parts {
		if err == nil {
			copy(p.g.outs[p.from:p.from+p.n], ans.outcomes[at:at+p.n])
			at += p.n
		}
		p.g.finish(max(p.n, 1), err)
	}
	for i, g := range s.beats {
		if err == nil {
			g.ans = ans.beats[i]
		}
		g.finish(1, err)
	}
}
