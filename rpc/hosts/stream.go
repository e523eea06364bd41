package hosts

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// Rhythm of a host's stream.
const (
	pingEvery  = 2 * time.Second
	silentMost = 15 * time.Second // without a word from the host: end the stream
	helloMost  = 10 * time.Second // for the first word, and for this replica to catch up
	streamOut  = 64               // messages to the host that may wait
)

// Stream serves one host: its open orders at once and whenever they change, a ping
// every two seconds, requests for output.
func (h *Service) Stream(gs grpc.BidiStreamingServer[vigilv1.HostMessage, vigilv1.ServerMessage]) error {
	ctx, cancel := context.WithCancel(gs.Context())
	defer cancel()
	in := make(chan *vigilv1.HostMessage)
	failed := make(chan error, 1)
	go receive(ctx, gs, in, failed)

	hello, err := firstWord(ctx, in, failed, h.Door.Stopping())
	if err != nil {
		return err
	}
	if err := h.recognize(ctx, hello); err != nil {
		return err
	}
	s := &stream{host: noun.HostID(hello.GetHost()), boot: hello.GetBoot(), stop: cancel, start: time.Now(),
		out: make(chan *vigilv1.ServerMessage, streamOut), gone: make(chan struct{}),
		logs: map[uint64]*logRequest{}}
	h.streams.enter(s)
	defer h.streams.exit(s)
	return h.serve(ctx, gs, s, in, failed)
}

// receive hands on what the host says until the stream ends.
func receive(ctx context.Context, gs grpc.BidiStreamingServer[vigilv1.HostMessage, vigilv1.ServerMessage],
	in chan<- *vigilv1.HostMessage, failed chan<- error,
) {
	for {
		m, err := gs.Recv()
		if err != nil {
			failed <- err
			return
		}
		select {
		case in <- m:
		case <-ctx.Done():
			return
		}
	}
}

func firstWord(
	ctx context.Context, in <-chan *vigilv1.HostMessage, failed <-chan error, stop <-chan struct{},
) (*vigilv1.Hello, error) {
	limit := time.NewTimer(helloMost)
	defer limit.Stop()
	select {
	case m := <-in:
		hello := m.GetHello()
		if hello.GetHost() == 0 || hello.GetBoot() == "" {
			return nil, fault.Invalid("The first message of a stream must be hello with host and boot; register first.")
		}
		return hello, nil
	case err := <-failed:
		return nil, err
	case <-limit.C:
		return nil, fault.Invalid("No hello came within %s; send it as the first message.", helloMost)
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-stop:
		return nil, stopping()
	}
}

func stopping() error {
	return fault.New(code.Unavailable, "This server is stopping; use another one.")
}

// recognize checks host and boot. This replica may not know a host yet that has
// just registered with the leader: then it catches up first.
func (h *Service) recognize(ctx context.Context, hello *vigilv1.Hello) error {
	caller := who.From(ctx)
	check := func() error {
		return base.Read(h.Core, func(st *fsm.View) error {
			if err := knows(st, noun.HostID(hello.GetHost()), hello.GetBoot()); err != nil {
				return err
			}
			if caller.Kind == who.Host && st.Host(noun.HostID(hello.GetHost())).Key != caller.Name {
				return fault.New(code.Denied, "%s may not take the orders of another host than itself.", caller)
			}
			return nil
		})
	}
	if check() == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, helloMost)
	defer cancel()
	if _, err := h.CatchUp(ctx); err != nil {
		return err
	}
	return check()
}

// knows tells why a host's stream cannot be served, nil when it can.
func knows(st *fsm.View, id noun.HostID, boot string) error {
	switch host := st.Host(id); {
	case host == nil:
		return fault.NotFound("Host %d is not registered; register again.", id)
	case host.Boot != boot:
		return fault.New(code.HostInUse,
			"Host %s runs under another boot id; register again, and give a cloned machine its own id.", host.Name)
	}
	return nil
}

// serve is the loop of one stream: everything that is sent is sent here.
func (h *Service) serve(ctx context.Context, gs grpc.BidiStreamingServer[vigilv1.HostMessage, vigilv1.ServerMessage],
	s *stream, in <-chan *vigilv1.HostMessage, failed <-chan error,
) error {
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	changed, leave := h.Park.Hosts.Enter(s.host)
	defer leave()
	first := make(chan struct{}, 1)
	first <- struct{}{}
	var last *vigilv1.Orders
	var n uint64
	for {
		var msg *vigilv1.ServerMessage
		select {
		case m := <-in:
			s.heard.Store(int64(time.Since(s.start)))
			h.Door.Hear()
			if d := m.GetLogData(); d != nil {
				s.logData(d)
			}
			if taken := m.GetGossipTaken(); taken != nil {
				s.keys.taken.Store(taken.GetRevision())
			}
			continue
		case msg = <-s.out:
		case <-first:
		case <-changed:
		case <-ping.C:
			if s.silence() > silentMost {
				return fault.New(code.Timeout, "The host said nothing for %s; connect again.", silentMost)
			}
			n++
			if err := gs.Send(&vigilv1.ServerMessage{Kind: &vigilv1.ServerMessage_Ping{Ping: &vigilv1.Ping{N: n}}}); err != nil {
				return err
			}
		case err := <-failed:
			return err
		case <-ctx.Done():
			if gs.Context().Err() == nil {
				return fault.New(code.Conflict, "The host has opened a newer stream to this server.")
			}
			return ctx.Err()
		case <-h.Door.Stopping():
			return stopping()
		}
		if msg == nil {
			// A change, or a ping: looking again then costs little and forgives a
			// change that nobody announced.
			orders, err := h.orders(s)
			if err != nil {
				return err
			}
			if keys := h.keysFor(ctx, s); keys != nil {
				if err := gs.Send(&vigilv1.ServerMessage{Kind: &vigilv1.ServerMessage_GossipKeys{GossipKeys: keys}}); err != nil {
					return err
				}
			}
			if last != nil && sameOrders(last, orders) {
				continue
			}
			last = orders
			msg = &vigilv1.ServerMessage{Kind: &vigilv1.ServerMessage_Orders{Orders: orders}}
		}
		if err := gs.Send(msg); err != nil {
			return err
		}
	}
}

// sameOrders compares all but the index.
func sameOrders(a, b *vigilv1.Orders) bool {
	if len(a.GetOrders()) != len(b.GetOrders()) {
		return false
	}
	for i := range a.GetOrders() {
		if !proto.Equal(a.GetOrders()[i], b.GetOrders()[i]) {
			return false
		}
	}
	return true
}

// orders are all that are open for the host, as of a log index.
func (h *Service) orders(s *stream) (out *vigilv1.Orders, err error) {
	h.Reader.Read(func(st *fsm.View) {
		if err = knows(st, s.host, s.boot); err != nil {
			return
		}
		out = &vigilv1.Orders{Index: st.LastIndex()}
		for _, id := range st.HostOrders(s.host) {
			if o := h.order(st, st.Agent(id)); o != nil {
				out.Orders = append(out.Orders, o)
			}
		}
	})
	return out, err
}

// order is what the host reads of the open order of an agent; nil: there is none.
func (h *Service) order(st *fsm.View, a *noun.Agent) *vigilv1.Order {
	o := convertOrder(st, a)
	if o.GetKind() == noun.StartOrder.String() {
		o.Traceparent = h.awaited(st, a.Role)
	}
	return o
}

// awaited is beneath what the spans of a start of the role are: the task that waits for it, the first one that a
// claim would get. It is as the state is now, and in no log: a start has at most some spans too few.
func (h *Service) awaited(st *fsm.View, role noun.RoleID) string {
	t := st.Task(st.FirstPending(role))
	switch {
	case t == nil:
		return ""
	case !h.traced:
		return string(t.Trace)
	}
	spans := noun.SpansOf(h.cluster(), t.ID, t.CreatedAt, t.Trace)
	return string(spans.Traceparent(spans.Root()))
}

func convertOrder(st *fsm.View, a *noun.Agent) *vigilv1.Order {
	if a == nil || a.OpenOrder() == noun.NoOrder {
		return nil
	}
	o := &vigilv1.Order{Kind: a.OpenOrder().String(), Agent: uint32(a.ID), AgentName: a.Name,
		Incarnation: uint64(a.Inc), Reason: a.OrderReason, Resume: a.Resume}
	if r := st.Role(a.Role); r != nil {
		o.Runner, o.Params, o.Proof = r.Spec.Runner, form.KVMap(r.Spec.Params), form.ProofName(st.ProofOf(a))
		o.StopGrace, o.Ttl = form.Lasting(r.Spec.StopGrace), form.Lasting(r.Spec.TTL)
		o.RunLimit = form.Lasting(r.Spec.RunLimit)
	}
	return o
}
