package agent

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"vigil/rpc/gen/vigilv1"
)

// Triage gets what stands on the terminal with the facts, bounded and without escapes, so that
// its program may run nothing.
func TestS05TriageNeedsNoCommand(t *testing.T) {
	const facts = `{"cycle":12345678901234567890,"overseer":"ops/deacon"}`
	got := withTerminal(t.Context(), shown{text: "\x1b[31mhangs\x1b[0m\n" + strings.Repeat("ü", 20<<10)}, facts)
	var v struct {
		Cycle    json.Number
		Terminal string
	}
	if err := json.Unmarshal([]byte(got), &v); err != nil || v.Cycle != "12345678901234567890" {
		t.Fatalf("%v: %s", err, got[:min(len(got), 200)])
	}
	if len(v.Terminal) > terminalText || !strings.HasSuffix(v.Terminal, "ü") {
		t.Errorf("%d bytes", len(v.Terminal))
	}
	got = withTerminal(t.Context(), shown{text: "\x1b[31mhangs"}, facts)
	if !strings.Contains(got, "hangs") || strings.ContainsRune(got, '\x1b') || strings.Contains(got, `\u001b`) {
		t.Error(got)
	}
	for _, text := range []string{facts, "no JSON", "[]", `{"overseer":7}`} {
		if got := withTerminal(t.Context(), shown{}, text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// shown is a fleet with one terminal.
type shown struct {
	vigilv1.FleetClient
	text string
}

func (s shown) LookAtAgent(_ context.Context, r *vigilv1.LookAtAgentRequest,
	_ ...grpc.CallOption) (*vigilv1.Screen, error) {
	if r.GetAgent() != "ops/deacon" || s.text == "" {
		return nil, errors.New("there is no terminal")
	}
	return &vigilv1.Screen{Text: s.text}, nil
}
