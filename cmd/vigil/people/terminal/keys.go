package terminal

import (
	"context"
	"errors"
	"time"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

const (
	mostKeys  = 4 << 10               // of one call, in bytes, as the API takes them
	mostAhead = 64 << 10              // that wait to be sent
	apart     = 25 * time.Millisecond // between two calls: a host takes 50 a second
	typeLimit = 10 * time.Second      // for one call: nobody expects a key later
)

// turn is a turn at a terminal. The zero value is none.
type turn struct {
	grant, seq uint64
	span       time.Duration // after the last key it ends by itself
	last       time.Time     // when a key was typed
	waiting    []byte        // keys that were not sent yet
	sized      window        // that the host was told; zero: none was
	busy       bool          // a call is under way
}

// window is a size of a terminal.
type window struct{ columns, rows int }

// wanted is the size that the agent's terminal gets: all of this one but the last line, as far as the API takes it.
func (s *seat) wanted() window {
	columns, rows := s.size()
	return window{min(max(columns, 20), 500), min(max(rows-1, 5), 200)}
}

// typedKeys is what has become of a call.
type typedKeys struct {
	keys []byte
	late bool // the turn was over for want of keys, as far as one knows here
	err  error
}

// add has keys wait; what is far ahead of the host is left out.
func (t *turn) add(keys []byte) {
	if len(t.waiting)+len(keys) <= mostAhead {
		t.waiting = append(t.waiting, keys...)
	}
}

// idle tells whether the turn has ended by itself.
func (t *turn) idle(now time.Time) bool { return t.grant != 0 && now.Sub(t.last) > t.span }

// send types what waits, one call at a time, and gives typed what becomes of it. With it goes the size of this
// terminal, when it is another one: at once, but no sooner than the next key where the turn has ended by itself.
func (t *turn) send(ctx context.Context, s *seat, typed chan<- typedKeys) {
	size := s.wanted()
	resizes := size != t.sized && t.grant != 0 && !s.readOnly
	if t.busy || len(t.waiting) == 0 && (!resizes || t.idle(s.now())) {
		return
	}
	keys := t.waiting[:min(len(t.waiting), mostKeys)]
	t.waiting = t.waiting[len(keys):]
	t.seq++
	late := t.idle(s.now())
	t.busy, t.last = true, s.now()
	r := &vigilv1.TypeKeysRequest{Agent: s.agent, Grant: t.grant, Seq: t.seq, Keys: keys, By: s.me}
	if resizes {
		t.sized, r.Columns, r.Rows = size, uint32(size.columns), uint32(size.rows)
	}
	go func() {
		pause := time.After(apart)
		bounded, cancel := context.WithTimeout(ctx, typeLimit)
		defer cancel()
		_, err := s.fleet.TypeKeys(bounded, r) // the client repeats it; its number has it typed once
		select {
		case <-pause:
		case <-ctx.Done():
		}
		select {
		case typed <- typedKeys{keys, late, err}:
		case <-ctx.Done():
		}
	}()
}

// typed notes what has become of a call. A turn that has ended for want of keys is taken again, and the keys
// are typed then; once somebody else has the terminal one only looks.
func (s *seat) typed(ctx context.Context, t typedKeys) {
	s.turn.busy = false
	switch over := errors.Is(t.err, client.ErrSuperseded) || t.late && errors.Is(t.err, client.ErrConflict); {
	case t.err == nil || ctx.Err() != nil || len(t.keys) == 0: // with an older server it keeps its size
		return
	case !over:
		s.turn.waiting = nil // what was typed after keys that are missing may mean something else
		s.said = t.err.Error()
		return
	}
	waiting := append(t.keys, s.turn.waiting...)
	again, cancel := context.WithTimeout(ctx, riseLimit)
	defer cancel()
	s.take = false // from whoever has come since
	err := s.takeTerminal(again)
	if err == nil {
		s.turn.waiting = waiting
		return
	}
	s.turn.waiting, s.said = nil, err.Error()
	s.readOnly = errors.Is(err, client.ErrConflict)
}
