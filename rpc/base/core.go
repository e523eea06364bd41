package base

import (
	"context"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/door"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/park"
)

// Core is what all services share: the replica and the way to it. Its fields are set before the first call,
// and read only from then on.
type Core struct {
	Self   string // id of this server
	Writer Writer
	Reader Reader
	Door   *door.Door
	Park   *park.Engine
	Keys   GossipKeys // nil: gossip has none of its own accord

	news rounds[*vigilv1.StatusResponse]
}

// NewCore makes what the services of one server share; keys may be nil: gossip has none of its own accord.
func NewCore(self string, w Writer, r Reader, d *door.Door, e *park.Engine, keys GossipKeys) *Core {
	c := &Core{Self: self, Writer: w, Reader: r, Door: d, Park: e, Keys: keys}
	c.news.ask = c.leadersNews
	return c
}

// CatchUp returns when this replica has all that was committed before the call, with
// what the leader had then: its log index and newest event. Calls at the same time share one
// question to the leader.
func (c *Core) CatchUp(ctx context.Context) (*vigilv1.StatusResponse, error) {
	now, err := c.news.join(ctx)
	if err != nil {
		return nil, err
	}
	return now, c.Park.Gate.Await(ctx, now.GetIndex())
}

// leadersNews is how far the leader is, once all that was committed before is applied there.
func (c *Core) leadersNews() (*vigilv1.StatusResponse, error) {
	const status = vigilv1.Cluster_Status_FullMethodName
	return door.OnLeader(c.Door.AsServer(context.Background()), c.Door, status, &vigilv1.StatusRequest{},
		func(context.Context, *vigilv1.StatusRequest) (*vigilv1.StatusResponse, error) {
			return Read(c, func(st *fsm.View) *vigilv1.StatusResponse {
				return &vigilv1.StatusResponse{Index: st.LastIndex(), LastEvent: st.LastEvent()}
			}), nil
		})
}

// Request joins a command with the write id of its request.
func Request(id *vigilv1.WriteId, cmd fsm.Command) (fsm.Request, error) {
	req := fsm.Request{Session: noun.SessionID(id.GetSession()), Seq: id.GetSeq(), Cmd: cmd}
	if (req.Session == 0) != (req.Seq == 0) {
		return req, fault.Invalid("id needs both session and seq; open a session and number your writes " +
			"from 1, or leave id out.")
	}
	return req, nil
}

// Submit writes one validated command. An outcome that is not OK is an error.
func (c *Core) Submit(ctx context.Context, id *vigilv1.WriteId, cmd fsm.Command) (noun.Outcome, error) {
	req, err := Request(id, cmd)
	if err != nil {
		return noun.Outcome{}, err
	}
	req.Audit = c.Door.AuditOf(ctx)
	said := []fsm.Request{req}
	c.Prove(ctx, said)
	out, err := c.Writer.Submit(ctx, said[0])
	if err != nil {
		return out, err
	}
	if out.Code != noun.OK {
		return out, fault.Refusal(&out)
	}
	return out, nil
}

// Note writes down who does what is no command, before it is done; nothing where nobody is to be named.
func (c *Core) Note(ctx context.Context) error {
	audit := c.Door.AuditOf(ctx)
	if len(audit) == 0 {
		return nil
	}
	_, err := c.Writer.Submit(ctx, fsm.Request{Cmd: fsm.NoteAudit{}, Audit: audit})
	return err
}

// Write is the one shape of a handler that changes something: build validates and
// makes the command, answer converts the outcome under the read lock.
func Write[Req interface{ GetId() *vigilv1.WriteId }, Resp any](ctx context.Context, c *Core, req Req,
	build func(Req) (fsm.Command, error), answer func(*fsm.View, *noun.Outcome) *Resp,
) (*Resp, error) {
	cmd, err := build(req)
	if err != nil {
		return nil, err
	}
	out, err := c.Submit(ctx, req.GetId(), cmd)
	if err != nil {
		return nil, err
	}
	return Read(c, func(st *fsm.View) *Resp { return answer(st, &out) }), nil
}

// Idempotent is Write for commands that are safe to repeat without a write id and
// whose answer needs nothing but the outcome.
func Idempotent[Req, Resp any](ctx context.Context, c *Core, req Req,
	build func(Req) (fsm.Command, error), answer func(*noun.Outcome) *Resp,
) (*Resp, error) {
	cmd, err := build(req)
	if err != nil {
		return nil, err
	}
	out, err := c.Submit(ctx, nil, cmd)
	if err != nil {
		return nil, err
	}
	return answer(&out), nil
}

// Read calls fn under the read lock.
func Read[T any](c *Core, fn func(*fsm.View) T) (v T) {
	c.Reader.Read(func(st *fsm.View) { v = fn(st) })
	return v
}
