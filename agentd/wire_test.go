package agentd

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"vigil/rpc/client"
	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

// A report is dropped only at a word of the cluster that says no; every other error leaves it open
// whether it was taken (laws L7, L8). It makes no difference which way the error came.
func TestOnlyANoEndsAReport(t *testing.T) {
	over := map[string]bool{code.Superseded: true, code.Late: true, code.NotFound: true}
	for _, row := range code.Rows()[1:] {
		for _, err := range []error{no(row.Name), client.FromInfo(&vigilv1.ErrorInfo{Code: row.Name})} {
			if got := client.Code(err); got != row.Name {
				t.Errorf("%s is read as %s", row.Name, got)
			}
			switch {
			case final(err) != over[row.Name]:
				t.Errorf("%s: final is %t", row.Name, final(err))
			case final(err) && !refused(err):
				t.Errorf("%s is final and no refusal", row.Name)
			case refused(err) && row.Fate.Fleeting():
				t.Errorf("%s is a refusal, and a client asks again", row.Name)
			}
		}
	}
	for _, c := range []codes.Code{codes.Unavailable, codes.Unknown, codes.Internal, codes.Canceled,
		codes.DeadlineExceeded} {
		if err := status.Error(c, "broken"); refused(err) {
			t.Errorf("a connection that fails with %s is taken for a refusal", c)
		}
	}
}
