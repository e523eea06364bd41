package people

import (
	"errors"
	"strings"
	"testing"
	"time"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// hostile holds what could steer a terminal or turn its line around: ESC, a C1 control, a byte of
// no character, an override of the direction of writing.
const hostile = "a\x1b[2Jb\u009b31mc\xffd\u202ee"

func TestS12ErrorsAndCommandsReachTheTerminalFiltered(t *testing.T) {
	harmless := func(where, out string) {
		t.Helper()
		if strings.ContainsAny(out, "\x1b\u009b\u202e") || strings.Contains(out, "\xff") ||
			!strings.Contains(out, "a?[2Jb") {
			t.Errorf("%s: %q, want the words without what steers", where, out)
		}
	}
	var out strings.Builder
	cli.Report(&out, errors.New(hostile), false)
	harmless("error", out.String())
	out.Reset()
	cli.Report(&out, &cli.PlaceError{File: hostile, Line: 1, Column: 1, Message: "m", Source: "s"}, false)
	harmless("error with a place", out.String())
	if strings.Count(out.String(), "\n") < 3 {
		t.Errorf("the place has lost its lines: %q", out.String())
	}

	out.Reset()
	a := &cli.App{Terminal: term.Terminal{Out: &out, Now: time.Now}}
	if err := printEscalation(a,
		&vigilv1.Escalation{Id: 1, State: "open", Commands: []string{"vigil host show " + hostile}}); err != nil {
		t.Fatal(err)
	}
	harmless("commands of an escalation", out.String())
	harmless("one line", term.OneLine(hostile))
	harmless("several lines", term.Safe(hostile))
}
