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
	claim bool
	err   error
}

// item validates one write, asks whether the caller may make it by itself, too, and builds its request.
func (w *work) item(ctx context.Context, write *vigilv1.Write) (fsm.Request, error) {
	cmd, err := writeCmd(write)
	if err != nil {
		return fsm.Request{}, err
	}
	method, call := door.WriteCall(write)
	if err := w.Door.Check(ctx, method, call); err != nil {
		return fsm.Request{}, err
	}
	req, err := base.Request(door.WriteID(write), cmd)
	req.Audit = w.Door.Audit(ctx, method, call)
	return req, err
}

// writeCmd is the command of one write.
func writeCmd(w *vigilv1.Write) (fsm.Command, error) {
	switch op := w.GetOp().(type) {
	case *vigilv1.Write_CreateTask:
		return createTaskCmd(op.CreateTask)
	case *vigilv1.Write_Claim:
		return claimCmd(op.Claim)
	case *vigilv1.Write_StartTask:
		return startTaskCmd(op.StartTask)
	case *vigilv1.Write_ProgressTask:
		return progressTaskCmd(op.ProgressTask)
	case *vigilv1.Write_CompleteTask:
		return completeTaskCmd(op.CompleteTask)
	case *vigilv1.Write_FailTask:
		return failTaskCmd(op.FailTask)
	case *vigilv1.Write_Handoff:
		return handoffCmd(op.Handoff)
	case *vigilv1.Write_Next:
		if op.Next.GetMaxWait() != nil {
			return nil, fault.Invalid("max_wait has no place in a batch, which waits for nothing; leave it out.")
		}
		return nextCmd(op.Next)
	case *vigilv1.Write_Join:
		return joinCmd(op.Join)
	case *vigilv1.Write_Leave:
		return leaveCmd(op.Leave)
	}
	return nil, fault.Invalid("The write names no operation that this server knows; compare the versions " +
		"with `vigil version`.")
}

// claims tells whether the answer to a write may bring a task.
func claims(w *vigilv1.Write) bool {
	switch w.GetOp().(type) {
	case *vigilv1.Write_Claim, *vigilv1.Write_Next:
		return true
	}
	return false
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
		req, err := w.item(ctx, write)
		if items[i] = (batchItem{claims(write), err}); err == nil {
			reqs = append(reqs, req)
		}
	}
	w.Prove(ctx, reqs)
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
		to.Claimed = base.Read(w.Core, func(st *fsm.View) *vigilv1.Task { return w.claimedTask(st, out) })
	}
}
