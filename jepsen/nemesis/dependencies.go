//go:build linux

package nemesis

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"vigil/jepsen/depend"
	"vigil/jepsen/stand"
)

// outages are what an outage does to tasks, as behaviours of command ticker: every attempt is given
// back, with or without a word on how long to wait, or ends the life of its agent.
var outages = []string{"fail=1000000", "fail=1000000,after=2s", "crash=0s"}

// dependencyKinds are what may happen to what agents depend on.
func dependencyKinds() []*Kind {
	return []*Kind{{Name: "dependency_down", Lane: Dependencies, Needs: dependents, Strike: dependencyDown,
		Says: "What the tasks of one role, or of all, depend on is down for 5 to 30 s: each attempt fails, " +
			"with or without a word on how long to wait, or its agent crashes."}}
}

func dependents(f *Field) string {
	if len(f.Dependents) == 0 {
		return "no agent depends on anything: it takes workload outage"
	}
	return ""
}

// dependencyDown touches no machine, so it excuses nothing.
func dependencyDown(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (s Struck, err error) {
	roles, folder := f.Dependents, f.Stand.Ledger.Folder
	if n := r.IntN(len(roles) + 1); n < len(roles) {
		roles = roles[n : n+1]
	}
	words := outages[r.IntN(len(outages))]
	span := 5*time.Second + time.Duration(r.Int64N(int64(25*time.Second)))
	defer func() {
		for _, role := range roles {
			err = errors.Join(err, depend.BringUp(folder, role))
		}
	}()
	for _, role := range roles {
		if err := depend.TakeDown(folder, role, words); err != nil {
			return Struck{}, err
		}
	}
	f.Pause(ctx, span)
	return Struck{Note: strings.Join(roles, ", ") + ": " + words + " for " + round(span)}, nil
}

func healDependencies(f *Field) error { return depend.BringAllUp(f.Stand.Ledger.Folder) }
