package agentd

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"vigil/agentd/runner"
	"vigil/agentd/shim"
	"vigil/agentd/tmux"
	"vigil/rpc/gen/vigilv1"
)

// maxTerminals bounds how many people are at terminals of this host at once.
const maxTerminals = 32

// maxScreen is the most that is said of one screen, in bytes: its end.
const maxScreen = 1 << 20

// serveTerminal answers a request about a terminal. It takes as long as
// shim.TerminalLimit and holds up nothing else.
func (t *talk) serveTerminal(session context.Context, r *vigilv1.TerminalRequest) {
	select {
	case t.terminals <- struct{}{}:
	default:
		t.tasks.Go(func() {
			t.put(session, &vigilv1.LogData{Request: r.GetRequest(), End: true,
				Error: fmt.Sprintf("%d people are at terminals of this host already", maxTerminals)})
		})
		return
	}
	t.tasks.Go(func() {
		defer func() { <-t.terminals }()
		end := &vigilv1.LogData{Request: r.GetRequest(), End: true}
		seen, err := t.terminal(session, r)
		if err != nil {
			end.Error = err.Error()
		}
		end.Data, end.Dialog = []byte(seen.text[max(0, len(seen.text)-maxScreen):]), seen.dialog
		t.put(session, end)
	})
}

// errPrompt says why nothing was typed.
var errPrompt = errors.New("a permission prompt stands on the terminal, and whatever is typed would answer it: " +
	"look at it with `vigil agent screen`, and answer it with `vigil nudge --answer`")

// errChoice says so of a dialog that no pattern of the runner knows.
var errChoice = errors.New("something is to be chosen on the terminal, and whatever is typed would choose: " +
	"look at it with `vigil agent screen`, and answer it with `vigil nudge --answer`")

// view is what a terminal shows, with the mark of the dialog that stands there.
type view struct{ text, dialog string }

// atTerminal finds the life and asks its shim.
func (v *lives) atTerminal(ctx context.Context, r *vigilv1.TerminalRequest) (view, error) {
	size, err := sizeAsked(r)
	if err != nil {
		return view{}, err
	}
	var heard error
	var change *resizing
	f, err := v.find(ctx, r.GetAgent(), r.GetIncarnation(), func(l *life) {
		switch {
		case r.GetOver():
			l.turn.end(r.GetGrant()) // watchSize does the rest
		case size || len(r.GetKeys()) > 0:
			change, heard = v.hear(l, r, size)
		}
	})
	switch {
	case r.GetOver():
		return view{}, err
	case err != nil:
		return view{}, err
	case errors.Is(heard, errTyped):
		return view{}, nil
	case heard != nil:
		return view{}, heard
	}
	if r.GetText() != "" || r.GetKey() != "" {
		// One at a time: what one has seen on the terminal still holds when it types. Whoever has asked waits no longer
		// than that, so what is typed later would be typed twice.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, shim.TerminalLimit)
		defer cancel()
		if !tmux.Take(ctx, f.typing) {
			return view{}, errOthers
		}
		defer f.typing.Unlock()
	}
	switch {
	case r.GetSparePrompt():
		if err := f.sight.spares(ctx, f.process); err != nil {
			return view{}, err
		}
	case r.GetText() != "": // what does not spare a prompt answers one
		screen, err := f.answer(ctx, r.GetText(), r.GetIfDialog())
		return view{text: screen}, err
	case r.GetKey() == "enter":
		return view{}, f.confirm(ctx, r.GetIfDialog())
	}
	if change != nil {
		if err := change.resize(ctx, f.process, int(r.GetColumns()), int(r.GetRows())); err != nil || len(r.GetKeys()) == 0 {
			return view{}, err
		}
	}
	screen, err := f.process.Terminal(ctx, shim.TerminalRequest{Text: r.GetText(), Enter: r.GetText() != "" ||
		r.GetKey() == "enter",
		Interrupt: r.GetKey() == "interrupt", Look: r.GetLook(), Lines: int(r.GetLines()),
		Keys: hex.EncodeToString(r.GetKeys())})
	seen := view{text: screen}
	if r.GetLook() && r.GetText() == "" && err == nil {
		now := runner.Tidy(screen)
		if r.GetLines() > 0 { // what has scrolled out of the terminal is no part of what stands there
			now, err = f.see(ctx)
		}
		seen.dialog = f.sight.mark(now)
	}
	return seen, err
}

// hear takes a call of a turn, and begins the change of size that it asks for, if any.
func (v *lives) hear(l *life, r *vigilv1.TerminalRequest, size bool) (*resizing, error) {
	err := l.turn.hear(v.config.Clock(), r.GetGrant(), r.GetSeq())
	switch {
	case err != nil:
		return nil, err
	case size && l.folder == "":
		return nil, shim.ErrNoTerminal // of a life that is only being killed
	case size:
		return v.resize(l), nil
	}
	return nil, nil // watchSize gives back the size that an earlier turn has asked for
}

// errOthers says that the terminal is typed at all the time.
var errOthers = errors.New("others type at this terminal: try again in a moment")

// found is a life that runs, for others than the keeper's goroutine.
type found struct {
	process process
	sight   *sight
	typing  *sync.Mutex // held by whoever types for others than the human at the terminal
	typed   bool        // a human types at its terminal, or did a moment ago
	sizes   uint64      // how often its terminal got another size
}

// find looks for a life that runs; also is called by the keeper's goroutine when it does.
func (v *lives) find(ctx context.Context, agent uint32, inc uint64, also func(*life)) (found, error) {
	answer := make(chan found, 1)
	v.send(func() {
		l := v.all[agent]
		if l == nil || l.inc != inc || l.phase != running {
			close(answer)
			return
		}
		also(l)
		answer <- found{l.process, l.sight, &l.typing, l.turn.lasts(v.config.Clock()), l.sizes.shown}
	})
	select {
	case f, ok := <-answer:
		if !ok {
			return f, errors.New("this life of the agent does not run on the host any more")
		}
		return f, nil
	case <-ctx.Done():
		return found{}, ctx.Err()
	case <-v.done:
		return found{}, errors.New("agentd is stopping")
	}
}
