package rpc

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// I103, heartbeat misrouted: a beat under another's identity is refused, and that is
// seen; the lease of the agent whose name was used is not extended.
func TestI103BeatsCarryTheirToken(t *testing.T) {
	w := start(t, 1)
	_, host := w.connect(t, 0)
	if _, err := w.fleet(0).ApplyRoom(within(t), &vigilv1.ApplyRoomRequest{Room: "demo", Roles: []*vigilv1.RoleSpec{
		{Name: "builder", Runner: "sh", Replicas: 2}}}); err != nil {
		t.Fatal(err)
	}
	var me [2]*vigilv1.Speaker
	var ids [2]uint32
	for i, name := range []string{"demo/builder", "demo/builder.2"} {
		agent, err := w.fleet(0).GetAgent(within(t), &vigilv1.GetAgentRequest{Agent: name})
		if err != nil {
			t.Fatal(err)
		}
		me[i] = &vigilv1.Speaker{Agent: name, Incarnation: 1, Token: "secret " + name}
		ids[i] = agent.GetAgent().GetId()
		if err := w.do(fsm.OrderStart{Agent: noun.AgentID(ids[i]), Inc: 1, Host: host}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.host(0).AcceptOrder(within(t),
			&vigilv1.AcceptOrderRequest{Host: uint32(host), Boot: "b1", Agent: ids[i],
				Incarnation: 1, TokenHash: form.TokenHash(me[i].Token)}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.work(0).Join(within(t), &vigilv1.JoinRequest{Speaker: me[i]}); err != nil {
			t.Fatal(err)
		}
	}
	left := func(i int) time.Duration {
		a, err := w.fleet(0).GetAgent(within(t), &vigilv1.GetAgentRequest{Agent: me[i].Agent})
		if err != nil {
			t.Fatal(err)
		}
		return a.GetAgent().GetLeaseLeft().AsDuration()
	}
	w.advance(20 * time.Second)
	before := left(1)
	for _, tokens := range [][]string{nil, {"", ""}, {me[1].Token, me[0].Token}, {"", me[0].Token},
		{me[0].Token, me[0].Token}} {
		r, err := w.work(0).Beat(within(t), &vigilv1.BeatRequest{Agents: ids[:], Incarnations: []uint64{1, 1},
			Kinds: []uint32{fsm.BeatLease, fsm.BeatLease}, Tokens: tokens})
		if err != nil {
			t.Fatal(err)
		}
		var denied []uint32
		for _, x := range r.GetExceptions() {
			if x.GetVerdict() != "denied" {
				t.Errorf("tokens %q were answered %v", tokens, r)
			}
			denied = append(denied, x.GetAgent())
		}
		want := ids[:]
		if len(tokens) > 0 && tokens[0] == me[0].Token {
			want = ids[1:]
		}
		if !slices.Equal(denied, want) || int(r.GetRenewed()) != 2-len(want) {
			t.Errorf("tokens %q: %v were denied and %d renewed, want denied %v", tokens, denied, r.GetRenewed(), want)
		}
	}
	if left(1) != before || left(0) <= before {
		t.Errorf("the leases have %s and %s left, want the first renewed, the second %s", left(0), left(1), before)
	}
	seen := 0
	for _, e := range all(t, w.watch(within(t), 0, &vigilv1.WatchEventsRequest{NoFollow: true})) {
		if e.GetKind() == "agent.identity_refused" && e.GetAgent() == me[1].Agent {
			seen++
		}
		if strings.Contains(e.String(), "secret") {
			t.Errorf("an event tells a token: %v", e)
		}
	}
	if seen != 1 {
		t.Errorf("%d events about the wrong identity, want 1 a minute", seen)
	}
	r, err := w.work(0).Beat(within(t), &vigilv1.BeatRequest{Agents: ids[:], Incarnations: []uint64{1, 1},
		Kinds: []uint32{fsm.BeatLease, fsm.BeatLease}, Tokens: []string{me[0].Token, me[1].Token}})
	if err != nil || r.GetRenewed() != 2 {
		t.Errorf("beats with their own tokens: %v, %v", r, err)
	}
}

// L10: a host_ttl that becomes shorter is told to hosts that registered before, or
// they would go on to beat too seldom and be lost again and again.
func TestL10BeatsTellHostsTheTTLInForce(t *testing.T) {
	w := start(t, 1)
	_, host := w.connect(t, 0)
	if _, err := w.cluster(0).PutSettings(within(t),
		&vigilv1.PutSettingsRequest{Values: map[string]string{"host_ttl": "7s"}}); err != nil {
		t.Fatal(err)
	}
	r, err := w.work(0).Beat(within(t), &vigilv1.BeatRequest{Host: uint32(host), Boot: "b1"})
	if err != nil || r.GetTtl().AsDuration() != 7*time.Second {
		t.Errorf("a beat was answered %v, %v; want a ttl of 7s", r, err)
	}
}

// L10: a life keeps the TTL that it began with. Who beats by itself is told that one, not what the role has been given
// since: a quarter of a TTL that was raised came too late, and the lease ended.
func TestL10RenewTellsTheTTLOfTheLife(t *testing.T) {
	w := start(t, 1)
	apply := func(ttl time.Duration) {
		t.Helper()
		if _, err := w.fleet(0).ApplyRoom(within(t), &vigilv1.ApplyRoomRequest{Room: "demo", Roles: []*vigilv1.RoleSpec{
			{Name: "builder", Ttl: durationpb.New(ttl)}}}); err != nil {
			t.Fatal(err)
		}
	}
	renewed := func(me *vigilv1.Speaker) time.Duration {
		t.Helper()
		r, err := w.work(0).Renew(within(t), &vigilv1.RenewRequest{Speaker: me})
		if err != nil {
			t.Fatal(err)
		}
		return r.GetTtl().AsDuration()
	}
	apply(time.Minute)
	me := w.join("demo/builder")
	apply(10 * time.Minute)
	if got := renewed(me); got != time.Minute {
		t.Errorf("the life that began with 1m is told %s", got)
	}
	if _, err := w.work(0).Leave(within(t), &vigilv1.LeaveRequest{Speaker: me}); err != nil {
		t.Fatal(err)
	}
	if got := renewed(w.join("demo/builder")); got != 10*time.Minute {
		t.Errorf("the next life is told %s, want 10m", got)
	}
}

func TestBeatLinesAreChecked(t *testing.T) {
	one := func(r *vigilv1.BeatRequest) *vigilv1.BeatRequest {
		r.Agents, r.Incarnations = []uint32{1}, []uint64{1}
		return r
	}
	for want, r := range map[string]*vigilv1.BeatRequest{
		"equally many":               {Agents: []uint32{1}, Incarnations: []uint64{1, 2}, Kinds: []uint32{1}},
		"at least one":               {},
		"tokens has 2 entries for 1": one(&vigilv1.BeatRequest{Kinds: []uint32{1}, Tokens: []string{"a", "b"}}),
		"tokens has 1 entries; a host": one(&vigilv1.BeatRequest{Host: 1, Boot: "b", Kinds: []uint32{4},
			Tokens: []string{"a"}}),
		"kinds[0] is 4; an agent by":    one(&vigilv1.BeatRequest{Kinds: []uint32{4}}),
		"kinds[0] is 9; an agent by":    one(&vigilv1.BeatRequest{Kinds: []uint32{9}}),
		"kinds[0] is 1; a host sends 2": one(&vigilv1.BeatRequest{Host: 1, Boot: "b", Kinds: []uint32{1}}),
		"kinds[0] is 8; a host sends 2": one(&vigilv1.BeatRequest{Host: 1, Boot: "b", Kinds: []uint32{8}}),
	} {
		if _, _, _, err := beatLines(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want something with %q", err, want)
		}
	}
}
