package terminal

import (
	"fmt"
	"io"
	"os"

	tty "golang.org/x/term"

	"vigil/cmd/vigil/term"
)

// raw gives keys as they come, to a screen of its own; restore undoes that. Both are terminals.
func raw(in io.Reader, out io.Writer) (restore func(), err error) {
	keyboard, screen := in.(*os.File), out.(*os.File)
	undo, err := drawable(screen)
	if err != nil {
		return nil, fmt.Errorf("prepare this terminal: %w", err)
	}
	state, err := tty.MakeRaw(int(keyboard.Fd()))
	if err != nil {
		undo()
		return nil, fmt.Errorf("prepare this terminal: %w", err)
	}
	_, _ = io.WriteString(screen, "\x1b[?1049h")
	return func() {
		_, _ = io.WriteString(screen, term.Restored())
		_ = tty.Restore(int(keyboard.Fd()), state) // nobody is left to tell
		undo()
	}, nil
}

// sizeOf tells how large a terminal is at each time that it is asked.
func sizeOf(out io.Writer) func() (columns, rows int) {
	screen := out.(*os.File)
	return func() (columns, rows int) {
		columns, rows, err := tty.GetSize(int(screen.Fd()))
		if err != nil || columns < 1 || rows < 1 {
			return 80, 24
		}
		return columns, rows
	}
}
