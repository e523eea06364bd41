package door

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"

	"vigil/rpc/code"
	"vigil/rpc/fault"
)

// observer is the outermost interceptor: it counts, writes the access line, turns
// errors into statuses and panics of handlers into internal errors.
type observer struct {
	*core
}

// guarded lets the call through to h when its caller may make it; it runs inside the counting.
func (o *observer) guarded(ctx context.Context, req any, full string, h grpc.UnaryHandler) (resp any, err error) {
	if o.guard == nil {
		o.reach.hearCall(ctx, full)
		return h(ctx, req)
	}
	ctx, p, unknown := o.guard.enter(ctx)
	if ownCall(full) {
		if unknown == nil {
			o.reach.hearCall(ctx, full)
		}
		return h(ctx, req)
	}
	if err := o.guard.allow(p, full, req, unknown); err != nil {
		o.guard.denied(ctx, o.methods[full], p, err)
		return nil, err
	}
	done, err := o.guard.quotas.take(ctx, p, req)
	if err != nil {
		return nil, err
	}
	defer done()
	o.reach.hearCall(ctx, full)
	sign(p, req)
	ctx = withAudit(ctx, p, full, req)
	if m := o.methods[full]; m == nil || !m.parks(req) {
		return h(ctx, req)
	}
	ctx, end := hold(ctx, o.guard.still(p, full, func() any { return req }))
	resp, err = h(ctx, req)
	return resp, end(err)
}

// guardedStream is guarded for streams, whose first message is the request.
func (o *observer) guardedStream(s grpc.ServerStream, full string, h func(grpc.ServerStream) error) error {
	if o.guard == nil {
		return h(s)
	}
	ctx, p, unknown := o.guard.enter(s.Context())
	if unknown != nil {
		o.guard.denied(ctx, o.methods[full], p, unknown)
		return unknown
	}
	done, err := o.guard.quotas.take(ctx, p, nil)
	if err != nil {
		return err
	}
	defer done()
	gs := &guardedStream{ServerStream: s, check: func(req any) error {
		err := o.guard.allow(p, full, req, nil)
		if err != nil {
			o.guard.denied(ctx, o.methods[full], p, err)
		}
		return err
	}}
	var end func(error) error
	gs.ctx, end = hold(withAudit(ctx, p, full, nil), o.guard.still(p, full, gs.request))
	return end(h(gs))
}

func (o *observer) unary(
	ctx context.Context, req any, info *grpc.UnaryServerInfo, h grpc.UnaryHandler,
) (resp any, err error) {
	began := time.Now()
	defer func() {
		if v := recover(); v != nil {
			err = o.panicked(ctx, req, info.FullMethod, v)
		}
		err = o.done(ctx, req, info.FullMethod, began, err)
	}()
	sameNames(req)
	if err := number(ctx, req); err != nil {
		return nil, err
	}
	trace(ctx, req)
	return o.guarded(ctx, req, info.FullMethod, h)
}

func (o *observer) stream(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, h grpc.StreamHandler) (err error) {
	began := time.Now()
	defer func() {
		if v := recover(); v != nil {
			err = o.panicked(s.Context(), nil, info.FullMethod, v)
		}
		err = o.done(s.Context(), nil, info.FullMethod, began, err)
	}()
	if err := o.sound(); err != nil {
		return err
	}
	s = &boundedStream{ServerStream: s, method: info.FullMethod, most: code.MaxRequest(info.FullMethod)}
	return o.guardedStream(s, info.FullMethod, func(s grpc.ServerStream) error {
		if code.NatureOf(info.FullMethod) != code.Watch {
			return h(srv, s)
		}
		return o.alone.guard(s.Context(), func(ctx context.Context) error { return h(srv, &hangingStream{s, ctx}) })
	})
}

// hangingStream is a stream with a context of its own.
type hangingStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *hangingStream) Context() context.Context { return s.ctx }

func (o *observer) panicked(ctx context.Context, req any, full string, v any) error {
	o.log.Error("handler panicked", append(traceField(ctx, req), "method", full, "panic", fmt.Sprint(v),
		"stack", string(debug.Stack()))...)
	return &fault.Error{Code: code.Internal}
}

// done counts and logs one answer and gives its error the form of the wire. Lines
// hold no text of tasks and no token: method, code, time and the id of the caller's trace are all there is.
func (o *observer) done(ctx context.Context, req any, full string, began time.Time, err error) error {
	name := code.OK
	var p *fault.Error
	if err != nil {
		p = fault.Of(err)
		name = p.Code
	}
	took := time.Since(began)
	m := o.methods[full]
	if m != nil {
		m.stats.count(name, took.Seconds())
	}
	if o.log.IsDebug() {
		from := ""
		if pr, ok := peer.FromContext(ctx); ok {
			from = pr.Addr.String()
		}
		o.log.Debug("call", append([]any{"method", full, "code", name, "took", took, "from", from},
			traceField(ctx, req)...)...)
	}
	if p == nil {
		return nil
	}
	if p.Code == code.Internal {
		o.log.Warn("call failed", append([]any{"method", full, "error", p.Text}, traceField(ctx, req)...)...)
	}
	if p.Leader == "" && (p.Code == code.NotLeader || p.Code == code.NoLeader) {
		p = &fault.Error{Code: p.Code, Text: p.Text, Leader: o.reader.Leader().APIAddr}
	}
	return p.Status()
}
