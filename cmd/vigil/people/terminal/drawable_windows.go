package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

// drawable has a console understand escapes, and gives what undoes that.
func drawable(out *os.File) (restore func(), err error) {
	var mode uint32
	console := windows.Handle(out.Fd())
	if err := windows.GetConsoleMode(console, &mode); err != nil {
		return nil, err
	}
	if err := windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING); err != nil {
		return nil, err
	}
	return func() { _ = windows.SetConsoleMode(console, mode) }, nil // nobody is left to tell
}
