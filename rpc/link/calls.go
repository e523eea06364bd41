package link

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

const (
	// carryAfter is how many calls a connection has made by themselves before it opens a stream for the
	// next: a command that makes one or two should not pay for a stream.
	carryAfter = 8
	// carryAgain is after how long a server that refused the stream, or ended it, is asked again.
	carryAgain = 10 * time.Second
	// maxCarried bounds a request that goes over the stream, in bytes: behind a longer one the others would wait.
	maxCarried = 64 << 10
	// maxBatch bounds what goes into one message, in bytes of requests: a message has a bound of its own, and the
	// server begins with none of it before all has come.
	maxBatch = 512 << 10
	// maxUnder bounds the calls under way in a stream; the server takes more.
	maxUnder = 32 << 10
)

// Invoke sends a unary call and waits for its answer, over the stream that carries many where there is one.
// It is the interface of generated clients.
func (k *Conn) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	if code.NatureOf(method).Carried() {
		if c := k.carrier(); c != nil {
			if tried, err := c.invoke(ctx, method, args, reply, opts); tried {
				return err
			}
		}
	}
	return k.ClientConn.Invoke(ctx, method, args, reply, opts...)
}

// Carries tells whether calls go over a stream of many now.
func (k *Conn) Carries() bool { return k.carried.Load() != nil }

// carrier gives the stream; nil while there is none. One is opened beside the calls that go by themselves.
func (k *Conn) carrier() *carrier {
	if c := k.carried.Load(); c != nil {
		return c
	}
	if n := k.alone.Add(1); n <= carryAfter || !k.opening.CompareAndSwap(false, true) {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.Usable() || time.Since(k.born) < time.Duration(k.notBefore.Load()) {
		k.opening.Store(false)
		return nil
	}
	k.streams.Go(func() {
		err := k.carry()
		if errors.Is(err, errRetired) {
			return // another one may be open
		}
		again := time.Since(k.born) + carryAgain
		if refused(err) {
			again = math.MaxInt64
		}
		k.notBefore.Store(int64(again))
		k.opening.Store(false)
	})
	return nil
}

// errRetired is the end of a stream that took no more calls.
var errRetired = errors.New("the connection of the stream is replaced")

// retire has no more calls go over c: its connection takes none any more, since the server bounds how old one may
// grow, or it is broken. Those under way are still answered, and another stream may be opened.
func (k *Conn) retire(c *carrier) {
	k.carried.CompareAndSwap(c, nil)
	c.mu.Lock()
	first := !c.retired && !c.ended
	c.retired = c.retired || first
	c.drained()
	c.mu.Unlock()
	if first {
		k.opening.Store(false)
	}
}

// refused tells whether a stream ended since the server does not take one from this caller, or from anybody.
func refused(err error) bool {
	switch status.Code(err) {
	case codes.Unimplemented, codes.PermissionDenied, codes.Unauthenticated:
		return true
	}
	return false
}

// carry opens a stream and brings its answers to who waits for them, until it ends.
func (k *Conn) carry() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer context.AfterFunc(k.life, cancel)()
	s, err := vigilv1.NewCallsClient(k.ClientConn).Carry(ctx)
	if err != nil {
		return err
	}
	if err := s.Send(&vigilv1.CarryRequest{}); err != nil {
		return err
	}
	c := &carrier{stream: s, cancel: cancel, waiting: map[uint64]*awaited{}, queue: &vigilv1.CarryRequest{}}
	c.signs.Store(&metadata.MD{})
	c.peer, _ = peer.FromContext(s.Context())
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel()
	watch.Go(func() {
		if k.WaitForStateChange(ctx, connectivity.Ready) {
			k.retire(c)
		}
	})
	for {
		in, err := s.Recv()
		if err != nil {
			k.carried.CompareAndSwap(c, nil)
			if c.end() {
				return errRetired
			}
			return err
		}
		if sg := in.GetSigns(); sg != nil {
			c.signs.Store(header(sg))
		}
		c.deliver(in.GetAnswers())
		if c.open() {
			k.carried.CompareAndSwap(nil, c)
		}
	}
}

// header is what the server would have sent with an answer.
func header(sg *vigilv1.Signs) *metadata.MD {
	md := metadata.MD{}
	if sg.GetLeader() != "" {
		md.Set(code.HeaderLeader, sg.GetLeader())
	}
	if sg.GetServers() != "" {
		md.Set(code.HeaderServers, sg.GetServers())
	}
	return &md
}

// carrier is a stream of calls. Safe for concurrent use.
type carrier struct {
	stream grpc.BidiStreamingClient[vigilv1.CarryRequest, vigilv1.CarryResponse]
	cancel context.CancelFunc // ends the stream
	peer   *peer.Peer
	signs  atomic.Pointer[metadata.MD]

	mu      sync.Mutex
	ended   bool
	retired bool // it takes no more calls
	number  uint64
	waiting map[uint64]*awaited
	queue   *vigilv1.CarryRequest // to be sent
	sending bool
}

// awaited is a call whose answer has not come.
type awaited struct {
	done   chan struct{}
	answer *vigilv1.Answer // nil: the stream has ended
}

// invoke makes a call over the stream; tried is false when nothing was sent.
func (c *carrier) invoke(
	ctx context.Context, method string, args, reply any, opts []grpc.CallOption,
) (tried bool, err error) {
	req, ok := args.(proto.Message)
	if !ok || !understood(opts) {
		return false, nil
	}
	call := &vigilv1.Call{Method: method}
	if call.Request, err = proto.Marshal(req); err != nil || len(call.Request) > maxCarried {
		return false, nil
	}
	if err := ctx.Err(); err != nil {
		return true, status.FromContextError(err).Err()
	}
	if until, set := ctx.Deadline(); set {
		call.TimeoutUs = uint64(max(time.Until(until).Microseconds(), 1))
	}
	if md, ok := metadata.FromOutgoingContext(ctx); ok {
		for key, values := range md {
			for _, v := range values {
				call.Headers = append(call.Headers, key, v)
			}
		}
	}
	a := &awaited{done: make(chan struct{})}
	if !c.send(call, a) {
		return false, nil
	}
	c.tellPeer(opts)
	select {
	case <-a.done:
	case <-ctx.Done():
		if c.giveUp(call.Number) {
			return true, status.FromContextError(ctx.Err()).Err()
		}
		<-a.done // the answer is here
	}
	if a.answer == nil {
		return true, status.Error(codes.Unavailable, "the stream that carried the call has ended")
	}
	c.tellHeader(opts)
	if a.answer.GetError() != nil {
		return true, statusOf(a.answer.GetError())
	}
	return true, proto.Unmarshal(a.answer.GetResponse(), reply.(proto.Message))
}

// understood tells whether a call with those options may go over the stream.
func understood(opts []grpc.CallOption) bool {
	for _, o := range opts {
		switch o.(type) {
		case grpc.HeaderCallOption, grpc.PeerCallOption, grpc.StaticMethodCallOption:
		default:
			return false
		}
	}
	return true
}

// tellPeer gives the caller the other end, once the call is on its way.
func (c *carrier) tellPeer(opts []grpc.CallOption) {
	for _, o := range opts {
		if o, ok := o.(grpc.PeerCallOption); ok && c.peer != nil {
			*o.PeerAddr = *c.peer
		}
	}
}

// tellHeader gives the caller the header of the answer.
func (c *carrier) tellHeader(opts []grpc.CallOption) {
	for _, o := range opts {
		if o, ok := o.(grpc.HeaderCallOption); ok {
			*o.HeaderAddr = *c.signs.Load()
		}
	}
}

// statusOf is the error as gRPC would give it.
func statusOf(info *vigilv1.ErrorInfo) error {
	st := status.New(code.Of(info.GetCode()).GRPC, info.GetMessage())
	if with, err := st.WithDetails(info); err == nil {
		st = with
	}
	return st.Err()
}

// send queues a call and has the queue sent. While one caller sends, the calls of others gather.
func (c *carrier) send(call *vigilv1.Call, a *awaited) bool {
	c.mu.Lock()
	if c.ended || c.retired || len(c.waiting) >= maxUnder {
		c.mu.Unlock()
		return false
	}
	c.number++
	call.Number = c.number
	c.waiting[call.Number] = a
	c.queue.Calls = append(c.queue.Calls, call)
	c.flush()
	return true
}

// flush sends what is queued, unless somebody does. The caller holds mu, which it gives back.
func (c *carrier) flush() {
	if c.sending {
		c.mu.Unlock()
		return
	}
	c.sending = true
	others := len(c.waiting) > 1
	c.mu.Unlock()
	if others {
		runtime.Gosched() // those who were answered together are about to call again
	}
	if c.sendOnce() {
		go func() {
			for c.sendOnce() { // who has sent its own call must not work for the others for ever
			}
		}()
	}
}

// sendOnce sends what is queued now, and tells whether there is more.
func (c *carrier) sendOnce() bool {
	c.mu.Lock()
	out := c.queue
	fit := fitting(out.Calls)
	c.queue = &vigilv1.CarryRequest{Calls: append(make([]*vigilv1.Call, 0, len(out.Calls)), out.Calls[fit:]...)}
	out.Calls = out.Calls[:fit]
	c.mu.Unlock()
	err := c.stream.Send(out)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || len(c.queue.Calls)+len(c.queue.GivenUp) == 0 {
		c.sending = err != nil // the stream has ended; Recv says so to everybody
		return false
	}
	return true
}

// fitting is how many of the calls go into one message.
func fitting(calls []*vigilv1.Call) int {
	size := 0
	for i, call := range calls {
		if size += len(call.Request); size > maxBatch && i > 0 {
			return i
		}
	}
	return len(calls)
}

// giveUp tells the server that nobody waits for an answer any more; false: it has come.
func (c *carrier) giveUp(number uint64) bool {
	c.mu.Lock()
	if c.waiting[number] == nil {
		c.mu.Unlock()
		return false
	}
	delete(c.waiting, number)
	c.drained()
	c.queue.GivenUp = append(c.queue.GivenUp, number)
	c.flush()
	return true
}

// drained ends the stream when it takes no more calls and all are answered. The caller holds mu.
func (c *carrier) drained() {
	if c.retired && len(c.waiting) == 0 {
		c.cancel()
	}
}

// open tells whether the stream takes calls.
func (c *carrier) open() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.retired
}

// deliver wakes those whose answers have come.
func (c *carrier) deliver(answers []*vigilv1.Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, got := range answers {
		if a := c.waiting[got.GetNumber()]; a != nil { // else nobody waits any more
			delete(c.waiting, got.GetNumber())
			a.answer = got
			close(a.done)
		}
	}
	c.drained()
}

// end tells everybody that no answer comes, and the caller whether the stream had been retired.
func (c *carrier) end() (retired bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for _, a := range c.waiting {
		close(a.done)
	}
	c.waiting = nil
	return c.retired
}
