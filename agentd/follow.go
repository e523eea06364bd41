package agentd

import (
	"bytes"
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"vigil/agentd/output"
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
		shown, err := v.paint(ctx, f.process)
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

// paint asks for one frame.
func (v *lives) paint(ctx context.Context, p process) ([]byte, error) {
	v.metrics.captures.Inc()
	painted, err := p.Terminal(ctx, shim.TerminalRequest{Paint: true})
	if err != nil {
		return nil, err
	}
	f, err := tmux.ReadFrame(painted)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(&vigilv1.Screen{Text: f.Text, Columns: uint32(f.Columns), Rows: uint32(f.Rows),
		CursorX: uint32(f.X), CursorY: uint32(f.Y), CursorHidden: f.Hidden})
}
