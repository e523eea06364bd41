package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// life is which life of which agent speaks, and what it works on. One that was
// started by hand is kept in a small file between two commands; tokens never are.
type life struct {
	Agent       string    `json:"agent"`
	AgentID     uint32    `json:"agent_id"`
	Incarnation uint64    `json:"incarnation"`
	Task        uint64    `json:"task"`
	Attempt     uint32    `json:"attempt"`
	Owner       process   `json:"owner"` // whose life it is, for lives started by hand
	Saved       time.Time `json:"saved"`

	token string
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
	if text == "" && f.agent == "" && f.role == "" {
		// The environment's incarnation belongs to the environment's agent.
		text, where = a.getenv("VIGIL_INCARNATION"), "VIGIL_INCARNATION"
	}
	if text != "" {
		if l.Incarnation, err = client.ParseIncarnation(text); err != nil {
			return nil, usagef("%s: %w", where, err)
		}
	}
	return l, nil
}

// current gives the life that speaks: from flags and environment, or the one that
// an earlier command of the same owner has kept.
func (f *lifeFlags) current(a *app) (*life, error) {
	l, err := f.given(a)
	if err != nil {
		return nil, err
	}
	if l.Agent != "" && l.Incarnation != 0 {
		if kept, err := a.readLife(l.Agent); err == nil && kept.Incarnation == l.Incarnation {
			l.AgentID, l.Task, l.Attempt = kept.AgentID, kept.Task, kept.Attempt
		}
		return l, nil
	}
	kept, err := a.keptLife(l.Agent)
	if err != nil {
		return nil, err
	}
	kept.token = l.token
	return kept, nil
}

// orNobody gives the life that speaks when this is an agent: flags and environment say
// so, or an ancestor of this process is one that was started by hand. Without either it
// gives nil: a human or a tool speaks.
func (f *lifeFlags) orNobody(a *app) (*life, error) {
	l, err := f.given(a)
	if err != nil || l.Agent != "" || l.Incarnation != 0 {
		if err == nil {
			l, err = f.current(a)
		}
		return l, err
	}
	_, mine, err := a.keptLives("")
	switch {
	case err != nil: // where no life can be kept, none was
		return nil, nil
	case len(mine) > 1:
		return nil, usagef("several agents were started by hand here (%s, %s, ...): name the one that is meant", mine[0].Agent, mine[1].Agent)
	case len(mine) == 1:
		mine[0].token = l.token
		return mine[0], nil
	}
	return nil, nil
}

// ownAgent is the name of the agent that speaks; "" when none does.
func (a *app) ownAgent() (string, error) {
	who := &lifeFlags{}
	if name, err := who.name(a.getenv); err != nil || name != "" {
		return name, err
	}
	l, err := who.orNobody(a)
	if l == nil {
		return "", err
	}
	return l.Agent, nil
}

// lifeDir is where lives are kept: it goes with the login where that is possible.
func (a *app) lifeDir() (string, error) {
	base := a.getenv("XDG_RUNTIME_DIR")
	if base == "" {
		if home := a.getenv("HOME"); home != "" {
			base = filepath.Join(home, ".cache")
		} else {
			base = filepath.Join(os.TempDir(), fmt.Sprintf("vigil-%d", os.Getuid()))
		}
	}
	dir := filepath.Join(base, "vigil")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("create directory for lives: %w", err)
	}
	return dir, nil
}

// lifeFile is the file of an agent's life.
func (a *app) lifeFile(agent string) (string, error) {
	dir, err := a.lifeDir()
	return filepath.Join(dir, strings.ReplaceAll(agent, "/", "%")+".json"), err
}

// save keeps the life for the next command.
func (a *app) save(l *life) error {
	name, err := a.lifeFile(l.Agent)
	if err != nil {
		return err
	}
	l.Saved = a.now()
	b, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("keep life: %w", err)
	}
	temporary := fmt.Sprintf("%s.%d", name, os.Getpid())
	if err := os.WriteFile(temporary, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("keep life: %w", err)
	}
	if err := os.Rename(temporary, name); err != nil {
		return fmt.Errorf("keep life: %w", err)
	}
	return nil
}

// forget removes what is kept of the life, unless a newer one is kept by now.
func (a *app) forget(l *life) {
	name, err := a.lifeFile(l.Agent)
	if err != nil {
		return
	}
	if kept, err := a.readLife(l.Agent); err == nil && kept.Incarnation == l.Incarnation {
		_ = os.Remove(name) // at worst a later command reads it and is told superseded
	}
}

func (a *app) readLife(agent string) (*life, error) {
	name, err := a.lifeFile(agent)
	if err != nil {
		return nil, err
	}
	return readLifeFile(name)
}

func readLifeFile(name string) (*life, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	l := &life{}
	if err := json.Unmarshal(b, l); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return l, nil
}

// keptLife finds the life that an earlier command has kept: the named agent's, or
// the one whose owner is an ancestor of this process, or the only one.
func (a *app) keptLife(agent string) (*life, error) {
	all, mine, err := a.keptLives(agent)
	if err != nil {
		return nil, err
	}
	if len(mine) > 0 {
		all = mine
	}
	switch {
	case len(all) == 1:
		return all[0], nil
	case len(all) > 1:
		return nil, usagef("several agents were started by hand here (%s, %s, ...): say which one with --agent", all[0].Agent, all[1].Agent)
	case agent != "":
		return nil, usagef("no life of %s is known here: name it with --incarnation, or begin one with `vigil wait-for-task --agent %s`", agent, agent)
	}
	return nil, usagef("it is not known which agent speaks: run this inside a managed agent, set VIGIL_AGENT and VIGIL_INCARNATION, or begin with `vigil wait-for-task --agent room/role`")
}

// keptLives are the lives that earlier commands have kept, of all agents or of one;
// mine are those whose owner is an ancestor of this process.
func (a *app) keptLives(agent string) (all, mine []*life, err error) {
	dir, err := a.lifeDir()
	if err != nil {
		return nil, nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, nil, fmt.Errorf("list lives: %w", err)
	}
	family := ancestors(os.Getppid())
	for _, name := range files {
		l, err := readLifeFile(name)
		if err != nil || !l.Owner.alive() {
			_ = os.Remove(name) // nobody can use it any more
			continue
		}
		if agent != "" && l.Agent != agent {
			continue
		}
		all = append(all, l)
		for _, p := range family {
			if p == l.Owner {
				mine = append(mine, l)
				break
			}
		}
	}
	return all, mine, nil
}

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
