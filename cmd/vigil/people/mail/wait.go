package mail

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/people/events"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// awaitAcks waits until each copy is acknowledged or has expired: events say when to
// look, and it looks now and then anyway.
func (d *draft) awaitAcks(ctx context.Context, c *cli.Conn, answer *vigilv1.SendMailResponse) error {
	sent := answer.GetMails()
	watch, cancel := context.WithCancel(ctx)
	defer cancel()
	var changed <-chan struct{}
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	defer d.ProgressEnd()
	var copies []*vigilv1.Mail
	for {
		// Numbers of copies follow each other, so these are the first of their thread.
		list, err := c.Mail.ListMail(ctx, &vigilv1.ListMailRequest{Thread: answer.GetThread(), After: sent[0] - 1,
			Limit: uint32(len(sent))})
		switch {
		case err == nil:
			copies = slices.DeleteFunc(list.GetMails(),
				func(m *vigilv1.Mail) bool { return m.GetId() > sent[len(sent)-1] })
			if changed == nil && len(copies) > 0 {
				changed = events.Signals(watch, c, about(copies))
			}
		case ctx.Err() == nil:
			return err
		}
		open := unacknowledged(copies)
		if err == nil && len(open) == 0 {
			d.ProgressEnd()
			return d.acksOver(sent, copies)
		}
		if err == nil {
			d.Progress("%d of %d copies are acknowledged; %s", len(copies)-len(open), len(sent), waitsFor(open))
			select {
			case <-changed:
				continue
			case <-tick.C:
				continue
			case <-ctx.Done():
			}
		}
		return d.notAcknowledged(ctx, sent[0], open)
	}
}

// about asks for the events of those who have the copies.
func about(copies []*vigilv1.Mail) *vigilv1.WatchEventsRequest {
	if len(copies) == 1 {
		return &vigilv1.WatchEventsRequest{Agent: copies[0].GetTo(), Tail: true}
	}
	room, _, _ := strings.Cut(copies[0].GetTo(), "/")
	return &vigilv1.WatchEventsRequest{Room: room, Tail: true}
}

func unacknowledged(list []*vigilv1.Mail) (open []*vigilv1.Mail) {
	for _, m := range list {
		if m.GetState() == "queued" || m.GetState() == "delivered" {
			open = append(open, m)
		}
	}
	return open
}

// waitsFor says what is missing.
func waitsFor(open []*vigilv1.Mail) string {
	text := fmt.Sprintf("mail %d to %s is %s", open[0].GetId(), open[0].GetTo(), open[0].GetState())
	if n := len(open) - 1; n > 0 {
		text += fmt.Sprintf(", and %d more", n)
	}
	return text
}

// notAcknowledged is the error of a wait whose time is over.
func (d *draft) notAcknowledged(ctx context.Context, first uint64, open []*vigilv1.Mail) error {
	what := fmt.Sprintf("mail %d is sent", first)
	if len(open) > 0 {
		what = waitsFor(open)
	}
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return &client.Error{Code: "timeout",
			Message: fmt.Sprintf("%s, and was not acknowledged within %s; "+
				"it stays in the mailbox: see `vigil mail show %d`", what, d.Timeout, first)}
	}
	return fmt.Errorf("%s: %w", what, context.Cause(ctx))
}

// acksOver prints what became of the copies.
func (d *draft) acksOver(sent []uint64, copies []*vigilv1.Mail) error {
	bad := len(copies) < len(sent)
	var lines strings.Builder
	for _, m := range copies {
		if m.GetState() == "acknowledged" {
			fmt.Fprintf(&lines, "mail %d is acknowledged by %s\n", m.GetId(), m.GetTo())
			continue
		}
		bad = true
		fmt.Fprintf(&lines, "mail %d to %s has expired without an acknowledgement\n", m.GetId(), m.GetTo())
	}
	if n := len(sent) - len(copies); n > 0 {
		fmt.Fprintf(&lines, "%d copies are gone with their agents\n", n)
	}
	var err error
	if d.JSON {
		err = d.PrintJSON(&vigilv1.ListMailResponse{Mails: copies})
	} else {
		err = d.Printf("%s", lines.String())
	}
	if err == nil && bad {
		return cli.ExitWith(cli.ExitFailed, nil)
	}
	return err
}
