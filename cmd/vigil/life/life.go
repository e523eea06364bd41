package life

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// Life is which life of which agent speaks, and what it works on. It is kept in a small
// file between two commands (see kept.go); tokens never are.
type Life struct {
	Agent       string    `json:"agent"`
	AgentID     uint32    `json:"agent_id"`
	Incarnation uint64    `json:"incarnation"`
	Task        uint64    `json:"task"`
	Attempt     uint32    `json:"attempt"`
	Traceparent string    `json:"traceparent,omitempty"` // of the attempt; empty: nobody traces it
	Owner       Process   `json:"owner"`                 // whose life it is, for lives started by hand
	Saved       time.Time `json:"saved"`
	// Ended are the attempts that this life has ended itself, the newest last, at most maxEnded.
	Ended []Attempt `json:"ended,omitempty"`
	// GivenUp are the attempts that this life has given up and no server has heard of, the newest last, at most
	// maxGivenUp. GiveUp and TakeUp change it.
	GivenUp []Failure `json:"given_up,omitempty"`

	Token   string `json:"-"`
	Managed bool   `json:"-"` // its number was given, by the environment or by flags
}

// Speaker is how a request says who speaks.
func (l *Life) Speaker() *vigilv1.Speaker {
	return &vigilv1.Speaker{Agent: l.Agent, Incarnation: l.Incarnation, Token: l.Token}
}

// Flags name a life on the command line.
type Flags struct {
	agent, room, role, incarnation, token string
}

// Add adds the flags to a command.
func (f *Flags) Add(cmd *cobra.Command, a *cli.App) {
	flags := cmd.Flags()
	flags.StringVar(&f.agent,
		"agent", "", "the agent: room/role, room/role.2, or room/role.* for the first free one (default $VIGIL_AGENT)")
	flags.StringVar(&f.room, "room", "", "its room (default $VIGIL_ROOM)")
	flags.StringVar(&f.role, "role", "", "its role (default $VIGIL_ROLE)")
	flags.StringVar(&f.incarnation, "incarnation", "", "its life (default $VIGIL_INCARNATION; by hand a new one)")
	flags.StringVar(&f.token, "token", "", "its token (default $VIGIL_TOKEN, or what the file $VIGIL_TOKEN_FILE holds)")
	_ = cmd.RegisterFlagCompletionFunc("agent", a.Every(cli.AgentNames)) // the flag is there
}

// name gives the agent that flags and environment name, "" when they name none.
func (f *Flags) name(getenv func(string) string) (string, error) {
	room, role := f.room, f.role
	switch {
	case f.agent != "":
		if room != "" || role != "" {
			return "", cli.Usagef("give --agent, or --room and --role, not both")
		}
		_, _, err := cli.SplitAgent(f.agent)
		return firstName(f.agent), err
	case room == "" && role == "" && getenv("VIGIL_AGENT") != "":
		return firstName(getenv("VIGIL_AGENT")), nil
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
		return "", cli.Usagef("give both --room and --role, or --agent room/role")
	}
	_, _, err := cli.SplitAgent(room + "/" + role)
	return firstName(room + "/" + role), err
}

// firstName is the one name of the first agent of a role: room/role.1 is room/role, also in what is
// kept of a life.
func firstName(name string) string {
	if short, ok := strings.CutSuffix(name, ".1"); ok && strings.Contains(short, "/") && !strings.Contains(short, ".") {
		return short
	}
	return name
}

// Given gives the life that flags and environment name. Its incarnation is 0 when
// they name none, its agent empty when they name none.
func (f *Flags) Given(a *cli.App) (*Life, error) {
	name, err := f.name(a.Getenv)
	if err != nil {
		return nil, err
	}
	l := &Life{Agent: name, Token: f.token}
	if l.Token == "" {
		if l.Token, err = client.TokenFromEnv(a.Getenv); err != nil {
			return nil, cli.WrongUsage(err)
		}
	}
	text, where := f.incarnation, "flag --incarnation"
	if text == "" && (f.agent == "" && f.role == "" || name == firstName(a.Getenv("VIGIL_AGENT"))) {
		// The environment's incarnation belongs to the environment's agent.
		text, where = a.Getenv("VIGIL_INCARNATION"), "VIGIL_INCARNATION"
	}
	if text != "" {
		if l.Incarnation, err = client.ParseIncarnation(text); err != nil {
			return nil, cli.Usagef("%s: %w", where, err)
		}
	}
	l.Managed = l.Agent != "" && l.Incarnation != 0
	return l, nil
}

// ErrNobody is why a command that speaks as an agent says nothing: it was not told as which.
var ErrNobody = cli.Usagef("it is not known which agent speaks: run this inside a managed agent, " +
	"or name the agent with --agent room/role " +
	"(for all commands of this terminal: export VIGIL_AGENT=room/role)")

// Current gives the life that speaks. Flags or the environment have to name its agent: a
// terminal that nobody made an agent's speaks for none, whatever runs beside it. The number
// of a life that was begun by hand is the one that an earlier command has kept.
func (f *Flags) Current(a *cli.App) (*Life, error) {
	l, err := f.Given(a)
	switch {
	case err != nil:
		return nil, err
	case l.Agent == "":
		return nil, ErrNobody
	case l.Managed:
		if kept := KeptOf(a, l); kept != nil {
			l.AgentID, l.Task, l.Attempt, l.Traceparent = kept.AgentID, kept.Task, kept.Attempt, kept.Traceparent
		}
		return l, nil
	}
	kept, err := keptByHand(a, l.Agent)
	if err != nil {
		return nil, err
	}
	kept.Token = l.Token
	return kept, nil
}

// Joining gives the life that is about to join, for a process or somebody above it,
// and tells whether a supervisor has started it.
func (f *Flags) Joining(a *cli.App, owner Process) (*Life, bool, error) {
	l, err := f.Given(a)
	if err != nil {
		return nil, false, err
	}
	l.Owner = owner
	switch {
	case l.Agent == "":
		return nil, false, ErrNobody
	case l.Managed:
		return l, true, nil
	}
	// By hand: go on with the life of an earlier wait of the same caller.
	if kept := KeptByCaller(a, l.Agent, owner); kept != nil {
		l.Agent, l.Incarnation, l.Owner = kept.Agent, kept.Incarnation, kept.Owner
	}
	return l, false, nil
}

// OrNobody gives the life that speaks when flags or environment name an agent. Else it gives
// nil: a human or a tool speaks.
func (f *Flags) OrNobody(a *cli.App) (*Life, error) {
	l, err := f.Current(a)
	if err == ErrNobody {
		return nil, nil
	}
	return l, err
}

// OwnAgent is the name of the agent whose environment this is; "" when it is nobody's.
func OwnAgent(a *cli.App) (string, error) { return (&Flags{}).name(a.Getenv) }

// FindTask fills in the task that the life holds, asking the cluster when no
// earlier command has kept it.
func (l *Life) FindTask(ctx context.Context, c *cli.Conn) error {
	if l.Task != 0 && l.Attempt != 0 {
		return nil
	}
	answer, err := c.Fleet.GetAgent(ctx, &vigilv1.GetAgentRequest{Agent: l.Agent})
	if err != nil {
		return err
	}
	task := answer.GetTask()
	if l.Task == 0 && answer.GetAgent().GetTask() == 0 || l.Task != 0 && task.GetId() != l.Task {
		return &client.Error{Code: "conflict",
			Message: fmt.Sprintf("%s holds no such task: claim one with `vigil wait-for-task`", l.Agent)}
	}
	l.Task, l.Attempt, l.Traceparent = task.GetId(), task.GetAttempt(), ""
	return nil
}

// Goodbye leaves the room, whatever happened to the context before (law L5).
func Goodbye(ctx context.Context, w *client.Worker, reason string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), LeaveLimit)
	defer cancel()
	if err := w.Leave(ctx, reason); err != nil && !errors.Is(err, client.ErrNotFound) &&
		!errors.Is(err, client.ErrStopped) {
		return fmt.Errorf("leave room: %w", err)
	}
	return nil
}

// Part ends what a process had to do in a life that it did not begin: it leaves the room, unless the
// life holds a task that another process of it works on. Whoever has claimed nothing gives nothing
// back. waited tells whether this process has waited for a task itself, so that a claim may have been
// made whose answer never came. left tells whether the room was left.
func Part(ctx context.Context, a *cli.App, c *cli.Conn, w *client.Worker, l *Life, waited bool,
	reason string) (left bool, err error) {
	ask, cancel := context.WithTimeout(context.WithoutCancel(ctx), LeaveLimit)
	defer cancel()
	answer, err := c.Fleet.GetAgent(ask, &vigilv1.GetAgentRequest{Agent: l.Agent})
	switch {
	case errors.Is(err, client.ErrNotFound):
		w.Detach()
		return true, nil // it is out of every room
	case err != nil: // it may hold one: the lease ends by itself
		w.Detach()
		return false, fmt.Errorf("leave room: %w", err)
	case spokenFor(a, l, answer, waited):
		w.Detach()
		return false, nil
	}
	return true, Goodbye(ask, w, reason)
}

// spokenFor tells whether the life holds a task that some process has got: one that is not started,
// and that no process has taken note of, is a claim whose answer was lost.
func spokenFor(a *cli.App, l *Life, answer *vigilv1.GetAgentResponse, waited bool) bool {
	g, task := answer.GetAgent(), answer.GetTask()
	if g.GetTask() == 0 || g.GetIncarnationRaw() != l.Incarnation {
		return false
	}
	if !waited || task.GetState() != vigilv1.TaskState_ACKNOWLEDGED {
		return true
	}
	kept := KeptOf(a, l)
	return kept != nil && kept.Task == task.GetId() && kept.Attempt == task.GetAttempt()
}

// LeaveLimit bounds the good-bye: whoever waits for the end of this process should
// not wait long, and the lease ends by itself.
const LeaveLimit = 2 * time.Second
