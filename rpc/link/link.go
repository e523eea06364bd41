package link

import (
	"context"
	"crypto/tls"
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

// ErrConnecting is the error of Ready while the connection may still come.
var ErrConnecting = errors.New("no answer while connecting")

// Dialer opens a connection to addr, host:port.
type Dialer func(ctx context.Context, addr string) (net.Conn, error)

// Conn is one connection to one server. Its Watch notices a server that has stopped
// answering, which TCP by itself would not for many minutes. Safe for concurrent use.
type Conn struct {
	*grpc.ClientConn
	Addr string // host:port

	silence time.Duration
	born    time.Time

	short, long atomic.Int32 // calls that owe an answer soon; parked calls
	heard       atomic.Int64 // since born: the last answer
	line        atomic.Pointer[net.Conn]
	since       atomic.Int64 // since born: when short or long left zero
	asleep      atomic.Bool  // Watch has nothing to look at
	wake        chan struct{}

	// The stream that carries calls: see Invoke.
	carried   atomic.Pointer[carrier] // nil: there is none
	alone     atomic.Int64            // calls that could have been carried
	opening   atomic.Bool             // a stream is being opened, or is there
	notBefore atomic.Int64            // since born: when one may be opened again
	streams   sync.WaitGroup
	mu        sync.Mutex // between a stream that begins and Close

	life    context.Context // ends with Close
	end     context.CancelFunc
	gone    chan struct{} // closed by Close
	closing sync.Once
	dialErr atomic.Pointer[error]
}

// New gives a connection to addr, which is dialled when it is first used: by TLS, or in clear when
// secure is nil. A server that owes an answer and says nothing for silence, longer on a slow line (see
// patience), is asked for a sign of life, and has as long again to give one. The caller runs Watch, and
// calls Close in the end.
func New(
	addr string, silence time.Duration, dial Dialer, secure *tls.Config, options ...grpc.DialOption,
) (*Conn, error) {
	k := &Conn{Addr: addr, silence: silence, born: time.Now(),
		wake: make(chan struct{}, 1), gone: make(chan struct{})}
	k.life, k.end = context.WithCancel(context.Background())
	noted := func(ctx context.Context, addr string) (net.Conn, error) {
		c, err := dial(ctx, addr)
		if err != nil {
			k.dialErr.Store(&err)
			return nil, err
		}
		k.line.Store(&c)
		return c, nil
	}
	cc, err := grpc.NewClient("passthrough:///"+addr, append([]grpc.DialOption{grpc.WithContextDialer(noted),
		grpc.WithTransportCredentials(k.credentials(secure))}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("open connection to %s: %w", addr, err)
	}
	k.ClientConn = cc
	return k, nil
}

// Usable tells without waiting whether a call can be sent now.
func (k *Conn) Usable() bool {
	select {
	case <-k.gone:
		return false
	default:
		return k.GetState() == connectivity.Ready
	}
}

// Age is how long ago the connection was made; it may have been dialled again since.
func (k *Conn) Age() time.Duration { return time.Since(k.born) }

// Ready waits until a call can be sent, at most for limit.
func (k *Conn) Ready(ctx context.Context, limit time.Duration) error {
	if k.Usable() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		state := k.GetState()
		switch state {
		case connectivity.Ready:
			return nil
		case connectivity.TransientFailure, connectivity.Shutdown:
			if err := k.dialErr.Load(); err != nil {
				return *err
			}
			return errors.New("connection refused or closed")
		case connectivity.Idle:
			k.Connect()
		}
		if !k.WaitForStateChange(ctx, state) {
			return ErrConnecting
		}
	}
}

// Begin counts a call, a parked one if long; the caller calls end when it is over.
func (k *Conn) Begin(long bool) (end func()) {
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

// Hear notes that the server has said something.
func (k *Conn) Hear() { k.heard.Store(int64(time.Since(k.born))) }

// Watch asks a silent server that owes answers for a sign of life, and closes the
// connection when none comes: lost is told. It returns when the
// connection is closed and nothing of it is alive.
func (k *Conn) Watch(lost func(*Conn)) {
	defer k.streams.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-k.gone:
			return
		case <-k.wake:
			timer.Reset(k.silence / 4)
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
		heard := k.heard.Load()
		if quiet >= limit && quiet >= k.patience() && !k.alive() && k.heard.Load() == heard {
			lost(k) // what was owed has not come meanwhile either
			return
		}
		timer.Reset(k.silence / 4)
	}
}

// sleep lets Watch rest until the next call begins. It gives false when a call
// began meanwhile.
func (k *Conn) sleep() bool {
	k.asleep.Store(true)
	if k.short.Load() == 0 && k.long.Load() == 0 {
		return true
	}
	// Whoever takes the flag down sends the wake-up: take it down ourselves, or
	// let the wake-up come.
	return !k.asleep.CompareAndSwap(true, false)
}

// Measured is a connection that knows how long the way there and back takes; of TCP the kernel is asked.
type Measured interface {
	net.Conn
	Trip() time.Duration
}

// patience is for how long the server may say nothing: on a line whose queues are full, where the way there and back
// takes longer than half of silence, twice as long as that, but not longer than a server that owes nothing.
func (k *Conn) patience() time.Duration {
	line := k.line.Load()
	if line == nil {
		return k.silence
	}
	trip := time.Duration(0)
	if m, ok := (*line).(Measured); ok {
		trip = m.Trip()
	} else {
		trip = lineTrip(*line)
	}
	return max(k.silence, min(2*trip, longSilence))
}

// alive asks for a sign of life.
func (k *Conn) alive() bool {
	ctx, cancel := context.WithTimeout(context.Background(), k.patience())
	defer cancel()
	return k.Ask(ctx)
}

// Ask asks for a sign of life until ctx ends. Any answer is one, "unimplemented" too.
func (k *Conn) Ask(ctx context.Context) bool {
	_, err := grpc_health_v1.NewHealthClient(k).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	switch status.Code(err) {
	case codes.DeadlineExceeded, codes.Unavailable, codes.Canceled:
		return false
	}
	k.Hear()
	return true
}

// Close ends the connection; calls on it fail. It may be called more than once.
func (k *Conn) Close() {
	k.closing.Do(func() {
		k.mu.Lock()
		close(k.gone)
		k.end()
		k.mu.Unlock()
		_ = k.ClientConn.Close() // fails only when it was closed before
	})
}

// Closed tells whether calls that failed did so because of Close.
func (k *Conn) Closed() bool {
	select {
	case <-k.gone:
		return true
	default:
		return false
	}
}
