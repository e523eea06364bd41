package who

import (
	"context"
	"strings"
	"testing"

	"vigil/rpc/code"
)

func TestClaimsCrossTheWire(t *testing.T) {
	for _, c := range []Claim{
		{},
		{Kind: User, Name: "anna", Generation: 3, Epoch: 1, Clock: -5, Serial: "ab12"},
		{Kind: User, Name: "Anna B. %/ü-", Serial: "-"},
		{Kind: Server, Name: "-"},
		{Kind: Root, Name: "s1"},
		{Kind: Host, Name: "h1", Generation: 1, Life: Life{"web/a.2", 1<<64 - 1}},
		{Kind: APIToken, Name: "7", Serial: strings.Repeat("f", 64)},
		{Kind: User, Name: "anna", Issuer: Issuer{"s 2/-", 9}},
		{Kind: Host, Name: "h1", Issuer: Issuer{"-", 1}, Life: Life{"web/a.2", 1}},
	} {
		got, err := Decode(c.Encode())
		if err != nil || got != c {
			t.Errorf("%+v became %+v by %q (%v)", c, got, c.Encode(), err)
		}
	}
	for _, bad := range []string{"", "user anna", "local - 0 0 0 - - 0", "agent a 0 0 0 - - 0",
		"user a 1 0 0 - - 0 web/a/1", "user a -1 0 0 - - 0", "host a 1 0 0 - - 0 web/a",
		"user a 1 0 0 - - 0 x y", "user a 1 0 0 - s1", "user a 1 0 0 - s1 -1",
		"user " + strings.Repeat("a", 256) + " 0 0 0 - - 0", "user a 0 0 0 - " + strings.Repeat("a", 256) + " 0"} {
		if c, err := Decode(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, c)
		}
	}
}

func TestTokensAreHashed(t *testing.T) {
	c, ok := ParseToken("vigil-api.7.s3cr3t")
	if !ok || c.Kind != APIToken || c.Name != "7" || len(c.Serial) != 64 || strings.Contains(c.Serial, "s3cr3t") {
		t.Errorf("the claim is %+v", c)
	}
	for _, bad := range []string{"", "vigil-api.", "vigil-api.7", "vigil-api.7.", "vigil-api..x", "7.x"} {
		if _, ok := ParseToken(bad); ok {
			t.Errorf("%q was taken for a token", bad)
		}
	}
}

func TestRightsHoldInTheirRooms(t *testing.T) {
	p := &Principal{Claim: Claim{Kind: User, Name: "anna"},
		Rights: []Right{{code.Operator, "web"}, {code.Viewer, AllRooms}}}
	for _, tt := range []struct {
		role code.Role
		room string
		want bool
	}{
		{code.Operator, "web", true}, {code.Reader, "web", true}, {code.Admin, "web", false},
		{code.Viewer, "ops", true}, {code.Reader, "ops", false}, {code.Viewer, "", true}, {code.Operator, "", false},
	} {
		if got := p.May(tt.role, tt.room); got != tt.want {
			t.Errorf("%s in %q: %t, want %t", tt.role, tt.room, got, tt.want)
		}
	}
	bound := &Principal{Rights: []Right{{code.Admin, "web"}}}
	if bound.May(code.Viewer, "") || !bound.MaySomewhere(code.Admin) {
		t.Error("a right in one room was taken for one in all, or for none")
	}
}

func TestPrincipalsHaveNames(t *testing.T) {
	agent := &Principal{Claim: Claim{Kind: Host, Name: "h1", Life: Life{"web/a.2", 7}}}
	if agent.As() != Agent || agent.String() != "agent web/a.2" {
		t.Errorf("%s is %s", agent.As(), agent)
	}
	ctx := With(context.Background(), &Principal{Claim: Claim{Kind: User, Name: "anna"}})
	if by := ByWhom(ctx, "the boss"); by != "user/anna" {
		t.Errorf("by is %q", by)
	}
	if by := ByWhom(context.Background(), "the boss"); by != "the boss" {
		t.Errorf("without identities by is %q", by)
	}
	long := &Principal{Claim: Claim{Kind: User, Name: strings.Repeat("ü", 200)}}
	if by := long.By(); len(by) > maxBy || strings.Contains(by, "\ufffd") {
		t.Errorf("by has %d bytes: %q", len(by), by)
	}
}
