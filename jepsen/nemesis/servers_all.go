//go:build linux

package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"vigil/jepsen/history"
	"vigil/jepsen/stand"
)

// outageKinds take away more than a minority: nothing can be written meanwhile, and
// nothing that was acknowledged may be missing afterwards.
func outageKinds() []*Kind {
	out := func(name, says string, weight int, s strike) *Kind {
		return &Kind{Name: name, Lane: Alone, Says: says, Weight: weight, Takes: true, Strike: s}
	}
	return []*Kind{
		out("all_killed", "All servers are killed (-9) at the same moment and started again at once.", 3,
			all(0, 0, serversOf, killAll)),
		out("all_killed_for_ttls", "All servers are killed (-9) and stay away for 1 to 5 TTL.", 2,
			all(1, 5, serversOf, killAll)),
		out("all_power_lost", "The machines of all servers are switched off without a word, for "+
			"up to 2 TTL.", 2, all(0, 2, serversOf, powerOffAll)),
		out("all_paused", "All servers are stopped (SIGSTOP) for 0.3 to 3 TTL.", 3, all(0.3, 3, serversOf, freezeAll)),
		out("majority_killed", "A majority of the servers is killed (-9) and stays away for 0.2 to 2 TTL.",
			2, all(0.2, 2, majorityOf, killAll)),
		out("majority_paused", "A majority of the servers is stopped (SIGSTOP) for 0.3 to 3 TTL.", 2,
			all(0.3, 3, majorityOf, freezeAll)),
		out("all_back_one_by_one", "All servers are killed and come back one after the other, up to "+
			"1 TTL apart.", 2, allOneByOne),
		out("all_apart", "No server hears any other, hosts and clients reach all of them, for 0.3 to 3 TTL.",
			2, allApart),
		out("all_without_hosts",
			"Hosts are cut off from all servers, which hear each other, for 0.5 to 4 TTL.", 2, hostsApart),
		out("leader_api_cut", "Nobody reaches the API of the leader, nor do other servers; it goes on "+
			"leading, for 0.2 to 3 TTL.", 2, leaderAPICut),
		out("all_isolated", "No packet reaches or leaves any server, for 0.5 to 4 TTL.", 2,
			all(0.5, 4, serversOf, isolateAll)),
	}
}

// deed is done to several servers at the same moment, and undone.
type deed struct {
	what     string
	do, undo func(*stand.Server) error
}

var (
	killAll     = deed{history.Killed, (*stand.Server).Kill, (*stand.Server).Start}
	powerOffAll = deed{history.Killed, powerOff, powerOn}
	freezeAll   = deed{history.Stopped, (*stand.Server).Freeze, (*stand.Server).Thaw}
	isolateAll  = deed{history.Cut, func(sv *stand.Server) error { return sv.Cut(stand.Both) },
		func(sv *stand.Server) error { return sv.Heal() }}
)

func powerOff(sv *stand.Server) error { return sv.PowerOff() }

func powerOn(sv *stand.Server) error {
	if err := sv.On(); err != nil {
		return err
	}
	return sv.Start()
}

func serversOf(f *Field, _ *rand.Rand) []*stand.Server { return f.Stand.Servers }

func majorityOf(f *Field, r *rand.Rand) []*stand.Server {
	var list []*stand.Server
	for _, i := range r.Perm(len(f.Stand.Servers))[:len(f.Stand.Servers)/2+1] {
		list = append(list, f.Stand.Servers[i])
	}
	return list
}

// all does something to servers for so many TTLs.
func all(from, to float64, which func(*Field, *rand.Rand) []*stand.Server, d deed) strike {
	return func(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
		span, list := f.Span(r, from, to), which(f, r)
		names := namesOf(stand.MachinesOf(list...))
		var t Touched
		defer t.Begin(d.what, names...)()
		err := atOnce(list, d.do)
		if err == nil {
			f.Pause(ctx, span)
		}
		err = errors.Join(err, atOnce(list, d.undo))
		return t.Struck(fmt.Sprintf("%s for %s", strings.Join(names, " "), round(span))), err
	}
}

func atOnce(list []*stand.Server, do func(*stand.Server) error) error {
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, sv := range list {
		wg.Go(func() { errs[i] = do(sv) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func allOneByOne(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
	var t Touched
	ends := map[*stand.Server]func(){}
	for _, sv := range f.Stand.Servers {
		ends[sv] = t.Begin(history.Killed, sv.Name)
	}
	if err := atOnce(f.Stand.Servers, (*stand.Server).Kill); err != nil {
		return t.Struck(""), err
	}
	var note []string
	for _, i := range r.Perm(len(f.Stand.Servers)) {
		span := f.Span(r, 0, 1)
		f.Pause(ctx, span)
		sv := f.Stand.Servers[i]
		if err := sv.Start(); err != nil {
			return t.Struck(""), err
		}
		ends[sv]()
		note = append(note, fmt.Sprintf("%s after %s", sv.Name, round(span)))
	}
	return t.Struck(strings.Join(note, ", ")), nil
}

// cutAll drops packets on links.
func cutAll(ctx context.Context, f *Field, span time.Duration, links []stand.Link, touched []string) (Struck, error) {
	var t Touched
	defer t.Begin(history.Cut, touched...)()
	heal, err := f.Stand.CutLinks(links)
	if err == nil {
		f.Pause(ctx, span)
	}
	err = errors.Join(err, heal())
	return t.Struck("for " + round(span)), err
}

func allApart(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
	list := stand.MachinesOf(f.Stand.Servers...)
	return cutAll(ctx, f, f.Span(r, 0.3, 3), stand.Between(list, list), namesOf(list))
}

func hostsApart(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
	if len(f.Stand.Hosts) == 0 {
		return Struck{}, ErrNobody
	}
	return cutAll(ctx, f, f.Span(r, 0.5, 4), stand.Between(stand.MachinesOf(f.Stand.Servers...), f.hosts()),
		namesOf(f.hosts()))
}
