package term

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// Terminal is what a command reads from and writes to.
type Terminal struct {
	In       io.Reader
	Out, Err io.Writer
	Now      func() time.Time
	Screen   Screen
	Attended bool // somebody is at standard input and can be asked
	JSON     bool // objects with stable field names instead of text
	meter    meter
}

// NewTerminal looks at what the process was given.
func NewTerminal(in io.Reader, out, err io.Writer, getenv func(string) string) Terminal {
	return Terminal{In: in, Out: out, Err: err, Now: time.Now, Screen: newScreen(out, getenv), Attended: OnTerminal(in)}
}

// Printf writes to standard output.
func (t *Terminal) Printf(format string, args ...any) error {
	_, err := fmt.Fprintf(t.Out, format, args...)
	return err
}

// Done reports success: an object with --json, a line otherwise.
func (t *Terminal) Done(object map[string]any, format string, args ...any) error {
	if t.JSON {
		return t.PrintJSON(object)
	}
	return t.Printf("%s\n", OneLine(fmt.Sprintf(format, args...)))
}

// Pairs prints names and values below each other; empty values are left out.
func (t *Terminal) Pairs(namesAndValues ...string) error {
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
		if err := t.Printf("%s  %s\n", t.Screen.Faint(name),
			t.Screen.states(OneLine(namesAndValues[i+1]))); err != nil {
			return err
		}
	}
	return nil
}

// OnTerminal tells whether in is a file that is a terminal.
func OnTerminal(in any) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
