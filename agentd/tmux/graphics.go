package tmux

import "strings"

// lineDrawing is what the letters from ` to ~ draw between shift out and shift in: the special graphics of the
// VT100, of which programs make frames where TERM says so.
var lineDrawing = []rune("◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")

const (
	shiftOut, shiftIn = '\x0e', '\x0f'
	firstDrawing      = '`'
)

// graphics writes the special graphics of a captured screen as characters that any terminal draws; whoever gets
// a screen need not know of another character set then. The colours of a screen stay as they are.
func graphics(text string) string {
	if !strings.ContainsRune(text, shiftOut) {
		return text
	}
	var b strings.Builder
	out, escape := false, false // between the two, within an escape
	for _, r := range text {
		switch at := int(r) - firstDrawing; {
		case r == shiftOut || r == shiftIn:
			out = r == shiftOut
			continue
		case r == '\x1b':
			escape = true
		case escape:
			escape = r == '[' || r < '@'
		case out && at >= 0 && at < len(lineDrawing):
			r = lineDrawing[at]
		}
		b.WriteRune(r)
	}
	return b.String()
}
