package agents

import (
	"strings"
	"testing"

	"vigil/rpc/gen/vigilv1"
)

// N22: an agent whose host is not heard is not listed as running.
func TestN22AnAgentOfAnUnheardHostIsNotListedAsRunning(t *testing.T) {
	for code, want := range map[string]string{"unheard": "unheard", "running": "RUNNING"} {
		g := &vigilv1.Agent{Name: "web/b", Managed: true, Process: "RUNNING", Participant: "ACTIVE", WhyCode: code}
		if got := processText(g); got != want {
			t.Errorf("%s: listed as %q, want %q", code, got, want)
		}
	}
}

func TestEveryReasonOfAnAgentHasARemedy(t *testing.T) {
	for code, want := range map[string]string{
		"paused": "vigil agent resume web/b", "room_paused": "vigil room resume web", "all_paused": "`vigil resume`",
		"brake": "vigil brake release", "fence": "vigil host confirm-dead w1", "parked": "vigil agent unpark web/b",
		"back_off": "vigil agent unpark web/b", "unkillable": "look at host w1", "no_host": "vigil agentd",
		"unheard": "vigil host explain w1",
		"no_task": "vigil task create web/b TITLE", "stopped": "vigil agent start web/b", "running": "",
	} {
		g := &vigilv1.Agent{Name: "web/b", Room: "web", Role: "b", Host: "w1", WhyCode: code, Why: "some sentence"}
		if got := remedy(g); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: remedy %q, want %q", code, got, want)
		}
		if g.Why = "do it with `vigil x`"; remedy(g) != "" {
			t.Errorf("%s: a second remedy beside the one of the sentence", code)
		}
	}
	declared := &vigilv1.Agent{Name: "web/b", WhyCode: "paused",
		Why: "declared as paused; apply the room with `desired: running`"}
	if got := remedy(declared); got != "" {
		t.Errorf("declared as paused: remedy %q, which does not help", got)
	}
	drained := &vigilv1.Agent{Name: "web/b", WhyCode: "no_host", Why: "waiting for a host: w1 is drained by ann"}
	if got := remedy(drained); !strings.Contains(got, "vigil host undrain") {
		t.Errorf("every host is drained: remedy %q", got)
	}
}
