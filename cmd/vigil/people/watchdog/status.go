package watchdog

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func newStatusCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show whether it works, what it has done and which rooms are stalled",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				w, err := c.Fleet.GetWatchdog(ctx, &vigilv1.GetWatchdogRequest{Stale: a.Stale})
				if err != nil {
					return err
				}
				if a.JSON {
					w.History = nil
					return a.PrintJSON(w)
				}
				return printStatus(a, w)
			})
		},
	}
}

func printStatus(a *cli.App, w *vigilv1.GetWatchdogResponse) error {
	state := "on"
	if !w.GetEnabled() {
		state = "switched off: `vigil settings set watchdog_enabled=true` ends that"
	}
	s := w.GetStats()
	last := "none since this leader's server started"
	if at := a.Ago(s.GetLastCheck()); at != "" {
		last = fmt.Sprintf("%s, took %s", at, s.GetLastDuration().AsDuration().Round(time.Microsecond))
	}
	return a.Pairs("watchdog", state, "checks", fmt.Sprint(s.GetChecks()), "last check", last,
		"rooms checked", fmt.Sprint(s.GetChecked()), "errors", fmt.Sprint(s.GetErrors()),
		"active rooms", fmt.Sprint(w.GetActiveRooms()), "stalled now",
		term.OrWord(strings.Join(w.GetStalled(), " "), "none"),
		"warned in all", fmt.Sprint(w.GetWarnedTotal()), "canceled in all", fmt.Sprint(w.GetCanceledTotal()))
}
