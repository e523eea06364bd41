package rpc

import (
	"context"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/door"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/park"
)

// core is what all services share: the replica and the way to it.
type core struct {
	self   string // id of this server
	writer Writer
	reader Reader
	door   *door.Door
	park   *park.Engine
	keys   GossipKeys // nil: gossip has none of its own accord
}

// catchUp returns when this replica has all that was committed before the call, with
// what the leader had then: its log index and newest event.
func (c *core) catchUp(ctx context.Context) (*vigilv1.StatusResponse, error) {
	const status = vigilv1.Cluster_Status_FullMethodName
	now, err := door.OnLeader(c.door.AsServer(ctx), c.door, status, &vigilv1.StatusRequest{},
		func(context.Context, *vigilv1.StatusRequest) (*vigilv1.StatusResponse, error) {
			return read(c, func(st *fsm.View) *vigilv1.StatusResponse {
				return &vigilv1.StatusResponse{Index: st.LastIndex(), LastEvent: st.LastEvent()}
			}), nil
		})
	if err != nil {
		return nil, err
	}
	return now, c.park.Gate.Await(ctx, now.GetIndex())
}

// request joins a command with the write id of its request.
func request(id *vigilv1.WriteId, cmd fsm.Command) (fsm.Request, error) {
	req := fsm.Request{Session: noun.SessionID(id.GetSession()), Seq: id.GetSeq(), Cmd: cmd}
	if (req.Session == 0) != (req.Seq == 0) {
		return req, fault.Invalid("id needs both session and seq; open a session and number your writes " +
			"from 1, or leave id out.")
	}
	return req, nil
}

// submit writes one validated command. An outcome that is not OK is an error.
func (c *core) submit(ctx context.Context, id *vigilv1.WriteId, cmd fsm.Command) (noun.Outcome, error) {
	req, err := request(id, cmd)
	if err != nil {
		return noun.Outcome{}, err
	}
	c.prove(ctx, &req)
	req.Audit = c.door.AuditOf(ctx)
	out, err := c.writer.Submit(ctx, req)
	if err != nil {
		return out, err
	}
	if out.Code != noun.OK {
		return out, fault.Refusal(&out)
	}
	return out, nil
}

// note writes down who does what is no command, before it is done; nothing where nobody is to be named.
func (c *core) note(ctx context.Context) error {
	audit := c.door.AuditOf(ctx)
	if len(audit) == 0 {
		return nil
	}
	_, err := c.writer.Submit(ctx, fsm.Request{Cmd: fsm.NoteAudit{}, Audit: audit})
	return err
}

// write is the one shape of a handler that changes something: build validates and
// makes the command, answer converts the outcome under the read lock.
func write[Req interface{ GetId() *vigilv1.WriteId }, Resp any](ctx context.Context, c *core, req Req,
	build func(Req) (fsm.Command, error), answer func(*fsm.View, *noun.Outcome) *Resp,
) (*Resp, error) {
	cmd, err := build(req)
	if err != nil {
		return nil, err
	}
	out, err := c.submit(ctx, req.GetId(), cmd)
	if err != nil {
		return nil, err
	}
	return read(c, func(st *fsm.View) *Resp { return answer(st, &out) }), nil
}

// idempotent is write for commands that are safe to repeat without a write id and
// whose answer needs nothing but the outcome.
func idempotent[Req, Resp any](ctx context.Context, c *core, req Req,
	build func(Req) (fsm.Command, error), answer func(*noun.Outcome) *Resp,
) (*Resp, error) {
	cmd, err := build(req)
	if err != nil {
		return nil, err
	}
	out, err := c.submit(ctx, nil, cmd)
	if err != nil {
		return nil, err
	}
	return answer(&out), nil
}

// read calls fn under the read lock.
func read[T any](c *core, fn func(*fsm.View) T) (v T) {
	c.reader.Read(func(st *fsm.View) { v = fn(st) })
	return v
}
