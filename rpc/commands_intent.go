package rpc

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// This file turns what humans decide about agents, hosts and the whole fleet into
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

// hostWord is a human's word about a host.
type hostWord interface {
	GetHost() string
	GetBy() string
	GetId() *vigilv1.WriteId
}

// hostName validates which host is meant, and by whom.
func (c *checks) hostName(r hostWord) {
	c.line("host", r.GetHost(), maxWho)
	c.present("host", r.GetHost(), "give its name or number (`vigil host list` shows them)")
	c.line("by", r.GetBy(), maxWho)
}

func drainHostCmd(r *vigilv1.DrainHostRequest, id noun.HostID) (fsm.Command, error) {
	var c checks
	c.hostName(r)
	deadline := c.duration("deadline", r.GetDeadline())
	if r.GetOff() && deadline != 0 {
		c.fail("deadline is %s with off; a drain that ends has no deadline.", deadline)
	}
	span := c.lasts(r.GetFor(), !r.GetOff(), "a drain that ends")
	if span != 0 && deadline >= span {
		c.fail("deadline is %s and for is %s; the deadline must come before the drain ends.", deadline, span)
	}
	return fsm.DrainHost{Host: id, Off: r.GetOff(), Deadline: deadline, By: r.GetBy(), For: span}, c.err
}

// lasts is how long something lasts that a human sets; 0: until somebody ends it. What takes such a
// word back, as ends names it, does not last.
func (c *checks) lasts(d *durationpb.Duration, set bool, ends string) time.Duration {
	if d == nil || c.err != nil {
		return 0
	}
	v := d.AsDuration()
	switch {
	case !set:
		c.fail("for is %s; %s is over at once, leave it out.", v, ends)
	case d.CheckValid() != nil || v == 0 || noun.CheckFor(v) != nil:
		c.fail("for is %s; give %s to %d days.", v, noun.MinFor, noun.MaxFor/(24*time.Hour))
	}
	return v
}

func confirmDeadCmd(r *vigilv1.ConfirmDeadRequest, id noun.HostID) (fsm.Command, error) {
	var c checks
	c.hostName(r)
	return fsm.ConfirmDead{Host: id, Force: r.GetForce(), By: r.GetBy()}, c.err
}

func forgetHostCmd(r *vigilv1.ForgetHostRequest, id noun.HostID) (fsm.Command, error) {
	var c checks
	c.hostName(r)
	return fsm.ForgetHost{Host: id, By: r.GetBy()}, c.err
}

// --- what hosts and servers report

func reportStuckCmd(r *vigilv1.ReportStuckRequest) (fsm.Command, error) {
	var c checks
	c.hostID(r.GetHost())
	c.agentInc(r.GetAgent(), r.GetIncarnation())
	return fsm.ReportStuck{Host: noun.HostID(r.GetHost()), Agent: noun.AgentID(r.GetAgent()),
		Inc: noun.Incarnation(r.GetIncarnation()), Reason: factText(r.GetReason(), noun.MaxReason)}, c.err
}

func reportPressureCmd(r *vigilv1.ReportPressureRequest) (fsm.Command, error) {
	var c checks
	c.hostID(r.GetHost())
	c.boot(r.GetBoot())
	return fsm.ReportPressure{Host: noun.HostID(r.GetHost()), Boot: r.GetBoot(),
		Reason: factText(r.GetReason(), noun.MaxReason)}, c.err
}

// maxViews bounds the hosts of one report; a cluster has far fewer.
const maxViews = 10_000

func reportViewsCmd(r *vigilv1.ReportViewsRequest) (fsm.Command, error) {
	var c checks
	c.name("server", r.GetServer())
	c.atMost("views", len(r.GetViews()), maxViews)
	if c.err != nil {
		return nil, c.err
	}
	cmd := fsm.ReportViews{Server: r.GetServer(), All: r.GetAll()}
	for i, v := range r.GetViews() {
		at := fmt.Sprintf("views[%d].", i)
		if v.GetHost() == 0 {
			c.fail("%shost is missing; give the number of a registered host.", at)
		}
		cmd.Views = append(cmd.Views, noun.HostView{Server: r.GetServer(), Host: noun.HostID(v.GetHost()),
			Gossip: c.hearing(at+"gossip", v.GetGossip()), Stream: c.hearing(at+"stream", v.GetStream())})
	}
	return cmd, c.err
}

// hearing reads how a server hears a host; the empty word is none.
func (c *checks) hearing(field, s string) noun.Hearing {
	if s == "" {
		return noun.HearNothing
	}
	for h := noun.HearNothing; h <= noun.HearLeft; h++ {
		if h.String() == s {
			return h
		}
	}
	c.fail("%s %s is unknown; write none, alive, silent or left.", field, fault.Quote(s))
	return noun.HearNothing
}
