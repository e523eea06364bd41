package trust

import (
	"fmt"
	"slices"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// FoundTrust gives a cluster its name and its roots, and an identity to its first server and its first
// admin. Once in the life of a cluster.
type FoundTrust struct {
	Cluster string // UUID
	Roots   []Root
	Issues  uint32 // the place in Roots of the one that issues
	Server  string // that founds, and holds its certificate already
	Serial  string // of that certificate
	Admin   string // empty: none
	By      string
}

// Root is a root certificate.
type Root struct{ Cert []byte } // in DER

func (r Root) bad() bool { return len(r.Cert) == 0 || len(r.Cert) > noun.MaxRoot }

// NeedsLevel tells that the command came with core.LevelRetry.
func (FoundTrust) NeedsLevel() uint32 { return core.LevelRetry }

// Apply makes the cluster one in which everybody has an identity.
func (c FoundTrust) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	t := &s.Meta.Trust
	server := noun.Identity{Kind: noun.ServerIdentity, Name: c.Server}
	admin := noun.Identity{Kind: noun.UserIdentity, Name: c.Admin}
	switch {
	case t.Cluster != "":
		return core.Refuse(noun.Conflict, "the cluster has identities already, as %s", t.Cluster)
	case c.Cluster == "" || len(c.Cluster) > noun.MaxName:
		return core.Refuse(noun.Invalid, "the cluster's name has %d characters, 1 to %d are allowed",
			len(c.Cluster), noun.MaxName)
	case len(c.Roots) == 0 || len(c.Roots) > noun.MaxRoots || int64(c.Issues) >= int64(len(c.Roots)):
		return core.Refuse(noun.Invalid, "%d roots are given, and number %d issues; 1 to %d are allowed",
			len(c.Roots), c.Issues, noun.MaxRoots)
	case slices.ContainsFunc(c.Roots, Root.bad):
		return core.Refuse(noun.Invalid, "a root has 1 to %d bytes", noun.MaxRoot)
	case len(c.Serial) > noun.MaxSerial || len(c.By) > noun.MaxPrincipal:
		return core.Refuse(noun.Invalid, "a serial has at most %d bytes, a name of who speaks %d", noun.MaxSerial,
			noun.MaxPrincipal)
	}
	if err := server.Check(); err != nil {
		return core.Refuse(noun.Invalid, "%v", err)
	}
	if err := admin.Check(); c.Admin != "" && err != nil {
		return core.Refuse(noun.Invalid, "%v", err)
	}
	t.Cluster, t.Issues, t.Roots = c.Cluster, c.Issues, nil
	for _, r := range c.Roots {
		t.Roots = append(t.Roots, noun.Root{DER: string(r.Cert)})
	}
	s.raise(server).Serial = c.Serial
	if c.Admin != "" {
		s.putUser(c.Admin, []noun.Binding{{Role: noun.Admin, Room: noun.Everywhere}}, c.By)
	}
	s.Event("trust.founded", core.About{}, fmt.Sprintf("by %s: cluster %s", core.Nobody(c.By), c.Cluster))
	return noun.Outcome{Rev: s.Credential(server.Kind, server.Name).Generation}
}

// founded refuses what needs identities in a cluster that has none.
func (s *State) founded() (no noun.Outcome) {
	if s.Meta.Trust.Cluster == "" {
		return core.Refuse(noun.Conflict, "the cluster has no identities; `vigil server init` makes them")
	}
	return no
}
