package hostile

import (
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"vigil/jepsen/history"
	"vigil/rpc/gen/vigilv1"
)

// A success, and a code that nobody expects, is wrong; that nobody answers proves nothing. The tally is read
// as it was written.
func TestTally(t *testing.T) {
	coded := func(code string) error {
		s, err := status.New(codes.PermissionDenied, "no").WithDetails(&vigilv1.ErrorInfo{Code: code})
		if err != nil {
			t.Fatal(err)
		}
		return s.Err()
	}
	var tally Tally
	for _, err := range []error{nil, coded("denied"), coded("denied"), coded("not_found"),
		status.Error(codes.Unavailable, "away")} {
		tally.Judge("a call", err, denied)
	}
	tally.Judge("another", nil, denied, done)
	text, err := tally.Write()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(text)
	if err != nil || !slices.Equal(got, tally.List()) {
		t.Fatalf("read %+v: %v", got, err)
	}
	want := []history.Attempts{{What: "a call", Code: "denied", Count: 2}, {What: "a call", Code: "not_found", Count: 1},
		{What: "a call", Code: "ok", Count: 1}, {What: "a call", Code: "unavailable", Count: 1},
		{What: "another", Code: "ok", Count: 1}}
	for i, a := range got {
		wrong := i == 1 || i == 2
		if (a.Wrong != "") != wrong {
			t.Errorf("%s answered with %s is wrong: %q", a.What, a.Code, a.Wrong)
		}
		a.Wrong = ""
		if i >= len(want) || a != want[i] {
			t.Errorf("attempt %d is %+v, want %+v", i, a, want)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d kinds of attempts, want %d", len(got), len(want))
	}
	if _, err := Read("done by an honest agent"); err == nil {
		t.Error("any text was read as a tally")
	}
}

func TestVictims(t *testing.T) {
	v := Victim{Agent: "lifecycle/work.3", AgentID: 7, Incarnation: 1 << 63, Host: 2, Key: "ab12", Server: "s1", Task: 9}
	if got, err := ParseVictim(v.String()); err != nil || got != v {
		t.Errorf("%s was read as %+v: %v", v, got, err)
	}
	for _, bad := range []string{"", "a:1:2:3:k:s", "a:1:2:3:k:s:-1", "a:x:2:3:k:s:1"} {
		if v, err := ParseVictim(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, v)
		}
	}
}
