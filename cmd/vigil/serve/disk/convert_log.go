package disk

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"vigil/cluster/logstore"
	"vigil/cmd/vigil/cli"
)

// convertLimit is how long one step of the disk may take: nobody waits for this server meanwhile.
const convertLimit = time.Minute

// newConvertLogCmd is `vigil server convert-log`.
func newConvertLogCmd(a *cli.App) *cobra.Command {
	var dir, to string
	cmd := &cobra.Command{
		Use:   "convert-log --data-dir DIR --to wal|bolt",
		Short: "Give the log of a server that does not run another form",
		Long: `Give the log of a server that does not run another form: bolt, one file, or wal, segments in a
folder, which make a write durable in one step of the disk instead of two. The new log is made beside
the old one, which counts until the new one is complete; so there has to be room for both. Then set
log_store in the configuration of the server to the same, or leave it out, and start it.`,
		Example: `  sudo -u vigil vigil server convert-log --data-dir /var/lib/vigil-server --to wal`,
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return convertLog(a, dir, logstore.Kind(to)) },
	}
	cmd.Flags().StringVar(&dir, "data-dir", "", "data directory of the server")
	cmd.Flags().StringVar(&to, "to", "", "form that the log gets, wal or bolt")
	_ = cmd.MarkFlagDirname("data-dir") // the flag is there
	_ = cmd.RegisterFlagCompletionFunc("to",
		cobra.FixedCompletions([]string{"wal", "bolt"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func convertLog(a *cli.App, dir string, to logstore.Kind) error {
	if !to.Valid() {
		return cli.Usagef("say with --to which form the log gets: wal or bolt")
	}
	if err := ownData(dir, "convert-log"); err != nil {
		return err
	}
	if !logstore.Used(dir) {
		return cli.Usagef("%s holds no data of a server that was in a cluster: give the data directory of a server with "+
			"--data-dir; its configuration names it as data_dir", dir)
	}
	log := hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: a.Err})
	done, err := logstore.Convert(dir, to, logstore.Disk{Limit: convertLimit}, log)
	switch {
	case errors.Is(err, logstore.ErrInUse):
		return cli.ExitWith(cli.ExitConflict, fmt.Errorf("convert log: %w", err))
	case err != nil:
		return ServerError(fmt.Errorf("convert log: %w", err))
	case a.JSON:
		return a.PrintJSON(map[string]any{"data_dir": dir, "from": done.From, "to": to, "first": done.First,
			"last": done.Last, "done": done.From != to})
	case done.From == to:
		return a.Printf("The log in %s is kept as %s already. Nothing was changed.\n", dir, to)
	}
	return a.Printf("The log in %s is kept as %s now, and was %s: entries %d to %d.\nSet log_store to %[2]s in the "+
		"configuration of the server, or leave it out, and start the server.\n", dir, to, done.From, done.First, done.Last)
}
