package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// screen is what is known about the place that output goes to.
type screen struct {
	width int  // columns; 0: not a terminal, nothing is cut
	color bool // colours are wanted
}

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

func newScreen(w io.Writer, getenv func(string) string) screen {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return screen{}
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	return screen{width: width, color: getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
}

// printf writes to standard output.
func (t *terminal) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(t.out, format, args...)
	return err
}

// column is one column of a table.
type column struct {
	head  string
	right bool // numbers
	flex  bool // may be cut to fit the screen
}

// table collects rows and prints them aligned. On a screen that is too narrow the
// widest flexible column is cut until the table fits.
type table struct {
	columns []column
	rows    [][]string
}

// newTable makes a table from heads: "NAME" is plain, ">COUNT" is set to the right,
// "WHY~" may be cut.
func newTable(heads ...string) *table {
	t := &table{}
	for _, h := range heads {
		c := column{right: strings.HasPrefix(h, ">"), flex: strings.HasSuffix(h, "~")}
		c.head = strings.TrimSuffix(strings.TrimPrefix(h, ">"), "~")
		t.columns = append(t.columns, c)
	}
	return t
}

func (t *table) add(cells ...string) {
	for i := range cells {
		cells[i] = oneLine(cells[i])
		if cells[i] == "" {
			cells[i] = "-"
		}
	}
	t.rows = append(t.rows, cells)
}

// printTable writes a table; one without rows prints empty instead.
func (t *terminal) printTable(tab *table, empty string) error {
	if len(tab.rows) == 0 {
		return t.printf("%s\n", empty)
	}
	widths := tab.widths(t.screen.width)
	heads := make([]string, len(tab.columns))
	for i, c := range tab.columns {
		heads[i] = c.head
	}
	if err := t.printf("%s\n", t.screen.bold(tab.line(heads, widths))); err != nil {
		return err
	}
	for _, row := range tab.rows {
		if err := t.printf("%s\n", t.screen.states(tab.line(row, widths))); err != nil {
			return err
		}
	}
	return nil
}

// widths gives the width of every column on a screen of that many columns.
func (t *table) widths(limit int) []int {
	widths := make([]int, len(t.columns))
	total := 2 * (len(t.columns) - 1)
	for i, c := range t.columns {
		widths[i] = utf8.RuneCountInString(c.head)
		for _, row := range t.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
		total += widths[i]
	}
	for limit > 0 && total > limit {
		widest := -1
		for i, c := range t.columns {
			if c.flex && widths[i] > 8 && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
		total--
	}
	return widths
}

func (t *table) line(cells []string, widths []int) string {
	var b strings.Builder
	for i, cell := range cells {
		if i > 0 {
			b.WriteString("  ")
		}
		cell = cut(cell, widths[i])
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		switch {
		case t.columns[i].right:
			b.WriteString(pad + cell)
		case i == len(cells)-1:
			b.WriteString(cell)
		default:
			b.WriteString(cell + pad)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// cut shortens text to width columns, with an ellipsis.
func cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:max(width-1, 0)]) + "…"
}

func (s screen) paint(code, text string) string {
	if !s.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s screen) bold(text string) string  { return s.paint("1", text) }
func (s screen) faint(text string) string { return s.paint("2", text) }

// states colours the words that somebody looks for.
func (s screen) states(line string) string {
	if !s.color {
		return line
	}
	for _, w := range [...]struct{ word, code string }{
		{"FAILED", "31"}, {"QUARANTINED", "31"}, {"lost", "31"}, {"parked", "31"},
		{"COMPLETED", "32"}, {"ready", "32"}, {"ACTIVE", "32"},
		{"IN_PROGRESS", "36"}, {"ACKNOWLEDGED", "36"}, {"suspect", "33"}, {"CANCELED", "33"},
		{"unkillable", "31"}, {"returning", "33"}, {"draining", "33"}, {"paused", "33"},
	} {
		line = replaceWord(line, w.word, s.paint(w.code, w.word))
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

// short prints a duration with its two largest units at most: 350ms, 12s, 3m 20s,
// 5h 2m, 3d.
func short(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + short(-d)
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 10*time.Minute && d%time.Minute >= time.Second:
		return fmt.Sprintf("%dm %ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 10*time.Hour && d%time.Hour >= time.Minute:
		return fmt.Sprintf("%dh %dm", int(d.Hours()), int(d.Minutes())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours())/24)
	}
}

var zeroUnits = regexp.MustCompile(`\b(\d+h)0m0s\b|\b(\d+h\d+m|\d+m)0s\b`)

// tidy takes the zeros out of Go's durations in a text of the cluster: 24h0m0s is
// 24h, 5m0s is 5m.
func tidy(text string) string { return zeroUnits.ReplaceAllString(text, "$1$2") }

// span prints a duration of an answer; "" when there is none.
func span(d *durationpb.Duration) string {
	if d == nil || d.AsDuration() == 0 {
		return ""
	}
	return short(d.AsDuration())
}

// ago prints a wall time as "12s ago"; "" when there is none.
func (t *terminal) ago(at *timestamppb.Timestamp) string {
	if at == nil || at.GetSeconds() == 0 && at.GetNanos() == 0 {
		return ""
	}
	// Clocks of two machines differ: what seems to be in the future is just now.
	d := t.now().Sub(at.AsTime())
	if d < time.Second {
		return "just now"
	}
	return short(d) + " ago"
}
