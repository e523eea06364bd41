//go:build linux

package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"vigil/jepsen/history"
	"vigil/jepsen/stand"
	"vigil/rpc/gen/vigilv1"
)

// wrongMemberKinds are what people do wrong when they change members, and the longest of all
// changes: every server is another one on another address.
func wrongMemberKinds() []*Kind {
	return []*Kind{
		{Name: "server_added_wrongly", Lane: Servers, Weight: 4, Strike: addedWrongly,
			Says: "A server is added at an address where nobody is, at that of another server, or under " +
				"the name of another one; it gets no vote."},
		{Name: "firewalled_server_added", Lane: Servers, Weight: 3, Takes: true, Needs: spares(1),
			Strike: addedFirewalled,
			Says: "A server more is added that no packet reaches for 1 to 3 TTL, and is taken in when " +
				"it is reached, and removed again."},
		{Name: "replacement_comes_late", Lane: Servers, Weight: 3, Takes: true, Needs: three, Strike: replacedLate,
			Says: "A server is killed, removed and emptied, and added again 0.5 to 2 TTL before its replacement runs."},
		{Name: "servers_moved", Lane: Alone, Weight: 3, Takes: true, Needs: moving, Strike: moved,
			Says: "All servers are replaced one by one by others on other addresses, and after 1 to 3 TTL back again."},
	}
}

// stranger is the name of a server that there is not.
const stranger = "stranger"

// addedWrongly harms nothing: checks excuse nothing for it.
func addedWrongly(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (_ Struck, err error) {
	perm := r.Perm(len(f.Stand.Servers))
	one, other := f.Stand.Servers[perm[0]], f.Stand.Servers[perm[1]]
	wrong := []struct{ what, name, at string }{
		{"at an address that refuses", stranger, one.IP + ":1"},
		{"at an address without a machine", stranger, "10.77.0.250:7000"},
		{"at the address of " + one.Name, stranger, one.RaftAddr()},
		{"under the name of " + one.Name, one.Name, other.RaftAddr()},
	}[r.IntN(4)]
	defer func() { err = errors.Join(err, f.dismissName(stranger)) }()
	call, cancel := context.WithTimeout(ctx, f.Span(r, 0.5, 3))
	defer cancel()
	_, e := f.Cluster.AddServer(call, &vigilv1.AddServerRequest{Id: wrong.name, RaftAddr: wrong.at})
	note := fmt.Sprintf("%s: %v", wrong.what, e)
	if e == nil { // whoever is told that it is done believes it
		return Struck{Note: note}, fmt.Errorf("a server %s was added: the cluster says that it has its vote",
			wrong.what)
	}
	return Struck{Note: note}, nil
}

// dismissName takes a server that is not there out of the cluster.
func (f *Field) dismissName(name string) error {
	ctx, cancel := healTime()
	defer cancel()
	return f.dismiss(ctx, &stand.Server{Machine: &stand.Machine{Name: name}})
}

func addedFirewalled(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (_ Struck, err error) {
	spare, span := f.Stand.Spares[0], f.Span(r, 1, 3)
	var t Touched
	defer t.Begin(history.Away, spare.Name)()
	defer func() { err = errors.Join(err, spare.Heal(), f.discharge(spare)) }()
	if err := spare.Start(); err != nil {
		return t.Struck(""), err
	}
	if err := spare.Cut(stand.Both); err != nil {
		return t.Struck(""), err
	}
	call, cancel := context.WithTimeout(ctx, span)
	_, e := f.Cluster.AddServer(call, &vigilv1.AddServerRequest{Id: spare.Name, RaftAddr: spare.RaftAddr()})
	cancel()
	note := fmt.Sprintf("%s for %s: %v", spare.Name, round(span), e)
	if e == nil {
		return t.Struck(note), fmt.Errorf("%s, which nobody reaches, was added", spare.Name)
	}
	if err := spare.Heal(); err != nil {
		return t.Struck(note), err
	}
	if e := f.admit(ctx, spare); e != nil {
		note += "; " + e.Error()
	}
	return t.Struck(note), nil
}

func replacedLate(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
	return onServer(anyone, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
		t *Touched) (note string, err error) {
		defer t.Begin(history.Away, sv.Name)()
		defer func() { err = errors.Join(err, f.restore(sv)) }()
		if err := sv.Kill(); err != nil {
			return "", err
		}
		if e := f.dismiss(ctx, sv); e != nil {
			return notYet(e)
		}
		if err := scrap(sv); err != nil {
			return "", err
		}
		span := f.Span(r, 0.5, 2)
		adding, stop := context.WithCancel(ctx)
		defer stop()
		done := make(chan error, 1)
		go func() {
			_, e := f.Cluster.AddServer(adding, &vigilv1.AddServerRequest{Id: sv.Name, RaftAddr: sv.RaftAddr()})
			done <- e
		}()
		f.Pause(ctx, span)
		err = f.begin(sv)
		limit := time.AfterFunc(healing/2, stop)
		defer limit.Stop()
		return fmt.Sprintf("after %s: %v", round(span), <-done), err
	})(ctx, f, nil, r)
}

// moving says why not all servers can be others.
func moving(f *Field) string {
	if len(f.Stand.Spares) < len(f.Stand.Servers) {
		return fmt.Sprintf("it takes %d spare servers", len(f.Stand.Servers))
	}
	return ""
}

// moved excuses each server only while it is being replaced: in between clients and hosts have
// to know the new ones, and writes go on.
func moved(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
	var t Touched
	note, err := f.move(ctx, r, &t)
	for i, sv := range f.Stand.Servers {
		done := t.Begin(history.Away, sv.Name)
		err = errors.Join(err, f.restore(sv), f.discharge(f.Stand.Spares[i]))
		done()
	}
	return t.Struck(note), err
}

// move puts a spare into the place of each server.
func (f *Field) move(ctx context.Context, r *rand.Rand, t *Touched) (string, error) {
	began, note := time.Now(), []string{}
	for i, sv := range f.Stand.Servers {
		if ctx.Err() != nil {
			break
		}
		refused, err := f.moveOne(ctx, sv, f.Stand.Spares[i], t)
		if err != nil || refused != nil {
			return strings.Join(append(note, fmt.Sprint(refused)), ", "), err
		}
		note = append(note, fmt.Sprintf("%s by %s after %s", sv.Name, f.Stand.Spares[i].Name, round(time.Since(began))))
	}
	f.Pause(ctx, f.Span(r, 1, 3))
	return strings.Join(note, ", "), nil
}

// moveOne puts one spare into the place of a server; refused says what the cluster did not do.
func (f *Field) moveOne(ctx context.Context, sv, spare *stand.Server, t *Touched) (refused, err error) {
	defer t.Begin(history.Away, sv.Name)()
	if err := spare.Start(); err != nil {
		return nil, err
	}
	if err := f.admit(ctx, spare); err != nil {
		return err, nil
	}
	if err := f.dismiss(ctx, sv); err != nil {
		return err, nil
	}
	return nil, scrap(sv)
}
