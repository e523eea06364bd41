//go:build unix

package backups

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"vigil/cluster/backup"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/servers"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// nameless makes a file that nobody else can open and that is gone when it is closed, however this
// process ends: it may hold the texts of tasks in clear.
func nameless() (*os.File, error) {
	f, err := os.CreateTemp("", "vigil-backup-*")
	if err != nil {
		return nil, fmt.Errorf("read backup: %w: set TMPDIR to a directory with room", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("read backup: %w", err)
	}
	return f, nil
}

// cleartext gives the clear text of a backup, read to its end and found to restore in memory, and its size in
// bytes. The caller closes it.
func cleartext(ctx context.Context, from backup.Target, n backup.Name, keys []age.Identity) (*os.File, int64, error) {
	stored, err := nameless()
	if err != nil {
		return nil, 0, err
	}
	size, err := backup.Fetch(ctx, from, n, stored)
	if err == nil {
		_, err = stored.Seek(0, io.SeekStart)
	}
	out := stored
	if err == nil && n.Encrypted {
		out, size, err = decrypted(n, stored, keys)
		_ = stored.Close() // it has no name
	}
	if err == nil {
		_, err = backup.Load(out)
	}
	if err == nil {
		_, err = out.Seek(0, io.SeekStart)
	}
	if err != nil {
		if out != nil {
			_ = out.Close()
		}
		return nil, 0, err
	}
	return out, size, nil
}

func decrypted(n backup.Name, stored io.Reader, keys []age.Identity) (*os.File, int64, error) {
	in, err := backup.Decrypt(n, stored, keys)
	if err != nil {
		return nil, 0, err
	}
	out, err := nameless()
	if err != nil {
		return nil, 0, err
	}
	size, err := io.Copy(out, in)
	if err == nil {
		_, err = out.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = out.Close()
		return nil, 0, fmt.Errorf("decrypt backup %s: %w", n, err)
	}
	return out, size, nil
}

// found is what a check says of one backup.
type found struct {
	backup.Name
	err  error
	full bool // it was restored in memory, too
}

// inspect reads one backup, and restores it in memory where it can be opened.
func inspect(ctx context.Context, from backup.Target, n backup.Name, keys []age.Identity) found {
	if n.Encrypted && len(keys) == 0 {
		return found{n, backup.Verify(ctx, from, n), false}
	}
	f, _, err := cleartext(ctx, from, n, keys)
	if err == nil {
		_ = f.Close()
	}
	return found{n, err, err == nil}
}

// removed tells whether a backup is no longer listed.
func removed(ctx context.Context, from backup.Target, n backup.Name) bool {
	list, err := from.List(ctx, n.Cluster)
	return err == nil && !slices.Contains(list, n)
}

func newCheckCmd(a *cli.App) *cobra.Command {
	var w where
	var identity string
	var all bool
	cmd := &cobra.Command{
		Use:   "check [latest|INDEX]",
		Short: "Read backups, the latest or all, and say whether they are whole; needs no server",
		Long: `Read a backup, without a word the latest one, to its end and compare its SHA-256. One that is in
clear, or for which --identity has the private key, is restored in memory, too. The exit code is 1 when
something is wrong.`,
		Args:    cobra.MaximumNArgs(1),
		Example: "  vigil backup check\n  vigil backup check --all --identity key.txt",
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, err := readKeys(identity)
			if err != nil {
				return err
			}
			from, list, err := w.list(cmd.Context())
			if err != nil {
				return err
			}
			switch {
			case all && len(args) > 0:
				return cli.Usagef("leave out %s, or --all", term.OneLine(args[0]))
			case !all:
				n, err := w.choose(list, append(args, "latest")[0])
				if err != nil {
					return err
				}
				list = []backup.Name{n}
			}
			return report(cmd.Context(), a, from, list, all, keys)
		},
	}
	w.flags(cmd)
	cmd.Flags().StringVar(&identity, "identity", "", "file with the private key of age")
	cmd.Flags().BoolVar(&all, "all", false, "all backups that there are")
	_ = cmd.MarkFlagFilename("identity") // the flag is there
	return cmd
}

// report checks backups and prints what was found. Of all that were there, servers may remove the oldest meanwhile.
func report(
	ctx context.Context, a *cli.App, from backup.Target, list []backup.Name, all bool, keys []age.Identity,
) error {
	t, out, wrong := term.NewTable(">INDEX", "MADE", "CHECK~"), inJSON(list), 0
	for i, n := range list {
		a.Progress("%d of %d checked", i, len(list))
		f := inspect(ctx, from, n, keys)
		says := "whole; it restores"
		switch {
		case f.err != nil && all && removed(ctx, from, n):
			says = "removed meanwhile, as the oldest one"
			out[i]["removed"] = true
		case f.err != nil:
			says = f.err.Error()
			wrong++
		case !f.full:
			says = "whole; give --identity to restore it in memory"
		}
		out[i]["ok"], out[i]["restores"], out[i]["check"] = f.err == nil, f.full, says
		t.Add(fmt.Sprint(n.Index), out[i]["made"].(string), says)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	a.ProgressEnd()
	var err error
	if a.JSON {
		err = a.PrintJSON(map[string]any{"backups": out})
	} else {
		err = a.PrintTable(t, "There are no backups.")
	}
	if err == nil && wrong > 0 {
		return cli.ExitWith(cli.ExitFailed, fmt.Errorf("backups that cannot be used: %d", wrong))
	}
	return err
}

func newRestoreCmd(a *cli.App) *cobra.Command {
	var w where
	var identity string
	var yes bool
	var others vigilv1.RestoreSnapshotRequest
	cmd := &cobra.Command{
		Use:   "restore latest|INDEX",
		Short: "Replace the whole state by the one of a backup; later writes are lost",
		Long: `Replace the whole state of the cluster by the one of a backup, the latest or the one of a log index that
vigil backup list shows. It is read, decrypted by the private key in --identity and restored in memory
first; then it goes the way of vigil server snapshot restore, whose help says what follows. The clear
text is only in a file without a name below $TMPDIR.`,
		Args:    cobra.ExactArgs(1),
		Example: "  vigil backup restore latest --identity key.txt --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes {
				return cli.Usagef("restoring replaces the state of the whole cluster: say so with --yes")
			}
			keys, err := readKeys(identity)
			if err != nil {
				return err
			}
			from, list, err := w.list(cmd.Context())
			if err != nil {
				return err
			}
			n, err := w.choose(list, args[0])
			if err != nil {
				return err
			}
			f, size, err := cleartext(cmd.Context(), from, n, keys)
			if errors.Is(err, backup.ErrNoKey) {
				return cli.Usagef("backup %d is encrypted: give --identity with the private key of one of its recipients", n.Index)
			}
			if err != nil {
				return fmt.Errorf("nothing was changed: %w", err)
			}
			defer f.Close()
			return servers.RestoreState(cmd, a, f, size, &others)
		},
	}
	w.flags(cmd)
	servers.RestoreFlags(cmd, &yes, &others)
	cmd.Flags().StringVar(&identity, "identity", "", "file with the private key of age")
	_ = cmd.MarkFlagFilename("identity") // the flag is there
	return cmd
}
