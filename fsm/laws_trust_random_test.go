package fsm

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"vigil/fsm/noun"
)

// Random commands about identities: no generation ever falls, no token is used more often than it says, and
// a restored server decides as one that was not.
func TestTrustL12RandomLogs(t *testing.T) {
	for _, seed := range seeds(t, 4) {
		r := rand.New(rand.NewPCG(seed, 15))
		d := trusting(t)
		restored := d.backed()
		seen, uses, used := map[noun.Identity]uint64{}, map[noun.TokenID]int{}, 0
		for range 1500 {
			d.clock = d.clock.Add(time.Duration(r.IntN(120)) * time.Second)
			cmd := randomTrust(r, d.s)
			e := d.entry(Request{Cmd: cmd})
			out, again := d.apply(e).Outcomes[0], restored.Apply(e).Outcomes[0]
			if out != again {
				t.Fatalf("seed %d, %T: %+v, after a restore %+v", seed, cmd, out, again)
			}
			switch c := cmd.(type) {
			case PutToken:
				if out.Code == noun.OK {
					uses[noun.TokenID(out.Rev)] = int(c.Uses)
				}
			case UseToken:
				if out.Code == noun.OK && out.Count == 0 {
					uses[c.Token]--
					used++
				}
				if uses[c.Token] < 0 {
					t.Fatalf("seed %d: token %d was used too often", seed, c.Token)
				}
			}
			for k := range d.s.Credentials(0) {
				if k.Generation < seen[k.Identity()] {
					t.Fatalf("seed %d, %T: %s fell from generation %d to %d", seed, cmd, k.Identity(),
						seen[k.Identity()], k.Generation)
				}
				seen[k.Identity()] = k.Generation
			}
			if r.IntN(60) == 0 {
				restored = reload(t, restored)
			}
		}
		if d.s.Hash() != restored.Hash() {
			t.Errorf("seed %d: states differ", seed)
		}
		if used < 20 || d.events("identity.revoked") < 20 {
			t.Errorf("seed %d: %d uses, %d revocations exercise nothing", seed, used, d.events("identity.revoked"))
		}
	}
}

// randomTrust gives a command about few names, which mostly makes sense.
func randomTrust(r *rand.Rand, s *State) Command {
	kind := noun.IdentityKind(1 + r.IntN(3))
	name := fmt.Sprint(kind.String()[:1], r.IntN(4))
	token := noun.TokenID(max(1, int(s.Meta.Trust.LastToken)-r.IntN(6)))
	if t := s.Token(token); t != nil && r.IntN(8) > 0 {
		if kind = t.Kind; t.Name != "" {
			name = t.Name
		} else {
			name = fmt.Sprint(kind.String()[:1], r.IntN(4))
		}
	}
	gen, was := uint64(r.IntN(3)), fmt.Sprint(r.IntN(9))
	if k := s.Credential(kind, name); k != nil && r.IntN(4) > 0 {
		gen, was = k.Generation, k.Serial
	}
	key := fmt.Sprint("key", r.IntN(3))
	switch r.IntN(14) {
	case 0, 1:
		c := PutToken{SecretHash: sum("secret"), Kind: kind, Uses: 1, For: time.Duration(1+r.IntN(3)) * time.Hour}
		if kind == noun.UserIdentity || r.IntN(2) == 0 {
			c.Name = name
		} else {
			c.Uses += uint32(r.IntN(3))
		}
		return c
	case 2, 3, 4, 5:
		return UseToken{Token: token, SecretHash: sum("secret"), Kind: kind, Name: name, Key: sum(key)}
	case 6, 7:
		return leaf(kind, name, gen, fmt.Sprint(r.IntN(9)), was, key)
	case 8:
		return RaiseGeneration{Kind: kind, Name: name}
	case 9:
		list := []noun.Binding{{Role: noun.UserRole(1 + r.IntN(4)), Room: "*"}}
		if r.IntN(2) == 0 {
			return PutUser{Name: name, Bindings: list}
		}
		return PutAPIToken{Name: "ci", Hash: sum(fmt.Sprint(r.IntN(30))), Bindings: list, For: time.Hour}
	case 12:
		return AddRoot{Cert: []byte(fmt.Sprint("root", r.IntN(5))), Issues: r.IntN(2) == 0}
	case 13:
		return StepRoots{Rev: s.RootWait().Rev}
	case 10:
		if r.IntN(2) == 0 {
			return RemoveUser{Name: name}
		}
		return RevokeToken{Token: token}
	}
	return RevokeAPIToken{Token: noun.APITokenID(1 + r.IntN(9))}
}
