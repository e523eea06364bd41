package client

import (
	"context"
	"io"

	"google.golang.org/grpc"

	"vigil/rpc/code"
	"vigil/rpc/link"
)

// NewStream opens a stream to a server that works; generated stubs call it. A
// server that cannot be reached is passed over, since nothing was sent to it.
// Once open, a stream is never opened again by the client: its errors are *Error,
// and whoever watches resumes from the last event that it has seen.
func (c *Client) NewStream(
	ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	t := c.trial(method, code.Stream)
	r := c.servers.route(true)
	for {
		if err := c.ended(ctx, t); err != nil {
			return nil, err
		}
		k, unreachable := c.servers.pick(ctx, r)
		if unreachable != nil {
			if ctx.Err() != nil {
				t.last = unreachable
				continue
			}
			return nil, unreachable
		}
		s, err := k.NewStream(ctx, desc, method, opts...)
		if err == nil {
			// The stream's own context ends with it, however that happens.
			context.AfterFunc(s.Context(), k.Begin(true))
			return &stream{ClientStream: s, ctx: ctx, c: c, k: k}, nil
		}
		e, answered := decode(err)
		if ctx.Err() == nil && (answered || e.Code != code.Unavailable && !k.Closed()) {
			return nil, e
		}
		t.last = e
		t.tries++
		c.servers.fail(k)
	}
}

// stream notes signs of life and translates errors.
type stream struct {
	grpc.ClientStream
	ctx context.Context // the caller's
	c   *Client
	k   *link.Conn
}

func (s *stream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err == nil {
		s.k.Hear()
		return nil
	}
	return s.translate(err)
}

func (s *stream) SendMsg(m any) error { return s.translate(s.ClientStream.SendMsg(m)) }

func (s *stream) CloseSend() error { return s.translate(s.ClientStream.CloseSend()) }

func (s *stream) translate(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	e, answered := decode(err)
	switch {
	case s.ctx.Err() != nil:
		return s.c.endedBy(s.ctx.Err(), &trial{tries: 1})
	case s.c.life.Err() != nil:
		return ErrClosed
	case s.k.Closed():
		e.Code, e.Message = code.Unavailable, "server "+s.k.Addr+" has stopped answering"
	case !answered && e.Code == code.Unavailable:
		s.c.servers.lost(s.c.servers.route(true), s.k)
	case e.unknown() && s.c.cfg.TLS != nil:
		s.c.servers.redial(s.k) // the next stream shows the newest certificate
	case e.Code == code.NoLeader || e.Code == code.NotLeader:
		s.c.servers.leave(s.c.servers.route(true), s.k.Addr)
	}
	return e
}
