package tmux

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// maxShown bounds what one command may print, in bytes. The server runs as the agent: what it says may be
// endless, and this process is spared when the kernel looks for memory.
const maxShown = 1 << 20

// commandLimit bounds one command to the server, which may be frozen.
const commandLimit = 10 * time.Second

// agentPane is the terminal of the agent: the first one that its server has made, and its alone whatever the agent
// does with panes, windows and the session. The active one, which the session stands for, may be another that the
// agent has opened beside it.
const agentPane = "%0"

// leave are commands that end the modes in which tmux shows something of its own in the pane, such as the copy mode of
// somebody who has scrolled back: keys would go to these. Copy mode ends in all versions of tmux; the others do since
// 3.2, and before that the commands fail, so nothing is said to be typed.
var leave = []string{
	"if-shell", "-F", "-t", agentPane, "#{m:copy-mode,#{pane_mode}}",
	"send-keys -t " + quote(agentPane) + " -X cancel", ";",
	"if-shell", "-F", "-t", agentPane, "#{pane_in_mode}", "copy-mode -q -t " + quote(agentPane), ";",
}

// pasteGap is the time between a paste and the Enter key after it. Tools take keys that come right behind a paste
// for a part of it, Claude Code for 100 ms and Gemini CLI for 40 ms: the line would stand there unsent.
const pasteGap = 250 * time.Millisecond

// typistSpan is for how long after their last key people who are attached on this host are taken to type.
const typistSpan = time.Minute

// ErrTyping says that nothing was typed, because somebody does who is attached to the terminal on its host.
var ErrTyping = errors.New("a human types at the terminal, who is attached to it on its host")

// Send types text into the terminal, as a paste, and then the Enter key when enter is
// set. It travels over a pipe, so nobody sees it in the list of processes. Nothing is typed (ErrTyping) while a human
// types on this host.
func (s *Session) Send(text string, enter bool) error {
	if text == "" && !enter {
		return nil
	}
	if !Take(context.Background(), &s.typing) {
		return errBusy
	}
	defer s.typing.Unlock()
	if err := s.typist(); err != nil {
		return err
	}
	if text != "" {
		_, err := s.tmux([]byte(text), append(slices.Clone(leave), "load-buffer", "-b", "vigil", "-", ";",
			"paste-buffer", "-d", "-p", "-b", "vigil", "-t", agentPane)...)
		if err != nil || !enter {
			return err
		}
		select {
		case <-time.After(pasteGap):
		case <-s.gone:
		}
	}
	_, err := s.tmux(nil, append(slices.Clone(leave), "send-keys", "-t", agentPane, "Enter")...)
	if err != nil && text != "" {
		err = fmt.Errorf("%w: %w", ErrHalf, err)
	}
	return err
}

// ErrHalf says that some of it was typed.
var ErrHalf = errors.New("the text was typed, but not the Enter key after it")

// takeLimit bounds the wait for others who type, and takeLook is the time between two tries.
const (
	takeLimit = 5 * time.Second
	takeLook  = 20 * time.Millisecond
)

// errBusy says that others type all the time, as while tmux hangs.
var errBusy = errors.New("others type at this terminal: try again in a moment")

// Take locks what is held by whoever types, unless others hold it for 5 s or ctx ends: keys that come when nobody waits
// for them any more answer what nobody has seen.
func Take(ctx context.Context, typing *sync.Mutex) bool {
	for until := time.Now().Add(takeLimit); !typing.TryLock(); {
		select {
		case <-time.After(takeLook):
		case <-ctx.Done():
			return false
		}
		if time.Now().After(until) {
			return false
		}
	}
	return true
}

// Interrupt presses the key that interrupts what runs in the terminal (control and c), but not (ErrTyping) while a
// human types on this host.
func (s *Session) Interrupt() error {
	if !Take(context.Background(), &s.typing) {
		return errBusy
	}
	defer s.typing.Unlock()
	if err := s.typist(); err != nil {
		return err
	}
	_, err := s.tmux(nil, append(slices.Clone(leave), "send-keys", "-t", agentPane, "C-c")...)
	return err
}

// typist is ErrTyping when a key has come of somebody who is attached, and not only to look, within typistSpan.
// Attaching counts as one.
func (s *Session) typist() error {
	clients, err := s.tmux(nil, "list-clients", "-F", "#{client_readonly} #{client_activity}")
	if err != nil {
		return err
	}
	for line := range strings.Lines(clients) {
		var only, last int64
		if n, err := fmt.Sscanf(line, "%d %d", &only, &last); n != 2 || err != nil || only != 0 {
			continue
		}
		if ago := time.Since(time.Unix(last, 0)); ago.Abs() < typistSpan { // a clock may be set back
			return ErrTyping
		}
	}
	return nil
}

// Type types bytes as a terminal sends them: letters in UTF-8, and keys as their escapes. They travel over a
// pipe as numbers, so tmux gives none of them a meaning of its own, and nobody sees them in the list of
// processes.
func (s *Session) Type(keys []byte) error {
	if len(keys) == 0 {
		return nil
	}
	if !Take(context.Background(), &s.typing) { // not between a paste and its Enter
		return errBusy
	}
	defer s.typing.Unlock()
	line := []byte("send-keys -t " + quote(agentPane) + " -H")
	for _, b := range keys {
		line = fmt.Appendf(line, " %02x", b)
	}
	_, err := s.tmux(append(line, '\n'), append(slices.Clone(leave), "source-file", "-")...)
	return err
}

// The size that a terminal begins with.
const ownColumns, ownRows = 200, 50

// Fits tells whether a terminal may get that size.
func Fits(columns, rows int) bool {
	return columns >= 20 && columns <= 500 && rows >= 5 && rows <= 200
}

// Resize gives the terminal a size that Fits; 0 and 0 the one that it began with, or that of whoever is attached
// to it on this host.
func (s *Session) Resize(columns, rows int) error {
	own := columns == 0 && rows == 0
	if own {
		columns, rows = ownColumns, ownRows
	}
	if !Fits(columns, rows) {
		return fmt.Errorf("a terminal of %d columns and %d rows is not made", columns, rows)
	}
	args := []string{"resize-window", "-t", agentPane, "-x", strconv.Itoa(columns), "-y", strconv.Itoa(rows)}
	if own { // which resize-window has made manual
		args = append(args, ";", "set-option", "-w", "-u", "-t", agentPane, "window-size")
	}
	_, err := s.tmux(nil, args...)
	return err
}

// paintFormat is the first line of what Paint gives.
const paintFormat = "#{pane_width} #{pane_height} #{cursor_x} #{cursor_y} #{cursor_flag}"

// Paint gives what the terminal shows with its colours, as ReadFrame reads it.
func (s *Session) Paint() (string, error) {
	return s.tmux(nil, "display-message", "-p", "-t", agentPane, paintFormat, ";",
		"capture-pane", "-p", "-e", "-t", agentPane)
}

// Frame is what a terminal shows at one moment.
type Frame struct {
	Text          string // a line for each row, with the escapes of colours
	Columns, Rows int
	X, Y          int // of the cursor, from 0
	Hidden        bool
}

// maxSide is the most columns or rows that a terminal is believed to have.
const maxSide = 1000

// ReadFrame reads what Paint gives. The tmux behind it runs as the agent, and may say anything.
func ReadFrame(painted string) (Frame, error) {
	first, text, _ := strings.Cut(painted, "\n")
	f, shown := Frame{Text: graphics(strings.ToValidUTF8(text, "\uFFFD"))}, 0
	if n, err := fmt.Sscanf(first, "%d %d %d %d %d", &f.Columns, &f.Rows, &f.X, &f.Y, &shown); n != 5 || err != nil ||
		min(f.Columns, f.Rows) < 1 || max(f.Columns, f.Rows) > maxSide {
		return Frame{}, fmt.Errorf("tmux gives no size of the terminal but %q", first[:min(len(first), 64)])
	}
	f.X, f.Y, f.Hidden = min(max(f.X, 0), f.Columns-1), min(max(f.Y, 0), f.Rows-1), shown == 0
	return f, nil
}

// Capture gives what the terminal shows, without colours, and up to lines of what has
// scrolled out of it.
func (s *Session) Capture(lines int) (string, error) {
	return s.tmux(nil, "capture-pane", "-p", "-J", "-t", agentPane, "-S", strconv.Itoa(-max(lines, 0)))
}

// tmux runs one command and gives what it prints.
func (s *Session) tmux(input []byte, args ...string) (string, error) {
	out := &head{max: maxShown + 1}
	complaint := &head{max: 1 << 10}
	cmd := s.place.command(s.config, append([]string{"-N"}, args...)...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, complaint, time.Second
	if input != nil {
		cmd.Stdin = bytes.NewReader(input)
	}
	started := make(chan struct{})
	out.full = func() { <-started; _ = cmd.Process.Kill() } // it may have ended
	err := s.config.Start(cmd)
	close(started)
	if err != nil {
		return "", fmt.Errorf("start tmux: %w", err)
	}
	limit := cmp.Or(s.limit, commandLimit)
	late := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() }) // it may have ended
	err = cmd.Wait()
	if !late.Stop() { // said before how it ended, which the shim may have taken
		return "", fmt.Errorf("tmux %s: the server of the terminal has not answered within %s", args[0], limit)
	}
	if out.size() > maxShown {
		return "", fmt.Errorf("tmux %s: it prints more than %d bytes", args[0], maxShown)
	}
	if errors.Is(err, syscall.ECHILD) && complaint.empty() {
		err = nil // the shim reaps whatever it sees
	}
	if err != nil {
		return "", fmt.Errorf("tmux %s: %s", args[0], complaint.or(err))
	}
	return out.text(), nil
}

// head keeps the beginning of what is written to it. It is safe for concurrent use.
type head struct {
	max  int
	full func() // called when it is full; nil: nobody is

	mu  sync.Mutex
	buf []byte
}

// Write takes everything.
func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.buf = append(h.buf, p[:min(len(p), h.max-len(h.buf))]...)
	if len(h.buf) == h.max && h.full != nil {
		h.full()
	}
	return len(p), nil
}

func (h *head) size() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.buf)
}

func (h *head) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.buf)
}

func (h *head) empty() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.buf) == 0
}

// or gives the complaint on one line, or the error when there is none.
func (h *head) or(err error) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if text := strings.Join(strings.Fields(string(h.buf)), " "); text != "" {
		return text
	}
	return err.Error()
}
