package rpc

import (
	"context"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// SetAgent is a durable stop or start of one agent (law L9).
func (f *fleet) SetAgent(ctx context.Context, r *vigilv1.SetAgentRequest) (*vigilv1.Agent, error) {
	return base.Write(ctx, f.Core, r, setAgentCmd, form.AgentAnswer(r.GetAgent()))
}

// RestartAgent stops the running incarnation; the next start is not charged.
func (f *fleet) RestartAgent(ctx context.Context, r *vigilv1.RestartAgentRequest) (*vigilv1.Agent, error) {
	return base.Write(ctx, f.Core, r, restartAgentCmd, form.AgentAnswer(r.GetAgent()))
}

// UnparkAgent ends a back-off, an open breaker or a usage-limit pause.
func (f *fleet) UnparkAgent(ctx context.Context, r *vigilv1.UnparkAgentRequest) (*vigilv1.Agent, error) {
	return base.Write(ctx, f.Core, r, unparkAgentCmd, form.AgentAnswer(r.GetAgent()))
}

// UnquarantineTask puts a QUARANTINED task back into its queue.
func (f *fleet) UnquarantineTask(ctx context.Context, r *vigilv1.UnquarantineTaskRequest) (*vigilv1.Task, error) {
	return base.Write(ctx, f.Core, r, unquarantineTaskCmd, func(st *fsm.View, out *noun.Outcome) *vigilv1.Task {
		return taskByID(st, noun.TaskID(r.GetTask()), out)
	})
}

// SetPause pauses or resumes everything, a room or an agent (law L9): nothing is
// started and no new task is claimed; what runs goes on.
func (f *fleet) SetPause(ctx context.Context, r *vigilv1.SetPauseRequest) (*vigilv1.SetPauseResponse, error) {
	return base.Write(ctx, f.Core, r, setPauseCmd, func(_ *fsm.View, out *noun.Outcome) *vigilv1.SetPauseResponse {
		return &vigilv1.SetPauseResponse{Rev: out.Rev}
	})
}

// ReleaseBrake ends the mass-failure brake by a human's word.
func (f *fleet) ReleaseBrake(
	ctx context.Context, r *vigilv1.ReleaseBrakeRequest,
) (*vigilv1.ReleaseBrakeResponse, error) {
	return base.Write(ctx, f.Core, r, releaseBrakeCmd, func(*fsm.View, *noun.Outcome) *vigilv1.ReleaseBrakeResponse {
		return &vigilv1.ReleaseBrakeResponse{}
	})
}
