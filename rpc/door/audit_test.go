package door

import (
	"testing"

	"vigil/rpc/door/who"
)

// Who changes something in their own name is noted, through the private socket of a server too; what
// servers, hosts and agents change has its history, and reads are nobody's change.
func TestWhoIsAudited(t *testing.T) {
	for _, tt := range []struct {
		kind   who.Kind
		method string
		want   bool
	}{
		{who.User, "/vigil.v1.Trust/PutUser", true},
		{who.APIToken, "/vigil.v1.Trust/PutUser", true},
		{who.Root, "/vigil.v1.Trust/PutUser", true},
		{who.Root, "/vigil.v1.Trust/CreateToken", true},
		{who.Root, "/vigil.v1.Trust/ListUsers", false},
		{who.User, "/vigil.v1.Trust/ListUsers", false},
		{who.Server, "/vigil.v1.Trust/PutUser", false},
		{who.Host, "/vigil.v1.Fleet/CreateTask", false},
		{who.Local, "/vigil.v1.Fleet/CreateTask", false},
	} {
		p := &who.Principal{Claim: who.Claim{Kind: tt.kind, Name: "x"}}
		if got := toAudit(p, tt.method, nil); got != tt.want {
			t.Errorf("%s calls %s: noted: %t, want %t", tt.kind, tt.method, got, tt.want)
		}
	}
}
