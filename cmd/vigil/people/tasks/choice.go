package tasks

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/gen/vigilv1"
)

// choice is what the flags of a verb choose among all tasks.
type choice struct {
	room, role  string
	words       []string // states as they were written
	states      []vigilv1.TaskState
	since       time.Duration // at most so long in their state; 0: whatever
	yes, dryRun bool
}

// choosing are the flags of which one at least must be given, and manyFlags those that only a
// choice has.
var (
	choosing  = []string{"room", "role", "state", "since"}
	manyFlags = append(slices.Clone(choosing), "yes", "dry-run")
)

func (w *choice) add(a *cli.App, cmd *cobra.Command, v *verb) {
	flags := cmd.Flags()
	flags.StringVar(&w.room, "room", "", "tasks of this room")
	flags.StringVar(&w.role, "role", "", "tasks of roles with this name")
	flags.StringSliceVar(&w.words, "state", nil, "tasks in these states, of "+stateList(v.states))
	flags.DurationVar(&w.since, "since", 0, "tasks that came into their state within this time, for instance 2h or 3d")
	flags.BoolVar(&w.yes, "yes", false, "go on without a question")
	flags.BoolVar(&w.dryRun, "dry-run", false, "print the plan and change nothing")
	_ = cmd.RegisterFlagCompletionFunc("room", a.Every(cli.RoomNames)) // the flags are there
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(stateCompletions(v.states),
		cobra.ShellCompDirectiveNoFileComp))
}

// check reads the flags of a verb that got args.
func (w *choice) check(cmd *cobra.Command, v *verb, args []string) error {
	given := func(name string) bool { return cmd.Flags().Changed(name) }
	if len(args) > 0 {
		if i := slices.IndexFunc(manyFlags, given); i >= 0 {
			return cli.Usagef("flag --%s: it goes with a choice of tasks, not with task %s: leave out one of them",
				manyFlags[i], args[0])
		}
		return nil
	}
	switch {
	case given("if-rev"):
		return cli.Usagef("flag --if-rev: it goes with one task: write %s TASK --if-rev REVISION", cmd.CommandPath())
	case !slices.ContainsFunc(choosing, given):
		return cli.Usagef("name a task, see `vigil task list`, or choose tasks with --room, --role, --state or --since")
	case given("since") && w.since <= 0:
		return cli.Usagef("flag --since: %s is not possible, give a time like 2h or 3d", w.since)
	}
	for _, name := range [...]string{"room", "role"} {
		if given(name) && cmd.Flag(name).Value.String() == "" {
			return cli.Usagef("flag --%s needs a value: leave it out for every %s", name, name)
		}
	}
	for _, word := range w.words {
		s, err := parseState(word)
		if err != nil {
			return err
		}
		if !slices.Contains(v.states, s) {
			return cli.Usagef("flag --state: nobody can %s a task that is %s: write %s", v.name, s, stateList(v.states))
		}
		w.states = append(w.states, s)
	}
	if len(w.states) == 0 {
		w.states = v.usual
	}
	return nil
}

// fits tells whether a task that servers have listed is chosen. One that only waits for its turn
// has nothing to retry.
func (w *choice) fits(v *verb, t *vigilv1.Task) bool {
	if v.name == "retry" && t.GetState() == vigilv1.TaskState_QUEUED && t.GetAgainIn() == nil && t.GetFailures() == 0 {
		return false
	}
	return w.since == 0 || t.GetInState().AsDuration() <= w.since
}
