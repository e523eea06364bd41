package rpc

import (
	"strings"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// This file turns what humans decide about agents and the whole fleet into
// commands (laws L9 and L11).

func setPauseCmd(r *vigilv1.SetPauseRequest) (fsm.Command, error) {
	var c form.Checks
	if r.Pause == nil { // left out by mistake it would resume everything
		c.Fail("pause is missing; give true or false.")
	}
	switch scope := r.GetScope(); {
	case strings.Contains(scope, "/"):
		c.Agent("scope", scope, false)
	default:
		c.OptionalName("scope", scope)
	}
	c.Line("by", r.GetBy(), form.MaxWho)
	c.Text("reason", r.GetReason(), noun.MaxReason)
	span := c.Lasts(r.GetFor(), r.GetPause(), "a pause that ends")
	return fsm.SetPause{Scope: r.GetScope(), Pause: r.GetPause(), By: r.GetBy(), Reason: r.GetReason(),
		For: span}, c.Err
}

func unparkAgentCmd(r *vigilv1.UnparkAgentRequest) (fsm.Command, error) {
	var c form.Checks
	c.Agent("agent", r.GetAgent(), false)
	c.Line("by", r.GetBy(), form.MaxWho)
	return fsm.UnparkAgent{Agent: r.GetAgent(), By: r.GetBy(), IfRev: r.GetIfRev()}, c.Err
}

func unquarantineTaskCmd(r *vigilv1.UnquarantineTaskRequest) (fsm.Command, error) {
	var c form.Checks
	c.Task(r.GetTask())
	c.Line("by", r.GetBy(), form.MaxWho)
	return fsm.UnquarantineTask{Task: noun.TaskID(r.GetTask()), IfRev: r.GetIfRev(), By: r.GetBy()}, c.Err
}

func releaseBrakeCmd(r *vigilv1.ReleaseBrakeRequest) (fsm.Command, error) {
	var c form.Checks
	c.Line("by", r.GetBy(), form.MaxWho)
	return fsm.ReleaseBrake{By: r.GetBy()}, c.Err
}
