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
	// Tabs stay tabs, so that the pointer stands below its column.
	runes := []rune(e.Source)
	pad := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, string(runes[:min(max(e.Column-1, 0), len(runes))]))
	return fmt.Sprintf("%s\n  %s | %s\n  %s | %s^", where, number, term.Safe(e.Source), strings.Repeat(" ", len(number)), pad)
}
