package door

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// recheckEvery is how often those are checked again who hang on this server: in streams, and in
// calls that wait.
const recheckEvery = 30 * time.Second

// errChanged ends a stream that was opened with other rights.
var errChanged = fault.New(code.Unavailable, "Your rights have changed; begin again.")

// hold keeps a call only as long as its caller may make it: check is asked again and again. The
// error of the call is the second result of end.
func hold(ctx context.Context, check func() error) (_ context.Context, end func(error) error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var again *time.Timer
	ready := make(chan struct{})
	again = time.AfterFunc(recheckEvery, func() {
		<-ready
		if ctx.Err() != nil {
			return
		}
		if err := check(); err != nil {
			cancel(err)
			return
		}
		again.Reset(recheckEvery)
	})
	close(ready)
	return ctx, func(err error) error {
		again.Stop()
		var no *fault.Error
		if err != nil && errors.As(context.Cause(ctx), &no) {
			err = no
		}
		cancel(nil)
		return err
	}
}

// still gives what hold asks: whether the principal may still make the call.
func (g *guard) still(p *who.Principal, full string, req func() any) func() error {
	return func() error {
		now := who.Principal{Claim: p.Claim}
		var unknown error
		if p.Kind != who.Nobody {
			now, unknown = g.identify.Principal(p.Claim)
		}
		if err := g.allow(&now, full, req(), unknown); err != nil {
			return err
		}
		if !slices.Equal(now.Rights, p.Rights) {
			return errChanged
		}
		return nil
	}
}

// guardedStream is a stream whose first message decides whether its caller may open it.
type guardedStream struct {
	grpc.ServerStream
	ctx   context.Context
	check func(req any) error

	mu    sync.Mutex
	first any // what it was opened with
}

func (s *guardedStream) Context() context.Context { return s.ctx }

// request is the message with which the stream was opened; nil: none has come yet.
func (s *guardedStream) request() any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first
}

// RecvMsg implements grpc.ServerStream. The handler receives in one goroutine.
func (s *guardedStream) RecvMsg(m any) error {
	if err := s.ended(); err != nil {
		return err
	}
	if err := s.ServerStream.RecvMsg(m); err != nil || s.request() != nil {
		return err
	}
	s.mu.Lock()
	s.first = copyOf(m)
	s.mu.Unlock()
	return s.check(m)
}

// SendMsg implements grpc.ServerStream.
func (s *guardedStream) SendMsg(m any) error {
	if err := s.ended(); err != nil {
		return err
	}
	return s.ServerStream.SendMsg(m)
}

// ended is why nothing more goes through: a handler that only receives, or only sends, does not
// look at its context.
func (s *guardedStream) ended() error {
	if s.ctx.Err() == nil {
		return nil
	}
	return context.Cause(s.ctx)
}

// copyOf keeps what the check of a stream looks at. Handlers may keep and change their messages;
// those of backups are large, and are about no room.
func copyOf(m any) any {
	switch r := m.(type) {
	case *vigilv1.HostMessage:
		return &vigilv1.HostMessage{Kind: r.GetKind()}
	case *vigilv1.RestoreSnapshotRequest:
		return &vigilv1.RestoreSnapshotRequest{}
	case *vigilv1.CarryRequest:
		return &vigilv1.CarryRequest{}
	}
	return m
}

// Check is nil when the caller of ctx may make that call too, for handlers whose calls are made of
// others.
func (d *Door) Check(ctx context.Context, full string, req any) error {
	if d.guard == nil {
		return nil
	}
	p := who.From(ctx)
	err := d.guard.allow(p, full, req, nil)
	if err != nil {
		d.guard.denied(ctx, d.methods[full], p, err)
	}
	return err
}

// AsServer gives the context of a call that a handler makes for this server, whoever asks it.
func (d *Door) AsServer(ctx context.Context) context.Context { return d.guard.asServer(ctx) }

// Pass gives the context of a call that a handler sends on to another server for its own caller.
func (d *Door) Pass(ctx context.Context) context.Context {
	return d.guard.pass(metadata.AppendToOutgoingContext(ctx, code.HeaderForwarded, d.self))
}

// Sees tells whether the caller of ctx may hear what happens in a room; nil: in all of them, and
// of the cluster.
func (d *Door) Sees(ctx context.Context) func(room string) bool {
	p := who.From(ctx)
	switch p.As() {
	case who.User, who.APIToken, who.Agent:
	default:
		return nil
	}
	if p.May(code.Viewer, everywhere) {
		return nil
	}
	return func(room string) bool { return p.May(code.Viewer, room) }
}

// Reads tells whether the caller of ctx may read what an agent, room/role, has put out: readers of its room, and
// the agent itself; nil: that of all agents. The state must not be locked by the caller.
func (d *Door) Reads(ctx context.Context) func(agent string) bool {
	p := *who.From(ctx)
	own := ""
	switch p.As() {
	case who.Local, who.Server, who.Root:
		return nil
	case who.Agent:
		own = p.Life.Agent
		p.Rights = d.guard.grantsOf(own)
	}
	if p.May(code.Reader, everywhere) {
		return nil
	}
	return func(agent string) bool { return agent == own || p.May(code.Reader, roomIn(agent)) }
}
