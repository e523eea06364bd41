package rpc

import (
	"context"
	"fmt"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/door"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// maxBatch bounds the writes of one batch.
const maxBatch = 4096

// batchItem is one write of a batch on its way.
type batchItem struct {
	req   fsm.Request
	claim bool
	err   error
}

// item validates one write and builds its request.
func item(w *vigilv1.Write) (it batchItem) {
	var cmd fsm.Command
	switch op := w.GetOp().(type) {
	case *vigilv1.Write_CreateTask:
		cmd, it.err = createTaskCmd(op.CreateTask)
	case *vigilv1.Write_Claim:
		it.claim = true
		cmd, it.err = claimCmd(op.Claim)
	case *vigilv1.Write_StartTask:
		cmd, it.err = startTaskCmd(op.StartTask)
	case *vigilv1.Write_ProgressTask:
		cmd, it.err = progressTaskCmd(op.ProgressTask)
	case *vigilv1.Write_CompleteTask:
		cmd, it.err = completeTaskCmd(op.CompleteTask)
	case *vigilv1.Write_FailTask:
		cmd, it.err = failTaskCmd(op.FailTask)
	case *vigilv1.Write_Handoff:
		cmd, it.err = handoffCmd(op.Handoff)
	case *vigilv1.Write_Next:
		it.claim = true
		if cmd, it.err = nextCmd(op.Next); it.err == nil && op.Next.GetMaxWait() != nil {
			it.err = fault.Invalid("max_wait has no place in a batch, which waits for nothing; leave it out.")
		}
	case *vigilv1.Write_Join:
		cmd, it.err = joinCmd(op.Join)
	case *vigilv1.Write_Leave:
		cmd, it.err = leaveCmd(op.Leave)
	default:
		it.err = fault.Invalid("The write names no operation that this server knows; compare the " +
			"versions with `vigil version`.")
	}
	if it.err == nil {
		it.req, it.err = base.Request(door.WriteID(w), cmd)
	}
	return it
}

// allowed is nil when the caller may make that write by itself, too.
func (w *work) allowed(ctx context.Context, write *vigilv1.Write) error {
	method, req := door.WriteCall(write)
	return w.Door.Check(ctx, method, req)
}

// audit names the caller for one write of a batch.
func (w *work) audit(ctx context.Context, write *vigilv1.Write) []fsm.AuditNote {
	method, req := door.WriteCall(write)
	return w.Door.Audit(ctx, method, req)
}

// Batch does many writes; each has its own answer, in order. When the outcome of
// the whole is not known, the call fails as one.
func (w *work) Batch(ctx context.Context, r *vigilv1.BatchRequest) (*vigilv1.BatchResponse, error) {
	var c form.Checks
	if c.AtMost("writes", len(r.GetWrites()), maxBatch); c.Err != nil {
		return nil, c.Err
	}
	items := make([]batchItem, len(r.GetWrites()))
	reqs := make([]fsm.Request, 0, len(items))
	for i, write := range r.GetWrites() {
		if items[i] = item(write); items[i].err == nil {
			items[i].err = w.allowed(ctx, write)
			items[i].req.Audit = w.audit(ctx, write)
		}
		if items[i].err == nil {
			reqs = append(reqs, items[i].req)
		}
	}
	said := make([]*fsm.Request, len(reqs))
	for i := range reqs {
		said[i] = &reqs[i]
	}
	w.Prove(ctx, said...)
	outs := make([]noun.Outcome, len(reqs))
	if len(reqs) > 0 {
		if err := w.Writer.SubmitAll(ctx, reqs, outs); err != nil {
			return nil, fmt.Errorf("submit batch: %w", err)
		}
	}
	results := make([]vigilv1.WriteResult, len(items))
	resp := &vigilv1.BatchResponse{Results: make([]*vigilv1.WriteResult, len(items))}
	for i := range items {
		resp.Results[i] = &results[i]
		if items[i].err != nil {
			results[i].Error = fault.Of(items[i].err).Info()
			continue
		}
		w.result(&results[i], &outs[0], items[i].claim)
		outs = outs[1:]
	}
	return resp, nil
}

// result converts one outcome of a batch; the task of a claim is read, with its text.
func (w *work) result(to *vigilv1.WriteResult, out *noun.Outcome, claim bool) {
	if out.Code != noun.OK {
		to.Error = fault.Of(fault.Refusal(out)).Info()
		return
	}
	to.Task, to.Attempt, to.Rev = uint64(out.Task), out.Attempt, out.Rev
	to.AgentId, to.Incarnation = uint32(out.Agent), uint64(out.Inc)
	if claim && out.Task != 0 {
		to.Claimed = base.Read(w.Core, func(st *fsm.View) *vigilv1.Task {
			if t := st.Task(out.Task); t != nil {
				return form.Task(st, t, true)
			}
			return nil
		})
	}
}
