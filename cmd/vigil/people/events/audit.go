package events

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// auditLook is how often `vigil events --audit -f` asks for more.
const auditLook = time.Second

// auditFlags are those of `vigil events` that choose from the audit.
type auditFlags struct {
	on          bool
	who, method string
}

// check refuses flags that do not go together.
func (f *auditFlags) check(r *vigilv1.WatchEventsRequest) error {
	switch {
	case f.on && (r.GetAgent() != "" || r.GetTask() != 0):
		return cli.Usagef("flags --agent and --task: the audit is chosen from by --room, --who, --method and --after")
	case !f.on && (f.who != "" || f.method != ""):
		return cli.Usagef("flags --who and --method go with --audit")
	}
	return nil
}

// printAudit prints who has changed what, and with follow also what is changed from now on.
func printAudit(cmd *cobra.Command, a *cli.App, r *vigilv1.ListAuditRequest, follow bool) error {
	ask := a.Ask
	if follow {
		ask = a.Follow
	}
	found := false
	err := ask(cmd, func(ctx context.Context, c *cli.Conn) error {
		return readAudit(ctx, c, r, follow, func(e *vigilv1.AuditEntry) error {
			found = true
			if a.JSON {
				return a.PrintJSON(e)
			}
			return printAuditEntry(a, e)
		})
	})
	if err == nil && !found && !a.JSON {
		fmt.Fprintln(a.Err, "There are no such entries in the audit.")
	}
	return err
}

// readAudit calls fn for every entry; with follow until ctx ends, and again when a server is lost.
func readAudit(ctx context.Context, c *cli.Conn, r *vigilv1.ListAuditRequest, follow bool,
	fn func(*vigilv1.AuditEntry) error) error {
	began := time.Now()
	r.Limit = 1000
	for {
		page, err := c.Trust.ListAudit(ctx, r)
		switch {
		case err == nil:
			for _, e := range page.GetEntries() {
				if err := fn(e); err != nil {
					return err
				}
			}
			if r.After, r.Tail = page.GetNext(), false; page.GetMore() {
				continue
			}
			if !follow {
				return nil
			}
		case !follow || ctx.Err() != nil || c.Nobody(began) || !errors.Is(err, client.ErrUnavailable) &&
			!errors.Is(err, client.ErrNoLeader) && !errors.Is(err, client.ErrNotLeader):
			return err
		}
		select {
		case <-time.After(auditLook):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// printAuditEntry prints one entry on one line: when, who, what, about which room, from where, and the
// digest of the request.
func printAuditEntry(a *cli.App, e *vigilv1.AuditEntry) error {
	when := strings.Repeat(" ", len(time.DateTime))
	if at := e.GetAt(); at != nil {
		when = at.AsTime().Local().Format(time.DateTime)
	}
	cell := func(text string) string {
		if text == "" {
			return "-"
		}
		return term.OneLine(text)
	}
	return a.Printf("%s  %-16s  %-24s  %-12s  %-21s  %s\n", when, cell(e.GetWho()), cell(e.GetMethod()),
		cell(e.GetRoom()), cell(e.GetSource()), cell(e.GetDigest()))
}
