//go:build linux

package nemesis

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"vigil/jepsen/depend"
	"vigil/jepsen/stand"
)

// An outage goes on for 5 to 30 s, for one role or for all, and is over afterwards, also when the
// run ends in the middle of it.
func TestOutagesOfDependenciesEnd(t *testing.T) {
	f := &Field{Stand: &stand.Stand{Ledger: &stand.Collector{Folder: t.TempDir()}}, TTL: time.Second}
	kind := dependencyKinds()[0]
	if kind.Needs(f) == "" {
		t.Error("it is possible although nothing depends on anything")
	}
	f.Dependents = []string{"r/a", "r/b"}
	down := func() (roles string) {
		for _, role := range f.Dependents {
			if words, err := depend.Words(f.Stand.Ledger.Folder, role); err != nil {
				t.Fatal(err)
			} else if words != "" {
				roles += role + " "
			}
		}
		return roles
	}
	seen := map[string]bool{}
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 40 {
		synctest.Test(t, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			began := time.Now()
			time.AfterFunc(time.Second, func() {
				seen[down()] = true
				if n%4 == 0 {
					end()
				}
			})
			struck, err := kind.Strike(ctx, f, nil, r)
			end()
			took := time.Since(began)
			if err != nil || len(struck.Effects) > 0 || !strings.Contains(struck.Note, "r/") {
				t.Errorf("%+v, %v", struck, err)
			}
			if n%4 == 0 && took != time.Second || n%4 != 0 && (took < 5*time.Second || took > 30*time.Second) {
				t.Errorf("outage %d took %s", n, took)
			}
			if left := down(); left != "" {
				t.Errorf("%s is down afterwards", left)
			}
		})
	}
	for _, roles := range []string{"r/a ", "r/b ", "r/a r/b "} {
		if !seen[roles] {
			t.Errorf("never was %sdown: %v", roles, seen)
		}
	}
}
