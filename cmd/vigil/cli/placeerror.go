package cli

import (
	"fmt"
	"strconv"
	"strings"

	"vigil/cmd/vigil/term"
)

// PlaceError is a mistake at a place in a file. It prints as file:line:column,
// the sentence, and the line with a pointer to the column.
type PlaceError struct {
	File         string
	Line, Column int // from 1
	Message      string
	Source       string // the line of the file
}

// Where is the mistake in one line.
func (e *PlaceError) Where() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

func (e *PlaceError) Error() string {
	where := e.Where()
	if e.Source == "" {
		return where
	}
	number := strconv.Itoa(e.Line)
	source, before := e.window()
	// Tabs stay tabs, so that the pointer stands below its column.
	pad := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, before)
	return fmt.Sprintf("%s\n  %s | %s\n  %s | %s^", where, number, source, strings.Repeat(" ", len(number)), pad)
}

// windowWidth is how much of a line is shown: a longer one would be broken by the terminal, and the
// pointer would stand below nothing.
const windowWidth = 100

// window gives the part of the line around the column, as it is printed, and what of it stands
// before the column.
func (e *PlaceError) window() (source, before string) {
	line := []rune(e.Source)
	at := min(max(e.Column-1, 0), len(line))
	first, last := 0, len(line)
	if last > windowWidth {
		first = min(max(at-windowWidth/2, 0), len(line)-windowWidth)
		last = first + windowWidth
	}
	if first > 0 {
		before = "…"
	}
	before += term.Safe(string(line[first:at]))
	source = before + term.Safe(string(line[at:last]))
	if last < len(line) {
		source += "…"
	}
	return source, before
}
