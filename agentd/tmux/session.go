package tmux

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Config says what to run. All fields but Args and Credential are required.
type Config struct {
	// Tmux is the program, as Find gives it.
	Tmux string
	// Folder is the life folder, absolute; the agent's user may pass through it. Open
	// makes the folder "tmux" in it, which belongs to that user.
	Folder string
	Path   string   // the agent's program, absolute
	Args   []string // without the program's name
	Dir    string   // absolute
	Env    []string // complete, with the marks of the life
	// Credential is whom the agent runs as; nil: as this process.
	Credential *syscall.Credential
	// Output gets what the program prints, as a terminal would get it, from one
	// goroutine.
	Output io.Writer
	// Start starts a process of the life's tree: it adds SysProcAttr (credential,
	// group, death signal, cgroup) and calls cmd.Start. This package waits for cmd.
	// Start must be safe for concurrent use.
	Start func(cmd *exec.Cmd) error
}

// Exit says how the program ended.
type Exit struct {
	Code   int    // exit status; -1 when a signal ended it, or when nobody knows
	Signal string // "killed", "terminated", ...; Unknown when nobody knows
}

// Unknown is the signal of an end that tmux has not seen: its server is gone, or is
// older than 3.3. The shim may know better: orphans of the server are its children.
const Unknown = "unknown"

// ErrNoTmux says that tmux cannot be used here. The caller may start the program
// without a terminal once nothing of the tree is left, and should say so.
var ErrNoTmux = errors.New("tmux cannot be used")

// ErrMissing is the ErrNoTmux of a host without the program.
var ErrMissing = fmt.Errorf("%w", ErrNoTmux)

const (
	// maxLine is the longest line, in bytes, that is read of what the agent's account writes.
	maxLine = 4 << 10
	// openLimit bounds the start of a server, which takes 15 ms on an idle machine.
	openLimit = 20 * time.Second
	// endLimit bounds the end of a server whose program has ended, and how long its
	// last words are awaited.
	endLimit = 2 * time.Second
)

// Session is a program in a terminal. It is safe for concurrent use.
type Session struct {
	config Config
	place  place
	pid    int
	server *exec.Cmd     // nil: not started
	gone   chan struct{} // closed when the server has ended
	copied chan struct{} // closed when all output was written
	bytes  atomic.Int64  // of output so far
	limit  time.Duration // 0: commandLimit
	typing sync.Mutex    // held while something is typed

	// Fifos. The writer keeps the output open until tmux writes to it.
	output, writer, status *os.File
}

// Open starts the program in a new terminal and returns once it runs. After an error
// the server is gone; the error is ErrNoTmux when the fault is not the program's.
func Open(config Config) (*Session, error) {
	s := &Session{config: config, place: placeIn(config.Folder), gone: make(chan struct{}), copied: make(chan struct{})}
	text, err := script(config)
	if err == nil {
		err = s.prepare(text)
	}
	if err == nil {
		err = s.start()
	}
	if err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

// start starts the server and learns the program's process from it.
func (s *Session) start() error {
	complaint := &head{max: 1 << 10}
	server := s.place.command(s.config, "-D", "-f", s.place.script())
	server.Stdout, server.Stderr, server.WaitDelay = complaint, complaint, endLimit
	if err := s.config.Start(server); err != nil {
		return fmt.Errorf("%w: start its server: %w", ErrNoTmux, err)
	}
	s.server = server
	go func() {
		_ = server.Wait() // how it ended says nothing about the program
		close(s.gone)
		s.writer.Close() // nobody else will write
		_ = s.status.SetReadDeadline(time.Now())
	}()
	if err := s.begin(); err != nil {
		return fmt.Errorf("%w: its server has started nothing: %s", ErrNoTmux, complaint.or(err))
	}
	_ = s.output.SetReadDeadline(time.Now().Add(openLimit))
	from := bufio.NewReaderSize(s.output, maxLine)
	first, err := from.ReadSlice('\n') // no longer than maxLine, whoever writes it
	line := string(first)
	if err != nil {
		return fmt.Errorf("%w: its server has started nothing: %s", ErrNoTmux, complaint.or(err))
	}
	if s.pid, err = strconv.Atoi(strings.TrimSpace(line)); err != nil || s.pid <= 1 {
		return fmt.Errorf("%w: it gives %q as the process of the program", ErrNoTmux, line)
	}
	_ = s.output.SetReadDeadline(time.Time{})
	s.writer.Close() // from here on the end of tmux's pipe is the end of the output
	go func() {
		defer close(s.copied)
		_, _ = io.Copy(io.MultiWriter(counter{&s.bytes}, s.config.Output), from) // end bounds it
	}()
	return nil
}

// counter counts what is written to it.
type counter struct{ n *atomic.Int64 }

func (c counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}

// drain waits until no more output comes, a second at most: tmux may still hold some
// of it when it tells the end of the program, and drops that when it is ended.
func (s *Session) drain() {
	const look = 20 * time.Millisecond
	last, still := s.bytes.Load(), 0
	for range time.Second / look {
		select {
		case <-s.copied:
			return
		case <-time.After(look):
		}
		now := s.bytes.Load()
		if still++; now != last {
			last, still = now, 0
		}
		if still == 2 {
			return
		}
	}
}

// begin makes the server read its configuration, which it does for its first client.
func (s *Session) begin() error {
	for end := time.Now().Add(openLimit); ; time.Sleep(time.Millisecond) {
		_, err := os.Lstat(s.place.socket())
		early := err != nil
		if err == nil {
			_, err = s.tmux(nil, "has-session", "-t", sessionName)
			// The socket can be seen a moment before the server listens.
			early = err != nil && (strings.Contains(err.Error(), "connecting to") ||
				strings.Contains(err.Error(), "no server running"))
		}
		if !early || time.Now().After(end) {
			return err
		}
		select {
		case <-s.gone:
			return err
		default:
		}
	}
}

// PID is the program's process; its group and session have the same number.
func (s *Session) PID() int { return s.pid }

// Server is the process of the tmux server. A freeze must stop it first.
func (s *Session) Server() int { return s.server.Process.Pid }

// Wait blocks until the program has ended or the server is gone, ends the server and
// returns once the output was written. Descendants of the program may be left. Call it
// once.
func (s *Session) Wait() Exit {
	told := make(chan struct{})
	defer close(told)
	stop := whenGone(s.pid, func() { s.remind(told) })
	defer stop()
	exit := Exit{Code: -1, Signal: Unknown}
	for lines := bufio.NewReaderSize(s.status, maxLine); ; {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			continue // the fifo is the agent's, who may write anything into it
		}
		if err != nil {
			break
		}
		if e, ok := parseStatus(string(line)); ok {
			exit = e
			s.drain()
			break
		}
	}
	s.end()
	return exit
}

// remind sees to it that the end of the program, which is a fact, is told soon. tmux
// 3.3a now and then misses the signal of a child that ended, and looks for all that have at
// the next one; and a descendant that prints without a pause keeps it busy.
func (s *Session) remind(told <-chan struct{}) {
	const every = 20 * time.Millisecond
	for range endLimit / every {
		_ = s.server.Process.Signal(syscall.SIGCHLD) // it may be gone
		select {
		case <-told:
			return
		case <-time.After(every):
		}
	}
	_ = s.status.SetReadDeadline(time.Now())
}

// parseStatus reads "1 CODE SIGNAL": the pane is dead, and one of the other two.
func parseStatus(line string) (Exit, bool) {
	fields := strings.Split(strings.TrimSuffix(line, "\n"), " ")
	if len(fields) != 3 || fields[0] != "1" {
		return Exit{}, false
	}
	if n, err := strconv.Atoi(fields[2]); err == nil && n > 0 {
		return Exit{Code: -1, Signal: syscall.Signal(n).String()}, true
	}
	if n, err := strconv.Atoi(fields[1]); err == nil {
		return Exit{Code: n}, true
	}
	return Exit{Code: -1, Signal: Unknown}, true
}

// end ends the server, waits for the last output and closes everything.
func (s *Session) end() {
	if s.server != nil {
		_ = s.server.Process.Signal(syscall.SIGTERM) // it may be gone
		if !within(s.gone) {
			_ = s.server.Process.Kill()
			within(s.gone)
		}
		_ = os.Remove(s.place.socket()) // nobody listens any more
		if s.pid > 0 && !within(s.copied) {
			_ = s.output.SetReadDeadline(time.Now())
			within(s.copied) // not for ever: its disk may hang
		}
	}
	for _, f := range []*os.File{s.output, s.writer, s.status} {
		if f != nil {
			f.Close()
		}
	}
}

// within waits for c, endLimit at most.
func within(c <-chan struct{}) bool {
	t := time.NewTimer(endLimit)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	}
}
