package servers

import (
	"strings"
	"testing"

	"vigil/fsm"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// What is wrong with a word of a server, or about settings, is said with its place and the remedy.
func TestValidationNamesPlaceAndRemedy(t *testing.T) {
	cmd := func(_ fsm.Command, err error) error { return err }
	for _, tt := range []struct {
		name string
		err  error
		code string
		says []string
	}{
		{"views of nobody", cmd(reportViewsCmd(&vigilv1.ReportViewsRequest{})),
			"invalid", []string{"server is missing"}},
		{"views of no host",
			cmd(reportViewsCmd(&vigilv1.ReportViewsRequest{Server: "s1", Views: []*vigilv1.HeardHost{{}}})),
			"invalid", []string{"views[0].host"}},
		{"views in strange words",
			cmd(reportViewsCmd(&vigilv1.ReportViewsRequest{Server: "s1",
				Views: []*vigilv1.HeardHost{{Host: 1, Gossip: "dead"}}})), "invalid",
			[]string{"views[0].gossip", "silent or left"}},
		{"no settings", cmd(putSettingsCmd(&vigilv1.PutSettingsRequest{})), "invalid", []string{"settings show"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := fault.Of(tt.err)
			if p.Code != tt.code {
				t.Fatalf("code %s (%s), want %s", p.Code, p.Text, tt.code)
			}
			for _, s := range tt.says {
				if !strings.Contains(p.Text, s) {
					t.Errorf("message %q does not say %q", p.Text, s)
				}
			}
		})
	}
}
