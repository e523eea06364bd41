package door

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"

	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// Pauses between tries while no leader can be reached.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = 100 * time.Millisecond
)

// Beats: a server carries one about for beatMost, while its sender has more patience,
// and looks for a leader that takes it for beatSeek. That outlasts an election; where
// it takes longer, the sender should try another server.
const (
	beatMost = 5 * time.Second
	beatSeek = 700 * time.Millisecond
)

// deadSeek is for how long a call is sent again over a new link when the one to the leader died in
// silence: one link takes 900 ms to be found dead, so a second one is tried. The leader may be alive and
// reach all but this server: the caller had better ask another one.
const deadSeek = time.Second

// forwarder takes unary calls to the leader, wherever it is.
type forwarder struct {
	*core
	sent    prometheus.Counter
	catchUp func(context.Context) error // nil: all reads go to the leader
}

// fate is what one try tells about the request.
type fate int

const (
	answered fate = iota // an answer or an error that repeating does not change
	unheard              // nothing was executed; try again
	unknown              // it may have been executed
)

// unary is the interceptor: serves the call here or sends it to the leader, with
// the same write id, until there is an answer or the deadline.
func (f *forwarder) unary(
	ctx context.Context, req any, info *grpc.UnaryServerInfo, h grpc.UnaryHandler,
) (resp any, err error) {
	if ownCall(info.FullMethod) {
		return h(ctx, req)
	}
	m := f.methods[info.FullMethod]
	if m == nil {
		return nil, &fault.Error{Code: code.Unimplemented}
	}
	st := f.stints.current()
	leader := st.leader.APIAddr
	if st.leader.Self {
		leader = ""
	}
	// fails only when headers are out, which this room never sends early
	_ = grpc.SetHeader(ctx, f.reach.signpost.header(leader))
	if m.stayHere(req) {
		if err := f.sound(); err != nil {
			return nil, err
		}
		if !m.parks(req) { // also a server that is alone tells how it is
			return h(ctx, req)
		}
		err = f.alone.guard(ctx, func(ctx context.Context) error {
			resp, err = h(ctx, req)
			return err
		})
		return resp, err
	}
	if st.leader.ID == "" && info.FullMethod == vigilv1.Cluster_Status_FullMethodName && !IsForwarded(ctx) {
		return leaderlessStatus(h(ctx, req))
	}
	if resp, ok, err := f.readHere(ctx, info.FullMethod, m, req, h); ok {
		return resp, err
	}
	return f.toLeader(ctx, info.FullMethod, m, req, h)
}

// OnLeader runs a call of the given full name on the leader, for a handler of another
// call: here it is local, on another server whatever that has for the name.
func OnLeader[Req, Resp proto.Message](ctx context.Context, d *Door, method string, req Req,
	local func(context.Context, Req) (Resp, error),
) (Resp, error) {
	resp, err := d.forward.toLeader(ctx, method, d.methods[method], req, func(ctx context.Context, _ any) (any, error) {
		return local(ctx, req)
	})
	if err != nil {
		var none Resp
		return none, err
	}
	return resp.(Resp), nil
}

// toLeader runs one request on the leader: here by calling local, else by sending it.
func (f *forwarder) toLeader(
	ctx context.Context, full string, m *method, req any, local grpc.UnaryHandler,
) (any, error) {
	if _, set := ctx.Deadline(); !set {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, DefaultDeadline)
		defer cancel()
	}
	if m.nature == code.Beat {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, beatMost)
		defer cancel()
	}
	began := time.Now()
	forwarded := IsForwarded(ctx)
	maybe := false // an earlier try may have been executed
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		st := f.stints.current()
		var (
			resp any
			err  error
			was  fate
		)
		switch {
		case st.leader.Self:
			resp, err = f.here(ctx, m, req, local)
			was = fateOf(err, true)
		case forwarded:
			return nil, f.elsewhere(st)
		case st.leader.APIAddr == "" && f.alone.is():
			return nil, f.giveUp(st, maybe, leaderless())
		case st.leader.APIAddr == "":
			err, was = &fault.Error{Code: code.NoLeader}, unheard
		default:
			resp, was, err = f.send(ctx, st, full, m, req)
		}
		if was == answered {
			return resp, err
		}
		maybe = maybe || was == unknown && m.nature != code.Read // a read that has no answer did nothing
		var dead *silent
		lost := errors.As(err, &dead) && time.Since(began) >= deadSeek
		if was == unknown && !m.mayRepeat(req) || forwarded || lost || m.nature == code.Beat &&
			time.Since(began) >= beatSeek {
			return nil, f.giveUp(st, maybe, err)
		}
		ctx = again(ctx)
		if err := st.next(ctx, pause, f.stop); err != nil {
			return nil, f.giveUp(st, maybe, err)
		}
	}
}

// here serves the call as leader; a read waits until all that was committed before
// it is applied.
func (f *forwarder) here(ctx context.Context, m *method, req any, local grpc.UnaryHandler) (any, error) {
	if m.nature == code.Read {
		if err := f.reader.Barrier(ctx); err != nil {
			return nil, err
		}
	}
	return local(ctx, req)
}

// send sends the request to the leader of the stint, and stops waiting for the
// answer some time after that stint is over; that to a beat at once.
func (f *forwarder) send(ctx context.Context, st *stint, full string, m *method, req any) (any, fate, error) {
	conn, err := f.peers.conn(st.leader.APIAddr)
	if err != nil {
		return nil, unheard, err
	}
	call, cancel := context.WithCancel(f.guard.pass(
		metadata.AppendToOutgoingContext(passSaid(ctx), code.HeaderForwarded, f.self)))
	defer cancel()
	until := st.ctx
	if m.nature == code.Beat {
		until = st.till // the next leader takes it at once
	}
	defer context.AfterFunc(until, cancel)()
	reply := m.newReply()
	f.sent.Inc()
	var to peer.Peer
	err = conn.Invoke(call, full, req, reply, grpc.Peer(&to))
	if err == nil {
		return reply, answered, nil
	}
	if ctx.Err() == nil && call.Err() != nil {
		return nil, unknown, noun.ErrUnknownOutcome
	}
	if f.guard != nil && sentBack(err, st) {
		if f.peers.retire(conn.link) {
			return nil, unheard, err // the link has shown an older certificate than this server has now
		}
		return nil, answered, err // who asks goes to the leader by itself
	}
	return nil, fateOf(err, to.Addr != nil), err
}

// sentBack tells whether the leader has refused this server, and not the one whose call it sends on: it says then that
// it leads itself.
func sentBack(err error, st *stint) bool {
	no := fault.Of(err)
	return no.Code == code.NotLeader && no.Leader != "" && no.Leader == st.leader.APIAddr
}

// fateOf says what an error tells about the request; sent is false when it never
// left this server.
func fateOf(err error, sent bool) fate {
	switch {
	case err == nil:
		return answered
	case errors.Is(err, noun.ErrNotLeader), errors.Is(err, noun.ErrStopping), errors.Is(err, noun.ErrDiverged):
		return unheard
	case errors.Is(err, noun.ErrUnknownOutcome):
		return unknown
	}
	switch p := fault.Of(err); p.Code {
	case code.NotLeader, code.NoLeader:
		return unheard
	case code.UnknownOutcome:
		return unknown
	case code.Unavailable:
		if fault.Ours(err) || !sent {
			return unheard
		}
		return unknown // the connection broke under the call
	}
	return answered
}

// giveUp is the error when no try brought an answer.
func (f *forwarder) giveUp(st *stint, maybe bool, cause error) error {
	if errors.Is(cause, context.Canceled) {
		return cause
	}
	p := &fault.Error{Code: code.NoLeader, Leader: st.leader.APIAddr}
	if maybe {
		p.Code = code.UnknownOutcome
	} else if errors.Is(cause, noun.ErrStopping) {
		p = fault.Of(cause)
	}
	return p
}

// elsewhere answers a server that took this one for the leader.
func (f *forwarder) elsewhere(st *stint) error {
	if st.leader.APIAddr == "" {
		return &fault.Error{Code: code.NoLeader}
	}
	return &fault.Error{Code: code.NotLeader, Leader: st.leader.APIAddr}
}

// IsForwarded tells whether another server has sent the call on.
func IsForwarded(ctx context.Context) bool {
	return len(metadata.ValueFromIncomingContext(ctx, code.HeaderForwarded)) > 0
}
