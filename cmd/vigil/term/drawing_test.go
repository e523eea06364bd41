package term

import (
	"strings"
	"testing"
	"unicode"
)

// Only what draws comes through, however it is cut into pieces.
func TestS09OnlyDrawingReachesTheTerminal(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain ü€😀\r\n\ttext\a", "plain ü€😀\r\n\ttext\a"},
		{"\x1b[1;31mred\x1b[m\x1b[38:5:9m\x1b[2J\x1b[10;20H\x1b[?25l" +
			"\x1b[?1049h\x1b[?1000;1006h\x1b7\x1b8\x1b(0q\x1b(B\x1b[4 q",
			"\x1b[1;31mred\x1b[m\x1b[38:5:9m\x1b[2J\x1b[10;20H\x1b[?25l" +
				"\x1b[?1049h\x1b[?1000;1006h\x1b7\x1b8\x1b(0q\x1b(B\x1b[4 q"},
		{"a\x1b]52;c;ZXZpbA==\ab", "ab"},                        // the clipboard
		{"a\x1b]0;title\x1b\\b", "ab"},                          // a title
		{"a\x1b[21tb\x1b[cb\x1b[>cb\x1b[6nb\x1b[>qb", "abbbbb"}, // questions that the terminal answers by typing
		{"a\x1bP$qm\x1b\\b\x1bP+q544e\x1b\\b", "abb"},           // more of them
		{"a\x1b_G evil\x1b\\b\x1b^x\x1b\\b\x1bXy\ab", "abbb"},
		{"a\x1bcb\x1b[!pb\x1b[5ib\x1b#8b\x1b%Gb\x1b[?5hb", "abbbbbb"}, // resets, printers, odd modes
		{"a\u009b31m\u009d0;x\u0090b", "a31m0;xb"},                    // C1 controls
		{"a\xff\xfe\x80b", "ab"},
		{"a\x00\x05\x7f\x11b", "ab"},
		{"a\x1b[31\x1b[32mb", "a\x1b[32mb"},
		{"a\x1b]0;x\x1b[1mb", "a\x1b[1mb"}, // a string that another sequence ends
		{"a\x1b[" + strings.Repeat("1;", 100) + "mb", "a" + strings.Repeat("1;", 37) + "mb"},
	} {
		for size := 1; size <= len(c.in); size++ {
			var d Drawing
			var got []byte
			for rest := c.in; rest != ""; {
				n := min(size, len(rest))
				got = append(got, d.Pass([]byte(rest[:n]))...)
				rest = rest[n:]
			}
			if string(got) != c.want {
				t.Errorf("%q in pieces of %d: %q, want %q", c.in, size, got, c.want)
				break
			}
		}
	}
}

func FuzzDrawing(f *testing.F) {
	for _, s := range []string{"\x1b[31m", "\x1b]0;x\a", "\x1bP\x1b", "\xe2\x82", "\x1b[?1049h"} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		var one, two Drawing
		whole := one.Pass(in)
		cut = min(max(cut, 0), len(in))
		parts := append(two.Pass(in[:cut]), two.Pass(in[cut:])...)
		if string(whole) != string(parts) {
			t.Fatalf("%q in one %q, in two %q", in, whole, parts)
		}
		if len(one.kept) > maxSequence {
			t.Fatalf("%d bytes are kept", len(one.kept))
		}
		for _, r := range string(whole) {
			if r >= 0x80 && unicode.IsControl(r) {
				t.Fatalf("%q lets %U through", in, r)
			}
		}
	})
}
