package tasks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// bulkPage is how many tasks one call lists.
const bulkPage = 1000

// chosenTask is a task as the plan has seen it.
type chosenTask struct {
	id, rev uint64
	queued  bool
}

// group counts the chosen tasks of a role in a state.
type group struct {
	Room  string `json:"room"`
	Role  string `json:"role"`
	State string `json:"state"`
	Tasks int    `json:"tasks"`
}

// bulk is one run of a verb for many tasks.
type bulk struct {
	*cli.App
	verb   *verb
	choice *choice

	chosen []chosenTask // oldest first
	groups []*group
	first  []*vigilv1.Task // the oldest few
}

// run plans, asks, and does. The time for an answer is nobody's limit.
func (b *bulk) run(cmd *cobra.Command) error {
	if err := b.Follow(cmd, b.plan); err != nil {
		return err
	}
	switch {
	case b.choice.dryRun && b.JSON, len(b.chosen) == 0 && b.JSON:
		return b.PrintJSON(b.object(&bulkDone{}))
	case len(b.chosen) == 0:
		return b.Printf("There are no such tasks: nothing was changed.\n")
	case b.choice.dryRun:
		return b.Printf("%sNothing was changed.\n", b.text())
	}
	harm := b.verb.harm + " " + term.Plural(len(b.chosen), "task")
	if _, err := b.ConfirmPlan(b.text(), harm, b.choice.yes); err != nil {
		return err
	}
	return b.Follow(cmd, b.do)
}

// plan reads the tasks that are chosen, page by page.
func (b *bulk) plan(ctx context.Context, c *cli.Conn) error {
	defer b.ProgressEnd()
	request := &vigilv1.ListTasksRequest{Room: b.choice.room, Role: b.choice.role, States: b.choice.states,
		Limit: bulkPage}
	for {
		page, err := listPage(ctx, c, request)
		if err != nil {
			return err
		}
		for _, t := range page.GetTasks() {
			if b.choice.fits(b.verb, t) {
				b.choose(t)
			}
		}
		b.Progress("%s found", term.Plural(len(b.chosen), "task"))
		if request.After = page.GetNext(); request.After == 0 {
			break
		}
	}
	slices.SortFunc(b.groups, func(x, y *group) int {
		return strings.Compare(x.Room+"/"+x.Role+"/"+x.State, y.Room+"/"+y.Role+"/"+y.State)
	})
	return nil
}

// listPage reads one page within the time of one call.
func listPage(ctx context.Context, c *cli.Conn, r *vigilv1.ListTasksRequest) (*vigilv1.ListTasksResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, cli.DefaultTimeout)
	defer cancel()
	return c.Fleet.ListTasks(ctx, r)
}

func (b *bulk) choose(t *vigilv1.Task) {
	b.chosen = append(b.chosen, chosenTask{t.GetId(), t.GetRev(), t.GetState() == vigilv1.TaskState_QUEUED})
	if len(b.first) < cli.PlanShown {
		b.first = append(b.first, t)
	}
	of := group{Room: t.GetRoom(), Role: t.GetRole(), State: t.GetState().String()}
	i := slices.IndexFunc(b.groups, func(g *group) bool {
		return g.Room == of.Room && g.Role == of.Role && g.State == of.State
	})
	if i < 0 {
		i, b.groups = len(b.groups), append(b.groups, &of)
	}
	b.groups[i].Tasks++
}

// text is the plan for people.
func (b *bulk) text() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s %s", b.verb.name, term.Plural(len(b.chosen), "task"))
	if n := len(b.chosen); n > 1 {
		fmt.Fprintf(&s, ", %d to %d", b.chosen[0].id, b.chosen[n-1].id)
	}
	s.WriteString("\n")
	for _, g := range b.groups {
		fmt.Fprintf(&s, "  %s/%s: %d %s\n", g.Room, g.Role, g.Tasks, g.State)
	}
	for _, t := range b.first {
		fmt.Fprintf(&s, "  task %d of %s/%s: %s\n", t.GetId(), t.GetRoom(), t.GetRole(),
			term.OneLine(term.Cut(t.GetTitle(), 60)))
	}
	if more := len(b.chosen) - len(b.first); more > 0 {
		fmt.Fprintf(&s, "  and %d more\n", more)
	}
	return s.String()
}
