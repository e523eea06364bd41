package servers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

func newSnapshotCmd(a *cli.App) *cobra.Command {
	return cli.NewGroup("snapshot", "Back up and restore the cluster's state",
		newSnapshotSaveCmd(a), newSnapshotRestoreCmd(a), newSnapshotInspectCmd(a))
}

func newSnapshotSaveCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "save FILE",
		Short: "Write a snapshot of the state to FILE",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Follow(cmd, func(ctx context.Context, c *cli.Conn) error {
				size, err := saveSnapshot(ctx, a, c, args[0])
				if err != nil {
					return err
				}
				return a.Done(map[string]any{"file": args[0], "bytes": size},
					"saved %s to %s; check it with: vigil server snapshot inspect %s", term.BytesText(size),
					args[0], args[0])
			})
		},
	}
}

// A server that knows no leader makes no backup; the client asks the next one. In this time an
// election is over, too.
const (
	saveSeek  = 10 * time.Second
	savePause = 200 * time.Millisecond
)

// saveSnapshot writes a backup of the first server that can make one, and gives its size in bytes.
func saveSnapshot(ctx context.Context, a *cli.App, c *cli.Conn, name string) (size int64, err error) {
	defer a.ProgressEnd()
	for began := time.Now(); ; {
		size, err = writeWhole(name, func(w io.Writer) (n int64, err error) {
			stream, err := c.Cluster.SaveSnapshot(ctx, &vigilv1.SaveSnapshotRequest{})
			if err != nil {
				return 0, err
			}
			for {
				chunk, err := stream.Recv()
				if errors.Is(err, io.EOF) {
					return n, nil
				}
				if err != nil {
					return n, err
				}
				m, err := w.Write(chunk.GetData())
				n += int64(m)
				a.Progress("%s saved", term.BytesText(n))
				if err != nil {
					return n, fmt.Errorf("write snapshot: %w", err)
				}
			}
		})
		if size > 0 || !errors.Is(err, client.ErrNoLeader) || time.Since(began) > saveSeek {
			return size, err
		}
		select {
		case <-time.After(savePause):
		case <-ctx.Done():
			return size, err
		}
	}
}

// writeWhole writes a file so that its name shows either the whole of it or nothing.
func writeWhole(name string, fill func(io.Writer) (int64, error)) (n int64, err error) {
	if dir, err := os.Stat(filepath.Dir(name)); err != nil || !dir.IsDir() {
		return 0, cli.Usagef("write snapshot %s: there is no folder %s: create it first", name, filepath.Dir(name))
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return 0, fmt.Errorf("create snapshot: %w", err)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name()) // what is left is a hidden file; the first error matters
		}
	}()
	if n, err = fill(f); err != nil {
		return n, err
	}
	if err = f.Sync(); err != nil {
		return n, fmt.Errorf("write snapshot: %w", err)
	}
	if err = f.Close(); err != nil {
		return n, fmt.Errorf("write snapshot: %w", err)
	}
	if err = os.Rename(f.Name(), name); err != nil {
		return n, fmt.Errorf("write snapshot: %w", err)
	}
	return n, nil
}

func newSnapshotRestoreCmd(a *cli.App) *cobra.Command {
	var yes bool
	var others vigilv1.RestoreSnapshotRequest
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Replace the whole state by the one in FILE; later writes are lost",
		Long: `Replace the whole state of the cluster by the one in FILE. Everything that was
written after the snapshot was saved is lost. Incarnations that the snapshot does
not know are told that they are superseded. For one TTL (the longest of any role)
nothing is started and no life is confirmed: running agents freeze for about half
of it, and go on.

Who is let in stays as it is in this cluster: what was revoked since stays revoked. A
backup of another cluster is refused with a list of who is concerned, until you say
--trust or --revoke; its hosts join anew, each by a token, once the folder "trust" of
its data directory is moved away.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes {
				return cli.Usagef("restoring replaces the state of the whole cluster: say so with --yes")
			}
			f, info, err := cli.OpenFile(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			if _, err := fsm.Load(bufio.NewReaderSize(f, 1<<20)); err != nil {
				return fmt.Errorf("snapshot %s cannot be used, nothing was changed: %w: use another backup",
					args[0], err)
			}
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				return fmt.Errorf("read snapshot: %w", err)
			}
			return RestoreState(cmd, a, f, info.Size(), &others)
		},
	}
	RestoreFlags(cmd, &yes, &others)
	return cmd
}

// RestoreFlags adds the flags of a restore.
func RestoreFlags(cmd *cobra.Command, yes *bool, others *vigilv1.RestoreSnapshotRequest) {
	cmd.Flags().BoolVar(yes, "yes", false, "yes, replace the state of the whole cluster")
	cmd.Flags().BoolVar(&others.Trust, "trust", false,
		"a backup of another cluster: its people have the roles that they had, and log in anew")
	cmd.Flags().BoolVar(&others.Revoke, "revoke", false, "a backup of another cluster: its people have no rights here")
	cmd.MarkFlagsMutuallyExclusive("trust", "revoke")
}

// RestoreState replaces the state of the cluster by a backup of so many bytes that the caller has read and
// found whole; others says what becomes of people.
func RestoreState(cmd *cobra.Command, a *cli.App, f io.Reader, size int64,
	others *vigilv1.RestoreSnapshotRequest) error {
	return a.Follow(cmd, func(ctx context.Context, c *cli.Conn) error {
		answer, err := sendSnapshot(ctx, a, c, f, size, others)
		if err != nil {
			return err
		}
		return a.Done(map[string]any{"index": answer.GetIndex(), "epoch": answer.GetEpoch()},
			"restored at log index %d, epoch %d", answer.GetIndex(), answer.GetEpoch())
	})
}

// sendSnapshot streams the file in pieces well below the message limit; part says what becomes of people.
func sendSnapshot(ctx context.Context, a *cli.App, c *cli.Conn, f io.Reader,
	size int64, part *vigilv1.RestoreSnapshotRequest) (*vigilv1.RestoreSnapshotResponse, error) {
	stream, err := c.Cluster.RestoreSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer a.ProgressEnd()
	buf := make([]byte, 256<<10)
	for sent := int64(0); ; {
		n, err := f.Read(buf)
		if n > 0 {
			part.Data = buf[:n]
			if e := stream.Send(part); e != nil {
				break // the answer says why
			}
			sent += int64(n)
			a.Progress("%s of %s sent", term.BytesText(sent), term.BytesText(size))
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read snapshot: %w", err)
		}
	}
	return stream.CloseAndRecv()
}

func newSnapshotInspectCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "inspect FILE",
		Short: "Check a snapshot file and print what is in it; needs no server",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			f, info, err := cli.OpenFile(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			state, err := fsm.Load(bufio.NewReaderSize(f, 1<<20))
			if err != nil {
				return fmt.Errorf("%s cannot be restored: %w: use another backup", args[0], err)
			}
			return printSnapshot(a, args[0], info.Size(), state)
		},
	}
}

func printSnapshot(a *cli.App, name string, size int64, state *fsm.State) error {
	counts, check := state.Counts(), "every law holds"
	broken := state.Check()
	if broken != nil {
		check = broken.Error()
	}
	tasks := map[string]uint64{}
	for i, n := range counts.Tasks {
		if i > 0 {
			tasks[noun.TaskState(i).String()] = n
		}
	}
	hash := fmt.Sprintf("%x", state.Copy().Hash())
	var err error
	if a.JSON {
		err = a.PrintJSON(map[string]any{"file": name, "bytes": size, "index": state.LastIndex(),
			"epoch":         state.Epoch(),
			"clock_seconds": float64(state.Clock()) / 1e9, "rooms": counts.Rooms, "agents": counts.Agents,
			"agents_live": counts.Live,
			"hosts":       counts.Hosts, "tasks": tasks, "last_event": state.LastEvent(), "hash": hash, "check": check,
			"ok": broken == nil})
	} else {
		err = a.Pairs(
			"file", fmt.Sprintf("%s, %s", name, term.BytesText(size)),
			"log index", fmt.Sprint(state.LastIndex()),
			"clock", fmt.Sprintf("%s, epoch %d", term.Short(state.Clock().Sub(0)), state.Epoch()),
			"rooms", fmt.Sprint(counts.Rooms),
			"agents", fmt.Sprintf("%d, %d live", counts.Agents, counts.Live),
			"hosts", fmt.Sprint(counts.Hosts),
			"tasks", term.TaskCounts(tasks),
			"events", fmt.Sprintf("%d to %d", state.OldestEvent(), state.LastEvent()),
			"hash", hash,
			"check", check,
		)
	}
	if err == nil && broken != nil {
		return cli.ExitWith(cli.ExitFailed, nil)
	}
	return err
}
