package client

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// L8: what was refused is kept with the failure, all that was said: also of a hand-off, and as much of what is too
// large as servers keep. Servers that cannot keep it get the failure alone, once.
func TestL8WhatIsRefusedIsKept(t *testing.T) {
	to := &Next{Role: "tester", Title: "look", Text: "at it"}
	for _, tc := range []struct {
		end  End
		want string
	}{
		{End{Result: "built"}, "built"},
		{End{Result: "built", Handoff: to}, "built\n\nfor tester: look\nat it"},
		{End{Handoff: to}, "for tester: look\nat it"},
	} {
		f := unfit(tc.end, fmt.Errorf("say: %w", ErrNotFound))
		if f == nil || f.Result != tc.want || f.Handoff != nil || f.Failure.Retryable {
			t.Errorf("%+v becomes %+v", tc.end, f)
		}
	}
	large := unfit(End{Result: "x" + strings.Repeat("\u00e4", maxResult)}, ErrTooLarge).Result
	if len(large) > maxResult || len(large) < maxResult-2 || !utf8.ValidString(large) ||
		!strings.HasSuffix(large, fmt.Sprintf("...\n[cut: it had %d bytes]", 2*maxResult+1)) {
		t.Errorf("%d bytes are kept, which end with %q", len(large), large[len(large)-40:])
	}
	full := unfit(End{Result: "built"}, ErrFull)
	if full.Failure.After != fullAfter || full.Result != "built" {
		t.Errorf("%+v", full)
	}
	alone := unfit(*full, ErrOldServers)
	if alone == nil || alone.Result != "" || alone.Failure != full.Failure || unfit(*alone, ErrOldServers) != nil {
		t.Errorf("where it cannot be kept: %+v", alone)
	}
	for _, err := range []error{ErrSuperseded, ErrLate, errors.New("cut")} {
		if f := unfit(End{Result: "built"}, err); f != nil {
			t.Errorf("after %v: %+v", err, f)
		}
	}
}
