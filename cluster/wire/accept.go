package wire

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// Bounds of connections that have not proved yet who they are. Nobody else's handshakes count: this
// port is the servers' own, so a flood of clients keeps no server from another.
const (
	mostOpening = 256 // at a time
	mostFrom    = 32  // of them from one address
)

// opening counts the connections that are being opened. The Transport's lock guards it.
type opening struct {
	all  int
	from map[string]int
}

func (o *opening) enter(host string) bool {
	if o.all >= mostOpening || o.from[host] >= mostFrom {
		return false
	}
	o.all++
	o.from[host]++
	return true
}

func (o *opening) leave(host string) {
	o.all--
	if o.from[host]--; o.from[host] == 0 {
		delete(o.from, host)
	}
}

// accept takes connections until Close.
func (t *Transport) accept() {
	const least, longest = 5 * time.Millisecond, time.Second
	wait := least
	for {
		raw, err := t.cfg.Listener.Accept()
		if err == nil {
			wait = least
			t.admit(raw)
			continue
		}
		select {
		case <-t.ctx.Done():
			return
		default:
			t.cfg.Logger.Error("failed to accept connection", "error", err)
		}
		select {
		case <-t.ctx.Done():
			return
		case <-time.After(wait):
			wait = min(2*wait, longest)
		}
	}
}

// admit opens a connection in the background, when not too many are being opened.
func (t *Transport) admit(raw net.Conn) {
	host := hostOf(raw)
	t.mu.Lock()
	ok := t.opening.enter(host)
	t.mu.Unlock()
	if !ok {
		t.cfg.Reject(atCrowd, host, errors.New("too many connections are being opened"))
		raw.Close()
		return
	}
	go func() {
		c := t.take(raw)
		var what string
		var err error = net.ErrClosed
		if c != nil {
			what, err = c.meet()
		}
		t.mu.Lock()
		t.opening.leave(host)
		t.mu.Unlock()
		switch {
		case c == nil:
		case err == nil:
			t.serve(c)
		default:
			if !errors.Is(err, io.EOF) && !c.closed() { // else somebody tried the port, or has got an answer
				t.cfg.Reject(what, c.who(), err)
			}
			c.Close()
		}
	}()
}

// meet finds out who has connected, and what for. It answers a question, and then the error is io.EOF;
// else it tells what failed.
func (c *conn) meet() (what string, err error) {
	t := c.layer
	if err := c.bound(openBound); err != nil {
		return atHandshake, err
	}
	if t.server != nil {
		if what, err := c.secure(tls.Server(c.raw, t.server), ""); err != nil {
			return what, err
		}
	}
	line, err := readLine(c, lineBound)
	if err != nil {
		if !errors.Is(err, io.EOF) {
			err = fmt.Errorf("no greeting: %w", err)
		}
		return atGreeting, err
	}
	from := ""
	if p := c.peer.Load(); p != nil {
		from = p.ID
	}
	if answer := t.cfg.Answer(from, line); answer != "" {
		_, _ = fmt.Fprintln(c, answer) // whoever asked may be gone
		return "", io.EOF
	}
	word, cluster, _ := strings.Cut(line, " ")
	if word != Greeting {
		return atGreeting, fmt.Errorf("peer does not speak %s: %.80q", Greeting, line)
	}
	if err := t.cfg.Learn(cluster); err != nil {
		return atGreeting, err
	}
	return "", c.bound(0)
}
