package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// terminal is what a command reads from and writes to.
type terminal struct {
	in       io.Reader
	out, err io.Writer
	now      func() time.Time
	screen   screen
	attended bool // somebody is at standard input and can be asked
	json     bool // objects with stable field names instead of text
	meter    meter
}

// newTerminal looks at what the process was given.
func newTerminal(in io.Reader, out, err io.Writer, getenv func(string) string) terminal {
	return terminal{in: in, out: out, err: err, now: time.Now, screen: newScreen(out, getenv), attended: onTerminal(in)}
}

// printf writes to standard output.
func (t *terminal) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(t.out, format, args...)
	return err
}

// done reports success: an object with --json, a line otherwise.
func (t *terminal) done(object map[string]any, format string, args ...any) error {
	if t.json {
		return t.printJSON(object)
	}
	return t.printf("%s\n", oneLine(fmt.Sprintf(format, args...)))
}

// pairs prints names and values below each other; empty values are left out.
func (t *terminal) pairs(namesAndValues ...string) error {
	width := 0
	for i := 0; i < len(namesAndValues); i += 2 {
		if namesAndValues[i+1] != "" {
			width = max(width, len(namesAndValues[i]))
		}
	}
	for i := 0; i < len(namesAndValues); i += 2 {
		if namesAndValues[i+1] == "" {
			continue
		}
		name := fmt.Sprintf("%-*s", width, namesAndValues[i])
		if err := t.printf("%s  %s\n", t.screen.faint(name), t.screen.states(oneLine(namesAndValues[i+1]))); err != nil {
			return err
		}
	}
	return nil
}

func onTerminal(in any) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
