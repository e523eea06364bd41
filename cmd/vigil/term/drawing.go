package term

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxSequence bounds an escape sequence; what is longer is none that draws.
const maxSequence = 128

// Drawing lets through what draws on a terminal, and nothing else that an agent sends: no
// clipboard, no title, no question whose answer the terminal would type, no C1 control.
// Sequences that are cut in two are kept until their rest comes. Not safe for concurrent use.
type Drawing struct {
	kept  []byte // the beginning of a sequence or of a character
	Plain bool   // for output that is no screen: of what draws only colours come through
	text  bool   // within a string (OSC, DCS and their kin), which is dropped to its end
}

// Pass gives what may be written of p.
func (d *Drawing) Pass(p []byte) []byte {
	in := slices.Concat(d.kept, p)
	d.kept = nil
	out := make([]byte, 0, len(in))
	for len(in) > 0 {
		n, ok, whole := d.next(in)
		if !whole {
			d.kept = bytes.Clone(in)
			break
		}
		if ok && (!d.Plain || colours(in[:n])) {
			out = append(out, in[:n]...)
		}
		in = in[n:]
	}
	return out
}

// next measures what stands at the beginning of in and judges it. whole is false when the
// rest of it has not come yet.
func (d *Drawing) next(in []byte) (n int, ok, whole bool) {
	if d.text {
		return d.end(in)
	}
	switch c := in[0]; {
	case c == 0x1b:
		return d.escape(in)
	case c < 0x20:
		return 1, strings.IndexByte("\a\b\t\n\v\f\r\x0e\x0f", c) >= 0, true
	case c == 0x7f:
		return 1, false, true
	case c < utf8.RuneSelf:
		return 1, true, true
	}
	if !utf8.FullRune(in) {
		return 0, false, false
	}
	r, n := utf8.DecodeRune(in)
	return n, r != utf8.RuneError && r >= 0xa0, true
}

// colours tells whether a piece moves the cursor no further than its line: text, or the colours of text.
func colours(piece []byte) bool {
	if piece[0] == 0x1b {
		return len(piece) > 2 && piece[1] == '[' && piece[len(piece)-1] == 'm'
	}
	return piece[0] >= 0x20 || strings.IndexByte("\t\n\r", piece[0]) >= 0
}

// end looks for the end of a string.
func (d *Drawing) end(in []byte) (n int, ok, whole bool) {
	at := bytes.IndexAny(in, "\a\x1b")
	switch {
	case at < 0:
		return len(in), false, true
	case in[at] == 0x1b && at+1 == len(in):
		if at > 0 {
			return at, false, true
		}
		return 0, false, false
	case in[at] == 0x1b && in[at+1] != '\\':
		d.text = false // another sequence ends it too
		return at, false, true
	}
	d.text = false
	if in[at] == 0x1b {
		at++ // ESC and backslash
	}
	return at + 1, false, true
}

// escape measures a sequence that begins with ESC.
func (d *Drawing) escape(in []byte) (n int, ok, whole bool) {
	if len(in) < 2 {
		return 0, false, false
	}
	switch c := in[1]; {
	case c == '[':
		return control(in)
	case strings.IndexByte("]PX^_k", c) >= 0:
		d.text = true
		return 2, false, true
	case strings.IndexByte("78=>MDE", c) >= 0:
		return 2, true, true
	case strings.IndexByte(`()*+-./ #%`, c) >= 0:
		if len(in) < 3 {
			return 0, false, false
		}
		return 3, (c == '(' || c == ')') && strings.IndexByte("0AB", in[2]) >= 0, true
	case c == 0x1b:
		return 1, false, true
	}
	return 2, false, true
}

// control measures a control sequence: parameters, intermediates, one final byte.
func control(in []byte) (n int, ok, whole bool) {
	for n = 2; n < len(in) && n < maxSequence; n++ {
		switch c := in[n]; {
		case c >= 0x40 && c <= 0x7e:
			return n + 1, draws(in[2:n], c), true
		case c < 0x20 || c > 0x7e:
			return n, false, true // it is broken off; this byte begins something else
		}
	}
	return n, false, n >= maxSequence
}

// modes are the private modes that may be set: cursor keys, cursor, mouse, focus, screens,
// paste, synchronized output. restored resets them.
var modes = []string{"1", "7", "12", "25", "1000", "1002", "1003", "1004", "1005", "1006", "1049", "2004", "2026"}

// draws tells whether a control sequence only draws or sets a mode that is known.
func draws(parameters []byte, final byte) bool {
	p := string(parameters)
	switch {
	case strings.Trim(p, "0123456789;:") == "":
		return strings.IndexByte("@ABCDEFGHIJKLMPSTXZ`abdefhlmrsu", final) >= 0
	case final == 'h' || final == 'l':
		all, private := strings.CutPrefix(p, "?")
		return private &&
			!slices.ContainsFunc(strings.Split(all, ";"), func(m string) bool { return !slices.Contains(modes, m) })
	case final == 'q': // the shape of the cursor
		return len(p) == 2 && p[0] >= '0' && p[0] <= '6' && p[1] == ' '
	}
	return false
}

// Restored puts a terminal back into the state that a shell expects.
func Restored() string {
	var b strings.Builder
	for _, m := range modes {
		if m != "7" && m != "25" {
			b.WriteString("\x1b[?" + m + "l")
		}
	}
	b.WriteString("\x1b[?7h\x1b[?25h\x1b[m\x1b[r\x1b[4l\x1b>\x1b(B\x0f\x1b[0 q\r\n")
	return b.String()
}
