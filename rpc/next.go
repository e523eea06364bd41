package rpc

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/code"
	"vigil/rpc/door"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// Next ends a task and takes the role's next one in the same entry. With max_wait it parks for one as
// Wait does where there is none; the door leaves such a call to this server, which has the leader do the
// first part as a call of its own, under the same write id. So whoever repeats a call that was broken
// off gets what became of its task, and then waits on.
func (w *work) Next(ctx context.Context, r *vigilv1.NextRequest) (*vigilv1.NextResponse, error) {
	if r.GetMaxWait() == nil {
		return w.next(ctx, r)
	}
	var c form.Checks
	limit := patience(&c, r.GetMaxWait())
	if c.Err != nil {
		return nil, c.Err
	}
	until := time.Now().Add(limit)
	first := proto.CloneOf(r)
	first.MaxWait = nil
	answer, err := door.OnLeader(ctx, w.Door, vigilv1.Work_Next_FullMethodName, first, w.next)
	if err != nil || answer.GetNone().GetCode() != code.NoTask {
		return answer, err
	}
	// From here on there is no error any more: the end of the task counts, and the answer says so.
	limit = max(0, time.Until(until))
	wait := &vigilv1.WaitRequest{Speaker: r.GetSpeaker(), Start: r.GetStart(), MaxWait: durationpb.New(limit)}
	s, err := w.seek(ctx, wait)
	if err == nil {
		err = w.wait(ctx, wait, s, limit)
	}
	switch {
	case err == nil:
		answer.Claim, answer.None = s.answer, nil
	case ctx.Err() != nil:
		answer.None = fault.New(code.Unavailable, "The wait was broken off; wait again.").Info()
	default:
		answer.None = fault.Of(err).Info()
	}
	return answer, nil
}

// next is the part of Next that the log does.
func (w *work) next(ctx context.Context, r *vigilv1.NextRequest) (*vigilv1.NextResponse, error) {
	return base.Write(ctx, w.Core, r, nextCmd, func(st *fsm.View, out *noun.Outcome) *vigilv1.NextResponse {
		resp := &vigilv1.NextResponse{State: vigilv1.TaskState(out.Count), Rev: out.Rev, Index: out.Index}
		if t := st.Task(noun.TaskID(r.GetTask())); t != nil && r.GetHandoff() != nil {
			resp.NextTask = uint64(t.Next)
		}
		if out.Why == noun.OK {
			resp.Claim = w.claimAnswer(st, out)
		} else {
			no := *out
			no.Code = out.Why
			resp.None = fault.Of(fault.Refusal(&no)).Info()
		}
		return resp
	})
}

// nextCmd makes the command that ends the task, and adds to it that the next one is taken.
func nextCmd(r *vigilv1.NextRequest) (fsm.Command, error) {
	then := fsm.Then{Next: true, Start: r.GetStart()}
	var cmd fsm.Command
	var err error
	switch end := r.GetEnd().(type) {
	case *vigilv1.NextRequest_Complete:
		cmd, err = completeTaskCmd(&vigilv1.CompleteTaskRequest{Speaker: r.GetSpeaker(), Task: r.GetTask(),
			Attempt: r.GetAttempt(), Result: end.Complete.GetResult()})
	case *vigilv1.NextRequest_Fail:
		cmd, err = failCmd(&vigilv1.WorkRequest{Speaker: r.GetSpeaker(), Task: r.GetTask(), Attempt: r.GetAttempt(),
			Text: end.Fail.GetReason(), Retryable: end.Fail.GetRetryable(), After: end.Fail.GetAfter(),
			Result: end.Fail.GetResult()}, "reason")
	case *vigilv1.NextRequest_Handoff:
		h := end.Handoff
		cmd, err = handoffCmd(&vigilv1.HandoffRequest{Speaker: r.GetSpeaker(), Task: r.GetTask(),
			Attempt: r.GetAttempt(), Result: h.GetResult(), ToRole: h.GetToRole(), Title: h.GetTitle(),
			Text: h.GetText(), Priority: h.GetPriority()})
	default:
		return nil, fault.Invalid("complete, fail and handoff are all missing; one of them says how the task ends.")
	}
	switch c := cmd.(type) {
	case fsm.CompleteTask:
		c.Then = then
		return c, err
	case fsm.AnswerLook:
		c.Then = then
		return c, err
	case fsm.FailTask:
		c.Then = then
		return c, err
	case fsm.Handoff:
		c.Then = then
		return c, err
	}
	return nil, err
}
