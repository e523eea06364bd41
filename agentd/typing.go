package agentd

import (
	"context"
	"errors"
	"fmt"

	"vigil/agentd/shim"
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
		screen, err := t.terminal(session, r)
		if err != nil {
			end.Error = err.Error()
		}
		end.Data = []byte(screen[max(0, len(screen)-maxScreen):])
		t.put(session, end)
	})
}

// errPrompt says why nothing was typed.
var errPrompt = errors.New("a permission prompt stands on the terminal, and whatever is typed would answer it")

// atTerminal finds the life and asks its shim.
func (v *lives) atTerminal(ctx context.Context, r *vigilv1.TerminalRequest) (string, error) {
	type found struct {
		process process
		sight   *sight
		err     error
	}
	answer := make(chan found, 1)
	v.send(func() {
		l := v.all[r.GetAgent()]
		switch {
		case l == nil, l.inc != r.GetIncarnation(), l.phase != running:
			answer <- found{err: errors.New("this life of the agent does not run on the host any more")}
		default:
			answer <- found{process: l.process, sight: l.sight}
		}
	})
	select {
	case f := <-answer:
		if f.err != nil {
			return "", f.err
		}
		if r.GetSparePrompt() && f.sight.asks(ctx, f.process) {
			return "", errPrompt
		}
		return f.process.Terminal(ctx, shim.TerminalRequest{Text: r.GetText(), Enter: r.GetText() != "" ||
			r.GetKey() == "enter",
			Interrupt: r.GetKey() == "interrupt", Look: r.GetLook(), Lines: int(r.GetLines())})
	case <-ctx.Done():
		return "", ctx.Err()
	case <-v.done:
		return "", errors.New("agentd is stopping")
	}
}
