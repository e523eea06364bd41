package door

import (
	"context"
	"errors"
	"io"
	"math"
	"runtime"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// Calls that come over one stream pass the same interceptors as those that come by themselves: who
// calls, whether they may, their share, their count, the way to the leader. Only gRPC's own work
// around a call is done once for many.

const (
	keptHands  = 128 // goroutines of a stream that wait for its next call
	maxCarried = maxStreams
	maxHeaders = 16 // of one call
	// maxUnread is how many answers may wait for a caller that does not read them before no more of its calls are
	// read: what nobody fetches must not fill the memory.
	maxUnread = 8192
	// maxBatch bounds what goes into one message, in bytes of answers, unless a single one is longer.
	maxBatch = 512 << 10
)

const carryName = "Calls/Carry"

// carrier serves the streams. Its methods are set before the first stream.
type carrier struct {
	vigilv1.UnimplementedCallsServer
	*core
	methods map[string]carried
	around  grpc.UnaryServerInterceptor
}

// around is what every unary call goes through, whichever way it comes.
func around(o *observer, f *forwarder) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
		return o.unary(ctx, req, info, func(ctx context.Context, req any) (any, error) {
			return f.unary(ctx, req, info, h)
		})
	}
}

// carried is a method as gRPC would call it.
type carried struct {
	impl    any
	handler grpc.MethodHandler
}

// add has a method carried if it is one of those.
func (c *carrier) add(full string, impl any, h grpc.MethodHandler) {
	if code.NatureOf(full).Carried() {
		c.methods[full] = carried{impl, h}
	}
}

// Carry implements vigilv1.CallsServer.
func (c *carrier) Carry(s grpc.BidiStreamingServer[vigilv1.CarryRequest, vigilv1.CarryResponse]) error {
	if _, err := s.Recv(); err != nil { // who may open the stream is checked here
		return err
	}
	t := &trip{carrier: c, stream: s, work: make(chan *carriedCall), cancels: map[uint64]context.CancelFunc{},
		queue: &vigilv1.CarryResponse{}}
	t.fetched = sync.NewCond(&t.mu)
	t.md, _ = metadata.FromIncomingContext(s.Context())
	t.note(c.reach.signpost.header(c.leaderElsewhere()))
	t.send()
	received := make(chan error, 1)
	go func() { received <- t.receive() }()
	var err error
	select {
	case err = <-received:
	case <-c.stop: // nothing more is begun: see begin
	}
	t.finish()
	if errors.Is(err, io.EOF) { // the caller has said all it wanted to, and has its answers
		return nil
	}
	return err
}

// leaderElsewhere is the address of the leader; empty: here, or nobody.
func (c *core) leaderElsewhere() string {
	if st := c.stints.current(); !st.leader.Self {
		return st.leader.APIAddr
	}
	return ""
}

// trip is one stream of calls.
type trip struct {
	*carrier
	stream grpc.BidiStreamingServer[vigilv1.CarryRequest, vigilv1.CarryResponse]
	md     metadata.MD       // of the stream
	work   chan *carriedCall // to those who wait for the next call

	mu      sync.Mutex
	idle    int // who waits for work, or will
	running sync.WaitGroup
	ended   bool                          // nothing is begun any more
	cancels map[uint64]context.CancelFunc // of calls under way
	queue   *vigilv1.CarryResponse        // to be sent
	sending bool
	broken  bool           // nothing can be sent any more
	fetched *sync.Cond     // of mu: something was sent, or never will be
	signs   *vigilv1.Signs // what the other side has been told last, or will be
}

// receive begins the calls that come, until the stream ends.
func (t *trip) receive() error {
	for {
		t.mu.Lock()
		for len(t.queue.Answers) > maxUnread && !t.broken {
			t.fetched.Wait()
		}
		t.mu.Unlock()
		in, err := t.stream.Recv()
		if err != nil {
			return err
		}
		for _, call := range in.GetCalls() {
			t.begin(call)
		}
		for _, n := range in.GetGivenUp() {
			t.mu.Lock()
			cancel := t.cancels[n]
			t.mu.Unlock()
			if cancel != nil {
				cancel()
			}
		}
	}
}

// begin has a call carried out, by somebody who waits for one if there is one.
func (t *trip) begin(call *vigilv1.Call) {
	m, known := t.methods[call.GetMethod()]
	ctx, cancel := t.context(call)
	c := &carriedCall{trip: t, call: call, ctx: ctx, cancel: cancel, to: m}
	t.mu.Lock()
	_, twice := t.cancels[call.GetNumber()]
	var no error
	switch {
	case !known:
		no = fault.New(code.Unimplemented, "%s is not carried by this stream; call it by itself.",
			fault.Quote(call.GetMethod()))
	case len(call.GetHeaders()) > 2*maxHeaders || len(call.GetHeaders())%2 == 1:
		no = fault.Invalid("headers must be keys and values in turn, at most %d of each.", maxHeaders)
	case t.ended:
		no = noun.ErrStopping
	case twice:
		no = fault.Invalid("number %d has an unanswered call already; choose another one.", call.GetNumber())
	case len(t.cancels) >= maxCarried:
		no = fault.New(code.Unavailable, "This stream has %d calls under way, the most that it carries; wait for "+
			"answers.", maxCarried)
	}
	if no != nil {
		t.mu.Unlock()
		cancel()
		t.answer(&vigilv1.Answer{Number: call.GetNumber(), Error: fault.Of(no).Info()}, nil)
		return
	}
	t.cancels[call.GetNumber()] = cancel
	t.running.Add(1)
	waits := t.idle > 0
	if waits {
		t.idle--
	}
	t.mu.Unlock()
	if waits {
		t.work <- c
		return
	}
	go t.hand(c)
}

// hand carries calls out, one after the other: its stack has grown to what they need.
func (t *trip) hand(c *carriedCall) {
	for c != nil {
		c.run()
		t.mu.Lock()
		delete(t.cancels, c.call.GetNumber())
		stay := !t.ended && t.idle < keptHands
		if stay {
			t.idle++
		}
		t.mu.Unlock()
		t.running.Done()
		if !stay {
			return
		}
		c = <-t.work // nil: closed
	}
}

// finish lets no more calls begin, waits for those under way, and lets go who waits for work. Those under
// way end in time: their context ends with the stream, and with the time that a server gives itself to stop.
func (t *trip) finish() {
	t.mu.Lock()
	t.ended = true
	t.mu.Unlock()
	t.running.Wait()
	close(t.work) // whoever could send has seen ended
}

// context gives the context of a call: that of the stream, with the headers and the deadline of its own.
func (t *trip) context(call *vigilv1.Call) (context.Context, context.CancelFunc) {
	ctx := t.stream.Context()
	if kv := call.GetHeaders(); len(kv) > 0 {
		md := make(metadata.MD, len(t.md)+len(kv)/2)
		for k, v := range t.md {
			md[k] = v
		}
		for i := 0; i+1 < len(kv); i += 2 {
			k := strings.ToLower(kv[i])
			md[k] = append(md[k][:len(md[k]):len(md[k])], kv[i+1])
		}
		ctx = metadata.NewIncomingContext(ctx, md)
	}
	if us := call.GetTimeoutUs(); us > 0 {
		return context.WithTimeout(ctx, time.Duration(min(us, math.MaxInt64/uint64(time.Microsecond)))*time.Microsecond)
	}
	return context.WithCancel(ctx)
}

// answer queues an answer and has the queue sent. While one sends, the answers of others gather.
func (t *trip) answer(a *vigilv1.Answer, header metadata.MD) {
	t.mu.Lock()
	t.queue.Answers = append(t.queue.Answers, a)
	t.note(header)
	if t.sending {
		t.mu.Unlock()
		return
	}
	t.sending = true
	t.mu.Unlock()
	// Those whose writes were in the same entry are about to answer, too.
	runtime.Gosched()
	t.send()
}

// send sends what is queued until nothing is.
func (t *trip) send() {
	for {
		t.mu.Lock()
		out := t.queue
		if len(out.Answers) == 0 && out.Signs == nil {
			t.sending = false
			t.mu.Unlock()
			return
		}
		fit := fitting(out.Answers)
		t.queue = &vigilv1.CarryResponse{Answers: append(make([]*vigilv1.Answer, 0, len(out.Answers)), out.Answers[fit:]...)}
		out.Answers = out.Answers[:fit]
		t.mu.Unlock()
		err := t.stream.Send(out)
		if err != nil {
			t.mu.Lock()
			t.broken = true
			t.mu.Unlock()
		}
		t.fetched.Broadcast()
		if err != nil {
			return // the stream has ended: nobody hears any more, and sending stays true
		}
	}
}

// fitting is how many of the answers go into one message.
func fitting(answers []*vigilv1.Answer) int {
	size := 0
	for i, a := range answers {
		if size += len(a.Response); size > maxBatch && i > 0 {
			return i
		}
	}
	return len(answers)
}

// note queues where the servers are when that has changed; the caller holds mu, or is alone.
func (t *trip) note(header metadata.MD) {
	if header == nil {
		return
	}
	leader, servers := first(header[code.HeaderLeader]), first(header[code.HeaderServers])
	if t.signs != nil && leader == t.signs.GetLeader() && servers == t.signs.GetServers() {
		return
	}
	t.signs = &vigilv1.Signs{Leader: leader, Servers: servers}
	t.queue.Signs = t.signs
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// carriedCall is one call of a trip. As the transport of its context it takes the headers of the answer.
type carriedCall struct {
	*trip
	call   *vigilv1.Call
	ctx    context.Context
	cancel context.CancelFunc
	to     carried
	header metadata.MD
}

var _ grpc.ServerTransportStream = (*carriedCall)(nil)

// run carries the call out and answers it.
func (c *carriedCall) run() {
	defer c.cancel()
	ctx := grpc.NewContextWithServerTransportStream(c.ctx, c)
	resp, err := c.to.handler(c.to.impl, ctx, c.decode, c.around)
	a := &vigilv1.Answer{Number: c.call.GetNumber()}
	if err == nil {
		a.Response, err = proto.Marshal(resp.(proto.Message))
	}
	if err != nil {
		a.Error = fault.Of(err).Info()
	}
	c.answer(a, c.header)
}

// decode reads the request into v, which the registrar has bounded.
func (c *carriedCall) decode(v any) error {
	r, ok := v.(*received)
	if !ok {
		return errors.New("a method without a bound is carried")
	}
	if r.size = len(c.call.GetRequest()); r.size > r.most {
		return nil // it is refused with a code
	}
	if err := proto.Unmarshal(c.call.GetRequest(), r.into.(proto.Message)); err != nil {
		return fault.Invalid("The request is no message of %s.", c.call.GetMethod())
	}
	return nil
}

// Method implements grpc.ServerTransportStream.
func (c *carriedCall) Method() string { return c.call.GetMethod() }

// SetHeader implements grpc.ServerTransportStream.
func (c *carriedCall) SetHeader(md metadata.MD) error {
	c.header = md
	return nil
}

// SendHeader implements grpc.ServerTransportStream.
func (c *carriedCall) SendHeader(md metadata.MD) error { return c.SetHeader(md) }

// SetTrailer implements grpc.ServerTransportStream; nothing is told behind an answer.
func (c *carriedCall) SetTrailer(metadata.MD) error { return nil }
