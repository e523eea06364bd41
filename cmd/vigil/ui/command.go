package ui

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
)

// DefaultPort is the first port that is tried.
const DefaultPort = 7430

// Commands are the commands of the page.
func Commands(a *cli.App) []*cobra.Command { return []*cobra.Command{newUICmd(a)} }

// newUICmd is `vigil ui`.
func newUICmd(a *cli.App) *cobra.Command {
	port, onPhone, at, session := DefaultPort, false, "", 12*time.Hour
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Show the fleet in a browser on this machine",
		Long: `Serve a page that shows the fleet live, lists what waits for you and takes your answers. It speaks
to the servers of the selected context in your name, and goes on when any of them is lost.

The page is served on loopback only. Open the link that is printed: it signs one browser in, once, within
15 minutes. Enter prints another link. A browser stays signed in until you sign out, for 12 hours without a
request (--session), or until this command ends.

With --phone nothing is served here: a link to the page of a server is printed, as a QR code too, for a device that
reaches the servers. It signs one browser in, in your name and with your rights.

Behind a proxy give the address at which browsers see the page with --url; the proxy may pass its path on or strip
it. Whoever reaches that address and has a link is you.`,
		Example: "  vigil ui\n  vigil ui --port 8080\n  vigil ui --context production\n  vigil ui --phone",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if port < 0 || port > 65_535 {
				return cli.Usagef("flag --port: %d is out of range, 0 to 65535 is allowed", port)
			}
			if session < time.Second || onPhone && cmd.Flags().Changed("session") {
				return cli.Usagef("flag --session: give at least 1s, and not with --phone: a server keeps its own sessions")
			}
			var behind *url.URL
			if at != "" {
				var err error
				if behind, err = pageURL(at); err != nil {
					return err
				}
			}
			if onPhone {
				return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error { return phone(ctx, a, c, at) })
			}
			l, err := Listen(port, cmd.Flags().Changed("port"))
			if err != nil {
				return err
			}
			return a.Follow(cmd, func(ctx context.Context, c *cli.Conn) error { return serve(ctx, a, c, l, behind, session) })
		},
	}
	cmd.Flags().IntVar(&port, "port", port, "listen on this port of 127.0.0.1 (0: any that is free)")
	cmd.Flags().DurationVar(&session, "session", session, "sign a browser out that has asked nothing for so long")
	cmd.Flags().BoolVar(&onPhone, "phone", false, "print a link to the page of a server, for another device")
	cmd.Flags().StringVar(&at, "url", "",
		"where a proxy serves the page, as https://example.org/vigil/; with --phone that of a server")
	return cmd
}

// Listen listens on a port of loopback, or on any that is free where nobody wants that one and no other.
func Listen(port int, asked bool) (net.Listener, error) {
	at := func(port int) (net.Listener, error) {
		return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	l, err := at(port)
	if errors.Is(err, syscall.EADDRINUSE) && !asked {
		l, err = at(0)
	}
	if err != nil {
		return nil, fmt.Errorf("serve the page: %w; another port may be free: --port 0", err)
	}
	return l, nil
}

// serve serves the page until ctx ends.
func serve(ctx context.Context, a *cli.App, c *cli.Conn, l net.Listener, behind *url.URL, session time.Duration) error {
	chosen, err := a.Chosen()
	if err != nil {
		l.Close()
		return err
	}
	self, _ := c.Self()
	s, err := Open(Config{Listener: l, Conn: c, At: behind, Self: cmp.Or(self, a.Me()), By: a.Me(), Cluster: chosen.From,
		Session: session})
	if err != nil {
		l.Close()
		return err
	}
	if err := a.Printf("Open %s\nThe link signs one browser in, once, within 15 minutes; Enter prints another. "+
		"Ctrl-C ends the page.\n", s.Link()); err != nil {
		l.Close()
		return err
	}
	go printLinks(a, s)
	return s.Run(ctx)
}

// printLinks prints a link for each Enter. It ends with the program, since nothing ends a read of a terminal.
func printLinks(a *cli.App, s *Server) {
	for lines := bufio.NewScanner(a.In); lines.Scan(); {
		if a.Printf("Open %s\n", s.Link()) != nil {
			return // nobody is there to read it
		}
	}
}
