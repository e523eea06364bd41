package term

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"

	"golang.org/x/term"
)

// Redraw is a place where one output replaces the one before: on a terminal a screen of its own, in a pipe the
// next one below. Not safe for concurrent use.
type Redraw struct {
	t      *Terminal
	file   *os.File // nil: a pipe
	getenv func(string) string
	shown  []byte
}

// Redraw begins one; the caller ends it. getenv tells whether colours are wanted.
func (t *Terminal) Redraw(getenv func(string) string) *Redraw {
	r := &Redraw{t: t, getenv: getenv}
	if f, ok := t.Out.(*os.File); ok && term.IsTerminal(int(f.Fd())) && !t.JSON {
		r.file = f
		fmt.Fprint(f, "\x1b[?1049h\x1b[?25l")
	}
	return r
}

// OnScreen tells whether somebody looks at a terminal.
func (r *Redraw) OnScreen() bool { return r.file != nil }

// Measure looks how large the terminal is now, for what is printed next.
func (r *Redraw) Measure() {
	if r.file != nil {
		r.t.Screen = newScreen(r.file, r.getenv)
	}
}

// Show shows an output, with a line below it on a terminal. In a pipe it writes the output, unless it is the
// same as before but for durations, which pass by themselves.
func (r *Redraw) Show(text []byte, below string) error {
	if r.file == nil {
		if bytes.Equal(timeless(text), timeless(r.shown)) {
			return nil
		}
		if r.shown != nil && !r.t.JSON {
			text = append([]byte("\n"), text...)
		}
		r.shown = bytes.TrimPrefix(text, []byte("\n"))
		_, err := r.t.Out.Write(text)
		return err
	}
	r.shown = text
	width, height, err := term.GetSize(int(r.file.Fd()))
	if err != nil {
		width, height = 80, 24
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	if more := len(lines) - (height - 1); more > 0 {
		below = fmt.Sprintf("%s more; %s", Plural(more, "line"), below)
		lines = lines[:max(height-1, 0)]
	}
	var b strings.Builder
	b.WriteString("\x1b[H")
	for _, line := range lines {
		b.WriteString(line + "\x1b[0m\x1b[K\r\n")
	}
	b.WriteString("\x1b[J" + r.t.Screen.Faint(Cut(OneLine(below), width-1)))
	_, err = r.file.WriteString(b.String())
	return err
}

// End gives the terminal back, with the last output on it.
func (r *Redraw) End() {
	if r.file != nil {
		fmt.Fprint(r.file, "\x1b[?1049l\x1b[?25h")
		_, _ = r.file.Write(r.shown) // the terminal may have gone
	}
}

// durations are as Short and JSON write them; the spaces that align columns follow their widths.
var (
	durations = regexp.MustCompile(`\b(?:just now|\d+(?:\.\d+)?(?:ms|s|m|h|d)(?: \d+[sm])?(?: ago)?)\b`)
	spaces    = regexp.MustCompile(` +`)
)

// timeless is a text without its durations.
func timeless(text []byte) []byte {
	return spaces.ReplaceAll(durations.ReplaceAll(text, []byte(" 0s ")), []byte(" "))
}
