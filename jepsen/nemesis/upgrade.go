//go:build linux

package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"vigil/jepsen/history"
	"vigil/jepsen/stand"
)

// Servers of an older build are upgraded, in a run that begins with them
// (stand.Config.ServerProgram). Nothing ever goes back.
func upgradeKinds() []*Kind {
	return []*Kind{
		upgradeKind("server_upgraded",
			"A server of the older build ends (SIGTERM) and starts as the newer one; others stay "+
				"as they are.", 12, upgraded(false)),
		upgradeKind("server_upgraded_by_kill",
			"A server of the older build is killed (-9) and starts as the newer one; others stay "+
				"as they are.", 12, upgraded(true)),
		upgradeAll,
	}
}

var upgradeAll = upgradeKind("rolling_upgrade",
	"All servers of the older build are upgraded, one when the one before has caught up.", 6, rollingUpgrade)

func upgradeKind(name, says string, weight int, s strike) *Kind {
	return &Kind{Name: name, Lane: Servers, Says: says, Weight: weight, Takes: true, Needs: older, Strike: s}
}

// older says why nothing can be upgraded.
func older(f *Field) string {
	if f.Older == "" {
		return "it takes the program of an older build"
	}
	if len(f.outdated()) == 0 {
		return "everything is upgraded"
	}
	return ""
}

// outdated are the servers that run the older build. Only lane servers upgrades, and
// only it asks.
func (f *Field) outdated() []*stand.Server {
	var list []*stand.Server
	for _, sv := range f.Stand.Servers {
		if f.Older != "" && sv.Program == f.Older {
			list = append(list, sv)
		}
	}
	return list
}

// current are the servers that run the build under test: an older one promises less.
func (f *Field) current() []*stand.Server {
	return slices.DeleteFunc(slices.Clone(f.Stand.Servers), func(sv *stand.Server) bool {
		return f.Older != "" && sv.Program == f.Older
	})
}

func upToDate(_ context.Context, f *Field, r *rand.Rand) *stand.Server { return oneOf(f.current(), r) }

func oneOutdated(_ context.Context, f *Field, r *rand.Rand) *stand.Server {
	return oneOf(f.outdated(), r)
}

// oneOf picks a server, nil when there is none.
func oneOf(list []*stand.Server, r *rand.Rand) *stand.Server {
	if len(list) == 0 {
		return nil
	}
	return list[r.IntN(len(list))]
}

func upgraded(kill bool) strike {
	return onServer(oneOutdated, func(ctx context.Context, f *Field, sv *stand.Server, _ *rand.Rand,
		t *Touched) (string, error) {
		defer t.Begin(history.Away, sv.Name)()
		return upgrade(ctx, sv, kill)
	})
}

func upgrade(ctx context.Context, sv *stand.Server, kill bool) (how string, err error) {
	if kill {
		how, err = "killed", sv.Kill()
	} else {
		how, err = end(ctx, sv)
	}
	if err != nil {
		return how, err
	}
	return how, sv.StartWith("")
}

func rollingUpgrade(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
	list := f.outdated()
	if len(list) == 0 {
		return Struck{}, ErrNobody
	}
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	var t Touched
	var note []string
	for _, sv := range list {
		if ctx.Err() != nil {
			break
		}
		done := t.Begin(history.Away, sv.Name)
		how, err := upgrade(ctx, sv, false)
		if err != nil {
			return t.Struck(strings.Join(note, ", ")), err
		}
		f.follows(ctx, sv)
		done()
		note = append(note, fmt.Sprintf("%s %s", sv.Name, how))
	}
	return t.Struck(strings.Join(note, ", ")), nil
}
