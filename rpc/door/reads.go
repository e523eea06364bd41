package door

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/gen/vigilv1"
)

// readSlack is how long a read waits until this server has what the leader had. A server that is further
// behind, because it has just begun or a snapshot is on its way, leaves reads to the leader.
const readSlack = 300 * time.Millisecond

// ReadHere lets this server answer reads that nobody has asked to be stale, when it does not lead: catchUp
// returns when all is applied here that was committed anywhere before it was called. It is called before Run.
func (d *Door) ReadHere(catchUp func(context.Context) error) { d.forward.catchUp = catchUp }

// readHere answers a read from the state of this server, as of a moment after the call; ok is false when the
// leader has to answer it. The caller is judged once more, since the call may have come before the word that
// revokes its identity.
func (f *forwarder) readHere(
	ctx context.Context, full string, m *method, req any, local grpc.UnaryHandler,
) (resp any, ok bool, err error) {
	st := f.stints.current()
	if !m.everywhere(req) || f.catchUp == nil || st.leader.Self || st.leader.ID == "" || IsForwarded(ctx) ||
		f.sound() != nil {
		return nil, false, nil
	}
	soon, cancel := context.WithTimeout(ctx, readSlack)
	defer cancel()
	if f.catchUp(soon) != nil {
		return nil, false, nil
	}
	if f.guard != nil && f.guard.still(who.From(ctx), full, func() any { return req })() != nil {
		return nil, false, nil
	}
	resp, err = local(ctx, req)
	return resp, true, err
}

// everywhere tells whether every server can answer the call from its state alone. The status of the cluster
// has what only the leader knows.
func (m *method) everywhere(req any) bool {
	_, from := req.(interface{ GetStale() bool })
	_, status := req.(*vigilv1.StatusRequest)
	return m.nature == code.Read && from && !status
}
