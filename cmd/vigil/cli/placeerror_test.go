package cli

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// pointed gives what the pointer of an error stands below, and the longest line of it.
func pointed(t *testing.T, e *PlaceError) (rest string, width int) {
	t.Helper()
	lines := strings.Split(e.Error(), "\n")
	if len(lines) != 3 || !strings.HasSuffix(lines[2], "^") {
		t.Fatalf("printed %q", lines)
	}
	column := utf8.RuneCountInString(lines[2]) - 1
	for _, line := range lines[1:] {
		width = max(width, utf8.RuneCountInString(line))
	}
	return string([]rune(lines[1])[column:]), width
}

// N22: the pointer stands below its value, however long the line is and whatever stands before it.
func TestN22ThePointerStandsBelowItsValue(t *testing.T) {
	for _, before := range []string{"", "{room: web, ttl: ", "\tä ö: ", "bell\x07 and \x1b[2J: ",
		strings.Repeat("näme: x, ", 400)} {
		for _, after := range []string{"", ", more: x", strings.Repeat(", more: x", 400)} {
			e := &PlaceError{File: "f", Line: 7, Column: utf8.RuneCountInString(before) + 1,
				Message: "m", Source: before + "WRONG" + after}
			rest, width := pointed(t, e)
			if !strings.HasPrefix(rest, "WRONG") {
				t.Errorf("after %.20q, before %.20q it stands below %.20q", before, after, rest)
			}
			if width > 130 {
				t.Errorf("a line of %d columns", width)
			}
		}
	}
}
