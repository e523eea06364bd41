package door

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/peer"

	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

func callerNamed(kind who.Kind, name, agent string) *who.Principal {
	p := &who.Principal{Claim: who.Claim{Kind: kind, Name: name}}
	if kind == who.Agent {
		p.Kind, p.Life = who.Host, who.Life{Agent: agent, Incarnation: 1}
	}
	return p
}

// One identity cannot take what others need: its calls at once and its bytes have an end of their own, of
// each agent beside its host, and come back.
func TestOneIdentityHasItsShareOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuotas()
		for _, p := range []*who.Principal{callerNamed(who.User, "ann", ""),
			callerNamed(who.APIToken, "3", ""), callerNamed(who.Host, "h1", ""),
			callerNamed(who.Agent, "h1", "web/a")} {
			var ends []func()
			for range shares[p.As()].calls {
				end, err := q.take(t.Context(), p, nil)
				if err != nil {
					t.Fatalf("%s: call %d: %v", p, len(ends)+1, err)
				}
				ends = append(ends, end)
			}
			if _, err := q.take(t.Context(), p, nil); err == nil || fault.Of(err).Code != code.Unavailable ||
				!strings.Contains(err.Error(), p.String()) {
				t.Errorf("%s has one call more: %v", p, err)
			}
			for _, other := range []*who.Principal{callerNamed(who.User, "ben", ""),
				callerNamed(who.Agent, "h1", "web/b"), callerNamed(who.Server, "s2", ""),
				callerNamed(who.Root, "s1", "")} {
				if end, err := q.take(t.Context(), other, nil); err != nil {
					t.Errorf("%s is full, and %s hears: %v", p, other, err)
				} else {
					end()
				}
			}
			ends[0]()
			if end, err := q.take(t.Context(), p, nil); err != nil {
				t.Errorf("%s has ended a call: %v", p, err)
			} else {
				end()
			}
			for _, end := range ends[1:] {
				end()
			}
		}

		mad := callerNamed(who.Agent, "h1", "web/a")
		large := &vigilv1.CreateTaskRequest{Text: strings.Repeat("x", mib)}
		sent := 0
		for ; ; sent++ {
			end, err := q.take(t.Context(), mad, large)
			if err != nil {
				break
			}
			end()
		}
		if most := int(shares[who.Agent].burst) / mib; sent > most || sent < most-1 {
			t.Errorf("%d MiB at once, want %d", sent, most)
		}
		time.Sleep(time.Second)
		if end, err := q.take(t.Context(), mad, large); err != nil {
			t.Errorf("a second later: %v", err)
		} else {
			end()
		}
	})
}

// Who does nothing any more is forgotten, so that what is counted stays as small as what is used.
func TestSharesOfWhoIsQuietAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuotas()
		for i := range 10_000 {
			end, err := q.take(t.Context(), callerNamed(who.User, fmt.Sprint("u", i), ""), nil)
			if err != nil {
				t.Fatal(err)
			}
			end()
		}
		if len(q.of) > 2048 {
			t.Errorf("%d are counted", len(q.of))
		}
	})
}

// The door asks: whoever uses its whole share is refused, and nobody else is.
func TestWholeShareIsRefusedAtTheDoor(t *testing.T) {
	g := openGates(t)
	for _, name := range []string{"user/anna", "user/ben"} {
		g.known.rights[name] = []who.Right{{Role: code.Admin, Room: who.AllRooms}}
	}
	settings := func(name string) string {
		_, err := vigilv1.NewClusterClient(g.dial(0, who.User, name)).PutSettings(t.Context(), &vigilv1.PutSettingsRequest{})
		return codeOf(err)
	}
	anna := callerNamed(who.User, "anna", "")
	for range shares[who.User].calls {
		end, err := g.doors[0].guard.quotas.take(t.Context(), anna, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer end()
	}
	if got := settings("anna"); got != code.Unavailable {
		t.Errorf("anna hears %s", got)
	}
	if got := settings("ben"); got != code.Unimplemented { // he came as far as the service
		t.Errorf("ben hears %s", got)
	}
}

func from(addr string) context.Context {
	at := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr))
	return peer.NewContext(context.Background(), &peer.Peer{Addr: at})
}

// Whoever shows no identity shares with all such on that machine, and with nobody else: neither bytes nor
// writes of batches are without an end.
func TestStrangersOfOneMachineHaveOneShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		short := &vigilv1.BatchRequest{Writes: make([]*vigilv1.Write, 4096)}
		for i := range short.Writes {
			short.Writes[i] = &vigilv1.Write{}
		}
		large := &vigilv1.BatchRequest{Writes: []*vigilv1.Write{{Op: &vigilv1.Write_CompleteTask{
			CompleteTask: &vigilv1.CompleteTaskRequest{Result: strings.Repeat("x", mib)}}}}}
		for name, batch := range map[string]*vigilv1.BatchRequest{"short writes": short, "large ones": large} {
			q, nobody := newQuotas(), &who.Principal{}
			port := 1000
			send := func(machine string) error {
				port++
				end, err := q.take(from(fmt.Sprintf("%s:%d", machine, port)), nobody, batch)
				if err == nil {
					end()
				}
				return err
			}
			sent := 0
			for send("10.0.0.7") == nil && sent < 1000 {
				sent++
			}
			if sent < 24 || sent > 40 {
				t.Errorf("%s: %d batches at once", name, sent)
			}
			if err := send("10.0.0.8"); err != nil {
				t.Errorf("%s: another machine: %v", name, err)
			}
			if end, err := q.take(from("10.0.0.7:9"), callerNamed(who.Host, "h1", ""), batch); err != nil {
				t.Errorf("%s: a host there: %v", name, err)
			} else {
				end()
			}
			time.Sleep(3 * time.Second)
			if err := send("10.0.0.7"); err != nil {
				t.Errorf("%s: later: %v", name, err)
			}
			for sent = 0; send("[2001:db8::1]") == nil && sent < 1000; {
				sent++
			}
			if err := send("[2001:db8::2]"); err == nil {
				t.Errorf("%s: another address of the same network has a share of its own", name)
			}
		}
	})
}
