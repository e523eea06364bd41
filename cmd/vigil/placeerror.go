package main

import (
	"fmt"
	"strconv"
	"strings"
)

// placeError is a mistake at a place in a file. It prints as file:line:column,
// the sentence, and the line with a pointer to the column.
type placeError struct {
	file         string
	line, column int // from 1
	message      string
	source       string // the line of the file
}

// where is the mistake in one line.
func (e *placeError) where() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.file, e.line, e.column, e.message)
}

func (e *placeError) Error() string {
	where := e.where()
	if e.source == "" {
		return where
	}
	number := strconv.Itoa(e.line)
	// Tabs stay tabs, so that the pointer stands below its column.
	runes := []rune(e.source)
	pad := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, string(runes[:min(max(e.column-1, 0), len(runes))]))
	return fmt.Sprintf("%s\n  %s | %s\n  %s | %s^", where, number, safe(e.source), strings.Repeat(" ", len(number)), pad)
}
