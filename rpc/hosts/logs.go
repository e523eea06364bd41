package hosts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// Bounds of fetched output.
const (
	logBuffer   = 8 << 20 // bytes of one request that wait for a slow reader
	logChunks   = 4096
	logRequests = 64 // at once for one host
)

// relay fetches output from hosts, whichever server holds their stream.
type relay struct {
	*base.Core
	streams *Streams
}

// logRequest is one fetch on a host's stream. Its channel is written by the
// stream's loop only, which never waits for a reader.
type logRequest struct {
	id     uint64
	data   chan *vigilv1.LogData
	queued int // bytes in data; guarded by stream.mu
	full   bool
}

// request asks the host for something that it answers with LogData; ask makes the
// message with the number of the request.
func (s *stream) request(ctx context.Context, ask func(id uint64) *vigilv1.ServerMessage) (*logRequest, error) {
	s.mu.Lock()
	if len(s.logs) >= logRequests {
		s.mu.Unlock()
		return nil, fault.New(code.Unavailable, "%d readers follow this host's output already; end one of them.",
			logRequests)
	}
	s.next++
	r := &logRequest{id: s.next, data: make(chan *vigilv1.LogData, logChunks)}
	s.logs[r.id] = r
	s.mu.Unlock()
	if err := s.send(ctx, ask(r.id)); err != nil {
		s.drop(r)
		return nil, err
	}
	return r, nil
}

// send gives the loop a message for the host.
func (s *stream) send(ctx context.Context, m *vigilv1.ServerMessage) error {
	select {
	case s.out <- m:
		return nil
	case <-s.gone:
		return errStreamGone()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func errStreamGone() error {
	return fault.New(code.Unavailable, "The host has left this server; ask again.")
}

// logData hands data to its request. A reader that is too slow loses it: the stream
// carries orders too and must not wait.
func (s *stream) logData(d *vigilv1.LogData) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.logs[d.GetRequest()]
	if r == nil || r.full {
		return
	}
	if r.queued+len(d.GetData()) > logBuffer || len(r.data) == cap(r.data) {
		r.full = true
		close(r.data)
		return
	}
	r.queued += len(d.GetData())
	r.data <- d
}

// taken notes that a reader has taken n bytes.
func (s *stream) taken(r *logRequest, n int) {
	s.mu.Lock()
	r.queued -= n
	s.mu.Unlock()
}

func (s *stream) drop(r *logRequest) {
	s.mu.Lock()
	delete(s.logs, r.id)
	s.mu.Unlock()
}

func (s *stream) dropLogs() {
	s.mu.Lock()
	clear(s.logs)
	s.mu.Unlock()
}

// fetch copies output of one agent to send until the host ends it or ctx does.
func (s *stream) fetch(ctx context.Context, a *vigilv1.LogRequest, send func([]byte) error) error {
	r, err := s.request(ctx, func(id uint64) *vigilv1.ServerMessage {
		a.Request = id
		return &vigilv1.ServerMessage{Kind: &vigilv1.ServerMessage_LogRequest{LogRequest: a}}
	})
	if err != nil {
		return err
	}
	ended := false
	defer func() {
		s.drop(r)
		if !ended {
			cancel := &vigilv1.ServerMessage{Kind: &vigilv1.ServerMessage_LogCancel{
				LogCancel: &vigilv1.LogCancel{Request: r.id}}}
			_ = s.send(context.WithoutCancel(ctx), cancel) // a stream that is gone has nothing to cancel
		}
	}()
	for {
		select {
		case d, ok := <-r.data:
			if !ok {
				return fault.New(code.Unavailable,
					"The reader was too slow for the output and was cut off; ask again, with fewer lines.")
			}
			s.taken(r, len(d.GetData()))
			ended = d.GetEnd() || d.GetError() != ""
			if len(d.GetData()) > 0 {
				if err := send(d.GetData()); err != nil {
					return err
				}
			}
			if d.GetError() != "" {
				return fault.New(code.Unavailable, "%s", "The host gives no more: "+d.GetError())
			}
			if ended {
				return nil
			}
		case <-s.gone:
			return errStreamGone()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// place is where the output of an agent lies.
type place struct {
	agent    noun.AgentID
	host     noun.HostID
	hostName string
}

// whereabouts says on which host the agent's output lies.
func (l *relay) whereabouts(name string) (at place, err error) {
	l.Reader.Read(func(st *fsm.View) {
		agent := st.AgentByName(name)
		if agent == nil {
			err = base.NoAgent(st, name)
			return
		}
		at.agent, at.host = agent.ID, agent.Host
		if at.host == 0 && agent.LastExit != nil {
			at.host = agent.LastExit.Host
		}
		h := st.Host(at.host)
		if h == nil {
			err = fault.NotFound("Agent %s has no output on any host: it was never started by one.", name)
			return
		}
		at.hostName = h.Name
	})
	return at, err
}

// moved tells whether the agent's output goes on at another host by now.
func (l *relay) moved(name string, from place) bool {
	at, err := l.whereabouts(name)
	return err == nil && at.host != from.host
}

// movedLook is how often it is looked whether an agent whose output is followed has moved.
const movedLook = time.Second

// serve gives the output of an agent from its host. When it is followed and the agent moves, it goes on at the next
// host. The caller's server looks for that: one that is asked by it only gives what its host has.
func (l *relay) serve(r *vigilv1.AgentLogsRequest, gs grpc.ServerStreamingServer[vigilv1.LogChunk]) error {
	ctx, name := gs.Context(), r.GetAgent()
	relayed := len(metadata.ValueFromIncomingContext(ctx, code.HeaderRelayed)) > 0
	at, err := l.whereabouts(name)
	if err != nil {
		if _, err := l.CatchUp(ctx); err != nil {
			return err
		}
		at, err = l.whereabouts(name)
	}
	if err != nil {
		return err
	}
	if relayed || !r.GetFollow() {
		return l.output(ctx, at, relayed, r, gs)
	}
	for {
		err := l.untilMoved(ctx, name, at, func(ctx context.Context) error {
			return l.output(ctx, at, relayed, r, gs)
		})
		if ctx.Err() != nil || !l.moved(name, at) {
			return err
		}
		if at, err = l.whereabouts(name); err != nil {
			return err
		}
		note := fmt.Sprintf("\n--- vigil: it goes on at host %s\n", at.hostName)
		if err := gs.Send(&vigilv1.LogChunk{Data: []byte(note)}); err != nil {
			return err
		}
	}
}

// untilMoved runs fn with a context that ends when the agent's output goes on at another host than that of at.
func (l *relay) untilMoved(ctx context.Context, name string, at place, fn func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		look := time.NewTicker(movedLook)
		defer look.Stop()
		for !l.moved(name, at) {
			select {
			case <-ctx.Done():
				return
			case <-look.C:
			}
		}
		cancel()
	}()
	return fn(ctx)
}

// output answers from the stream here, else asks the other servers in turn. A server that is asked by another one asks
// nobody.
func (l *relay) output(ctx context.Context, at place, relayed bool, r *vigilv1.AgentLogsRequest,
	gs grpc.ServerStreamingServer[vigilv1.LogChunk]) error {
	if s := l.streams.find(at.host); s != nil {
		lines := r.GetLines()
		if lines == 0 {
			lines = 100
		}
		return s.fetch(ctx, &vigilv1.LogRequest{Agent: uint32(at.agent), AgentName: r.GetAgent(),
			Follow: r.GetFollow(), Lines: lines},
			func(data []byte) error { return gs.Send(&vigilv1.LogChunk{Data: data}) })
	}
	absent := fault.New(code.Unavailable, "Host %s, which has the output, is connected to no server; look at "+
		"`vigil host show %s`.", at.hostName, at.hostName)
	if relayed {
		return absent
	}
	return l.elsewhere(ctx, absent, func(ctx context.Context, c vigilv1.FleetClient) (func() error, error) {
		from, err := c.AgentLogs(ctx, r)
		return func() error {
			chunk, err := from.Recv()
			if err == nil {
				err = gs.Send(chunk)
			}
			return err
		}, err
	})
}

// elsewhere asks the other servers in turn for a stream, of which step passes one message on. The error is
// absent when none of them holds the stream of the host.
func (l *relay) elsewhere(ctx context.Context, absent error,
	open func(context.Context, vigilv1.FleetClient) (step func() error, err error)) error {
	for _, addr := range l.others() {
		if answered, err := l.ask(ctx, addr, open); answered {
			return err
		}
	}
	return absent
}

// others are the API addresses of the other servers.
func (l *relay) others() []string {
	return base.Read(l.Core, func(st *fsm.View) (addrs []string) {
		for _, s := range st.Servers() {
			if s.ID != l.Self && s.APIAddr != "" {
				addrs = append(addrs, s.APIAddr)
			}
		}
		return addrs
	})
}

// ask relays a stream from another server. answered is false when that server does
// not hold the host's stream, or cannot be reached.
func (l *relay) ask(ctx context.Context, addr string,
	open func(context.Context, vigilv1.FleetClient) (func() error, error)) (answered bool, err error) {
	conn, err := l.Door.Peer(addr)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(ctx, code.HeaderRelayed, l.Self))
	defer cancel()
	step, err := open(ctx, vigilv1.NewFleetClient(conn))
	if err != nil {
		return false, err
	}
	for {
		err := step()
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return answered || ctx.Err() != nil || fault.Of(err).Code != code.Unavailable, err
		}
		answered = true
	}
}

// AgentLogs fetches an agent's output from its host.
func (d *Desk) AgentLogs(r *vigilv1.AgentLogsRequest, gs grpc.ServerStreamingServer[vigilv1.LogChunk]) error {
	var c form.Checks
	c.Agent("agent", r.GetAgent(), false)
	if r.GetLines() > form.MaxLogLines {
		c.Fail("lines is %d; at most %d are allowed.", r.GetLines(), form.MaxLogLines)
	}
	if c.Err != nil {
		return c.Err
	}
	return d.relay.serve(r, gs)
}
