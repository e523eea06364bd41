package doctor

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/gen/vigilv1"
)

// Bounds of one archive.
const (
	debugOne   = 15 * time.Second // for one server
	mostEvents = 1000
)

const aboutDebug = `Write one archive that helps whoever looks for a fault: what the cluster says of itself, its
rooms and its agents, what vigil doctor finds, and of each server that answers its log, figures, profiles and
configuration. It takes a few seconds.

It holds names of rooms, agents, hosts and people, addresses and versions. It holds no key, token or password,
no text of tasks, mail, results or events, no screen and no output of agents; only you can read the file.
Still look into it before you send it. It needs an admin.`

// NewDebugCommand is `vigil debug`.
func NewDebugCommand(a *cli.App) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "debug",
		Short: "Write one archive for whoever looks for a fault, without secrets",
		Long:  aboutDebug,
		Args:  cobra.NoArgs,

		Example: "  vigil debug\n  vigil debug --out fault.tar.gz",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				out = "vigil-debug-" + a.Now().UTC().Format("20060102-150405") + ".tar.gz"
			}
			if !cmd.Flags().Changed("timeout") {
				a.Timeout = 2 * debugOne
			}
			return writeDebug(cmd, a, out)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "the file (default: vigil-debug-TIME.tar.gz); one that is there is left alone")
	_ = cmd.MarkFlagFilename("out", "gz") // the flag is there
	return cmd
}

// bundle is what an archive holds, by name.
type bundle struct {
	mu    sync.Mutex
	files map[string][]byte
	wrong []string // what could not be had, for people
}

func (b *bundle) add(name string, text []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(text) > 0 {
		b.files[name] = text
	}
}

func (b *bundle) lacks(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrong = append(b.wrong, fmt.Sprintf(format, args...))
}

func (b *bundle) message(name string, m proto.Message) {
	text, err := protojson.MarshalOptions{Multiline: true}.Marshal(m)
	if err != nil {
		b.lacks("%s: %v", name, err)
		return
	}
	b.add(name, text)
}

func writeDebug(cmd *cobra.Command, a *cli.App, out string) error {
	f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write archive: %w: name another file with --out", err)
	}
	b := &bundle{files: map[string][]byte{}}
	cluster := askCluster(cmd, a)
	found, err := json.MarshalIndent(judgeCluster(cluster), "", "  ")
	if err == nil {
		b.add("doctor.json", found)
	}
	if cluster.Status != nil {
		b.message("status.json", cluster.Status)
		b.message("hosts.json", &vigilv1.ListHostsResponse{Hosts: cluster.Hosts})
	}
	for id, seen := range cluster.Servers {
		b.message("servers/"+fileName(id)+"/servers.json", &vigilv1.ListServersResponse{Servers: seen})
	}
	for id, err := range cluster.Deaf {
		b.lacks("server %s: %v", id, err)
	}
	asked := a.Ask(cmd, func(ctx context.Context, conn *cli.Conn) error {
		var each sync.WaitGroup
		for _, s := range cluster.Status.GetServers() {
			if cluster.Servers[s.GetId()] != nil {
				each.Go(func() { b.server(ctx, conn, s) })
			}
		}
		b.states(ctx, conn)
		b.events(ctx, conn)
		each.Wait()
		return nil
	})
	if asked != nil {
		b.lacks("the cluster: %v", asked)
	}
	if err := errors.Join(b.write(f, a.Now()), f.Close()); err != nil {
		_ = os.Remove(out) // half of it helps nobody
		return fmt.Errorf("write archive: %w", err)
	}
	for _, lack := range b.wrong {
		if err := a.Printf("left out: %s\n", lack); err != nil {
			return err
		}
	}
	if cluster.Err != nil {
		return cluster.Err
	}
	return a.Done(map[string]any{"file": out, "files": len(b.files), "left_out": len(b.wrong)},
		"%s: %d files; look into it before you send it", out, len(b.files))
}

// server asks one server for all that it tells of itself.
func (b *bundle) server(ctx context.Context, conn *cli.Conn, s *vigilv1.Server) {
	ctx, cancel := context.WithTimeout(ctx, debugOne)
	defer cancel()
	k, err := conn.Direct(s.GetApiAddr())
	if err != nil {
		b.lacks("server %s: %v", s.GetId(), err)
		return
	}
	defer k.Close()
	d, err := vigilv1.NewClusterClient(k).Diagnose(ctx, &vigilv1.DiagnoseRequest{})
	if err != nil {
		b.lacks("server %s: %v", s.GetId(), err)
		return
	}
	for name, text := range map[string][]byte{"config.yaml": []byte(d.GetConfig()), "log.txt": []byte(d.GetLog()),
		"metrics.txt": []byte(d.GetMetrics()), "raft.txt": []byte(d.GetRaft()), "goroutines.pb.gz": d.GetGoroutines(),
		"heap.pb.gz": d.GetHeap(), "cpu.pb.gz": d.GetCpu(), "version.txt": []byte(d.GetVersion() + "\n")} {
		b.add("servers/"+fileName(s.GetId())+"/"+name, text)
	}
}

// events takes the newest events without their texts: these may quote tasks and mail.
func (b *bundle) events(ctx context.Context, conn *cli.Conn) {
	list, err := vigilv1.NewDeskClient(conn).ListEvents(ctx, &vigilv1.ListEventsRequest{Limit: mostEvents})
	if err != nil {
		b.lacks("events: %v", err)
		return
	}
	for _, e := range list.GetEvents() {
		e.Text = ""
	}
	b.message("events.json", list)
}

// fileName is a name that somebody else has chosen, as the name of a folder.
func fileName(id string) string {
	safe := []byte(id)
	for i, c := range safe {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			safe[i] = '_'
		}
	}
	return string(safe)
}

func (b *bundle) write(f *os.File, now time.Time) error {
	packed := gzip.NewWriter(f)
	w := tar.NewWriter(packed)
	for _, name := range sortedKeys(b.files) {
		text := b.files[name]
		if err := w.WriteHeader(&tar.Header{Name: "vigil-debug/" + name, Mode: 0o600,
			Size: int64(len(text)), ModTime: now}); err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), packed.Close())
}
