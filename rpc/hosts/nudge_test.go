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
	for want, r := range map[string]*vigilv1.NudgeAgentRequest{"invalid": {IfDialog: "ab12"}, // of an answer only
		"too_large": {Answer: true, IfDialog: strings.Repeat("a", maxDialog+1)}} {
		r.Agent = "web/b"
		if _, err := noteNudgeCmd(r); err == nil || fault.Of(err).Code != want {
			t.Errorf("%v: %v, want %s", r, err, want)
		}
	}
	if _, err := noteNudgeCmd(&vigilv1.NudgeAgentRequest{Agent: "web/b", Text: "first\n\tsecond: ä"}); err != nil {
		t.Errorf("lines of text: %v", err)
	}
}
