package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// life is which life of which agent speaks, and what it works on. It is kept in a small
// file between two commands (see kept.go); tokens never are.
type life struct {
	Agent       string    `json:"agent"`
	AgentID     uint32    `json:"agent_id"`
	Incarnation uint64    `json:"incarnation"`
	Task        uint64    `json:"task"`
	Attempt     uint32    `json:"attempt"`
	Owner       process   `json:"owner"` // whose life it is, for lives started by hand
	Saved       time.Time `json:"saved"`

	token   string
	managed bool // its number was given, by the environment or by flags
}

func (l *life) speaker() *vigilv1.Speaker {
	return &vigilv1.Speaker{Agent: l.Agent, Incarnation: l.Incarnation, Token: l.token}
}

// lifeFlags name a life on the command line.
type lifeFlags struct {
	agent, room, role, incarnation, token string
}

func (f *lifeFlags) add(cmd *cobra.Command, a *app) {
	flags := cmd.Flags()
	flags.StringVar(&f.agent, "agent", "", "the agent: room/role, room/role.2, or room/role.* for the first free one (default $VIGIL_AGENT)")
	flags.StringVar(&f.room, "room", "", "its room (default $VIGIL_ROOM)")
	flags.StringVar(&f.role, "role", "", "its role (default $VIGIL_ROLE)")
	flags.StringVar(&f.incarnation, "incarnation", "", "its life (default $VIGIL_INCARNATION; by hand a new one)")
	flags.StringVar(&f.token, "token", "", "its token (default $VIGIL_TOKEN)")
	_ = cmd.RegisterFlagCompletionFunc("agent", a.every(agentNames)) // the flag is there
}

// name gives the agent that flags and environment name, "" when they name none.
func (f *lifeFlags) name(getenv func(string) string) (string, error) {
	room, role := f.room, f.role
	switch {
	case f.agent != "":
		if room != "" || role != "" {
			return "", usagef("give --agent, or --room and --role, not both")
		}
		_, _, err := splitAgent(f.agent)
		return f.agent, err
	case room == "" && role == "" && getenv("VIGIL_AGENT") != "":
		return getenv("VIGIL_AGENT"), nil
	}
	if room == "" {
		room = getenv("VIGIL_ROOM")
	}
	if role == "" {
		role = getenv("VIGIL_ROLE")
	}
	switch {
	case room == "" && role == "":
		return "", nil
	case room == "" || role == "":
		return "", usagef("give both --room and --role, or --agent room/role")
	}
	_, _, err := splitAgent(room + "/" + role)
	return room + "/" + role, err
}

// given gives the life that flags and environment name. Its incarnation is 0 when
// they name none, its agent empty when they name none.
func (f *lifeFlags) given(a *app) (*life, error) {
	name, err := f.name(a.getenv)
	if err != nil {
		return nil, err
	}
	l := &life{Agent: name, token: f.token}
	if l.token == "" {
		l.token = a.getenv("VIGIL_TOKEN")
	}
	text, where := f.incarnation, "flag --incarnation"
	if text == "" && (f.agent == "" && f.role == "" || name == a.getenv("VIGIL_AGENT")) {
		// The environment's incarnation belongs to the environment's agent.
		text, where = a.getenv("VIGIL_INCARNATION"), "VIGIL_INCARNATION"
	}
	if text != "" {
		if l.Incarnation, err = client.ParseIncarnation(text); err != nil {
			return nil, usagef("%s: %w", where, err)
		}
	}
	l.managed = l.Agent != "" && l.Incarnation != 0
	return l, nil
}

// errNobody is why a command that speaks as an agent says nothing: it was not told as which.
var errNobody = usagef("it is not known which agent speaks: run this inside a managed agent, or name the agent with --agent room/role (for all commands of this terminal: export VIGIL_AGENT=room/role)")

// current gives the life that speaks. Flags or the environment have to name its agent: a
// terminal that nobody made an agent's speaks for none, whatever runs beside it. The number
// of a life that was begun by hand is the one that an earlier command has kept.
func (f *lifeFlags) current(a *app) (*life, error) {
	l, err := f.given(a)
	switch {
	case err != nil:
		return nil, err
	case l.Agent == "":
		return nil, errNobody
	case l.managed:
		if kept := keptOf(a, l); kept != nil {
			l.AgentID, l.Task, l.Attempt = kept.AgentID, kept.Task, kept.Attempt
		}
		return l, nil
	}
	kept, err := keptByHand(a, l.Agent)
	if err != nil {
		return nil, err
	}
	kept.token = l.token
	return kept, nil
}

// orNobody gives the life that speaks when flags or environment name an agent. Else it gives
// nil: a human or a tool speaks.
func (f *lifeFlags) orNobody(a *app) (*life, error) {
	l, err := f.current(a)
	if err == errNobody {
		return nil, nil
	}
	return l, err
}

// ownAgent is the name of the agent whose environment this is; "" when it is nobody's.
func ownAgent(a *app) (string, error) { return (&lifeFlags{}).name(a.getenv) }

// findTask fills in the task that the life holds, asking the cluster when no
// earlier command has kept it.
func (l *life) findTask(ctx context.Context, c *conn) error {
	if l.Task != 0 && l.Attempt != 0 {
		return nil
	}
	answer, err := c.fleet.GetAgent(ctx, &vigilv1.GetAgentRequest{Agent: l.Agent})
	if err != nil {
		return err
	}
	task := answer.GetTask()
	if l.Task == 0 && answer.GetAgent().GetTask() == 0 || l.Task != 0 && task.GetId() != l.Task {
		return &client.Error{Code: "conflict", Message: fmt.Sprintf("%s holds no such task: claim one with `vigil wait-for-task`", l.Agent)}
	}
	l.Task, l.Attempt = task.GetId(), task.GetAttempt()
	return nil
}

// goodbye leaves the room, whatever happened to the context before (law L5).
func goodbye(ctx context.Context, w *client.Worker, reason string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
	defer cancel()
	if err := w.Leave(ctx, reason); err != nil && !errors.Is(err, client.ErrNotFound) && !errors.Is(err, client.ErrStopped) {
		return fmt.Errorf("leave room: %w", err)
	}
	return nil
}

// leaveLimit bounds the good-bye: whoever waits for the end of this process should
// not wait long, and the lease ends by itself.
const leaveLimit = 2 * time.Second
