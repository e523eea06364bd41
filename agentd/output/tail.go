package output

import (
	"bytes"
	"strings"
	"sync"
	"unicode/utf8"
)

// Tail keeps the last Max bytes that were written to it. It is safe for
// concurrent use.
type Tail struct {
	Max int // bytes; set before the first write

	mu  sync.Mutex
	buf []byte
	cut bool // something was dropped
}

// Write keeps the end of p.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	// Cut rarely, so that a byte is moved about once.
	if len(t.buf) > 2*t.Max {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-t.Max:]...)
		t.cut = true
	}
	return len(p), nil
}

// String gives the last whole lines as valid UTF-8 of at most Max bytes. A line
// longer than that loses its beginning.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text, cut := t.buf, t.cut
	if len(text) > t.Max {
		text, cut = text[len(text)-t.Max:], true
	}
	if cut {
		if i := bytes.IndexByte(text, '\n'); i >= 0 && i+1 < len(text) {
			text = text[i+1:]
		}
	}
	// '?' and not the replacement character, which is three bytes long.
	valid := strings.ToValidUTF8(string(text), "?")
	// A zero byte is valid UTF-8 and shown by nothing.
	valid = strings.ReplaceAll(valid, "\x00", "?")
	for len(valid) > t.Max || !utf8.ValidString(valid) {
		valid = valid[1:]
	}
	return valid
}
