package hosts

import (
	"strings"
	"testing"

	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

func TestS15NudgesTypeTextOnly(t *testing.T) {
	for _, text := range []string{"a\x1b[201~!id\r", "a\rb", "a\x03", "a\u009b201~b"} {
		if _, err := noteNudgeCmd(&vigilv1.NudgeAgentRequest{Agent: "web/b", Text: text}); err == nil ||
			fault.Of(err).Code != "invalid" {
			t.Errorf("%q: %v, want invalid", text, err)
		}
	}
	for _, text := range []string{"2\n", "2\t1"} { // keys that choose
		if _, err := noteNudgeCmd(&vigilv1.NudgeAgentRequest{Agent: "web/b", Text: text, Answer: true}); err == nil ||
			fault.Of(err).Code != "invalid" {
			t.Errorf("answer %q: %v, want invalid", text, err)
		}
	}
	for _, r := range []*vigilv1.NudgeAgentRequest{{Agent: "web/b", IfDialog: "ab12"}, // of an answer only
		{Agent: "web/b", Answer: true, IfDialog: strings.Repeat("a", maxDialog+1)}} {
		if _, err := noteNudgeCmd(r); err == nil || fault.Of(err).Code != "invalid" {
			t.Errorf("%v: %v, want invalid", r, err)
		}
	}
	if _, err := noteNudgeCmd(&vigilv1.NudgeAgentRequest{Agent: "web/b", Text: "first\n\tsecond: ä"}); err != nil {
		t.Errorf("lines of text: %v", err)
	}
}
