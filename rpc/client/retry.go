package client

import (
	"context"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/link"
)

// maxHops bounds how often a call follows from server to server before it waits.
const maxHops = 3

// trial is one call with its attempts.
type trial struct {
	method string
	nature code.Nature
	began  time.Time
	until  time.Duration // after began
	sent   time.Time     // when the last attempt began
	more   time.Time     // until when it is asked after a gap
	tries  int
	hops   int
	fresh  bool   // the identity was shown anew
	stood  bool   // there was a gap
	maybe  bool   // an attempt that has no answer may have been carried out
	last   *Error // why the last attempt was not the end of it
}

// repeat sends the call until it is answered. Messages are not changed; unknown
// sessions are the caller's business.
func (c *Client) repeat(ctx context.Context, t *trial, args, reply any, opts []grpc.CallOption) error {
	for {
		if err := c.ended(ctx, t); err != nil {
			return err
		}
		err, next := c.attempt(ctx, t, args, reply, opts)
		if err == nil {
			c.trouble.Store(nil)
			return nil
		}
		if next == giveUp {
			return err
		}
		t.last = err
		c.trouble.Store(err)
		if next == later {
			t.pause(ctx, c.done)
		}
	}
}

// next is what to do after a failed attempt.
type next uint8

const (
	giveUp next = iota
	now
	later
)

// attempt sends the call once.
func (c *Client) attempt(ctx context.Context, t *trial, args, reply any, opts []grpc.CallOption) (*Error, next) {
	t.tries++
	t.sent = time.Now()
	r := c.servers.route(t.nature.Parked())
	k, unreachable := c.servers.pick(ctx, r)
	if unreachable != nil {
		if !t.nature.RepeatableAfter(code.NoLeader) {
			return unreachable, giveUp
		}
		return unreachable, later
	}
	attempt, cancel := t.aged(ctx), context.CancelFunc(func() {})
	if !t.nature.Long() {
		attempt, cancel = context.WithTimeout(attempt, c.cfg.Attempt)
	}
	defer cancel()
	var header metadata.MD
	end := k.Begin(t.nature.Parked())
	err := k.Invoke(attempt, t.method, args, reply, append(opts[:len(opts):len(opts)], grpc.Header(&header))...)
	end()
	leader := ""
	if v := header.Get(code.HeaderLeader); len(v) > 0 {
		leader = v[0]
		k.Hear()
	}
	if v := header.Get(code.HeaderServers); len(v) > 0 {
		c.servers.learn(v[0])
	}
	if err == nil {
		k.Hear()
		if leader != "" {
			c.servers.follow(leader)
		}
		return nil, giveUp
	}
	return c.judge(ctx, t, r, k, err, leader)
}

// judge decides what a failed attempt means for the route and for the call.
func (c *Client) judge(ctx context.Context, t *trial, r *route, k *link.Conn, err error, leader string) (*Error, next) {
	e, answered := decode(err)
	if c.life.Err() != nil {
		return From(ErrClosed), giveUp
	}
	t.maybe = t.maybe || t.changes() && (!answered || e.open())
	if ctx.Err() != nil {
		if t.nature == code.Beat && ctx.Err() == context.DeadlineExceeded {
			c.servers.leave(r, k.Addr) // whoever sends the next one should not wait here again
		}
		return c.endedBy(ctx.Err(), t), giveUp
	}
	if e.Leader == "" {
		e.Leader = leader
	}
	again := next(later)
	switch {
	case k.Closed():
		e.Code, e.Message = code.Unavailable, "server "+k.Addr+" has stopped answering"
		again = now
	case !answered && e.Code == code.Unavailable:
		c.servers.lost(r, k)
		again = now
	case !answered && e.Code == code.Timeout:
		e.Message = "server " + k.Addr + " did not answer in time"
		c.servers.leave(r, k.Addr)
		again = now
	case e.Code == code.NotLeader && e.Leader != "" && t.hops < maxHops && c.servers.follow(e.Leader):
		k.Hear()
		t.hops++
		again = now
	case answered && e.unknown() && !t.fresh && c.cfg.TLS != nil && (t.nature != code.Beat || k.Age() > redialAfter):
		// Nothing was done. The connection may have shown a certificate that was renewed since.
		t.fresh = true
		c.servers.redial(k)
		if t.nature == code.Beat {
			return e, giveUp // the next one goes over a new connection
		}
		return e, now
	case answered && e.fleeting():
		k.Hear()
		c.servers.leave(r, k.Addr)
	default:
		k.Hear()
		if leader != "" {
			c.servers.follow(leader)
		}
		return e, giveUp
	}
	if !t.nature.RepeatableAfter(e.Code) {
		return e, giveUp
	}
	return e, again
}

// redialAfter is the age of a connection over which a beat that is refused has the next one go over another: who is
// shut out for good beats on, and must not shake hands each time.
const redialAfter = 10 * time.Second

// fleeting tells whether a server's answer means only that it could not do its
// work just now. A server that stops cancels what it is doing.
func (e *Error) fleeting() bool { return e != nil && code.Of(e.Code).Fate.Fleeting() }

// open tells whether the error leaves open that the call was carried out.
func (e *Error) open() bool { return e != nil && code.Of(e.Code).Fate == code.Open }

// changes tells whether the call leaves something behind where its answer is lost. A session of which nobody knows is
// nothing: the write that it was to number was not sent.
func (t *trial) changes() bool {
	switch t.nature {
	case code.Write, code.Idempotent, code.Unnumbered, code.Move:
		return t.method != vigilv1.Work_OpenSession_FullMethodName
	}
	return false
}

// unknown tells whether a server does not take the caller for anybody.
func (e *Error) unknown() bool { return e.Code == code.AuthDenied || e.Code == code.AuthExpired }

// pause waits before the next attempt: from 20 ms on, then up to a quarter of the
// time that the call has lasted (but at least 100 ms and at most 2 s), with jitter.
func (t *trial) pause(ctx context.Context, done <-chan struct{}) {
	t.hops = 0
	d := 20 * time.Millisecond << min(t.tries-1, 10)
	d = min(d, max(100*time.Millisecond, time.Since(t.began)/4), 2*time.Second)
	timer := time.NewTimer(d/2 + rand.N(d/2))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-done:
	}
}

// ended gives the error of a call that may not be tried any more, nil while it may.
func (c *Client) ended(ctx context.Context, t *trial) error {
	if c.life.Err() != nil {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return c.endedBy(err, t)
	}
	if t.last == nil {
		return nil
	}
	over := t.over(c.cfg.Attempt)
	if elapsed(t.began) >= c.cfg.Absent && time.Now().After(t.more) && t.last.Code == code.Unavailable &&
		c.servers.absent() {
		return t.last
	}
	if over {
		return c.endedBy(context.DeadlineExceeded, t)
	}
	return nil
}

// gap is the time between two attempts that tells of a process which stood still: frozen, or its machine asleep.
const gap = 15 * time.Second

// over tells whether the time of a call is over. Time in which the process stood still was no time to ask: after such
// a gap it is asked for one attempt's time more, once.
func (t *trial) over(attempt time.Duration) bool {
	if elapsed(t.began) < t.until || time.Now().Before(t.more) {
		return false
	}
	if t.stood || elapsed(t.sent) <= gap {
		return true
	}
	t.stood, t.more = true, time.Now().Add(min(t.until, attempt))
	return false
}

// endedBy names the reason why there was no answer before the end.
func (c *Client) endedBy(cause error, t *trial) *Error {
	last := t.last
	if last == nil && t.tries == 0 {
		last = c.trouble.Load()
	}
	e := &Error{Code: code.Timeout, Message: "there was no answer in time", cause: cause}
	if cause == context.Canceled {
		e.Code, e.Message = code.Canceled, "the call was canceled"
	}
	if last != nil {
		e.Leader = last.Leader
		e.Message += "; the last attempt: " + last.Error()
		if cause != context.Canceled {
			e.Code = last.Code
		}
	}
	return t.perhaps(e)
}

// perhaps gives the error that ends the call, which tells of its last attempt: an earlier one may have been carried
// out, and whoever believed that nothing was would do it twice.
func (t *trial) perhaps(e *Error) *Error {
	if !t.maybe {
		return e
	}
	out := *e
	out.Message = "it may have been done: " + e.Error()
	if !e.open() {
		out.Code = code.UnknownOutcome
	}
	return &out
}

// elapsed is the time since then, by whichever of the two clocks says more: the
// monotonic one stands still while a laptop is suspended, the cluster does not.
func elapsed(then time.Time) time.Duration {
	t := time.Now()
	return max(t.Sub(then), t.Round(0).Sub(then.Round(0)))
}
