package rpc

import (
	"strings"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// This file turns what humans decide about agents and the whole fleet into
// commands (laws L9 and L11).

func setPauseCmd(r *vigilv1.SetPauseRequest) (fsm.Command, error) {
	var c checks
	if r.Pause == nil { // left out by mistake it would resume everything
		c.fail("pause is missing; give true or false.")
	}
	switch scope := r.GetScope(); {
	case strings.Contains(scope, "/"):
		c.agent("scope", scope, false)
	default:
		c.optionalName("scope", scope)
	}
	c.line("by", r.GetBy(), maxWho)
	c.text("reason", r.GetReason(), noun.MaxReason)
	span := c.lasts(r.GetFor(), r.GetPause(), "a pause that ends")
	return fsm.SetPause{Scope: r.GetScope(), Pause: r.GetPause(), By: r.GetBy(), Reason: r.GetReason(),
		For: span}, c.err
}

func unparkAgentCmd(r *vigilv1.UnparkAgentRequest) (fsm.Command, error) {
	var c checks
	c.agent("agent", r.GetAgent(), false)
	c.line("by", r.GetBy(), maxWho)
	return fsm.UnparkAgent{Agent: r.GetAgent(), By: r.GetBy()}, c.err
}

func unquarantineTaskCmd(r *vigilv1.UnquarantineTaskRequest) (fsm.Command, error) {
	var c checks
	c.task(r.GetTask())
	c.line("by", r.GetBy(), maxWho)
	return fsm.UnquarantineTask{Task: noun.TaskID(r.GetTask()), IfRev: r.GetIfRev(), By: r.GetBy()}, c.err
}

func releaseBrakeCmd(r *vigilv1.ReleaseBrakeRequest) (fsm.Command, error) {
	var c checks
	c.line("by", r.GetBy(), maxWho)
	return fsm.ReleaseBrake{By: r.GetBy()}, c.err
}
