package agents

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func newLogsCmd(a *cli.App) *cobra.Command {
	request := &vigilv1.AgentLogsRequest{}
	cmd := &cobra.Command{
		Use:   "logs ROOM/ROLE[.N]",
		Short: "Print an agent's output, fetched from its host",
		Long: "Print an agent's output, fetched from its host: text and its colours. " +
			"With --json it comes as it is.",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			request.Agent = args[0]
			ask := a.Ask
			if request.GetFollow() {
				ask = a.Follow
			}
			return ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				stream, err := c.Fleet.AgentLogs(ctx, request)
				if err != nil {
					return err
				}
				return copyLogs(a, stream.Recv)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&request.Follow, "follow", "f", false, "go on as it grows, until interrupted")
	flags.Uint32VarP(&request.Lines, "lines", "n", 100, "begin with this many of the last lines, at most 10000")
	return cmd
}

// copyLogs prints pieces of output without what steers a terminal; with --json one object for
// each, as it is.
func copyLogs(a *cli.App, next func() (*vigilv1.LogChunk, error)) error {
	shown := term.Drawing{Plain: true}
	for {
		chunk, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if a.JSON {
			err = a.PrintJSON(map[string]string{"data": string(chunk.GetData())})
		} else {
			_, err = a.Out.Write(shown.Pass(chunk.GetData()))
		}
		if err != nil {
			return err
		}
	}
}
