package term

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Safe makes text of several lines fit for a terminal: nothing in it steers one, neither the C0
// and C1 controls nor what turns the direction of writing around, so that a line that is copied
// is the line that was read. All words from outside pass through here or through drawing.
func Safe(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError:
			return '?'
		}
		return r
	}, text)
}

// OneLine is safe for a cell or a sentence: line ends become spaces.
func OneLine(text string) string {
	return Safe(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		return r
	}, strings.TrimSpace(text)))
}
