package term

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
	part  string // of the whole, at the beginning of the line
}

// ProgressPart says of what the next lines of progress are a part, as "3 of 12: "; "" takes it back.
func (t *Terminal) ProgressPart(format string, args ...any) {
	t.meter.part = fmt.Sprintf(format, args...)
}

// Progress rewrites the line, a few times a second at most and only for people.
func (t *Terminal) Progress(format string, args ...any) {
	f, ok := t.Err.(*os.File)
	if !ok || t.JSON || !term.IsTerminal(int(f.Fd())) {
		return
	}
	if now := t.Now(); now.Sub(t.meter.last) >= 100*time.Millisecond {
		t.meter.last, t.meter.shown = now, true
		fmt.Fprintf(t.Err, "\r\x1b[K%s", Cut(OneLine(t.meter.part+fmt.Sprintf(format, args...)), max(t.Screen.Width, 40)-1))
	}
}

// ProgressEnd takes the line away.
func (t *Terminal) ProgressEnd() {
	if t.meter.shown {
		fmt.Fprint(t.Err, "\r\x1b[K")
		t.meter = meter{part: t.meter.part}
	}
}
