package base

import (
	"testing"

	"vigil/fsm"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

func TestHalfAWriteIDIsRefused(t *testing.T) {
	for _, id := range []*vigilv1.WriteId{{Session: 1}, {Seq: 1}} {
		if _, err := Request(id, fsm.CloseSession{}); fault.Of(err).Code != code.Invalid {
			t.Errorf("%v: %v, want invalid", id, err)
		}
	}
}
