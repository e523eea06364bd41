package trust

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// AddRoot begins to replace the root by another one, which everybody trusts beside it from now on.
type AddRoot struct {
	Cert []byte // in DER
	// Issues tells that the new one issues at once: the old one vouches for it, so who knows only the old
	// one trusts what the new one has signed. Else every server and host is told of it first.
	Issues bool
	By     string
}

// StepRoots goes on with the replacement of a root (planned): the new one issues, or the old one goes.
type StepRoots struct {
	Rev uint64 // of the roots that were looked at
}

// NeedsLevel tells that the command came with core.LevelRetry.
func (AddRoot) NeedsLevel() uint32   { return core.LevelRetry }
func (StepRoots) NeedsLevel() uint32 { return core.LevelRetry }

// Apply answers with the revision of the roots. It may be repeated.
func (c AddRoot) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	if no := s.founded(); no.Code != noun.OK {
		return no
	}
	t := &s.Meta.Trust
	switch {
	case Root{c.Cert}.bad():
		return core.Refuse(noun.Invalid, "a root has 1 to %d bytes", noun.MaxRoot)
	case len(c.By) > noun.MaxPrincipal:
		return core.Refuse(noun.Invalid, "a name of who speaks has at most %d bytes", noun.MaxPrincipal)
	case string(c.Cert) == t.Roots[len(t.Roots)-1].DER:
		return noun.Outcome{Rev: t.RootsRev}
	case len(t.Roots) > 1:
		return core.Refuse(noun.Conflict, "a root is being replaced already; `vigil root status` tells what it waits for")
	}
	roots := append(slices.Clone(t.Roots), noun.Root{DER: string(c.Cert)})
	issues := t.Issues
	if c.Issues {
		issues = uint32(len(roots) - 1)
	}
	s.turnRoots(roots, issues)
	s.Event("trust.root_added", core.About{}, fmt.Sprintf("by %s: %s", core.Nobody(c.By), rootWords(c.Cert)))
	return noun.Outcome{Rev: t.RootsRev}
}

// Apply takes the step.
func (c StepRoots) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	t := &s.Meta.Trust
	if c.Rev != t.RootsRev {
		return core.Refuse(noun.Conflict, "the roots are at revision %d, not at %d", t.RootsRev, c.Rev)
	}
	w := s.RootWait()
	switch {
	case w.Step == RootsRest:
		return core.Refuse(noun.Conflict, "no root is being replaced")
	case !w.Over():
		return core.Refuse(noun.Conflict, "%d servers and hosts are behind, and people for %s", len(w.Behind), w.Left)
	case w.Step == RootsSpread:
		s.turnRoots(t.Roots, uint32(len(t.Roots)-1))
		s.Event("trust.root_issues", core.About{}, rootWords([]byte(t.Roots[t.Issues].DER)))
	default:
		old := t.Roots[0].DER
		s.turnRoots(t.Roots[len(t.Roots)-1:], 0)
		s.Event("trust.root_removed", core.About{}, rootWords([]byte(old)))
	}
	return noun.Outcome{Rev: t.RootsRev}
}

// turnRoots begins a revision of the roots.
func (s *State) turnRoots(roots []noun.Root, issues uint32) {
	t := &s.Meta.Trust
	t.Roots, t.Issues = slices.Clone(roots), issues
	t.RootsRev++
	t.RootsAt = s.TrustClock()
}

// rootWords name a root in an event.
func rootWords(der []byte) string {
	sum := sha256.Sum256(der)
	return fmt.Sprintf("SHA-256 %x", sum[:8])
}

// RootStep is where the replacement of a root is.
type RootStep string

// Steps of the replacement of a root.
const (
	RootsRest   RootStep = "rest"   // there is one
	RootsSpread RootStep = "spread" // the new one becomes known to every server and host
	RootsRetire RootStep = "retire" // every server and host gets a certificate of the new one
)

// RootWait is what the replacement of a root waits for.
type RootWait struct {
	Step   RootStep
	Rev    uint64
	Behind []noun.Identity // servers and hosts, by kind and name; gone ones are not waited for
	Left   time.Duration   // until no certificate of the old root is young enough, of a person for example
}

// Over tells that the next step can be taken.
func (w *RootWait) Over() bool { return w.Step != RootsRest && len(w.Behind) == 0 && w.Left <= 0 }

// RootWait looks at every server and host while a root is replaced. A holder whose certificate is not
// known of renews it as the others do.
func (v *View) RootWait() RootWait {
	t := &v.Meta.Trust
	w := RootWait{Step: RootsRest, Rev: t.RootsRev}
	if len(t.Roots) < 2 {
		return w
	}
	sum := sha256.Sum256([]byte(t.Roots[t.Issues].DER))
	behind := func(k *noun.Credential) bool { return k.Root != string(sum[:]) }
	w.Step = RootsRetire
	if int(t.Issues) != len(t.Roots)-1 {
		w.Step = RootsSpread
		behind = func(k *noun.Credential) bool { return k.RootsRev < t.RootsRev }
	}
	if w.Step == RootsRetire {
		w.Left = max(0, t.RootsAt.Add(noun.LeafLife).Sub(v.TrustClock()))
	}
	for _, k := range v.CredentialTable.From(0) {
		if k.Gone == 0 && k.Kind != noun.UserIdentity && k.Serial != "" && behind(k) {
			w.Behind = append(w.Behind, k.Identity())
		}
	}
	slices.SortFunc(w.Behind, func(a, b noun.Identity) int {
		if a.Kind != b.Kind {
			return int(a.Kind) - int(b.Kind)
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return w
}
