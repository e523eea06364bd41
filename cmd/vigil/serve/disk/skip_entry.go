package disk

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"vigil/cluster"
	"vigil/cluster/logstore"
	"vigil/cmd/vigil/cli"
)

// newSkipEntryCmd is `vigil server skip-entry`.
func newSkipEntryCmd(a *cli.App) *cobra.Command {
	s := skipping{App: a}
	cmd := &cobra.Command{
		Use:   "skip-entry --data-dir DIR --index N --sum SUM",
		Short: "Have a server that does not run pass over an entry that it cannot apply",
		Long: `Have a server that does not run pass over an entry of its log at which every server of the cluster ends
with exit code 78. Run it for each server, with the index and the sum that they said when they ended, and
start them all. They ask each other before they go on: none passes over what another one has applied.

What was in the entry is refused, for good: nobody was told that it is done. If a newer version applies the
entry, install that instead. The command applies the log in memory first, and refuses to pass over what this
version can apply.`,
		Example: `  vigil server skip-entry --data-dir /var/lib/vigil-server --index 4711 --sum 9c56cc51b374c3ba --dry-run
  vigil server skip-entry --data-dir /var/lib/vigil-server --index 4711 --sum 9c56cc51b374c3ba`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return s.run() },
	}
	fl := cmd.Flags()
	fl.StringVar(&s.dir, "data-dir", "", "data directory of the server")
	fl.Uint64Var(&s.how.Index, "index", 0, "index of the entry")
	fl.StringVar(&s.how.Sum, "sum", "",
		fmt.Sprintf("how the SHA-256 of the entry begins, at least %d digits", cluster.SumDigits))
	fl.StringSliceVar(&s.how.Lost, "lost", nil, "servers that are gone for good, with their data: "+
		"what only they have applied and acknowledged is lost")
	fl.BoolVar(&s.how.Undo, "undo", false, "take it back, as long as the servers have not agreed on it")
	fl.BoolVar(&s.yes, "yes", false, "yes, pass over it; without it a terminal is asked")
	fl.BoolVar(&s.dry, "dry-run", false, "only say what the entry is and why it cannot be applied")
	cmd.MarkFlagsMutuallyExclusive("yes", "dry-run")
	_ = cmd.MarkFlagDirname("data-dir") // the flag is there
	return cmd
}

// skipping is one run of the command.
type skipping struct {
	*cli.App
	dir      string
	how      cluster.Refusing
	yes, dry bool
}

func (s *skipping) run() error {
	if s.how.Index == 0 || s.how.Sum == "" {
		return cli.Usagef("name the entry with --index and --sum: a server that cannot apply it says both when it ends")
	}
	if err := ownData(s.dir, "skip-entry"); err != nil {
		return err
	}
	s.how.Logger = hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: s.Err})
	found, err := cluster.Refuse(s.dir, s.how)
	if err != nil {
		return s.explained(err)
	}
	if !s.JSON {
		if err := s.show(found); err != nil {
			return err
		}
	}
	switch {
	case s.dry && s.JSON:
		return s.PrintJSON(skipObject(found, false))
	case s.dry:
		return s.Printf("\nNothing was changed.\n")
	case s.yes || s.how.Undo:
	case !s.Attended || s.JSON:
		return cli.Usagef("the requests in entry %d are refused for good, and there is no terminal to ask on: nothing was "+
			"changed; say so with --yes, look with --dry-run", found.Index)
	default:
		question := fmt.Sprintf("\nShall server %s pass over entry %d? Type the name of the server: ",
			found.Server, found.Index)
		if err := s.Confirm(question, found.Server); err != nil {
			return err
		}
	}
	s.how.Do = true
	if found, err = cluster.Refuse(s.dir, s.how); err != nil {
		return s.explained(err)
	}
	switch {
	case s.JSON:
		return s.PrintJSON(skipObject(found, true))
	case s.how.Undo:
		return s.Printf("\nServer %s no longer passes over entry %d.\n", found.Server, found.Index)
	}
	return s.Printf("\nServer %s passes over entry %d. Do the same for every other server, then start them all:\n"+
		"it waits until each has said that it has not applied the entry.\n", found.Server, found.Index)
}

// explained gives the errors of the data their exit code and what to do.
func (s *skipping) explained(err error) error {
	switch {
	case errors.Is(err, cluster.ErrNothingToRecover):
		return cli.Usagef("%w: give the data directory of a server with --data-dir; its configuration names it as "+
			"data_dir", err)
	case errors.Is(err, logstore.ErrInUse), errors.Is(err, cluster.ErrNotRefused), errors.Is(err, cluster.ErrAgreed):
		return cli.ExitWith(cli.ExitConflict, err)
	}
	return ServerError(fmt.Errorf("skip entry in %s: %w", s.dir, err))
}

// show says what the entry is.
func (s *skipping) show(found *cluster.Refusal) error {
	state, _, _ := strings.Cut(found.Why, "\n")
	switch {
	case found.Agreed:
		state = "passed over, and all servers have agreed"
	case found.Known:
		state = "to be passed over; the other servers are asked at the next start"
	}
	return s.Pairs(
		"server", found.Server+" of cluster "+found.Cluster,
		"entry", fmt.Sprintf("index %d, term %d", found.Index, found.Term),
		"sum", found.Sum,
		"commands", found.What,
		"state", state,
	)
}

func skipObject(found *cluster.Refusal, done bool) map[string]any {
	why, _, _ := strings.Cut(found.Why, "\n")
	return map[string]any{"server": found.Server, "cluster": found.Cluster, "index": found.Index, "term": found.Term,
		"sum": found.Sum, "commands": found.What, "why": why, "known": found.Known, "agreed": found.Agreed, "done": done}
}
