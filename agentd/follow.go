package agentd

import (
	"bytes"
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"vigil/agentd/output"
	"vigil/agentd/runner"
	"vigil/agentd/shim"
	"vigil/agentd/tmux"
	"vigil/rpc/gen/vigilv1"
)

// How often a terminal that somebody follows is looked at. Whether anything was printed is one question to the
// file system; only then tmux is asked.
const (
	followEvery = 400 * time.Millisecond
	typingEvery = 60 * time.Millisecond // while a human types there
)

// follow calls put with a vigilv1.Screen of a life, as bytes, now and whenever it has changed, until ctx ends
// or the life does. What flows without a pause is shown as it is at each look.
func (v *lives) follow(ctx context.Context, r *vigilv1.LogRequest, put func([]byte) error) error {
	log, err := v.logs.Log(r.GetAgentName())
	if err != nil {
		return err
	}
	var before output.Stamp
	var last []byte
	sizes := uint64(0)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for first := true; ; first = false {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
		f, err := v.find(ctx, r.GetAgent(), r.GetIncarnation(), func(*life) {})
		if err != nil {
			return err
		}
		timer.Reset(followEvery)
		if f.typed {
			timer.Reset(typingEvery)
		}
		stamp, err := log.Stamp() // before the screen, so that nothing is missed
		if err != nil {
			return err
		}
		if !first && stamp.Same(before) && f.sizes == sizes {
			continue
		}
		before, sizes = stamp, f.sizes
		shown, err := v.paint(ctx, f)
		if err != nil {
			return err
		}
		if bytes.Equal(shown, last) {
			continue
		}
		last = shown
		if err := put(shown); err != nil {
			return err
		}
	}
}

// paint asks for one frame. Where a dialog seems to stand it is asked for again after a look at the dialog itself: a
// mark may be of an earlier dialog than the frame, whose answer is refused then, but of none that nobody was shown.
func (v *lives) paint(ctx context.Context, f found) ([]byte, error) {
	frame, err := v.frame(ctx, f)
	mark := ""
	if err == nil && f.sight.mark(runner.Tidy(frame.Text)) != "" {
		var screen string
		if screen, err = f.see(ctx); err == nil {
			mark = f.sight.mark(screen)
			frame, err = v.frame(ctx, f)
		}
	}
	if err != nil {
		return nil, err
	}
	return proto.Marshal(&vigilv1.Screen{Text: frame.Text, Columns: uint32(frame.Columns), Rows: uint32(frame.Rows),
		CursorX: uint32(frame.X), CursorY: uint32(frame.Y), CursorHidden: frame.Hidden, Dialog: mark})
}

func (v *lives) frame(ctx context.Context, f found) (tmux.Frame, error) {
	v.metrics.captures.Inc()
	painted, err := f.process.Terminal(ctx, shim.TerminalRequest{Paint: true})
	if err != nil {
		return tmux.Frame{}, err
	}
	return tmux.ReadFrame(painted)
}
