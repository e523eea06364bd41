package people

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// newEscalationCmd is `vigil escalation`: what needs a human.
func newEscalationCmd(a *cli.App) *cobra.Command {
	group := cli.NewGroup("escalation", "What needs a human: see it, say that you look after it, close it",
		newEscalationListCmd(a), newEscalationShowCmd(a), newEscalationAckCmd(a), newEscalationCloseCmd(a))
	group.Long = `An escalation is one thing that a human has to decide: a process that cannot be killed,
an agent that fails again and again, a quarantined task, urgent mail that nobody answers,
a mass failure. It stays open until a human closes it. The leader announces it through the
notifiers that are in its server's file (notify:), and again when it happens after the
setting escalation_cooldown, unless somebody has acknowledged it.`
	return group
}

func newEscalationListCmd(a *cli.App) *cobra.Command {
	request := &vigilv1.ListEscalationsRequest{}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what is not closed, the most urgent first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := proto.CloneOf(request) // with --watch this runs again and again
			r.Stale, r.Limit = a.Stale, 1000
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				var all *vigilv1.ListEscalationsResponse
				for {
					page, err := vigilv1.NewEscalationsClient(c).ListEscalations(ctx, r)
					if err != nil {
						return err
					}
					if all == nil {
						all = page
					} else {
						all.Escalations = append(all.Escalations, page.GetEscalations()...)
					}
					if r.After = page.GetNext(); r.After == 0 {
						all.More, all.Next = false, 0
						return printEscalations(a, all)
					}
				}
			})
		},
	}
	cmd.Flags().BoolVar(&request.All, "all", false, "also those that are closed")
	cmd.Flags().StringVar(&request.Room, "room", "", "only of this room")
	cmd.Flags().StringVar(&request.Kind, "kind", "", "only of this kind, for instance stuck_process")
	_ = cmd.RegisterFlagCompletionFunc("room", a.Every(cli.RoomNames)) // the flag is there
	return cmd
}

// urgency orders escalations for people: what nobody looks after, what is urgent, what is new.
func urgency(x, y *vigilv1.Escalation) int {
	states, priorities := []string{"open", "acknowledged", "closed"}, []string{"urgent", "high", "normal", "low"}
	return cmp.Or(slices.Index(states, x.GetState())-slices.Index(states, y.GetState()),
		slices.Index(priorities, x.GetPriority())-slices.Index(priorities, y.GetPriority()),
		cmp.Compare(y.GetId(), x.GetId()))
}

func printEscalations(a *cli.App, list *vigilv1.ListEscalationsResponse) error {
	slices.SortFunc(list.Escalations, urgency)
	if a.JSON {
		return a.PrintJSON(list)
	}
	t := term.NewTable(">ID", "PRIORITY", "STATE", "KIND", "ABOUT~", ">COUNT", "LAST", "STILL", "TOLD~")
	for _, x := range list.GetEscalations() {
		still := "yes"
		if !x.GetLasts() {
			still = "over"
		}
		t.Add(fmt.Sprint(x.GetId()), x.GetPriority(), x.GetState(), x.GetKind(), x.GetSubject(),
			fmt.Sprint(x.GetCount()), a.Ago(x.GetLastAt()), still, toldText(x.GetNotice()))
	}
	if err := a.PrintTable(t, "Nothing needs a human."); err != nil || list.GetDropped() == 0 {
		return err
	}
	return a.Printf("\n%d more were not taken, since too many were open\n", list.GetDropped())
}

// toldText says how far the last announcement has come.
func toldText(n *vigilv1.Notice) string {
	var parts []string
	for _, d := range n.GetDeliveries() {
		parts = append(parts, d.GetNotifier()+" "+strings.ReplaceAll(d.GetState(), "_", " "))
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, ", ")
	case n.GetPending():
		return "nobody yet"
	}
	return ""
}

// parseEscalation reads the number of an escalation.
func parseEscalation(text string) (uint64, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "#"), 10, 64)
	if err != nil || n == 0 {
		return 0, cli.Usagef("%q is not an escalation: give its number, see `vigil escalation list`", text)
	}
	return n, nil
}

func escalationIDs(ctx context.Context, c *cli.Conn, _ string) (ids []string) {
	list, err := vigilv1.NewEscalationsClient(c).ListEscalations(ctx, &vigilv1.ListEscalationsRequest{Stale: true})
	if err != nil {
		return nil
	}
	for _, x := range list.GetEscalations() {
		ids = append(ids, fmt.Sprintf("%d\t%s: %s", x.GetId(), x.GetKind(), term.OneLine(x.GetSubject())))
	}
	return ids
}

// escalationCmd makes a command about one escalation: do asks the server, show prints
// the answer for people.
func escalationCmd(a *cli.App, verb, short string, do func(context.Context, vigilv1.EscalationsClient,
	uint64) (*vigilv1.Escalation, error),
	show func(*cli.App, *vigilv1.Escalation) error,
) *cobra.Command {
	return &cobra.Command{
		Use:               verb + " ESCALATION",
		Short:             short,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.First(escalationIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseEscalation(args[0])
			if err != nil {
				return err
			}
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				x, err := do(ctx, vigilv1.NewEscalationsClient(c), id)
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(x)
				}
				return show(a, x)
			})
		},
	}
}

func newEscalationShowCmd(a *cli.App) *cobra.Command {
	return escalationCmd(a, "show", "Show an escalation: the facts, what vigil has done, what you can do",
		func(ctx context.Context, c vigilv1.EscalationsClient, id uint64) (*vigilv1.Escalation, error) {
			return c.GetEscalation(ctx, &vigilv1.GetEscalationRequest{Escalation: id, Stale: a.Stale})
		}, printEscalation)
}

func newEscalationAckCmd(a *cli.App) *cobra.Command {
	return escalationCmd(a, "ack", "Say that you look after it: it is announced no more",
		func(ctx context.Context, c vigilv1.EscalationsClient, id uint64) (*vigilv1.Escalation, error) {
			return c.AckEscalation(ctx, &vigilv1.AckEscalationRequest{Escalation: id, By: a.Me()})
		}, sayEscalation)
}

func newEscalationCloseCmd(a *cli.App) *cobra.Command {
	var note string
	cmd := escalationCmd(a, "close", "Say that nothing is left to decide",
		func(ctx context.Context, c vigilv1.EscalationsClient, id uint64) (*vigilv1.Escalation, error) {
			return c.CloseEscalation(ctx, &vigilv1.CloseEscalationRequest{Escalation: id, By: a.Me(), Note: note})
		}, sayEscalation)
	cmd.Flags().StringVar(&note, "note", "", "what was done, for people")
	return cmd
}

// sayEscalation prints what has become of an escalation after a human's word.
func sayEscalation(a *cli.App, x *vigilv1.Escalation) error {
	text := fmt.Sprintf("escalation %d about %s is %s", x.GetId(),
		term.OrWord(x.GetSubject(), "something that is forgotten"), escalationState(a, x))
	if x.GetState() == "closed" && x.GetLasts() {
		text += "; it is still so, and is announced again when it happens after the setting escalation_cooldown"
	}
	return a.Printf("%s\n", term.OneLine(text))
}

func printEscalation(a *cli.App, x *vigilv1.Escalation) error {
	var facts []string
	for _, name := range slices.Sorted(maps.Keys(x.GetFacts())) {
		facts = append(facts, name+"="+x.GetFacts()[name])
	}
	task, still := "", "yes"
	if x.GetTask() != 0 {
		task = fmt.Sprint(x.GetTask())
	}
	if !x.GetLasts() {
		still = "over; it stays open until a human closes it"
	}
	often := fmt.Sprintf("%s, first %s, last %s", term.Plural(x.GetCount(), "time"), a.Ago(x.GetFirstAt()),
		a.Ago(x.GetLastAt()))
	if x.GetReopened() > 0 {
		often += fmt.Sprintf(", came back %s soon after it was closed", term.Plural(x.GetReopened(), "time"))
	}
	err := a.Pairs("escalation", fmt.Sprint(x.GetId()), "about", x.GetSubject(), "kind", x.GetKind(),
		"priority", x.GetPriority(),
		"state", escalationState(a, x), "what", x.GetReason(), "still so", still, "happened", often,
		"room", x.GetRoom(), "agent", x.GetAgent(), "incarnation", x.GetIncarnation(), "task", task,
		"host", x.GetHost(),
		"facts", strings.Join(facts, ", "), "vigil", x.GetDone(), "note", x.GetNote())
	if err != nil {
		return err
	}
	for _, d := range x.GetNotice().GetDeliveries() {
		if err := a.Printf("told       %s\n", term.OneLine(deliveryText(a, d))); err != nil {
			return err
		}
	}
	if x.GetNotice().GetPending() && len(x.GetNotice().GetDeliveries()) == 0 {
		if err := a.Printf("told       nobody yet: " +
			"the leader announces it through the notifiers in its server's file, if there are any\n"); err != nil {
			return err
		}
	}
	if x.GetState() == "closed" {
		return nil
	}
	var commands strings.Builder
	for _, c := range x.GetCommands() {
		commands.WriteString("\n  " + term.OneLine(c))
	}
	return a.Printf("\nYou can:%s\n", commands.String())
}

func escalationState(a *cli.App, x *vigilv1.Escalation) string {
	switch x.GetState() {
	case "acknowledged":
		return fmt.Sprintf("acknowledged by %s %s", term.OrWord(x.GetAckBy(), "somebody"), a.Ago(x.GetAckAt()))
	case "closed":
		return fmt.Sprintf("closed by %s %s", term.OrWord(x.GetCloseBy(), "somebody"), a.Ago(x.GetCloseAt()))
	}
	return x.GetState()
}

func deliveryText(a *cli.App, d *vigilv1.Delivery) string {
	text := fmt.Sprintf("%s: %s, %d tries, the last %s", d.GetNotifier(),
		strings.ReplaceAll(d.GetState(), "_", " "), d.GetTries(), a.Ago(d.GetAt()))
	if d.GetFailure() != "" {
		text += ": " + d.GetFailure()
	}
	if next := d.GetNextIn(); next != nil {
		text += ", again in " + next.AsDuration().Round(time.Second).String()
	}
	return text
}
