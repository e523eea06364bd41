package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/agent"
	"vigil/cmd/vigil/term"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

type declareArgs struct {
	State      string  `json:"state"`
	ForMinutes float64 `json:"for_minutes"`
	Until      string  `json:"until"`
	Why        string  `json:"why"`
}

// stateName is what a state is called here.
func stateName(s agent.Saying) string { return strings.ReplaceAll(s.Verb, "-", "_") }

// declarable are the states that can be declared.
func declarable() (names []any) {
	for _, s := range agent.Sayings() {
		names = append(names, stateName(s))
	}
	return names
}

// withEnd are those that may have an end.
func withEnd() (names []string) {
	for _, s := range agent.Sayings() {
		if s.Ends {
			names = append(names, stateName(s))
		}
	}
	return names
}

// declare says how the agent is, or explains a silence beforehand.
func (d *mcpDesk) declare(ctx context.Context, _ *mcp.CallToolRequest, in declareArgs) (mcpSaid, error) {
	lasting, err := in.lasting(d.Now())
	if err != nil {
		return mcpSaid{}, err
	}
	i := slices.IndexFunc(agent.Sayings(), func(s agent.Saying) bool { return stateName(s) == in.State })
	if i < 0 {
		return mcpSaid{}, mcpAdvicef("Nothing was changed: there is no state %q.", in.State)
	}
	s := agent.Sayings()[i]
	if lasting == 0 {
		lasting = s.Lasting
	} else if !s.Ends {
		return mcpSaid{}, mcpAdvicef("Nothing was changed: %s has no end. Declare it without for_minutes and until; "+
			"an end is for %s.", in.State, strings.Join(withEnd(), ", "))
	}
	left, err := d.report(ctx, s, lasting, in.Why)
	switch {
	case err != nil:
		return mcpSaid{}, err
	case left != "":
		return saidf("Noted: %s for %s. Nobody expects to hear of you until then. It lapses by itself; "+
			"declare healthy to end it earlier.", in.State, left), nil
	case s.Ends:
		return saidf("Noted: %s, without an end. It excuses no silence; give for_minutes if you will be silent.",
			in.State), nil
	}
	return saidf("Noted: %s. What you declared before is over.", in.State), nil
}

// lasting is how long a declaration is to hold; 0: not said.
func (in *declareArgs) lasting(now time.Time) (time.Duration, error) {
	if in.Until == "" {
		return time.Duration(in.ForMinutes * float64(time.Minute)), nil
	}
	if in.ForMinutes != 0 {
		return 0, mcpAdvicef("Nothing was changed: give for_minutes or until, not both.")
	}
	at, err := time.Parse(time.RFC3339, in.Until)
	if err != nil {
		clock, e := time.Parse("15:04", in.Until)
		if e != nil {
			return 0, mcpAdvicef("Nothing was changed: until is %q; "+
				"write a time like 15:00, or one like 2026-05-01T15:00:00Z.", in.Until)
		}
		at = time.Date(now.Year(), now.Month(), now.Day(), clock.Hour(), clock.Minute(), 0, 0, now.Location())
		if !at.After(now) {
			at = at.AddDate(0, 0, 1)
		}
	}
	if !at.After(now) {
		return 0, mcpAdvicef("Nothing was changed: until is %s, and it is %s already.", in.Until,
			now.Format(time.RFC3339))
	}
	return at.Sub(now), nil
}

// report declares and gives how long that holds, "" when it has no end.
func (d *mcpDesk) report(ctx context.Context, s agent.Saying, lasting time.Duration, why string) (string, error) {
	ctx, cancel := d.aside(ctx)
	defer cancel()
	if _, err := d.member(ctx); err != nil {
		return "", err
	}
	request := &vigilv1.DeclareRequest{Speaker: d.life.Speaker(), Status: s.Status, Waiting: s.Waiting, Text: why}
	if lasting > 0 {
		request.For = durationpb.New(lasting)
	}
	answer, err := d.conn.Work.Declare(ctx, request)
	if err != nil {
		return "", d.judge(ctx, nil, err)
	}
	return term.Span(answer.GetLeft()), nil
}

type rememberArgs struct {
	Value string `json:"value"`
}

// remember keeps the resume value.
func (d *mcpDesk) remember(ctx context.Context, _ *mcp.CallToolRequest, in rememberArgs) (mcpSaid, error) {
	ctx, cancel := d.aside(ctx)
	defer cancel()
	if _, err := d.member(ctx); err != nil {
		return mcpSaid{}, err
	}
	if _, err := d.conn.Work.SetResume(ctx, &vigilv1.SetResumeRequest{Speaker: d.life.Speaker(),
		Resume: in.Value}); err != nil {
		return mcpSaid{}, d.judge(ctx, nil, err)
	}
	if in.Value == "" {
		return saidf("Forgotten: your next life begins without a value."), nil
	}
	return saidf("Kept for your next life."), nil
}

// mcpAgent is an agent as a model sees it.
type mcpAgent struct {
	Agent    string `json:"agent"`
	You      bool   `json:"you,omitempty"`
	Role     string `json:"role"`
	State    string `json:"state"`              // WAITING for a task, ACTIVE with one, or DISCONNECTED
	Verdict  string `json:"verdict"`            // what all signals together say of it
	Fine     bool   `json:"fine"`               // nobody has to look
	Declared string `json:"declared,omitempty"` // what it said last of itself
	Task     uint64 `json:"task,omitempty"`     // the one that it holds
	Why      string `json:"why"`                // why it is in this state
}

func newMCPAgent(g *vigilv1.Agent, me string) mcpAgent {
	return mcpAgent{Agent: g.GetName(), You: g.GetName() == me, Role: g.GetRole(), State: g.GetParticipant(),
		Verdict: agent.VerdictLine(g.GetVerdict()), Fine: g.GetVerdict().GetFine(),
		Declared: agent.DeclarationText(g.GetDeclaration()), Task: g.GetTask(), Why: term.Tidy(g.GetWhy())}
}

// words is the agent on one line.
func (g *mcpAgent) words() string {
	parts := []string{strings.ToLower(g.State), g.Verdict}
	if g.Task != 0 {
		parts = append(parts, fmt.Sprintf("task %d", g.Task))
	}
	if g.Declared != "" {
		parts = append(parts, "declared "+g.Declared)
	}
	parts = append(parts, g.Why)
	name := g.Agent
	if g.You {
		name += " (you)"
	}
	return term.OneLine(name + ": " + strings.Join(parts, "; "))
}

type statusAnswer struct {
	mcpSaid
	Life  string   `json:"life"` // the number of this life
	Agent mcpAgent `json:"you"`
	Task  *mcpTask `json:"held,omitempty"` // nil: it holds none
}

func (a *statusAnswer) words() string {
	text := a.Message + "\n\n" + a.Agent.words()
	if a.Task != nil {
		text += "\n\n" + a.Task.words()
	}
	return text
}

// myStatus tells a model that has forgotten everything where it stands.
func (d *mcpDesk) myStatus(ctx context.Context, _ *mcp.CallToolRequest, _ noArgs) (statusAnswer, error) {
	ctx, cancel := d.aside(ctx)
	defer cancel()
	w, err := d.member(ctx)
	if err != nil {
		return statusAnswer{}, err
	}
	answer, err := d.conn.Fleet.GetAgent(ctx, &vigilv1.GetAgentRequest{Agent: w.Agent()})
	if err != nil {
		return statusAnswer{}, d.judge(ctx, nil, err)
	}
	out := statusAnswer{Life: client.FormatIncarnation(w.Incarnation()),
		Agent: newMCPAgent(answer.GetAgent(), w.Agent())}
	out.Message = fmt.Sprintf("You are %s, life %s. You hold no task.%s", w.Agent(), out.Life,
		d.then(" Call wait_for_task."))
	if job := d.holds(w, answer); job != nil {
		d.shown(job)
		task, err := d.conn.Fleet.GetTask(ctx, &vigilv1.GetTaskRequest{Task: job.Task.GetId()}) // with its text
		if err != nil {
			return statusAnswer{}, d.judge(ctx, nil, err)
		}
		out.Task = newMCPTask(task)
		out.Message = fmt.Sprintf("You are %s, life %s. You hold task %d, which is %s.", w.Agent(), out.Life,
			out.Task.ID,
			term.StateText(task.GetState())) + taskIsQuoted
	}
	return out, nil
}

type colleaguesArgs struct {
	Role  string `json:"role"`
	After string `json:"after"`
}

type colleaguesAnswer struct {
	mcpSaid
	Agents []mcpAgent `json:"agents"`
	More   string     `json:"more_after,omitempty"` // of the next call
}

func (a *colleaguesAnswer) words() string {
	var lines []string
	for _, g := range a.Agents {
		lines = append(lines, g.words())
	}
	return a.Message + "\n" + term.Quoted("vigil, with what agents have declared", strings.Join(lines, "\n"))
}

// colleagues lists the agents of the room.
func (d *mcpDesk) colleagues(ctx context.Context, _ *mcp.CallToolRequest, in colleaguesArgs) (colleaguesAnswer, error) {
	ctx, cancel := d.aside(ctx)
	defer cancel()
	w, err := d.member(ctx)
	if err != nil {
		return colleaguesAnswer{}, err
	}
	room, _, _ := strings.Cut(w.Agent(), "/")
	list, err := d.conn.Fleet.ListAgents(ctx,
		&vigilv1.ListAgentsRequest{Room: room, Role: strings.TrimPrefix(in.Role, room+"/"), After: in.After,
			Limit: 100})
	if err != nil {
		return colleaguesAnswer{}, d.judge(ctx, nil, err)
	}
	out := colleaguesAnswer{Agents: []mcpAgent{}, More: list.GetNext()}
	for _, g := range list.GetAgents() {
		out.Agents = append(out.Agents, newMCPAgent(g, w.Agent()))
	}
	out.Message = fmt.Sprintf("%s of room %s.", term.Plural(len(out.Agents), "agent"), room)
	if out.More != "" {
		out.Message += fmt.Sprintf(" There are more: call colleagues again with after %s.", out.More)
	}
	return out, nil
}
