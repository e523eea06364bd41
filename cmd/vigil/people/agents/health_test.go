package agents

import (
	"testing"

	"vigil/rpc/gen/vigilv1"
)

// N30: status and health check say that most tasks of a role fail.
func TestN30ARoleWhoseTasksFailIsTold(t *testing.T) {
	role := &vigilv1.UnservedRole{Room: "web", Role: "builder", Waiting: 20, WhyCode: "half_open",
		Why: "web/builder is half-open since 4s: 5 of 5 attempts failed"}
	if got := UnservedText(role); got != "most tasks of a role fail: "+
		"web/builder is half-open since 4s: 5 of 5 attempts failed" {
		t.Errorf("%q", got)
	}
}
