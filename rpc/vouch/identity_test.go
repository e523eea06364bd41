package vouch

import (
	"strings"
	"testing"
	"time"

	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/fault"
)

// What a claim is worth by the state.
func TestClaimsAreJudged(t *testing.T) {
	const day = noun.Time(24 * time.Hour)
	for _, tt := range []struct {
		name  string
		claim who.Claim
		s     Standing
		want  string
		there bool // the principal
	}{
		{"fresh", who.Claim{Kind: who.Host, Generation: 2}, Standing{Known: true, Generation: 2, Clock: day - 1}, "ok", true},
		{"unknown", who.Claim{Kind: who.Host, Name: "h1"}, Standing{}, code.AuthDenied, false},
		{"revoked", who.Claim{Kind: who.Host, Generation: 1}, Standing{Known: true, Generation: 2}, code.AuthDenied, false},
		{"newer than this replica", who.Claim{Kind: who.Host, Generation: 3, Clock: int64(day)},
			Standing{Known: true, Generation: 2}, "ok", true},
		{"a day old", who.Claim{Kind: who.Host}, Standing{Known: true, Clock: day}, code.AuthExpired, true},
		{"31 days old", who.Claim{Kind: who.Server}, Standing{Known: true, Clock: 31 * day}, code.AuthDenied, false},
		{"a person after 12 hours", who.Claim{Kind: who.User}, Standing{Known: true, Clock: day / 2}, code.AuthExpired, true},
		{"a person after 31 days", who.Claim{Kind: who.User}, Standing{Known: true, Clock: 31 * day}, code.AuthDenied, false},
		{"a token", who.Claim{Kind: who.APIToken}, Standing{Known: true, Clock: 99 * day}, "ok", true},
	} {
		p, err := weigh(tt.claim, tt.s)
		got := "ok"
		if err != nil {
			got = fault.Of(err).Code
		}
		if got != tt.want || (p.Kind != who.Nobody) != tt.there {
			t.Errorf("%s: %v and %v, want %s", tt.name, err, p, tt.want)
		}
		if person := tt.claim.Kind == who.User && got == code.AuthExpired; person &&
			!(strings.Contains(err.Error(), "command of vigil") && strings.Contains(err.Error(), "API token")) {
			t.Errorf("%s: %v names no remedy", tt.name, err)
		}
	}
}
