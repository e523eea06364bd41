package trust

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
)

// newRootCmd is `vigil root`.
func newRootCmd(a *cli.App) *cobra.Command {
	return cli.NewGroup("root", "The root certificates that everybody trusts", newRootStatusCmd(a), newRootRotateCmd(a))
}

func newRootStatusCmd(a *cli.App) *cobra.Command {
	return newStatusCmd(a, "Show the roots, and what the replacement of one waits for",
		func(ctx context.Context, c *cli.Conn) (*vigilv1.Roots, error) {
			return c.Trust.GetRoots(ctx, &vigilv1.GetRootsRequest{Stale: a.Stale})
		}, printRoots)
}

func printRoots(a *cli.App, roots *vigilv1.Roots) error {
	t := term.NewTable("ROOT", "FOR BROWSERS UNTIL", "USE")
	for _, r := range roots.GetRoots() {
		use := "trusted"
		if r.GetIssues() {
			use = "signs the keys of servers"
		}
		t.Add(r.GetFingerprint()[:min(16, len(r.GetFingerprint()))], r.GetNotAfter().AsTime().Format(time.DateOnly), use)
	}
	return printReport(a, roots, rootsText(roots), part{t, "there is no root"})
}

// printReplaced shows the roots, and says what nobody else can do: servers do not know of copies of the key.
func printReplaced(a *cli.App, roots *vigilv1.Roots) error {
	if err := printRoots(a, roots); err != nil || a.JSON {
		return err
	}
	return a.Printf("\nIf you keep a copy of root.key elsewhere, replace it: what the old one signs counts no more.\n")
}

// rootsText says where the replacement of a root stands.
func rootsText(roots *vigilv1.Roots) string {
	var waits []string
	if n := int(roots.GetBehindCount()); n > 0 {
		waits = append(waits, "for "+strings.Join(roots.GetBehind(), ", "))
		if more := n - len(roots.GetBehind()); more > 0 {
			waits[0] += fmt.Sprintf(" and %d more", more)
		}
	}
	if left := term.Span(roots.GetLeft()); left != "" {
		waits = append(waits, left+" for the certificates of people")
	}
	text := "There is one root."
	switch roots.GetStep() {
	case "spread":
		text = "The new root becomes known to every server and host; then it signs."
	case "retire":
		text = "Every server and host gets a certificate of the new root; then the old one goes."
	}
	if len(waits) == 0 {
		return text
	}
	return text + " It waits " + strings.Join(waits, "; and ") + "."
}

const aboutRotate = `Replace the root by a new one, while everybody works. Run it where the key of the root is, as the account
that the server there runs as.

The old root vouches for the new one, so nobody has to be told. Servers get new keys within seconds, hosts new
certificates within 6 hours; once nobody needs the old root, it goes by itself. A server or host that never
comes back is waited for: remove or forget it. The new key takes the place of the old one, which is no more: replace
the copies of root.key that you keep elsewhere.

With --lost there is no old key to vouch: the new root is made known first, and signs once every server and
host knows it. People who do not call in that time have to log in again.`

func newRootRotateCmd(a *cli.App) *cobra.Command {
	var data string
	var lost, yes bool
	cmd := &cobra.Command{
		Use: "rotate", Short: "Replace the root", Long: aboutRotate, Args: cobra.NoArgs,
		Example: "  vigil root rotate --data-dir vigil-data\n" +
			"  sudo -u vigil vigil root rotate --data-dir /var/lib/vigil-server --addr unix:/var/lib/vigil-server/admin.sock",
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir := trust.Dir(filepath.Join(data, "trust"))
			if lost {
				if _, err := a.ConfirmPlan("", "replaces the root without the old one's word", yes); err != nil {
					return err
				}
			}
			next, err := nextRoot(dir, lost)
			if err != nil {
				return err
			}
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				roots, err := c.Trust.ReplaceRoot(ctx, &vigilv1.ReplaceRootRequest{Chain: trust.DER(next.Chain), Lost: lost})
				if err != nil {
					return err
				}
				if err := dir.PromoteRoot(); err != nil {
					return fmt.Errorf("the cluster has the new root, its key has not taken its place yet; run this again: %w", err)
				}
				return printReplaced(a, roots)
			})
		},
	}
	cmd.Flags().StringVar(&data, "data-dir", "", "data directory of the server that has the key of the root")
	cmd.Flags().BoolVar(&lost, "lost", false, "the key of the root was lost")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask, with --lost")
	_ = cmd.MarkFlagRequired("data-dir") // the flags are there
	_ = cmd.MarkFlagDirname("data-dir")
	return cmd
}

// nextRoot makes the root that is to come and keeps it beside the present one. One that was made before,
// and did not get further, is taken again: the cluster may have it already.
func nextRoot(dir trust.Dir, lost bool) (*trust.Authority, error) {
	roots, err := dir.Roots()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Usagef("%s is no identity of a server: give the --data-dir of one", dir)
	}
	if err != nil {
		return nil, err
	}
	old, err := optional(dir, trust.RootFiles)
	if err != nil {
		return nil, err
	}
	switch {
	case old == nil && !lost:
		return nil, cli.ExitWith(cli.ExitFailed, fmt.Errorf("%s has no key of the root: put root.key back there, or "+
			"run this where it is; if it is lost, say --lost", dir))
	case old != nil && lost:
		return nil, cli.Usagef("%s has the key of the root: it is not lost; leave out --lost", dir)
	}
	next, err := optional(dir, trust.NextRootFiles)
	if err != nil {
		return nil, err
	}
	if next != nil && (lost || vouches(old, next)) {
		return next, nil
	}
	if lost {
		next, err = trust.NewRoot(roots.Cluster, time.Now())
	} else {
		next, err = old.Successor(time.Now())
	}
	if err != nil {
		return nil, err
	}
	return next, dir.Put(trust.NextRootFiles, next)
}

// vouches tells whether a root that was made before is the successor of the present one: that may have been
// replaced since.
func vouches(old, next *trust.Authority) bool {
	ok, err := trust.CheckRoot(old.Chain[0], next.Chain)
	return ok && err == nil
}

// optional reads a key and its chain; nil: there is none.
func optional(dir trust.Dir, name string) (*trust.Authority, error) {
	a, err := dir.Get(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return a, err
}
