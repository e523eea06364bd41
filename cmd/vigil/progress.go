package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/term"
)

// meter is the line on standard error that long work rewrites.
type meter struct {
	shown bool
	last  time.Time
}

// progress rewrites the line, a few times a second at most and only for people.
func (a *app) progress(format string, args ...any) {
	f, ok := a.err.(*os.File)
	if !ok || a.json || !term.IsTerminal(int(f.Fd())) {
		return
	}
	if now := a.now(); now.Sub(a.meter.last) >= 100*time.Millisecond {
		a.meter.last, a.meter.shown = now, true
		fmt.Fprintf(a.err, "\r\x1b[K%s", cut(oneLine(fmt.Sprintf(format, args...)), max(a.screen.width, 40)-1))
	}
}

// progressEnd takes the line away.
func (a *app) progressEnd() {
	if a.meter.shown {
		fmt.Fprint(a.err, "\r\x1b[K")
		a.meter = meter{}
	}
}
