//go:build unix

package backups

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"vigil/cluster/backup"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/conf"
	"vigil/cmd/vigil/term"
)

// defaultConfig is where packages put the configuration of a server.
const defaultConfig = "/etc/vigil/server.yaml"

// where are the flags that say which backups are meant.
type where struct {
	config, cluster string
	place           conf.Place
}

func (w *where) flags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVarP(&w.config, "config", "c", defaultConfig, "configuration of a server, which says where backups are")
	fl.StringVar(&w.place.To, "from", "", "where they are, in place of --config: a directory, or s3://bucket/prefix")
	fl.StringVar(&w.place.Endpoint, "endpoint", "", "of S3 with --from, https://host")
	fl.StringVar(&w.place.Region, "region", "", "of S3 with --from")
	fl.StringVar(&w.place.CredentialsFile, "credentials-file", "", "of S3 with --from, in the form of ~/.aws/credentials")
	fl.StringVar(&w.cluster, "cluster", "", "only backups of this cluster")
	cmd.MarkFlagsMutuallyExclusive("config", "from")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml") // the flags are there
}

// open gives the place with the backups.
func (w *where) open() (backup.Target, error) {
	place := w.place
	if place.To == "" {
		if place != (conf.Place{}) {
			return nil, cli.Usagef("--endpoint, --region and --credentials-file go with --from: say where the backups are")
		}
		set, err := conf.ReadServer(w.config)
		if err != nil {
			return nil, err
		}
		if place = set.BackupPlace(); place.To == "" {
			return nil, cli.Usagef("%s says nothing of backups: set backup.to, or give --from", w.config)
		}
	}
	to, err := place.Open("", os.TempDir())
	if err != nil {
		return nil, cli.WrongUsage(err)
	}
	return to, nil
}

// list gives the backups that are meant, the newest by index first.
func (w *where) list(ctx context.Context) (backup.Target, []backup.Name, error) {
	from, err := w.open()
	if err != nil {
		return nil, nil, err
	}
	list, err := from.List(ctx, w.cluster)
	if err != nil {
		return nil, nil, err
	}
	backup.ByIndex(list)
	return from, list, nil
}

// choose gives the one that which means: latest, or an index.
func (w *where) choose(list []backup.Name, which string) (backup.Name, error) {
	index, err := strconv.ParseUint(which, 10, 64)
	if which != "latest" && err != nil {
		return backup.Name{}, cli.Usagef("%q is no backup: write latest, or an index that vigil backup list shows",
			term.OneLine(which))
	}
	clusters := map[string]bool{}
	for _, n := range list {
		clusters[n.Cluster] = true
	}
	if len(clusters) > 1 {
		return backup.Name{}, cli.Usagef("there are backups of %d clusters: choose one with --cluster", len(clusters))
	}
	for _, n := range list {
		if which == "latest" || n.Index == index {
			return n, nil
		}
	}
	return backup.Name{}, cli.ExitWith(cli.ExitNotFound, fmt.Errorf("there is no backup %s: see vigil backup list", which))
}

// NewCommand is `vigil backup`.
func NewCommand(a *cli.App) *cobra.Command {
	return cli.NewGroup("backup", "List, check and restore the backups that servers make",
		newListCmd(a), newCheckCmd(a), newRestoreCmd(a))
}

func newListCmd(a *cli.App) *cobra.Command {
	var w where
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the backups, the newest first; needs no server",
		Args:  cobra.NoArgs,
		Example: "  vigil backup list\n" +
			"  vigil backup list --from s3://vault/vigil --credentials-file ~/.aws/credentials",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := a.Bound(cmd.Context())
			defer cancel()
			_, list, err := w.list(ctx)
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(map[string]any{"backups": inJSON(list)})
			}
			t := term.NewTable(">INDEX", "MADE", "ENCRYPTED", "CLUSTER~")
			for _, n := range list {
				t.Add(fmt.Sprint(n.Index), n.Time().Format(time.RFC3339), yesNo(n.Encrypted), n.Cluster)
			}
			return a.PrintTable(t, "There are no backups.")
		},
	}
	w.flags(cmd)
	return cmd
}

func yesNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

func inJSON(list []backup.Name) []map[string]any {
	out := []map[string]any{}
	for _, n := range list {
		out = append(out, map[string]any{"index": n.Index, "made": n.Time().Format(time.RFC3339),
			"cluster": n.Cluster, "encrypted": n.Encrypted, "name": n.String()})
	}
	return out
}

// readKeys reads private keys of age; "" gives none.
func readKeys(name string) ([]age.Identity, error) {
	if name == "" {
		return nil, nil
	}
	f, _, err := cli.OpenFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	keys, err := age.ParseIdentities(f)
	if err != nil { // what the library says may hold a part of the key
		return nil, cli.Usagef("--identity %s holds no private key of age: give the file that age-keygen wrote", name)
	}
	return keys, nil
}
