package rpc

import (
	"context"
	"time"

	"google.golang.org/grpc/metadata"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/park"
)

// work serves what incarnations of agents say.
type work struct {
	vigilv1.UnimplementedWorkServer
	*base.Core
	delegates *park.Quota // places of waits at the leader

	traced  bool // see Config.Traced
	cluster func() string
}

// Join makes the incarnation WAITING.
func (w *work) Join(ctx context.Context, r *vigilv1.JoinRequest) (*vigilv1.JoinResponse, error) {
	return base.Write(ctx, w.Core, r, joinCmd, func(st *fsm.View, out *noun.Outcome) *vigilv1.JoinResponse {
		resp := &vigilv1.JoinResponse{Agent: form.AgentName(st, out.Agent), AgentId: uint32(out.Agent),
			Incarnation: uint64(out.Inc), Ttl: form.Lasting(time.Duration(out.TTL)), Task: uint64(out.Task)}
		if a := st.Agent(out.Agent); a != nil && a.Inc == out.Inc {
			resp.Managed = a.Managed
		}
		return resp
	})
}

// Leave makes it DISCONNECTED at once (law L5).
func (w *work) Leave(ctx context.Context, r *vigilv1.LeaveRequest) (*vigilv1.LeaveResponse, error) {
	return base.Write(ctx, w.Core, r, leaveCmd, func(*fsm.View, *noun.Outcome) *vigilv1.LeaveResponse {
		return &vigilv1.LeaveResponse{}
	})
}

// Claim takes a task, the named one or the first of the role.
func (w *work) Claim(ctx context.Context, r *vigilv1.ClaimRequest) (*vigilv1.ClaimResponse, error) {
	if len(metadata.ValueFromIncomingContext(ctx, code.HeaderWoken)) > 0 {
		return w.claimWoken(ctx, r)
	}
	return base.Write(ctx, w.Core, r, claimCmd, w.claimAnswer)
}

// claimWoken is the claim of a waiter: it goes into the log only when it can win, or
// when it is about something else than a pending task.
func (w *work) claimWoken(ctx context.Context, r *vigilv1.ClaimRequest) (*vigilv1.ClaimResponse, error) {
	role, _, sure := w.seat(r)
	if !sure {
		return base.Write(ctx, w.Core, r, claimCmd, w.claimAnswer)
	}
	ok, index, err := w.Park.Turns.Enter(ctx, role)
	if err == nil && !ok { // a deposed leader does not know of its successor's tasks
		if err = w.Reader.Barrier(ctx); err == nil {
			ok, index, err = w.Park.Turns.Enter(ctx, role)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, &fault.Error{Code: code.NoTask, Index: index}
	}
	defer w.Park.Turns.Leave(role)
	return base.Write(ctx, w.Core, r, claimCmd, w.claimAnswer)
}

func (w *work) claimAnswer(st *fsm.View, out *noun.Outcome) *vigilv1.ClaimResponse {
	resp := &vigilv1.ClaimResponse{Attempt: out.Attempt, Ttl: form.Lasting(time.Duration(out.TTL)), Index: out.Index,
		Task: w.claimedTask(st, out)}
	if resp.Task == nil {
		resp.Task = &vigilv1.Task{Id: uint64(out.Task)}
	}
	return resp
}

// claimedTask is the task that a claim has brought, for who works on it; nil when it is gone by now.
func (w *work) claimedTask(st *fsm.View, out *noun.Outcome) *vigilv1.Task {
	t := st.Task(out.Task)
	if t == nil {
		return nil
	}
	task := form.Task(st, t, true)
	task.Traceparent = string(t.Trace)
	if w.traced {
		spans := noun.SpansOf(w.cluster(), t.ID, t.CreatedAt, t.Trace)
		task.Traceparent = string(spans.Traceparent(spans.Attempt(out.Attempt)))
	}
	return task
}

// StartTask says that work has begun.
func (w *work) StartTask(ctx context.Context, r *vigilv1.WorkRequest) (*vigilv1.WorkResponse, error) {
	return base.Write(ctx, w.Core, r, startTaskCmd, workAnswer(r.GetTask()))
}

// ProgressTask notes progress.
func (w *work) ProgressTask(ctx context.Context, r *vigilv1.WorkRequest) (*vigilv1.WorkResponse, error) {
	return base.Write(ctx, w.Core, r, progressTaskCmd, workAnswer(r.GetTask()))
}

// CompleteTask ends a task with a result.
func (w *work) CompleteTask(ctx context.Context, r *vigilv1.CompleteTaskRequest) (*vigilv1.WorkResponse, error) {
	return base.Write(ctx, w.Core, r, completeTaskCmd, workAnswer(r.GetTask()))
}

// FailTask ends a task with a reason, or puts it back while attempts are left.
func (w *work) FailTask(ctx context.Context, r *vigilv1.WorkRequest) (*vigilv1.WorkResponse, error) {
	return base.Write(ctx, w.Core, r, failTaskCmd, workAnswer(r.GetTask()))
}

func workAnswer(task uint64) func(*fsm.View, *noun.Outcome) *vigilv1.WorkResponse {
	return func(st *fsm.View, out *noun.Outcome) *vigilv1.WorkResponse {
		resp := &vigilv1.WorkResponse{Rev: out.Rev}
		if t := st.Task(noun.TaskID(task)); t != nil {
			resp.State = vigilv1.TaskState(t.State)
		}
		return resp
	}
}

// Handoff completes a task and creates the next role's task, both or neither.
func (w *work) Handoff(ctx context.Context, r *vigilv1.HandoffRequest) (*vigilv1.HandoffResponse, error) {
	return base.Write(ctx, w.Core, r, handoffCmd, func(_ *fsm.View, out *noun.Outcome) *vigilv1.HandoffResponse {
		return &vigilv1.HandoffResponse{NextTask: uint64(out.Task)}
	})
}

// SetResume registers what the next incarnation gets as VIGIL_RESUME.
func (w *work) SetResume(ctx context.Context, r *vigilv1.SetResumeRequest) (*vigilv1.SetResumeResponse, error) {
	return base.Write(ctx, w.Core, r, setResumeCmd, func(*fsm.View, *noun.Outcome) *vigilv1.SetResumeResponse {
		return &vigilv1.SetResumeResponse{}
	})
}

// Declare takes note of what an agent says of its own condition. Its text is for
// people who ask for the agent; no log line of a server holds it.
func (w *work) Declare(ctx context.Context, r *vigilv1.DeclareRequest) (*vigilv1.DeclareResponse, error) {
	return base.Write(ctx, w.Core, r, declareCmd, func(st *fsm.View, out *noun.Outcome) *vigilv1.DeclareResponse {
		resp := &vigilv1.DeclareResponse{Applied: out.Count == 0, Sequence: r.GetSequence()}
		if a := st.Agent(out.Agent); a != nil && a.Inc == out.Inc && a.Declared != nil {
			resp.Sequence = max(resp.GetSequence(), a.Declared.Seq)
			resp.Left = form.DeclaredLeft(st.Clock(), a.Declared)
		}
		return resp
	})
}

// OpenSession gives out a session for numbered writes.
func (w *work) OpenSession(ctx context.Context, r *vigilv1.OpenSessionRequest) (*vigilv1.OpenSessionResponse, error) {
	return base.Idempotent(ctx, w.Core, r, openSessionCmd, func(out *noun.Outcome) *vigilv1.OpenSessionResponse {
		return &vigilv1.OpenSessionResponse{Session: uint64(out.Session)}
	})
}

// lastSeq numbers the end of a session: above every number that a client reaches,
// and far from overflow.
const lastSeq = 1 << 62

// CloseSession forgets a session; one that is gone already is fine too.
func (w *work) CloseSession(
	ctx context.Context, r *vigilv1.CloseSessionRequest,
) (*vigilv1.CloseSessionResponse, error) {
	if r.GetSession() == 0 {
		return nil, fault.Invalid("session is missing; give the number that open answered with.")
	}
	out, err := w.Writer.Submit(ctx, fsm.Request{Session: noun.SessionID(r.GetSession()), Seq: lastSeq,
		Cmd: fsm.CloseSession{}})
	if err == nil && out.Code != noun.OK && out.Code != noun.UnknownSession {
		err = fault.Refusal(&out)
	}
	if err != nil {
		return nil, err
	}
	return &vigilv1.CloseSessionResponse{}, nil
}
