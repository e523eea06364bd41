package fault

import (
	"fmt"
	"os"
	"testing"

	"google.golang.org/grpc/status"

	"vigil/fsm/noun"
	"vigil/rpc/code"
)

// The state machine's codes are the first rows of the table, under their names.
func TestEveryCodeOfTheStateMachineHasARow(t *testing.T) {
	rows := code.Rows()
	for c := noun.OK; c.String() != "unknown"; c++ {
		if int(c) >= len(rows) || rows[c].Name != c.String() {
			t.Errorf("fsm code %d (%s) has no row of its name", c, c)
		}
	}
}

func TestErrorsSurviveTheWire(t *testing.T) {
	for _, r := range code.Rows()[1:] {
		sent := &Error{Code: r.Name, Text: "A sentence.", Rev: 7, Leader: "l:1", Oldest: 9, Index: 11}
		if got := Of(sent.Status()); *got != *sent {
			t.Errorf("%s arrived as %+v", r.Name, got)
		}
		bare := (&Error{Code: r.Name}).Status()
		if st := status.Convert(bare); st.Code() != r.GRPC || st.Message() != r.Remedy {
			t.Errorf("%s without a text is %v", r.Name, st)
		}
	}
}

func TestUnknownErrorsAreInternal(t *testing.T) {
	if e := Of(fmt.Errorf("open file: %w", os.ErrPermission)); e.Code != code.Internal {
		t.Fatalf("got %s, want internal", e.Code)
	}
	if e := Of(fmt.Errorf("submit: %w", noun.ErrNotLeader)); e.Code != code.NotLeader {
		t.Fatalf("got %s, want not_leader", e.Code)
	}
}

func TestRefusalsWithACodeKeepIt(t *testing.T) {
	if p := Of(coded{}); p.Code != code.Conflict || p.Text != "Two at once." {
		t.Fatalf("got %+v", p)
	}
}

type coded struct{}

func (coded) Error() string   { return "two at once" }
func (coded) Code() noun.Code { return noun.Conflict }
