package door

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
				end, err := q.take(p, nil)
				if err != nil {
					t.Fatalf("%s: call %d: %v", p, len(ends)+1, err)
				}
				ends = append(ends, end)
			}
			if _, err := q.take(p, nil); err == nil || fault.Of(err).Code != code.Unavailable ||
				!strings.Contains(err.Error(), p.String()) {
				t.Errorf("%s has one call more: %v", p, err)
			}
			for _, other := range []*who.Principal{callerNamed(who.User, "ben", ""),
				callerNamed(who.Agent, "h1", "web/b"), callerNamed(who.Server, "s2", ""),
				callerNamed(who.Root, "s1", "")} {
				if end, err := q.take(other, nil); err != nil {
					t.Errorf("%s is full, and %s hears: %v", p, other, err)
				} else {
					end()
				}
			}
			ends[0]()
			if end, err := q.take(p, nil); err != nil {
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
			end, err := q.take(mad, large)
			if err != nil {
				break
			}
			end()
		}
		if most := int(shares[who.Agent].burst) / mib; sent > most || sent < most-1 {
			t.Errorf("%d MiB at once, want %d", sent, most)
		}
		time.Sleep(time.Second)
		if end, err := q.take(mad, large); err != nil {
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
			end, err := q.take(callerNamed(who.User, fmt.Sprint("u", i), ""), nil)
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
		end, err := g.doors[0].guard.quotas.take(anna, nil)
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
