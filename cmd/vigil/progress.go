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
func (t *terminal) progress(format string, args ...any) {
	f, ok := t.err.(*os.File)
	if !ok || t.json || !term.IsTerminal(int(f.Fd())) {
		return
	}
	if now := t.now(); now.Sub(t.meter.last) >= 100*time.Millisecond {
		t.meter.last, t.meter.shown = now, true
		fmt.Fprintf(t.err, "\r\x1b[K%s", cut(oneLine(fmt.Sprintf(format, args...)), max(t.screen.width, 40)-1))
	}
}

// progressEnd takes the line away.
func (t *terminal) progressEnd() {
	if t.meter.shown {
		fmt.Fprint(t.err, "\r\x1b[K")
		t.meter = meter{}
	}
}
