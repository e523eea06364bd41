package agentd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"vigil/agentd/shim"
	"vigil/agentd/tmux"
	"vigil/rpc/gen/vigilv1"
)

// resizeAgain is when a terminal is given its own size again that could not be, such as that of a frozen agent.
const resizeAgain = 10 * time.Second

// sizedFile is in the folder of a life whose terminal has another size than its own, for the next agentd.
const sizedFile = "sized"

// sizes is the size of the terminal of a life: that of a human's window while a turn lasts, else its own. The zero
// value is ready. All but last belongs to the keeper's goroutine.
type sizes struct {
	strange bool          // it has another size than its own, as far as known
	grant   uint64        // the turn that has asked for that size; 0: none that this daemon knows
	number  uint64        // of the newest change that was asked for
	shown   uint64        // how many were made, for whoever follows the terminal
	busy    bool          // it is being given its own size again
	again   time.Duration // not before this
	last    *lastSize
}

// lastSize has changes of size come one at a time, and none after a newer one. It is safe for concurrent use.
type lastSize struct {
	mu     sync.Mutex
	number uint64
}

// do makes the change of that number, unless a newer one was made.
func (s *lastSize) do(number uint64, change func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number < s.number {
		return nil
	}
	s.number = number
	return change()
}

// resizing is one change of size. It may be made in any goroutine.
type resizing struct {
	number uint64
	last   *lastSize
	note   string // the file that tells of it
	// made tells the keeper that it was made, or not.
	made func(error)
}

// resizing begins a change of size; made hears what became of it, in the keeper's goroutine.
func (v *lives) resizing(l *life, made func(error)) *resizing {
	if l.sizes.last == nil {
		l.sizes.last = &lastSize{}
	}
	l.sizes.number++
	return &resizing{number: l.sizes.number, last: l.sizes.last, note: filepath.Join(l.folder, sizedFile),
		made: func(err error) {
			v.send(func() {
				l.sizes.shown++
				made(err)
			})
		}}
}

// resize begins the change to the size of a human's window, whose turn it is.
func (v *lives) resize(l *life) *resizing {
	l.sizes.strange, l.sizes.grant = true, l.turn.grant
	return v.resizing(l, func(err error) {
		if noTerminal(err) {
			l.sizes.strange = false
		}
	})
}

// noTerminal tells whether an error, perhaps as a shim has written it, says that there is none.
func noTerminal(err error) bool { return err != nil && err.Error() == shim.ErrNoTerminal.Error() }

// sizeAsked tells what is wrong with the size that somebody wants; true: there is one.
func sizeAsked(r *vigilv1.TerminalRequest) (bool, error) {
	if r.GetColumns() == 0 && r.GetRows() == 0 {
		return false, nil
	}
	if c, n := int(r.GetColumns()), int(r.GetRows()); !tmux.Fits(c, n) {
		return false, fmt.Errorf("a terminal has no %d columns and %d rows", c, n)
	}
	return true, nil
}

// resize gives the terminal a size for a turn. That is noted first: should this daemon die, the next one puts
// it back.
func (c *resizing) resize(ctx context.Context, p process, columns, rows int) error {
	err := c.last.do(c.number, func() error {
		if err := os.WriteFile(c.note, nil, 0o600); err != nil {
			return fmt.Errorf("note the size of the terminal: %w", err)
		}
		_, err := p.Terminal(ctx, shim.TerminalRequest{Columns: columns, Rows: rows})
		if noTerminal(err) {
			_ = os.Remove(c.note) // it goes with the folder
		}
		return err
	})
	c.made(err)
	return err
}

// putBack gives the terminal its own size.
func (c *resizing) putBack(ctx context.Context, p process) {
	c.made(c.last.do(c.number, func() error {
		if _, err := p.Terminal(ctx, shim.TerminalRequest{OwnSize: true}); err != nil && !noTerminal(err) {
			return err
		}
		if err := os.Remove(c.note); !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}))
}

// watchSize gives a terminal its own size again once the turn that has asked for another one is over, and says when
// to look again.
func (v *lives) watchSize(now time.Duration, l *life) time.Duration {
	s := &l.sizes
	switch {
	case l.phase != running || !s.strange || s.busy:
		return longestNap
	case l.turn.lasts(now) && l.turn.grant == s.grant:
		return min(longestNap, l.turn.last+turnSpan-now+time.Millisecond)
	case now < s.again:
		return min(longestNap, s.again-now)
	}
	v.putBack(l)
	return longestNap
}

// putBack gives a terminal its own size again.
func (v *lives) putBack(l *life) {
	l.sizes.busy = true
	var c *resizing
	c = v.resizing(l, func(err error) {
		l.sizes.busy = false
		if err != nil {
			l.sizes.again = v.config.Clock() + resizeAgain
			v.log.Debug("a terminal could not be given its own size again", "agent", l.order.GetAgentName(), "error", err)
		} else if c.number == l.sizes.number {
			l.sizes.strange = false
		}
	})
	p := l.process
	v.spawn(func() { c.putBack(v.ctx, p) })
}

// sized tells whether an earlier daemon has left the terminal of a life with another size.
func sized(folder string) bool {
	_, err := os.Lstat(filepath.Join(folder, sizedFile))
	return err == nil
}
