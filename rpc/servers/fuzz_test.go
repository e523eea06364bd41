package servers

import (
	"testing"

	"vigil/rpc/form/formtest"
	"vigil/rpc/gen/vigilv1"
)

// FuzzServerWrites is FuzzWrites for what servers report, and settings.
func FuzzServerWrites(f *testing.F) {
	formtest.Seed(f, 1, &vigilv1.PutSettingsRequest{Values: map[string]string{"ack_limit": "3m"}})
	formtest.Seed(f, 3, &vigilv1.ReportViewsRequest{Server: "s1", All: true,
		Views: []*vigilv1.HeardHost{{Host: 1, Gossip: "silent", Stream: "silent"}}})
	formtest.Writes(f, []formtest.Builder{formtest.Decoded(announceServerCmd), formtest.Decoded(putSettingsCmd),
		formtest.Decoded(reportHashCmd), formtest.Decoded(reportViewsCmd)})
}
