package disk

import (
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
)

// Commands are the verbs about data directories.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{newRecoverCmd(a), newConvertLogCmd(a), newSkipEntryCmd(a), newInspectCmd(a)}
}

// ownData refuses a directory of another account: what a command writes there now the server could not
// read.
func ownData(dir, command string) error {
	if dir == "" {
		return cli.Usagef("name the data directory of the server with --data-dir")
	}
	info, err := os.Stat(dir)
	if err != nil {
		return cli.Usagef("%w: give the data directory of a server with --data-dir", err)
	}
	if of, ok := info.Sys().(*syscall.Stat_t); ok && info.IsDir() && int(of.Uid) != os.Geteuid() {
		return cli.Usagef("%s belongs to account %d: run this command as that account, as the server does, "+
			"for instance with: sudo -u '#%[2]d' vigil server %[3]s", dir, of.Uid, command)
	}
	return nil
}
