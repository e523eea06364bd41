package rpc

import (
	"context"
	"time"

	"google.golang.org/grpc/metadata"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// work serves what incarnations of agents say.
type work struct {
	vigilv1.UnimplementedWorkServer
	*core
}

// Join makes the incarnation WAITING.
func (w *work) Join(ctx context.Context, r *vigilv1.JoinRequest) (*vigilv1.JoinResponse, error) {
	return write(ctx, w.core, r, joinCmd, func(st *fsm.View, out *noun.Outcome) *vigilv1.JoinResponse {
		resp := &vigilv1.JoinResponse{Agent: agentName(st, out.Agent), AgentId: uint32(out.Agent),
			Incarnation: uint64(out.Inc), Ttl: lasting(time.Duration(out.TTL)), Task: uint64(out.Task)}
		if a := st.Agent(out.Agent); a != nil && a.Inc == out.Inc {
			resp.Managed = a.Managed
		}
		return resp
	})
}

// Leave makes it DISCONNECTED at once (law L5).
func (w *work) Leave(ctx context.Context, r *vigilv1.LeaveRequest) (*vigilv1.LeaveResponse, error) {
	return write(ctx, w.core, r, leaveCmd, func(*fsm.View, *noun.Outcome) *vigilv1.LeaveResponse {
		return &vigilv1.LeaveResponse{}
	})
}

// Claim takes a task, the named one or the first of the role.
func (w *work) Claim(ctx context.Context, r *vigilv1.ClaimRequest) (*vigilv1.ClaimResponse, error) {
	if len(metadata.ValueFromIncomingContext(ctx, code.HeaderWoken)) > 0 {
		return w.claimWoken(ctx, r)
	}
	return write(ctx, w.core, r, claimCmd, claimAnswer)
}

// claimWoken is the claim of a waiter: it goes into the log only when it can win, or
// when it is about something else than a pending task.
func (w *work) claimWoken(ctx context.Context, r *vigilv1.ClaimRequest) (*vigilv1.ClaimResponse, error) {
	role, _, sure := w.seat(r)
	if !sure {
		return write(ctx, w.core, r, claimCmd, claimAnswer)
	}
	ok, index, err := w.park.Turns.Enter(ctx, role)
	if err == nil && !ok { // a deposed leader does not know of its successor's tasks
		if err = w.reader.Barrier(ctx); err == nil {
			ok, index, err = w.park.Turns.Enter(ctx, role)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, &fault.Error{Code: code.NoTask, Index: index}
	}
	defer w.park.Turns.Leave(role)
	return write(ctx, w.core, r, claimCmd, claimAnswer)
}

func claimAnswer(st *fsm.View, out *noun.Outcome) *vigilv1.ClaimResponse {
	resp := &vigilv1.ClaimResponse{Attempt: out.Attempt, Ttl: lasting(time.Duration(out.TTL)), Index: out.Index}
	if t := st.Task(out.Task); t != nil {
		resp.Task = convertTask(st, t, true)
	} else {
		resp.Task = &vigilv1.Task{Id: uint64(out.Task)}
	}
	return resp
}

// StartTask says that work has begun.
func (w *work) StartTask(ctx context.Context, r *vigilv1.WorkRequest) (*vigilv1.WorkResponse, error) {
	return write(ctx, w.core, r, startTaskCmd, workAnswer(r.GetTask()))
}

// ProgressTask notes progress.
func (w *work) ProgressTask(ctx context.Context, r *vigilv1.WorkRequest) (*vigilv1.WorkResponse, error) {
	return write(ctx, w.core, r, progressTaskCmd, workAnswer(r.GetTask()))
}

// CompleteTask ends a task with a result.
func (w *work) CompleteTask(ctx context.Context, r *vigilv1.CompleteTaskRequest) (*vigilv1.WorkResponse, error) {
	return write(ctx, w.core, r, completeTaskCmd, workAnswer(r.GetTask()))
}

// FailTask ends a task with a reason, or puts it back while attempts are left.
func (w *work) FailTask(ctx context.Context, r *vigilv1.WorkRequest) (*vigilv1.WorkResponse, error) {
	return write(ctx, w.core, r, failTaskCmd, workAnswer(r.GetTask()))
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
	return write(ctx, w.core, r, handoffCmd, func(_ *fsm.View, out *noun.Outcome) *vigilv1.HandoffResponse {
		return &vigilv1.HandoffResponse{NextTask: uint64(out.Task)}
	})
}

// SetResume registers what the next incarnation gets as VIGIL_RESUME.
func (w *work) SetResume(ctx context.Context, r *vigilv1.SetResumeRequest) (*vigilv1.SetResumeResponse, error) {
	return write(ctx, w.core, r, setResumeCmd, func(*fsm.View, *noun.Outcome) *vigilv1.SetResumeResponse {
		return &vigilv1.SetResumeResponse{}
	})
}

// Declare takes note of what an agent says of its own condition. Its text is for
// people who ask for the agent; no log line of a server holds it.
func (w *work) Declare(ctx context.Context, r *vigilv1.DeclareRequest) (*vigilv1.DeclareResponse, error) {
	return write(ctx, w.core, r, declareCmd, func(st *fsm.View, out *noun.Outcome) *vigilv1.DeclareResponse {
		resp := &vigilv1.DeclareResponse{Applied: out.Count == 0, Sequence: r.GetSequence()}
		if a := st.Agent(out.Agent); a != nil && a.Inc == out.Inc && a.Declared != nil {
			resp.Sequence = max(resp.GetSequence(), a.Declared.Seq)
			resp.Left = declaredLeft(st.Clock(), a.Declared)
		}
		return resp
	})
}

// OpenSession gives out a session for numbered writes.
func (w *work) OpenSession(ctx context.Context, r *vigilv1.OpenSessionRequest) (*vigilv1.OpenSessionResponse, error) {
	return idempotent(ctx, w.core, r, openSessionCmd, func(out *noun.Outcome) *vigilv1.OpenSessionResponse {
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
	out, err := w.writer.Submit(ctx, fsm.Request{Session: noun.SessionID(r.GetSession()), Seq: lastSeq,
		Cmd: fsm.CloseSession{}})
	if err == nil && out.Code != noun.OK && out.Code != noun.UnknownSession {
		err = fault.Refusal(&out)
	}
	if err != nil {
		return nil, err
	}
	return &vigilv1.CloseSessionResponse{}, nil
}
