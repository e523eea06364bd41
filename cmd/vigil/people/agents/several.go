package agents

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// atOnce is how many agents are changed at once: enough that servers gather them into few log entries.
const atOnce = 64

// several is one run of a verb for all agents of a room, or of the fleet.
type several struct {
	*cli.App
	verb, did   string
	room        string
	all         bool
	by          string // of a start: only what this person has stopped
	yes, dryRun bool
	fits        func(*vigilv1.Agent) bool // it is not as the verb wants it yet
	change      func(context.Context, *cli.Conn, string) (*vigilv1.Agent, error)

	names  []string
	atWork int           // of them
	stops  []stoppedSlot // who has stopped those of them that are stopped
	// planned is how those agents were, by name.
	planned map[string]*vigilv1.Agent
}

// refusal is what was said of an agent that stays as it is.
type refusal struct {
	Agent   string `json:"agent"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (x *several) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&x.room, "room", "", "all agents of this room")
	flags.BoolVar(&x.all, "all", false, "all agents of the fleet")
	flags.BoolVar(&x.yes, "yes", false, "with --room and --all: go on without a question")
	flags.BoolVar(&x.dryRun, "dry-run", false, "with --room and --all: print the plan and change nothing")
	cmd.MarkFlagsMutuallyExclusive("room", "all")
	_ = cmd.RegisterFlagCompletionFunc("room", x.Every(cli.RoomNames)) // the flag is there
}

// chosen tells whether the flags choose the agents, and not the arguments.
func (x *several) chosen(cmd *cobra.Command, args []string) (bool, error) {
	flags := cmd.Flags()
	if !x.all && !flags.Changed("room") {
		for _, name := range [...]string{"yes", "dry-run", "by"} {
			if flags.Changed(name) {
				return false, cli.Usagef("flag --%s: it goes with --room or --all", name)
			}
		}
		if len(args) == 0 {
			return false, cli.Usagef("name an agent, see `vigil agent list`, or choose with --room or --all")
		}
		return false, nil
	}
	if len(args) > 0 {
		return false, cli.Usagef("flags --room and --all choose the agents; leave out %s or the flag", args[0])
	}
	if !x.all && x.room == "" {
		return false, cli.Usagef("flag --room: name a room, or take --all")
	}
	if x.by == "" && flags.Changed("by") { // an empty variable of a shell must not start everything
		return false, cli.Usagef("flag --by: name a person, or leave it out")
	}
	for _, name := range [...]string{"if-rev", "wait", "fresh"} {
		if f := flags.Lookup(name); f != nil && f.Changed {
			return false, cli.Usagef("flag --%s: it goes with agents that are named", name)
		}
	}
	return true, nil
}

// run plans, asks, and does.
func (x *several) run(cmd *cobra.Command) error {
	if err := x.Follow(cmd, x.plan); err != nil {
		return err
	}
	switch {
	case x.JSON && (x.dryRun || len(x.names) == 0):
		return x.PrintJSON(x.object(0, nil))
	case len(x.names) == 0:
		return x.Printf("There are no such agents: nothing was changed.\n")
	case x.dryRun:
		return x.Printf("%sNothing was changed.\n", x.text())
	}
	harm := x.verb + "s " + term.Plural(len(x.names), "agent")
	if x.atWork > 0 {
		harm += fmt.Sprintf(", of which %d are at work", x.atWork)
	}
	if _, err := x.ConfirmPlan(x.text(), harm, x.yes); err != nil {
		return err
	}
	return x.Follow(cmd, x.do)
}

// plan reads the agents that are chosen, page by page.
func (x *several) plan(ctx context.Context, c *cli.Conn) error {
	request := &vigilv1.ListAgentsRequest{Room: x.room, Limit: 1000}
	x.planned = map[string]*vigilv1.Agent{}
	for {
		page, err := c.Fleet.ListAgents(ctx, request)
		if err != nil {
			return err
		}
		for _, g := range page.GetAgents() {
			if x.fits(g) {
				x.names = append(x.names, g.GetName())
				if g.GetTask() != 0 {
					x.atWork++
				}
				if g.GetDesired() == "stopped" && !byRole(g) {
					x.stops = append(x.stops, slotOf(g))
				}
				x.planned[g.GetName()] = g
			}
		}
		if request.After = page.GetNext(); request.After == "" {
			return nil
		}
	}
}

// text is the plan for people.
func (x *several) text() string {
	return fmt.Sprintf("%s %s: %s\n", x.verb, term.Plural(len(x.names), "agent"), someNames(x.names)) + x.stopsText()
}

// someNames names as many as a plan shows.
func someNames(names []string) string {
	shown := names[:min(len(names), cli.PlanShown)]
	text := strings.Join(shown, ", ")
	if more := len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// object is the plan and what was done, for --json.
func (x *several) object(done int, refused []refusal) map[string]any {
	object := map[string]any{"agents": slices.Concat([]string{}, x.names), "done": done,
		"refused": slices.Concat([]refusal{}, refused), "dry_run": x.dryRun}
	if x.verb == "start" {
		object["stops"] = slices.Concat([]stoppedSlot{}, x.stops)
	}
	return object
}

// do changes them, a bounded number at once. An error that is no answer about an agent ends it.
func (x *several) do(ctx context.Context, c *cli.Conn) error {
	var mu sync.Mutex
	done, refused := 0, []refusal(nil)
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, name := range x.names {
		if inner.Err() != nil {
			break
		}
		group.Go(func() error {
			g, err := x.change(inner, c, name)
			mu.Lock()
			defer mu.Unlock()
			if err == nil && x.verb == "start" && g.GetDesired() == "stopped" {
				refused = append(refused, refusal{name, "stopped", "its role is declared as stopped; vigil apply changes that"})
				return nil
			}
			if err == nil {
				done++
				x.Progress("%d of %d agents", done, len(x.names))
				return nil
			}
			switch cli.ExitCode(err) {
			case cli.ExitConflict, cli.ExitNotFound, cli.ExitUsage:
				refused = append(refused, refusal{name, cli.ErrorName(err), term.OneLine(err.Error())})
				return nil
			}
			return err
		})
	}
	err := group.Wait()
	x.ProgressEnd()
	slices.SortFunc(refused, func(a, b refusal) int { return strings.Compare(a.Agent, b.Agent) })
	if said := x.say(done, refused); said != nil {
		return said
	}
	switch left := len(x.names) - done - len(refused); {
	case err != nil:
		return fmt.Errorf("%s could not be tried; give the command again: %w", term.Plural(left, "agent"), err)
	case len(refused) > 0:
		return cli.ExitWith(cli.ExitConflict, nil)
	}
	return nil
}

// say tells people and programs what was done.
func (x *several) say(done int, refused []refusal) error {
	if x.JSON {
		return x.PrintJSON(x.object(done, refused))
	}
	if err := x.Printf("%s %s.\n", term.Plural(done, "agent was", "agents were"), x.did); err != nil {
		return err
	}
	for _, r := range refused[:min(len(refused), cli.PlanShown)] {
		if err := x.Printf("  %s: %s\n", r.Agent, r.Message); err != nil {
			return err
		}
	}
	if more := len(refused) - cli.PlanShown; more > 0 {
		return x.Printf("  and %d more were refused, all of them with --json\n", more)
	}
	return nil
}
