package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// triagePoll is how often `vigil triage run --wait` asks whether the look has ended.
const triagePoll = 200 * time.Millisecond

// newTriageCmd is `vigil triage`: the looks at overseers.
func newTriageCmd(a *cli.App) *cobra.Command {
	group := cli.NewGroup("triage", "Look at overseers: who watches those that watch", newTriageRunCmd(a),
		newTriageStatusCmd(a), newTriageAnswerCmd(a), newTriageExecCmd(a))
	group.Long = `vigil looks at each overseer every overseer_interval, and when its process ends, mail waits
for it or its patrols stop. A look ends with START (its session is dead), WAKE (no patrol for
overseer_stale), NUDGE (none for overseer_fresh, and mail waits) or NOTHING. Where its role
names a triage role, an agent of that role is started for the look and decides; without an
answer within triage_limit, or with nonsense, the mechanical rule does.`
	return group
}

func newTriageRunCmd(a *cli.App) *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use:               "run ROOM/ROLE[.N]",
		Short:             "Look at an overseer now",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				overseers := vigilv1.NewOverseersClient(c)
				o, err := overseers.LookAtOverseer(ctx, &vigilv1.LookAtOverseerRequest{Agent: args[0], By: a.Me()})
				if err == nil && wait {
					o, err = awaitLook(ctx, overseers, args[0], o)
				}
				if err != nil {
					return err
				}
				return printOverseer(a, o)
			})
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait for the decision of triage, for --timeout at most")
	return cmd
}

// awaitLook asks for an overseer until the look that o tells of has ended.
func awaitLook(ctx context.Context, overseers vigilv1.OverseersClient, agent string,
	o *vigilv1.OverseerStatus) (*vigilv1.OverseerStatus, error) {
	task := o.GetLookTask()
	for task != 0 && o.GetLookTask() == task {
		timer := time.NewTimer(triagePoll)
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for triage: %w", context.Cause(ctx))
		case <-timer.C:
		}
		var err error
		o, err = overseers.GetOverseer(ctx, &vigilv1.GetOverseerRequest{Agent: agent})
		if err != nil {
			return nil, err
		}
	}
	return o, nil
}

func newTriageStatusCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:               "status [ROOM/ROLE[.N]]",
		Short:             "Show the last decision about an overseer, with its facts, or about all",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompleteAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				if len(args) == 0 {
					return listOverseers(ctx, a, c,
						term.NewTable("OVERSEER", "SESSION", "PATROL", "DECISION", "BY", "AGO", "AFTER THAT~"),
						func(o *vigilv1.OverseerStatus) []string {
							return []string{o.GetAgent(), o.GetSession(), freshness(o), o.GetDecision(),
								o.GetDecidedBy(), term.Span(o.GetDecided()), nextLook(o)}
						})
				}
				o, err := vigilv1.NewOverseersClient(c).GetOverseer(ctx,
					&vigilv1.GetOverseerRequest{Agent: args[0], Stale: a.Stale})
				if err != nil {
					return err
				}
				return printOverseer(a, o)
			})
		},
	}
}

// printOverseer prints what is known of the looks at an overseer.
func printOverseer(a *cli.App, o *vigilv1.OverseerStatus) error {
	if a.JSON {
		return a.PrintJSON(o)
	}
	ago, triage := "", term.OrWord(o.GetTriage(), "none: the mechanical rule decides")
	if o.GetDecided() != nil {
		ago = term.OrZero(term.Span(o.GetDecided())) + " ago"
	}
	return a.Pairs("overseer", o.GetAgent(), "session", o.GetSession()+", life "+o.GetIncarnation(),
		"patrol", PatrolLine(o), "mail waiting", fmt.Sprint(o.GetMailWaiting()),
		"the rule says", o.GetRule(), "triage", triage, "marker", nextLook(o),
		"last decision", o.GetDecision(), "decided", ago, "by", o.GetDecidedBy(), "asked for by", o.GetAskedBy(),
		"facts", o.GetFacts(),
		"what followed", o.GetAct(), "degraded", o.GetDegraded(), "triage says", o.GetReason())
}

func newTriageAnswerCmd(a *cli.App) *cobra.Command {
	w := &word{App: a}
	var reason string
	words := noun.DecisionNames()
	cmd := &cobra.Command{
		Use:       "answer " + strings.Join(words, "|"),
		Short:     "As a triage agent: answer the look whose task you hold",
		Example:   `  vigil triage answer WAKE --reason "its screen has not changed for an hour"`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: words,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(words, args[0]) {
				return cli.Usagef("%q is no decision: write %s or %s", args[0],
					strings.Join(words[:len(words)-1], ", "), words[len(words)-1])
			}
			answer, err := json.Marshal(map[string]string{"decision": args[0],
				"reason": term.Cut(term.OneLine(reason), noun.MaxTriageWhy)})
			if err != nil {
				return fmt.Errorf("write answer: %w", err)
			}
			return w.complete(cmd, string(answer))
		},
	}
	w.add(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "why, for people")
	return cmd
}
