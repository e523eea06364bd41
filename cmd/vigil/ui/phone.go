package ui

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"

	"rsc.io/qr"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/web"
)

// quiet is how many light modules surround a QR code, so that cameras find it.
const quiet = 2

// phone prints a link to the page of a server; at is where a proxy serves that page, "": the server itself.
func phone(ctx context.Context, a *cli.App, c *cli.Conn, at string) error {
	r, err := vigilv1.NewDeskClient(c).OpenPage(ctx, &vigilv1.OpenPageRequest{})
	if err != nil {
		return err
	}
	if at == "" {
		if at = "http://"; r.GetSecure() {
			at = "https://"
		}
		at += r.GetAddress() + "/"
	}
	link := at
	if r.GetCode() != "" {
		link += "#code=" + r.GetCode()
	}
	picture := ""
	if out, ok := a.Out.(*os.File); ok && term.OnTerminal(out) {
		if picture, err = drawn(link); err != nil {
			return err
		}
	}
	return a.Printf("%s%s\nThis page of server %s goes on as long as that server does. The link signs one browser in, "+
		"in your name, once, within 15 minutes.\n", picture, link, r.GetServer())
}

// pageURL refuses what is no address of a page.
func pageURL(at string) (*url.URL, error) {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.Fragment != "" || u.RawQuery != "" ||
		u.User != nil || web.CheckBase(u.Path) != nil {
		return nil, cli.Usagef("flag --url: %q is not the address of a page: give it like https://example.org/vigil/", at)
	}
	return u, nil
}

// drawn gives a link as a QR code, two modules a character, dark on light whatever the colours of the terminal are.
func drawn(link string) (string, error) {
	q, err := qr.Encode(link, qr.L)
	if err != nil {
		return "", fmt.Errorf("draw the link as a QR code: %w", err)
	}
	var b strings.Builder
	for y := -quiet; y < q.Size+quiet; y += 2 {
		b.WriteString("\x1b[38;5;16;48;5;231m")
		for x := -quiet; x < q.Size+quiet; x++ {
			switch up, down := q.Black(x, y), q.Black(x, y+1); {
			case up && down:
				b.WriteString("█")
			case up:
				b.WriteString("▀")
			case down:
				b.WriteString("▄")
			default:
				b.WriteString(" ")
			}
		}
		b.WriteString("\x1b[0m\n")
	}
	return b.String(), nil
}
