package who

import (
	"context"
	"strings"

	"vigil/rpc/code"
)

// Kind is what sort of thing calls.
type Kind string

// The kinds. The words of those that have a certificate are those of its name.
const (
	Nobody   Kind = ""      // no identity was shown
	Local    Kind = "local" // without identities: everybody who reaches the server
	Server   Kind = "server"
	Host     Kind = "host"
	User     Kind = "user"
	APIToken Kind = "token"
	Root     Kind = "root"  // whoever reaches the private socket of a server, which Name is the id of
	Agent    Kind = "agent" // a life, through the host on which it runs
)

// AllRooms is the room of a right that holds in all of them.
const AllRooms = "*"

// Life is one life of an agent: its full name and its incarnation.
type Life struct {
	Agent       string
	Incarnation uint64
}

// Issuer is the server whose key has signed a certificate; zero: the root.
type Issuer struct {
	Server     string
	Generation uint64 // of the server when it got the key
}

// Claim is what a connection or a token says of its caller. It proves nothing by itself: whether the
// generation is still the current one is in the state.
type Claim struct {
	Kind       Kind
	Name       string // id of a server or API token, key of a host, name of a user
	Generation uint64 // raised to revoke
	Epoch      uint64 // of the cluster when the certificate was issued
	Clock      int64  // cluster time at that moment, in nanoseconds
	Serial     string // of the certificate; of an API token the hash of its secret in hex
	Issuer     Issuer // whose key has signed the certificate
	Life       Life   // with Host: for which life it speaks; zero: for itself
}

// Right is a role in a room, or in AllRooms.
type Right struct {
	Role code.Role
	Room string
}

// Principal is a caller whose claim was checked.
type Principal struct {
	Claim
	Rights []Right // of users and API tokens; not to be changed
}

// As is the kind whose rules hold: that of an agent when a host speaks for a life.
func (p *Principal) As() Kind {
	if p.Kind == Host && p.Life.Agent != "" {
		return Agent
	}
	return p.Kind
}

// May tells whether the principal has at least that role in the room; "" and AllRooms ask for a
// right in all rooms.
func (p *Principal) May(role code.Role, room string) bool {
	for _, r := range p.Rights {
		if r.Role >= role && (r.Room == AllRooms || room != "" && r.Room == room) {
			return true
		}
	}
	return false
}

// MaySomewhere tells whether the principal has at least that role in some room.
func (p *Principal) MaySomewhere(role code.Role) bool {
	for _, r := range p.Rights {
		if r.Role >= role {
			return true
		}
	}
	return false
}

// String names the principal in events, in messages and in the log: user/anna, host/h1,
// agent web/a.2. Agents hear it, so it has not the key of their host.
func (p *Principal) String() string {
	switch p.As() {
	case Nobody:
		return "a caller without an identity"
	case Agent:
		return "agent " + p.Life.Agent
	case Local:
		return string(Local)
	}
	return string(p.Kind) + "/" + p.Name
}

// maxBy bounds what names a principal in a write, in bytes, as free text there is bounded.
const maxBy = 128

// By is String, cut to what a write may hold of who has said it.
func (p *Principal) By() string {
	s := p.String()
	if len(s) > maxBy {
		s = strings.ToValidUTF8(s[:maxBy], "")
	}
	return s
}

// local is the one principal of servers without identities.
var local = &Principal{Claim: Claim{Kind: Local}}

type key struct{}

// With gives a context in which p calls.
func With(ctx context.Context, p *Principal) context.Context { return context.WithValue(ctx, key{}, p) }

// From gives who calls; Local where nobody was put in. The answer is not to be changed.
func From(ctx context.Context) *Principal {
	if p, ok := ctx.Value(key{}).(*Principal); ok {
		return p
	}
	return local
}

// ByWhom names the caller in a write: by its identity, and where there are none by what it says.
func ByWhom(ctx context.Context, said string) string {
	if p := From(ctx); p.Kind != Local {
		return p.By()
	}
	return said
}
