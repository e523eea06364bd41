package noun

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// TokenID numbers the tokens with which somebody joins, from 1; it is what users see. Zero means none.
type TokenID uint64

// APITokenID numbers API tokens from 1; it is what users see. Zero means none.
type APITokenID uint64

// CredentialID and UserID are inner numbers; names are what users see.
type (
	CredentialID uint64
	UserID       uint64
)

// Limits of identities.
const (
	MaxIdentity   = 128    // bytes of a name
	MaxUsers      = 10_000 // and as many credentials of theirs
	MaxMachines   = 20_000 // credentials of servers and hosts in use
	MaxGone       = 10_000 // names that are gone and whose generation is remembered one by one
	MaxTokens     = 1_000
	MaxAPITokens  = 1_000
	MaxTokenUses  = 1_000
	MaxRoots      = 4
	MaxRoot       = 4 << 10 // bytes of a root certificate
	MaxBindings   = 64      // of a user or an API token
	MaxSerial     = 64      // bytes
	MaxTokenKVs   = 16      // labels, and runners, that a token asks for
	MaxTokenValue = 256     // bytes of a label's value
	MaxTokenLife  = 365 * 24 * time.Hour
	LeafLife      = 24 * time.Hour // of a certificate, on the clock of certificates
	SecretHash    = 32             // bytes of a SHA-256 sum
	MaxPrincipal  = 192
)

// IdentityKind is what an identity is of. The numbers are written to disk.
type IdentityKind uint8

// Kinds of identities. A token has one too: that of who joins by it.
const (
	ServerIdentity IdentityKind = iota + 1
	HostIdentity
	UserIdentity
	IdentityKinds // one more than the last
)

var identityNames = [...]string{"", "server", "host", "user"}

func (k IdentityKind) String() string {
	if int(k) < len(identityNames) {
		return identityNames[k]
	}
	return "unknown"
}

// ParseIdentityKind reads what String writes; 0 and false for anything else.
func ParseIdentityKind(word string) (IdentityKind, bool) {
	at := slices.Index(identityNames[1:], word)
	return IdentityKind(at + 1), at >= 0
}

// Identity is who holds a certificate: the id of a server, the key of a host, the name of a user.
type Identity struct {
	Kind IdentityKind
	Name string
}

func (i Identity) String() string { return i.Kind.String() + "/" + i.Name }

// Check tells what is wrong with an identity. Names begin with a letter or digit and consist of letters,
// digits and . _ @ -: they stand in certificates, paths and suggested commands.
func (i Identity) Check() error {
	if i.Kind == 0 || i.Kind >= IdentityKinds {
		return fmt.Errorf("%d is no kind of identity: it is server, host or user", i.Kind)
	}
	if i.Name == "" || len(i.Name) > MaxIdentity {
		return fmt.Errorf("the name of the %s has %d characters, 1 to %d are allowed", i.Kind, len(i.Name),
			MaxIdentity)
	}
	for at, c := range []byte(i.Name) {
		ok := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			at > 0 && strings.IndexByte("._@-", c) >= 0
		if !ok {
			return fmt.Errorf("the name %q of the %s is not made of letters, digits and . _ @ -, "+
				"beginning with a letter or digit", i.Name, i.Kind)
		}
	}
	return nil
}

// UserRole is what somebody may do; each includes the ones before it. The numbers are written to disk.
type UserRole uint8

// Roles of people. Zero is none.
const (
	Viewer    UserRole = iota + 1 // names and states
	Reader                        // contents too: mail, results, logs, screens
	Operator                      // tasks, mail, nudges, restarts, drains
	Admin                         // settings, servers, tokens, snapshots, users
	UserRoles                     // one more than the last
)

var userRoleNames = [...]string{"none", "viewer", "reader", "operator", "admin"}

func (r UserRole) String() string {
	if int(r) < len(userRoleNames) {
		return userRoleNames[r]
	}
	return "unknown"
}

// ParseUserRole reads what String writes; 0 and false for anything else.
func ParseUserRole(word string) (UserRole, bool) {
	at := slices.Index(userRoleNames[1:], word)
	return UserRole(at + 1), at >= 0
}

// Everywhere is the room of a binding that holds in every room, and for what belongs to none.
const Everywhere = "*"

// Binding gives a role in one room, or everywhere.
type Binding struct {
	Role UserRole
	Room string // or Everywhere
}

// RoleIn is the highest role that bindings give in a room; Everywhere asks for what holds in all of them.
func RoleIn(list []Binding, room string) (r UserRole) {
	for _, b := range list {
		if b.Room == Everywhere || b.Room == room {
			r = max(r, b.Role)
		}
	}
	return r
}

// CheckBindings tells what is wrong with the bindings of a user or an API token.
func CheckBindings(list []Binding) error {
	if len(list) == 0 || len(list) > MaxBindings {
		return fmt.Errorf("%d bindings are given, 1 to %d are allowed", len(list), MaxBindings)
	}
	for i, b := range list {
		if b.Role == 0 || b.Role >= UserRoles {
			return fmt.Errorf("%d is no role: they are viewer, reader, operator and admin", b.Role)
		}
		if b.Room != Everywhere {
			if err := CheckName(b.Room); err != nil {
				return fmt.Errorf("a binding holds in a room, or in all by *: %w", err)
			}
		}
		if slices.ContainsFunc(list[:i], func(o Binding) bool { return o.Room == b.Room }) {
			return fmt.Errorf("room %s is bound twice", b.Room)
		}
	}
	return nil
}

// Trust is the part of identities of which there is one. No private key is ever in the state.
type Trust struct {
	Cluster string // UUID; empty: nobody has an identity in this cluster
	Roots   []Root // replaced, never changed; more than one while the root is replaced
	Issues  uint32 // the place in Roots of the one that issues

	// Floor is the generation that every new one is above: those of names that are not
	// remembered one by one, and of what a lost cluster may have handed out.
	Floor uint64
	// Ahead is by how much the clock of certificates is ahead of cluster time (behind, if negative): a
	// restored backup sets that one back, and no certificate may become younger by it.
	Ahead time.Duration

	LastToken      TokenID
	LastAPIToken   APITokenID
	LastCredential CredentialID
	LastUser       UserID

	Ring Ring // the keys of gossip, without the keys

	// RootsRev counts the changes of Roots and Issues, RootsAt is when the last one was, on the clock of
	// certificates.
	RootsRev uint64
	RootsAt  Time
}

// Root is a root certificate.
type Root struct {
	DER string
}

// Token lets somebody join. It is void at End; whoever has used it can repeat that until then.
type Token struct {
	ID      TokenID
	Hash    string // SHA-256 of the secret, which is in no state
	Kind    IdentityKind
	Name    string   // of whom it lets in; empty: of anybody with a free name
	Labels  []KV     // that the host has to have
	Runners []string // that the host may offer; empty: all. Sorted
	Uses    uint32   // left
	End     Time
	By      string
	At      Wall
}

// Credential is what the cluster knows of who holds a certificate. Its generation never falls: what
// was issued under a smaller one is revoked.
type Credential struct {
	ID         CredentialID
	Kind       IdentityKind
	Name       string
	Generation uint64
	// Gone tells since when nobody has the name any more: its generation was raised once more then, and
	// the name is free for a token. 0: it is in use.
	Gone Time

	// Serial and Key are the serial of the newest certificate and the SHA-256 of its public key, Before is
	// the serial of the one that it took the place of. Empty: not known, whichever comes is believed once.
	Serial, Before, Key string
	IssuedAt            Time // on the clock of certificates

	Token   TokenID  // it was last let in by; 0: without one
	Joined  string   // the SHA-256 of the public key that was let in then
	Labels  []KV     // as in the token
	Runners []string // as in the token

	// Until is the date of the newest certificate, which only browsers and tools go by; 0: not known.
	Until Wall

	// Root is the SHA-256 of the root behind the newest certificate, and RootsRev tells which roots its
	// holder was told with it. Empty and 0: not known.
	Root     string
	RootsRev uint64
}

// Identity is whose it is.
func (c *Credential) Identity() Identity { return Identity{c.Kind, c.Name} }

// User is a person who may do something.
type User struct {
	ID       UserID
	Name     string
	Bindings []Binding // replaced, never changed
	By       string
	At       Wall
}

// APIToken lets a program in that has no certificate.
type APIToken struct {
	ID       APITokenID
	Name     string // for people
	Hash     string // SHA-256 of the token, which is in no state
	Bindings []Binding
	End      Time
	By       string
	At       Wall
}
