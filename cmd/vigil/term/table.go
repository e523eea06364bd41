package term

import (
	"strings"
	"unicode/utf8"
)

// column is one column of a table.
type column struct {
	head  string
	right bool // numbers
	flex  bool // may be cut to fit the screen
}

// Table collects rows and prints them aligned. On a screen that is too narrow the
// widest flexible column is cut until the table fits.
type Table struct {
	columns []column
	Rows    [][]string
}

// NewTable makes a table from heads: "NAME" is plain, ">COUNT" is set to the right,
// "WHY~" may be cut.
func NewTable(heads ...string) *Table {
	t := &Table{}
	for _, h := range heads {
		c := column{right: strings.HasPrefix(h, ">"), flex: strings.HasSuffix(h, "~")}
		c.head = strings.TrimSuffix(strings.TrimPrefix(h, ">"), "~")
		t.columns = append(t.columns, c)
	}
	return t
}

// Add adds a row, with one cell for each column; an empty one is shown as a dash.
func (t *Table) Add(cells ...string) {
	for i := range cells {
		cells[i] = OneLine(cells[i])
		if cells[i] == "" {
			cells[i] = "-"
		}
	}
	t.Rows = append(t.Rows, cells)
}

// PrintTable writes a table; one without rows prints empty instead.
func (t *Terminal) PrintTable(tab *Table, empty string) error {
	if len(tab.Rows) == 0 {
		return t.Printf("%s\n", empty)
	}
	widths := tab.widths(t.Screen.Width)
	heads := make([]string, len(tab.columns))
	for i, c := range tab.columns {
		heads[i] = c.head
	}
	if err := t.Printf("%s\n", t.Screen.Bold(tab.line(heads, widths))); err != nil {
		return err
	}
	for _, row := range tab.Rows {
		if err := t.Printf("%s\n", t.Screen.states(tab.line(row, widths))); err != nil {
			return err
		}
	}
	return nil
}

// widths gives the width of every column on a screen of that many columns.
func (t *Table) widths(limit int) []int {
	widths := make([]int, len(t.columns))
	total := 2 * (len(t.columns) - 1)
	for i, c := range t.columns {
		widths[i] = utf8.RuneCountInString(c.head)
		for _, row := range t.Rows {
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

func (t *Table) line(cells []string, widths []int) string {
	var b strings.Builder
	for i, cell := range cells {
		if i > 0 {
			b.WriteString("  ")
		}
		cell = Cut(cell, widths[i])
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
