package noun

import (
	"strings"
	"testing"
)

const rightTrace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// W3C's Trace Context says which traceparents count; the rest is as none at all. What comes out is
// always of the one form that the log takes.
func TestParseTrace(t *testing.T) {
	const id, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for _, x := range []struct {
		what, text string
		want       Trace // "": refused
	}{
		{"sampled", rightTrace, rightTrace},
		{"not sampled", "00-" + id + "-" + span + "-00", "00-" + id + "-" + span + "-00"},
		{"flags that nobody knows", "00-" + id + "-" + span + "-fe", "00-" + id + "-" + span + "-00"},
		{"all flags", "00-" + id + "-" + span + "-ff", rightTrace},
		{"a later version", "01-" + id + "-" + span + "-01", rightTrace},
		{"a later version with more", "cc-" + id + "-" + span + "-01-what the future brings", rightTrace},
		{"a later version run together", "cc-" + id + "-" + span + "-01x", ""},
		{"more than version 00 has", rightTrace + "-x", ""},
		{"version ff", "ff-" + id + "-" + span + "-01", ""},
		{"upper case", "00-" + strings.ToUpper(id) + "-" + span + "-01", ""},
		{"upper case flags", "00-" + id + "-" + span + "-0A", ""},
		{"no trace", "00-" + strings.Repeat("0", 32) + "-" + span + "-01", ""},
		{"no span", "00-" + id + "-" + strings.Repeat("0", 16) + "-01", ""},
		{"other separators", "00_" + id + "_" + span + "_01", ""},
		{"a separator inside", "00-" + id[:31] + "--" + span + "-01", ""},
		{"no digits", "00-" + id[:31] + "g-" + span + "-01", ""},
		{"too short", rightTrace[:54], ""},
		{"space around", " " + rightTrace, ""},
		{"a line break", rightTrace[:54] + "\n", ""},
		{"bytes above 127", "00-" + id[:30] + "é-" + span + "-01", ""},
		{"a NUL", "00-" + id[:31] + "\x00-" + span + "-01", ""},
		{"as long as may be", "cc" + rightTrace[2:] + "-" + strings.Repeat("x", MaxTrace-traceBytes-1), rightTrace},
		{"longer", "cc" + rightTrace[2:] + "-" + strings.Repeat("x", MaxTrace-traceBytes), ""},
		{"very long", strings.Repeat("0", 1<<20), ""},
	} {
		got, err := ParseTrace(x.text)
		if got != x.want || (err == nil) != (x.want != "") {
			t.Errorf("%s: %q, %v", x.what, got, err)
		}
		if err := got.Check(); err != nil {
			t.Errorf("%s: %v", x.what, err)
		}
	}
	if got, err := ParseTrace(""); got != "" || err != nil {
		t.Errorf("nothing is %q, %v", got, err)
	}
	if err := Trace("01" + rightTrace[2:]).Check(); err == nil {
		t.Error("the log takes another version")
	}
}

func FuzzParseTrace(f *testing.F) {
	f.Add(rightTrace)
	f.Add("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-09-more")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseTrace(text)
		if err != nil {
			return
		}
		if err := got.Check(); err != nil || got != "" && (string(got)[2:53] != text[2:53]) {
			t.Errorf("%q became %q, %v", text, got, err)
		}
		if s := SpansOf("c", 1, 2, got); got != "" && s.Traceparent(s.Parent) != got {
			t.Errorf("%q is %s in its spans", got, s.Traceparent(s.Parent))
		}
	})
}

// The spans of a task follow from what all servers know, and no two have the same id.
func TestSpansFollowFromTheTask(t *testing.T) {
	a, b := SpansOf("c", 7, 99, ""), SpansOf("c", 7, 99, "")
	if a != b || a.Parent != (SpanID{}) || !a.Sampled || a.Attempt(1) != b.Attempt(1) {
		t.Errorf("%+v, %+v", a, b)
	}
	seen := map[SpanID]bool{a.Root(): true, a.Span("waiting", 1): true, a.Attempt(1): true, a.Attempt(2): true}
	for _, other := range []Spans{SpansOf("d", 7, 99, ""), SpansOf("c", 8, 99, ""), SpansOf("c", 7, 98, "")} {
		if other.ID == a.ID {
			t.Errorf("another task has the trace %x", other.ID)
		}
		seen[other.Root()] = true
	}
	if len(seen) != 7 {
		t.Errorf("7 spans have %d ids", len(seen))
	}
	in := SpansOf("c", 7, 99, rightTrace)
	if got := in.Traceparent(in.Attempt(1)); in.Attempt(1) != a.Attempt(1) ||
		string(got[:35]) != rightTrace[:35] || got.Check() != nil {
		t.Errorf("in the creator's trace: %s", got)
	}
}
