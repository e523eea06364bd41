package term

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Screen is what is known about the place that output goes to.
type Screen struct {
	Width int  // columns; 0: not a terminal, nothing is cut
	Color bool // colours are wanted
}

func newScreen(w io.Writer, getenv func(string) string) Screen {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return Screen{}
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	return Screen{Width: width, Color: getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
}

// Paint sets text in a colour, given by its ANSI code, where colours are wanted.
func (s Screen) Paint(code, text string) string {
	if !s.Color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold sets text in bold, where that is wanted.
func (s Screen) Bold(text string) string { return s.Paint("1", text) }

// Faint sets text back, where that is wanted.
func (s Screen) Faint(text string) string { return s.Paint("2", text) }

// states colours the words that somebody looks for.
func (s Screen) states(line string) string {
	if !s.Color {
		return line
	}
	for _, w := range [...]struct{ word, code string }{
		{"FAILED", "31"}, {"QUARANTINED", "31"}, {"lost", "31"}, {"parked", "31"},
		{"COMPLETED", "32"}, {"ready", "32"}, {"ACTIVE", "32"},
		{"IN_PROGRESS", "36"}, {"ACKNOWLEDGED", "36"}, {"suspect", "33"}, {"CANCELED", "33"},
		{"unkillable", "31"}, {"returning", "33"}, {"draining", "33"}, {"paused", "33"},
	} {
		line = replaceWord(line, w.word, s.Paint(w.code, w.word))
	}
	return line
}

// replaceWord replaces the first occurrence of word that stands between spaces.
func replaceWord(line, word, by string) string {
	for at := 0; ; {
		i := strings.Index(line[at:], word)
		if i < 0 {
			return line
		}
		i += at
		end := i + len(word)
		if (i == 0 || line[i-1] == ' ') && (end == len(line) || line[end] == ' ') {
			return line[:i] + by + line[end:]
		}
		at = end
	}
}
