package watchdog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func newHistoryCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "history",
		Short: "List the last cancellations, and where they pile up by role, host and hour (UTC)",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				w, err := c.Fleet.GetWatchdog(ctx, &vigilv1.GetWatchdogRequest{Stale: a.Stale})
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(&vigilv1.GetWatchdogResponse{History: w.GetHistory(),
						CanceledTotal: w.GetCanceledTotal()})
				}
				return printCancellations(a, w.GetHistory())
			})
		},
	}
}

func printCancellations(a *cli.App, list []*vigilv1.Cancellation) error {
	t := term.NewTable("CANCELED", "ROOM~", "REASON", ">TASKS", "SILENT", "ROLES~", "HOSTS~")
	for _, x := range list {
		t.Add(a.Ago(x.GetAt()), x.GetRoom(), x.GetReason(), fmt.Sprint(x.GetTasks()), term.Span(x.GetSilent()),
			strings.Join(x.GetRoles(), " "), strings.Join(x.GetHosts(), " "))
	}
	if err := a.PrintTable(t, "The watchdog has canceled nothing."); err != nil || len(list) == 0 {
		return err
	}
	p := patternsOf(list)
	return a.Printf("\nby role  %s\nby host  %s\nby hour  %s\n", most(p.roles),
		term.OrWord(most(p.hosts), "none held a task"), most(p.hours))
}

// patterns count cancellations by what they have in common.
type patterns struct{ roles, hosts, hours map[string]int }

func patternsOf(list []*vigilv1.Cancellation) patterns {
	p := patterns{map[string]int{}, map[string]int{}, map[string]int{}}
	for _, x := range list {
		for _, r := range x.GetRoles() {
			p.roles[r]++
		}
		for _, h := range x.GetHosts() {
			p.hosts[h]++
		}
		p.hours[fmt.Sprintf("%02dh", x.GetAt().AsTime().UTC().Hour())]++
	}
	return p
}

// most lists counts, the greatest first, at most eight.
func most(counts map[string]int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(x, y string) int {
		if counts[x] != counts[y] {
			return counts[y] - counts[x]
		}
		return strings.Compare(x, y)
	})
	var parts []string
	for _, name := range names[:min(len(names), 8)] {
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(parts, ", ")
}
