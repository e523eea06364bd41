package shim

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"vigil/agentd/tmux"
)

// TerminalLimit bounds one Terminal call: a few commands of tmux, of which the first that is not answered, after ten
// seconds, is the last.
const TerminalLimit = 25 * time.Second

// ErrNoTerminal says that the life has no terminal that can be typed into and looked at.
var ErrNoTerminal = errors.New("the agent has no tmux session")

// TerminalRequest asks for something at the terminal of a life: first what is typed, then
// what is seen.
type TerminalRequest struct {
	Text  string // typed as a paste; empty: nothing
	Enter bool   // the Enter key after it
	// Interrupt presses the interrupt key; a shim of an older version does nothing then.
	Interrupt bool
	Look      bool // give what the terminal shows then
	Lines     int  // of what has scrolled out of it, with Look
	// Keys are bytes that a human's terminal sends, as hexadecimal digits.
	Keys string `json:",omitempty"`
	// Paint gives what the terminal shows with its colours, as tmux.ReadFrame reads it.
	Paint bool `json:",omitempty"`
	// Columns and Rows are the size that it gets before anything is typed, OwnSize gives it the one it began with; a
	// shim of an older version does neither.
	Columns, Rows int  `json:",omitempty"`
	OwnSize       bool `json:",omitempty"`
}

// terminal is a session of package tmux.
type terminal interface {
	Send(text string, enter bool) error
	Interrupt() error
	Type(keys []byte) error
	Paint() (string, error)
	Capture(lines int) (string, error)
	Resize(columns, rows int) error
}

// terminalAnswer is in the line that answers a TerminalRequest.
type terminalAnswer struct {
	Screen string `json:",omitempty"`
	Error  string `json:",omitempty"`
}

// serveTerminal answers on the connection that asked. It may take as long as
// TerminalLimit and holds up only that connection.
func (d *door) serveTerminal(conn net.Conn, r TerminalRequest) error {
	var a terminalAnswer
	screen, err := d.atTerminal(r)
	if a.Screen = screen; err != nil {
		a.Error = err.Error()
	}
	text, err := json.Marshal(struct{ Answer *terminalAnswer }{&a})
	if err != nil {
		return err
	}
	_ = conn.SetWriteDeadline(time.Now().Add(sayLimit))
	_, err = conn.Write(append(text, '\n'))
	return err
}

func (d *door) atTerminal(r TerminalRequest) (string, error) {
	d.mu.Lock()
	t, frozen := d.terminal, d.status.Frozen
	d.mu.Unlock()
	switch {
	case t == nil:
		return "", ErrNoTerminal
	case frozen: // its tmux server is, too
		return "", errors.New("the agent is frozen until its fence is confirmed")
	}
	if r.OwnSize || r.Columns != 0 || r.Rows != 0 {
		columns, rows := r.Columns, r.Rows
		if r.OwnSize {
			columns, rows = 0, 0
		}
		if err := t.Resize(columns, rows); err != nil {
			return "", err
		}
	}
	if r.Text != "" || r.Enter {
		if err := t.Send(r.Text, r.Enter); errors.Is(err, tmux.ErrHalf) {
			return r.Text, err // with an error, a screen says that not nothing was typed
		} else if err != nil {
			return "", err
		}
	}
	if r.Interrupt {
		if err := t.Interrupt(); err != nil {
			return "", err
		}
	}
	if r.Keys != "" {
		keys, err := hex.DecodeString(r.Keys)
		if err == nil {
			err = t.Type(keys)
		}
		if err != nil {
			return "", err
		}
	}
	switch {
	case r.Paint:
		return t.Paint()
	case !r.Look:
		return "", nil
	}
	return t.Capture(r.Lines)
}

// Terminal types into the terminal of the life and gives what it shows, if that is
// asked for. It has a connection of its own, so what agentd must say to the shim never
// waits for it. It is safe for concurrent use.
func (s *Shim) Terminal(ctx context.Context, r TerminalRequest) (screen string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	conn, err := s.dial()
	if err != nil {
		return "", fmt.Errorf("reach shim: %w", err)
	}
	defer conn.Close()
	end := time.Now().Add(TerminalLimit)
	if d, ok := ctx.Deadline(); ok && d.Before(end) {
		end = d
	}
	_ = conn.SetDeadline(end)
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	text, err := json.Marshal(request{Terminal: &r})
	if err == nil {
		_, err = conn.Write(append(text, '\n'))
	}
	if err != nil {
		if ctx.Err() != nil { // which has closed the connection
			err = ctx.Err()
		}
		return "", fmt.Errorf("ask shim: %w", err)
	}
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, maxScreen)
	for lines.Scan() {
		var word struct{ Answer *terminalAnswer }
		if json.Unmarshal(lines.Bytes(), &word) != nil || word.Answer == nil {
			continue // the status, which comes first
		}
		if word.Answer.Error != "" {
			return word.Answer.Screen, errors.New(word.Answer.Error)
		}
		return word.Answer.Screen, nil
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	// A shim of a version without terminals reads past the request.
	return "", errors.New("the shim did not answer in time; one that was started by an older agentd " +
		"cannot: the agent's next life can")
}

// maxScreen bounds the line with a screen, in bytes.
const maxScreen = 4 << 20
