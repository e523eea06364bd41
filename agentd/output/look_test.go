package output

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// A stamp differs after every write, over rotations too, and the last bytes are those that
// were written last. A log that is not there is never the same.
func TestStampAndLast(t *testing.T) {
	d := NewDir(Config{Dir: t.TempDir(), MaxBytes: 100, Keep: 2})
	defer d.Close()
	l, err := d.Log("r/a")
	if err != nil {
		t.Fatal(err)
	}
	before, err := l.Stamp()
	if text, err2 := l.Last(10); err != nil || err2 != nil || text != "" || before.Same(before) {
		t.Fatalf("a log that is not there: %q, %v, %v", text, err, err2)
	}
	all := ""
	for i := range 40 {
		line := strings.Repeat(string(rune('a'+i%26)), 9) + "\n"
		all += line
		l.Write([]byte(line))
		now, err := l.Stamp()
		if err != nil || now.Same(before) || before.Same(now) {
			t.Fatalf("write %d is not seen: %v", i, err)
		}
		if again, _ := l.Stamp(); !again.Same(now) {
			t.Fatalf("write %d is seen twice", i)
		}
		before = now
		text, err := l.Last(50)
		if want := all[max(0, len(all)-50):]; err != nil || text != want {
			t.Fatalf("after write %d: %q, want %q, %v", i, text, want, err)
		}
	}
	if err := errors.Join(os.Remove(l.Path()), os.Remove(l.Path()+".1")); err != nil {
		t.Fatal(err)
	}
	if gone, err := l.Stamp(); err != nil || gone.Same(before) {
		t.Errorf("a log that was removed: %v", err)
	}
}
