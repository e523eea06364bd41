package top

import (
	"context"
	"fmt"
	"strings"
	"time"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// verb is what a person can do about a row, and its key.
type verb struct {
	key, name string
	label     string // in the line of keys
	sure      bool   // it is asked first
	typed     bool   // it takes a line of text
}

// verbs are in the order of the line of keys. The names are those of the actions of an inbox.
var verbs = []verb{
	{"a", "answer", "answer", false, true},
	{"n", "nudge", "nudge", false, true},
	{"m", "mail", "mail", false, true},
	{"r", "restart", "restart", true, false},
	{"x", "stop", "stop", true, false},
	{"S", "start", "start", false, false},
	{"u", "unpark", "unpark", false, false},
	{"c", "ack", "ack", false, false},
	{"C", "close", "close", false, false},
	{"R", "retry", "retry", false, false},
	{"Q", "unquarantine", "unquarantine", false, false},
	{"X", "cancel", "cancel", true, false},
	{"B", "release_brake", "release brake", true, false},
	{"o", "reopen", "reopen", false, false},
	{"b", "lift", "lift budget", true, false},
	{"D", "confirm_dead", "confirm dead", true, false},
	{"d", "drain", "drain", true, false},
	{"U", "undrain", "undrain", false, false},
}

func verbNamed(name string) (verb, bool) {
	for _, v := range verbs {
		if v.name == name {
			return v, true
		}
	}
	return verb{}, false
}

// order is a verb with what it is about, as it was when the person looked: revisions keep it from being
// done to something that has changed since.
type order struct {
	verb, text        string
	agent, host       string
	room, role        string
	task, escalation  uint64
	mail              uint64
	agentRev, taskRev uint64
	words             bool   // the agent has asked in words: its answer is a message, no key for a prompt
	dialog            string // mark of the prompt that an answer is for; empty: none was seen
}

// subject is what an order is about, for people.
func (o order) subject() string {
	switch o.verb {
	case "ack", "close":
		return fmt.Sprintf("escalation %d", o.escalation)
	case "retry", "unquarantine", "cancel":
		return fmt.Sprintf("task %d", o.task)
	case "release_brake":
		return "the brake"
	case "reopen":
		return "room " + o.room
	case "lift":
		if o.role != "" {
			return "of role " + o.room + "/" + o.role
		}
		return "of room " + o.room
	case "drain", "undrain", "confirm_dead":
		return "host " + o.host
	}
	return o.agent
}

// hand does what people order.
type hand interface {
	// Do obeys an order and says in a sentence what has become of it.
	Do(ctx context.Context, o order) (string, error)
	// Screen gives what stands on the terminal of an agent.
	Screen(ctx context.Context, agent string) (*vigilv1.Screen, error)
	// Text gives what a command of vigil prints.
	Text(ctx context.Context, args ...string) string
}

// doLimit bounds an order, so that a person is told when nobody answers.
const doLimit = 15 * time.Second

// why is the reason that is kept with an order.
const why = "in vigil top"

// fleetHand orders by the API.
type fleetHand struct {
	c     *cli.Conn
	me    string
	print func(ctx context.Context, args []string) string
}

func (h *fleetHand) Text(ctx context.Context, args ...string) string { return h.print(ctx, args) }

func (h *fleetHand) Screen(ctx context.Context, agent string) (*vigilv1.Screen, error) {
	ctx, cancel := context.WithTimeout(ctx, doLimit)
	defer cancel()
	return h.c.Fleet.LookAtAgent(ctx, &vigilv1.LookAtAgentRequest{Agent: agent})
}

func (h *fleetHand) Do(ctx context.Context, o order) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, doLimit)
	defer cancel()
	switch o.verb {
	case "answer", "nudge":
		_, err := h.c.Fleet.NudgeAgent(ctx, &vigilv1.NudgeAgentRequest{Agent: o.agent, Text: o.text, By: h.me,
			Reason: why, IfRev: o.agentRev, Answer: o.verb == "answer" && !o.words, IfDialog: o.dialog})
		return "typed into the terminal of " + o.agent, err
	case "mail":
		to := o.agent
		if !strings.Contains(to, ".") {
			to += ".1" // this agent and not all of its role
		}
		_, err := h.c.Mail.SendMail(ctx, &vigilv1.SendMailRequest{From: h.me, To: to, Subject: "Answer", Body: o.text,
			Priority: "high"})
		return "sent to " + o.agent, err
	case "restart":
		_, err := h.c.Fleet.RestartAgent(ctx, &vigilv1.RestartAgentRequest{Agent: o.agent, By: h.me, Reason: why,
			IfRev: o.agentRev})
		return o.agent + " is being restarted", err
	case "stop", "start":
		desired := map[string]string{"stop": "stopped", "start": "running"}[o.verb]
		_, err := h.c.Fleet.SetAgent(ctx, &vigilv1.SetAgentRequest{Agent: o.agent, Desired: desired, By: h.me,
			Reason: why, IfRev: o.agentRev})
		return o.agent + ": desired " + desired, err
	case "unpark":
		_, err := h.c.Fleet.UnparkAgent(ctx, &vigilv1.UnparkAgentRequest{Agent: o.agent, By: h.me, IfRev: o.agentRev})
		return o.agent + " is parked no more", err
	case "drain", "undrain":
		_, err := h.c.Fleet.DrainHost(ctx, &vigilv1.DrainHostRequest{Host: o.host, By: h.me, Off: o.verb == "undrain"})
		return "host " + o.host + map[bool]string{true: " is drained", false: " takes agents again"}[o.verb == "drain"], err
	case "confirm_dead":
		_, err := h.c.Fleet.ConfirmDead(ctx, &vigilv1.ConfirmDeadRequest{Host: o.host, By: h.me})
		return "host " + o.host + " is given up", err
	}
	return h.other(ctx, o)
}

// other obeys orders about what is neither an agent nor a host.
func (h *fleetHand) other(ctx context.Context, o order) (said string, err error) {
	escalations := vigilv1.NewEscalationsClient(h.c)
	switch o.verb {
	case "ack":
		_, err = escalations.AckEscalation(ctx, &vigilv1.AckEscalationRequest{Escalation: o.escalation, By: h.me})
		said = "you look after " + o.subject()
	case "close":
		_, err = escalations.CloseEscalation(ctx, &vigilv1.CloseEscalationRequest{Escalation: o.escalation, By: h.me})
		said = o.subject() + " is closed"
	case "retry":
		_, err = h.c.Fleet.RetryTask(ctx, &vigilv1.RetryTaskRequest{Task: o.task, By: h.me, IfRev: o.taskRev})
		said = o.subject() + " is tried again"
	case "unquarantine":
		_, err = h.c.Fleet.UnquarantineTask(ctx,
			&vigilv1.UnquarantineTaskRequest{Task: o.task, By: h.me, IfRev: o.taskRev})
		said = o.subject() + " can be claimed again"
	case "cancel":
		_, err = h.c.Fleet.CancelTask(ctx,
			&vigilv1.CancelTaskRequest{Task: o.task, By: h.me, Reason: why, IfRev: o.taskRev})
		said = o.subject() + " is canceled"
	case "release_brake":
		_, err = h.c.Fleet.ReleaseBrake(ctx, &vigilv1.ReleaseBrakeRequest{By: h.me})
		said = "the brake is released"
	case "reopen":
		_, err = h.c.Fleet.ReopenRoom(ctx, &vigilv1.ReopenRoomRequest{Room: o.room, By: h.me})
		said = o.subject() + " is open again"
	case "lift":
		var answer *vigilv1.LiftBudgetResponse
		answer, err = h.c.Fleet.LiftBudget(ctx, &vigilv1.LiftBudgetRequest{Room: o.room, Role: o.role, By: h.me})
		said = fmt.Sprintf("the budget %s is lifted for %s", o.subject(),
			term.Short(answer.GetUsage().GetLiftedFor().AsDuration()))
	default:
		return "", fmt.Errorf("there is no order %s", term.OneLine(o.verb))
	}
	return said, err
}
