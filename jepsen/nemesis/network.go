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
)

func partitionKinds() []*Kind {
	part := func(name, says string, weight int, needs func(*Field) string, s strike) *Kind {
		return &Kind{Name: name, Lane: Servers, Says: says, Weight: weight, Takes: true, Needs: needs, Strike: s}
	}
	log := []stand.Door{stand.Raft}
	return []*Kind{
		part("server_isolated", "A server is cut off from everything, for 0.2 to 3 TTL.", 3, nil, isolated(anyone)),
		part("leader_isolated", "The leader is cut off from everything, for 0.2 to 3 TTL.", 4, nil, isolated(leading)),
		part("leader_without_servers",
			"The leader is cut off from the other servers, not from hosts and clients, for 0.2 to 3 TTL.",
			4, nil, linksCut(leading, apart)),
		part("halves", "Servers are split into a majority and a minority; hosts and clients reach both, "+
			"for 0.2 to 3 TTL.", 4, nil, halves(false)),
		part("halves_with_hosts", "Servers and hosts are split into two sides, one of them with a "+
			"majority of the servers, for 0.2 to 3 TTL.", 4, nil, halves(true)),
		part("majorities_ring", "Every server sees a majority, no two the same one, for 0.2 to 3 TTL.", 4, five, ring),
		part("bridge", "Two halves see each other only through one server, for 0.2 to 3 TTL.", 4, five, bridge),
		part("link_cut", "Two servers do not hear each other, everybody else hears both, for 0.2 to 3 TTL.",
			4, nil, oneLink(true)),
		part("link_one_way", "One server does not hear one other, for 0.2 to 3 TTL.", 4, nil, oneLink(false)),
		part("leader_mute", "No server hears the leader, which hears all, for 0.2 to 3 TTL.", 4, nil,
			linksCut(leading, mute())),
		part("leader_deaf", "The leader hears no server, all hear it, for 0.2 to 3 TTL.", 4, nil,
			linksCut(leading, deaf())),
		part("server_mute", "No server hears a certain one, which hears all, for 0.2 to 3 TTL.", 2, nil,
			linksCut(following, mute())),
		part("server_deaf", "A server hears no other, all hear it, for 0.2 to 3 TTL.", 3, nil,
			linksCut(following, deaf())),
		part("log_cut", "A server gets and sends no log entries and votes; its API and gossip go on, "+
			"for 0.2 to 3 TTL.", 2, nil, linksCut(following, both(log...))),
		part("leader_log_cut", "The leader gets and sends no log entries and votes; its API and gossip "+
			"go on, for 0.2 to 3 TTL.", 3, nil, linksCut(leading, both(log...))),
		part("leader_log_mute", "The log of the leader reaches nobody, its API and gossip go on, for "+
			"0.2 to 3 TTL.", 3, nil, linksCut(leading, mute(log...))),
		part("link_flaps", "All links of a server come and go in turns of 20 to 500 ms, for 0.5 to 3 TTL.",
			3, nil, flaps(anyone)),
		part("leader_flaps", "All links of the leader come and go in turns of 20 to 500 ms, for "+
			"0.5 to 3 TTL.", 3, nil, flaps(leading)),
	}
}

// five says why a partition that has no like among three servers is not possible.
func five(f *Field) string {
	if len(f.Stand.Servers) < 5 {
		return "it takes 5 servers"
	}
	return ""
}

// isolated drops every packet of a server.
func isolated(find choice) strike {
	return onServer(find, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
		t *Touched) (string, error) {
		span := f.Span(r, 0.2, 3)
		defer t.Begin(history.Cut, sv.Name)()
		if err := sv.Cut(stand.Both); err != nil {
			return "", err
		}
		f.Pause(ctx, span)
		return "for " + round(span), sv.Heal()
	})
}

// cutFor drops packets on links for 0.2 to 3 TTL.
func cutFor(
	ctx context.Context, f *Field, r *rand.Rand, t *Touched, links []stand.Link, touched ...string,
) (string, error) {
	span := f.Span(r, 0.2, 3)
	defer t.Begin(history.Cut, touched...)()
	heal, err := f.Stand.CutLinks(links)
	if err == nil {
		f.Pause(ctx, span)
	}
	return "for " + round(span), errors.Join(err, heal())
}

// reach makes the links of a server to and from others that are to be cut.
type reach func(sv *stand.Machine, others []*stand.Machine) []stand.Link

func both(doors ...stand.Door) reach {
	return func(sv *stand.Machine, others []*stand.Machine) []stand.Link {
		return stand.Between([]*stand.Machine{sv}, others, doors...)
	}
}

func apart(sv *stand.Machine, others []*stand.Machine) []stand.Link { return both()(sv, others) }

func mute(doors ...stand.Door) reach {
	return func(sv *stand.Machine, others []*stand.Machine) (list []stand.Link) {
		for _, o := range others {
			list = append(list, stand.Link{From: sv, To: o, Doors: doors})
		}
		return list
	}
}

func deaf(doors ...stand.Door) reach {
	return func(sv *stand.Machine, others []*stand.Machine) (list []stand.Link) {
		for _, o := range others {
			list = append(list, stand.Link{From: o, To: sv, Doors: doors})
		}
		return list
	}
}

// linksCut cuts links between one server and the other servers.
func linksCut(find choice, which reach) strike {
	return onServer(find, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
		t *Touched) (string, error) {
		return cutFor(ctx, f, r, t, which(sv.Machine, stand.MachinesOf(f.others(sv)...)), sv.Name)
	})
}

// shuffled are the servers in an order that is drawn.
func (f *Field) shuffled(r *rand.Rand) []*stand.Machine {
	list := stand.MachinesOf(f.Stand.Servers...)
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

func namesOf(list []*stand.Machine) (names []string) {
	for _, m := range list {
		names = append(names, m.Name)
	}
	return names
}

// halves splits servers, and hosts too if they are to be.
func halves(hosts bool) strike {
	return func(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
		list := f.shuffled(r)
		few := 1 + r.IntN((len(list)-1)/2)
		minority, majority := list[:few:few], list[few:]
		note := strings.Join(namesOf(minority), " ")
		if hosts {
			for _, h := range f.hosts() {
				if r.IntN(2) == 0 {
					minority = append(minority, h)
				} else {
					majority = append(majority, h)
				}
			}
			note = strings.Join(namesOf(minority), " ")
		}
		var t Touched
		span, err := cutFor(ctx, f, r, &t, stand.Between(minority, majority), namesOf(minority)...)
		return t.Struck(note + " apart " + span), err
	}
}

// ring lets every server hear only those beside it in a ring.
func ring(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
	list := f.shuffled(r)
	n := len(list)
	reach := (n/2 + 1) / 2 // so many on each side, with itself a majority
	var links []stand.Link
	for i, a := range list {
		for j, b := range list {
			if d := (j - i + n) % n; d > reach && n-d > reach {
				links = append(links, stand.Link{From: a, To: b})
			}
		}
	}
	var t Touched
	span, err := cutFor(ctx, f, r, &t, links, namesOf(list)...)
	return t.Struck("in this order " + strings.Join(namesOf(list), " ") + ", " + span), err
}

// bridge lets one server hear all, and the others only their own half.
func bridge(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
	list := f.shuffled(r)
	half := len(list) / 2
	var t Touched
	span, err := cutFor(ctx, f, r, &t, stand.Between(list[1:1+half], list[1+half:]), namesOf(list)...)
	return t.Struck(fmt.Sprintf("%s between %s and %s, %s", list[0].Name, namesOf(list[1:1+half]),
		namesOf(list[1+half:]), span)), err
}

func oneLink(bothWays bool) strike {
	return func(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
		list := f.shuffled(r)
		links := []stand.Link{{From: list[0], To: list[1]}}
		if bothWays {
			links = append(links, stand.Link{From: list[1], To: list[0]})
		}
		var t Touched
		span, err := cutFor(ctx, f, r, &t, links, list[0].Name, list[1].Name)
		return t.Struck(fmt.Sprintf("from %s to %s, %s", list[0].Name, list[1].Name, span)), err
	}
}

// flaps cuts all links of a server to machines, and lets them be, in turns.
func flaps(find choice) strike {
	return onServer(find, func(ctx context.Context, f *Field, sv *stand.Server, r *rand.Rand,
		t *Touched) (string, error) {
		span := f.Span(r, 0.5, 3)
		turn := func() time.Duration { return time.Duration(20+r.IntN(480)) * time.Millisecond }
		links := stand.Between([]*stand.Machine{sv.Machine}, f.Stand.Machines())
		defer t.Begin(history.Cut, sv.Name)()
		for until := time.Now().Add(span); time.Now().Before(until) && ctx.Err() == nil; {
			heal, err := f.Stand.CutLinks(links)
			f.Pause(ctx, turn())
			if err := errors.Join(err, heal()); err != nil {
				return "", err
			}
			f.Pause(ctx, turn())
		}
		return "for " + round(span), nil
	})
}
