package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// longSilence is how long a server that only has parked calls of ours may say
// nothing before it is asked for a sign of life.
const longSilence = 5 * time.Second

// conn is one connection to one server. Its watch goroutine notices a server that
// has stopped answering, which TCP by itself would not for many minutes.
type conn struct {
	addr    string
	cc      *grpc.ClientConn
	silence time.Duration
	born    time.Time

	short, long atomic.Int32 // calls that owe an answer soon; parked calls
	heard       atomic.Int64 // since born: the last answer
	since       atomic.Int64 // since born: when short or long left zero
	asleep      atomic.Bool  // watch has nothing to look at
	wake        chan struct{}

	gone    chan struct{} // closed by close
	closing sync.Once
	dialErr atomic.Pointer[error]
}

func newConn(addr string, cfg *Config, options []grpc.DialOption) (*conn, error) {
	k := &conn{addr: addr, silence: cfg.Silence, born: time.Now(),
		wake: make(chan struct{}, 1), gone: make(chan struct{})}
	dial := func(ctx context.Context, addr string) (c net.Conn, err error) {
		if c, err = cfg.Dial(ctx, addr); err != nil {
			k.dialErr.Store(&err)
		}
		return c, err
	}
	options = append([]grpc.DialOption{grpc.WithContextDialer(dial)}, options...)
	cc, err := grpc.NewClient("passthrough:///"+addr, options...)
	if err != nil {
		return nil, fmt.Errorf("open connection to %s: %w", addr, err)
	}
	k.cc = cc
	return k, nil
}

// usable tells without waiting whether a call can be sent now.
func (k *conn) usable() bool {
	select {
	case <-k.gone:
		return false
	default:
		return k.cc.GetState() == connectivity.Ready
	}
}

// ready waits until a call can be sent, at most for limit.
func (k *conn) ready(ctx context.Context, limit time.Duration) error {
	if k.usable() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		state := k.cc.GetState()
		switch state {
		case connectivity.Ready:
			return nil
		case connectivity.TransientFailure, connectivity.Shutdown:
			if err := k.dialErr.Load(); err != nil {
				return *err
			}
			return errors.New("connection refused or closed")
		case connectivity.Idle:
			k.cc.Connect()
		}
		if !k.cc.WaitForStateChange(ctx, state) {
			return errors.New("no answer while connecting")
		}
	}
}

// begin counts a call; the caller calls end when it is over.
func (k *conn) begin(long bool) (end func()) {
	n := &k.short
	if long {
		n = &k.long
	}
	if n.Add(1) == 1 && !(long && k.short.Load() > 0) {
		k.since.Store(int64(time.Since(k.born)))
		if k.asleep.CompareAndSwap(true, false) {
			k.wake <- struct{}{}
		}
	}
	return func() { n.Add(-1) }
}

// hear notes that the server has said something.
func (k *conn) hear() { k.heard.Store(int64(time.Since(k.born))) }

// watch asks a silent server that owes answers for a sign of life, and closes the
// connection when none comes: lost then tells the client. It returns when the
// connection is closed.
func (k *conn) watch(lost func(*conn)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-k.gone:
			return
		case <-k.wake:
			timer.Reset(k.silence / 2)
			continue
		case <-timer.C:
		}
		limit := k.silence
		if k.short.Load() == 0 {
			if k.long.Load() == 0 && k.sleep() {
				continue
			}
			limit = longSilence
		}
		quiet := time.Since(k.born) - time.Duration(max(k.heard.Load(), k.since.Load()))
		if quiet >= limit && !k.alive() {
			lost(k)
			return
		}
		timer.Reset(k.silence / 2)
	}
}

// sleep lets watch rest until the next call begins. It gives false when a call
// began meanwhile.
func (k *conn) sleep() bool {
	k.asleep.Store(true)
	if k.short.Load() == 0 && k.long.Load() == 0 {
		return true
	}
	// Whoever takes the flag down sends the wake-up: take it down ourselves, or
	// let the wake-up come.
	return !k.asleep.CompareAndSwap(true, false)
}

// alive asks for a sign of life. Any answer is one, "unimplemented" too.
func (k *conn) alive() bool {
	ctx, cancel := context.WithTimeout(context.Background(), k.silence)
	defer cancel()
	_, err := grpc_health_v1.NewHealthClient(k.cc).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	switch status.Code(err) {
	case codes.DeadlineExceeded, codes.Unavailable, codes.Canceled:
		return false
	}
	k.hear()
	return true
}

// close ends the connection; calls on it fail. It may be called more than once.
func (k *conn) close() {
	k.closing.Do(func() {
		close(k.gone)
		_ = k.cc.Close() // fails only when it was closed before
	})
}

// closed tells whether calls that failed did so because of close.
func (k *conn) closed() bool {
	select {
	case <-k.gone:
		return true
	default:
		return false
	}
}
