package agent

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/life"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// Saying is one verb of `vigil declare`.
type Saying struct {
	Verb, Status, Waiting string
	Lasting               time.Duration // when --for is not given
	Ends                  bool          // it may have an end: --for
	short                 string
}

// Sayings are the verbs, in the order of the help.
func Sayings() []Saying {
	return []Saying{
		{Verb: "healthy", short: "All is well; ends what was declared before"},
		{Verb: "busy", Status: "busy", Ends: true,
			short: "At work; with --for nobody expects progress or reports until then"},
		{Verb: "degraded", Status: "degraded", short: "At work, with difficulties"},
		{Verb: "needs-input", Waiting: "needs_input", Lasting: 24 * time.Hour, Ends: true,
			short: "Waiting for a human's answer"},
		{Verb: "sleeping", Waiting: "sleeping", Lasting: 30 * time.Minute, Ends: true,
			short: "Waiting for a time, for instance the end of a usage limit"},
		{Verb: "in-tool", Waiting: "in_tool", Lasting: 30 * time.Minute, Ends: true,
			short: "Inside a long call of a tool"},
	}
}

// newDeclareCmd is `vigil declare`: an agent says how it is.
func newDeclareCmd(a *cli.App) *cobra.Command {
	group := cli.NewGroup("declare", "As an agent: say how you are, as a health report or to explain a silence")
	group.Long = `Say how this agent is. Each of these is a health report, for roles that ask for reports
(health in the room file). What is declared with an end holds until then, or until the
next declaration: no progress limit ends the task meanwhile, and silence is not held
against the agent. It lapses by itself.`
	for _, s := range Sayings() {
		group.AddCommand(newSayingCmd(a, s))
	}
	return group
}

func newSayingCmd(a *cli.App, s Saying) *cobra.Command {
	var who life.Flags
	var lasting time.Duration
	var sequence uint64
	var after, said string
	cmd := &cobra.Command{
		Use:   s.Verb + " [WHY]",
		Short: s.short,
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := who.Current(a)
			if err != nil {
				return err
			}
			if a.Effort && life.Nested(a, l, false) {
				return nil // another tool's turn
			}
			request := &vigilv1.DeclareRequest{Speaker: l.Speaker(), Status: s.Status, Waiting: s.Waiting,
				Text: cli.FirstOf(args), Sequence: sequence}
			if said != "" && after == "" {
				return cli.Usagef("flag --said goes with --after: it is the reason that was given for that")
			}
			if lasting < 0 {
				return cli.Usagef("flag --for: %s is negative; give a duration like 20m", lasting)
			}
			if lasting > 0 {
				request.For = durationpb.New(lasting)
			}
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				if after != "" {
					if fits, err := declaredLast(ctx, a, c, l, after, said); err != nil || !fits {
						return err
					}
				}
				answer, err := c.Work.Declare(ctx, request)
				if err != nil {
					return err
				}
				return declared(a, l, s, answer)
			})
		},
	}
	if s.Ends {
		cmd.Example = `  vigil declare ` + s.Verb + ` --for 20m "the whole test suite"`
		cmd.Flags().DurationVar(&lasting, "for", s.Lasting,
			"how long it holds; at most the setting declare_limit (needs-input: 7 days)")
	}
	cmd.Flags().StringVar(&after, "after", "", "only when this is what it has declared last, for instance needs-input")
	cmd.Flags().StringVar(&said, "said", "", "with --after: only when this is the reason that it gave")
	a.BestEffort(cmd)
	cmd.Flags().Uint64Var(&sequence, "sequence", 0,
		"number it: one that is not above the last changes nothing (0: not numbered)")
	who.Add(cmd, a)
	return cmd
}

// declaredLast tells whether the declaration in force is the named one, with this reason unless that is empty, and says
// so when it is another.
func declaredLast(ctx context.Context, a *cli.App, c *cli.Conn, l *life.Life, verb, said string) (bool, error) {
	answer, err := c.Fleet.GetAgent(ctx, &vigilv1.GetAgentRequest{Agent: l.Agent})
	if err != nil {
		return false, err
	}
	kind, why := "nothing", ""
	if d := answer.GetAgent().GetDeclaration(); d != nil && !d.GetLapsed() {
		if kind, why = d.GetStatus(), d.GetText(); d.GetWaiting() != "none" {
			kind = strings.ReplaceAll(d.GetWaiting(), "_", "-")
		}
	}
	switch {
	case kind == verb && (said == "" || said == why):
		return true, nil
	case kind == verb:
		kind += " for another reason"
	}
	return false, a.Done(map[string]any{"agent": l.Agent, "applied": false, "declared": kind},
		"%s: nothing was changed, it has declared %s", l.Agent, kind)
}

func declared(a *cli.App, l *life.Life, s Saying, answer *vigilv1.DeclareResponse) error {
	object := map[string]any{"agent": l.Agent, "applied": answer.GetApplied(), "sequence": answer.GetSequence()}
	if d := answer.GetLeft(); d != nil {
		object["left"] = d.AsDuration().String()
	}
	switch d := term.Span(answer.GetLeft()); {
	case !answer.GetApplied():
		return a.Done(object, "%s: nothing was changed, it has declared number %d already", l.Agent,
			answer.GetSequence())
	case d != "":
		return a.Done(object, "%s: %s for %s", l.Agent, s.Verb, d)
	}
	return a.Done(object, "%s: %s", l.Agent, s.Verb)
}
