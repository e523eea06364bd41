package rpc

import (
	"testing"

	"vigil/rpc/gen/vigilv1"
)

func TestS12HostNamesHoldNothingThatAShellReads(t *testing.T) {
	w := start(t, 1)
	for _, name := range []string{"w1; rm -rf ~", "$(id)", "`id`", "-x", "a b", "a'b", "a\"b", "a|b", "a\u202eb", "ä"} {
		if _, err := w.host(0).Register(within(t),
			&vigilv1.RegisterRequest{Key: "k", Boot: "b", Name: name}); codeOf(err) != "invalid" {
			t.Errorf("name %q: %v, want invalid", name, err)
		}
	}
	if _, err := w.host(0).Register(within(t),
		&vigilv1.RegisterRequest{Key: "k", Boot: "b", Name: "W1.rack-2_b"}); err != nil {
		t.Errorf("a common name: %v", err)
	}
}
