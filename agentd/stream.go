package agentd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"vigil/agentd/output"
	"vigil/rpc/client"
	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

// pingLimit is how long a stream without a ping counts as alive; servers send one
// every 2 s.
const pingLimit = 6 * time.Second

var (
	errSilent = errors.New("no ping came in time")
	errMoved  = errors.New("the host was registered anew")
)

// stream keeps the one stream on which orders and log requests come. It is safe
// for concurrent use.
type stream struct {
	host    vigilv1.HostAgentClient
	boot    string
	log     hclog.Logger
	metrics *metrics
	logs    *output.Dir
	silence time.Duration
	orders  func([]*vigilv1.Order)
	gone    func() // the server does not know this host
	// proven returns when the lives of this host are known to be current or not, or
	// when that takes too long.
	proven func(ctx context.Context)
	// terminal is at the terminal of a life.
	terminal func(context.Context, *vigilv1.TerminalRequest) (view, error)
	// follow gives the screen of a life whenever it has changed.
	follow func(context.Context, *vigilv1.LogRequest, func([]byte) error) error
	gossip Gossip // nil: none

	registered chan struct{} // closed by the first speakFor

	mu  sync.Mutex
	id  uint32
	end context.CancelCauseFunc // of the session under way

	writes sync.WaitGroup // of keys, which may outlive their session
}

// speakFor sets the number of the host; moved ends a session for another one.
func (s *stream) speakFor(host uint32, moved bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id == 0 {
		close(s.registered)
	}
	s.id = host
	if moved && s.end != nil {
		s.end(errMoved)
	}
}

// run connects again and again until ctx ends.
func (s *stream) run(ctx context.Context) {
	defer s.writes.Wait()
	select {
	case <-ctx.Done():
		return
	case <-s.registered:
	}
	pauses := backoff{first: 100 * time.Millisecond, most: 2 * time.Second}
	for again := false; ; again = true {
		if again {
			s.metrics.reconnects.Inc()
			s.proven(ctx)
		}
		heard, err := s.session(ctx)
		if ctx.Err() != nil {
			return
		}
		s.log.Warn("order stream ended, connecting again", "error", err)
		if heard {
			pauses.reset()
		}
		switch client.Code(err) {
		case code.NotFound, code.HostInUse, code.Superseded:
			s.gone()
		}
		if !pauses.wait(ctx) {
			return
		}
	}
}

// session is one stream, from Hello to its end. heard tells whether a ping came.
func (s *stream) session(parent context.Context) (heard bool, err error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	s.mu.Lock()
	hello := &vigilv1.Hello{Host: s.id, Boot: s.boot}
	s.end = cancel
	s.mu.Unlock()
	watchdog := time.AfterFunc(s.silence, func() { cancel(errSilent) })
	defer watchdog.Stop()

	wire, err := s.host.Stream(ctx)
	if err == nil {
		err = wire.Send(&vigilv1.HostMessage{Kind: &vigilv1.HostMessage_Hello{Hello: hello}})
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return false, because(ctx, err)
	}
	talk := &talk{pongs: make(chan uint64, 16), data: make(chan *vigilv1.LogData), logs: s.logs,
		taken:    make(chan uint64),
		follow:   s.follow,
		terminal: s.terminal, terminals: make(chan struct{}, maxTerminals), cancels: map[uint64]context.CancelFunc{}}
	defer talk.tasks.Wait()
	defer cancel(nil)
	talk.tasks.Go(func() {
		if err := talk.speak(ctx, wire); err != nil {
			cancel(fmt.Errorf("send: %w", err))
		}
	})
	for {
		m, err := wire.Recv()
		if err != nil {
			return heard, because(ctx, err)
		}
		switch m := m.GetKind().(type) {
		case *vigilv1.ServerMessage_Ping:
			heard = true
			watchdog.Reset(s.silence)
			talk.pong(m.Ping.GetN())
		case *vigilv1.ServerMessage_Orders:
			s.orders(m.Orders.GetOrders())
		case *vigilv1.ServerMessage_LogRequest:
			talk.serve(ctx, m.LogRequest)
		case *vigilv1.ServerMessage_LogCancel:
			talk.cancel(m.LogCancel.GetRequest())
		case *vigilv1.ServerMessage_TerminalRequest:
			talk.serveTerminal(ctx, m.TerminalRequest)
		case *vigilv1.ServerMessage_GossipKeys:
			s.takeKeys(ctx, talk, m.GossipKeys)
		}
	}
}

// takeKeys hands keys of gossip on, and says so: the servers use a new key once the hosts have it. A disk
// that hangs holds up neither pings nor the next session.
func (s *stream) takeKeys(ctx context.Context, talk *talk, keys *vigilv1.GossipKeys) {
	s.writes.Go(func() {
		if s.gossip != nil {
			if err := s.gossip.Take(keys); err != nil {
				s.log.Warn("keys of gossip were not kept; the next agentd gets them from a server", "error", err)
			}
		}
		select {
		case talk.taken <- keys.GetRevision():
		case <-ctx.Done():
		}
	})
}

// because prefers why the context was ended to what gRPC made of it.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
