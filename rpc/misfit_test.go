package rpc

import (
	"crypto/tls"
	"errors"
	"testing"
	"time"

	"vigil/fsm"
	"vigil/rpc/client"
	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
	"vigil/rpc/vouch"
)

// When one end speaks TLS and the other does not, whoever calls hears which of them, and soon.
func TestMisfitsAreSaid(t *testing.T) {
	p := newPeople(t)
	secure, clear := p.start(), start(t, 1)
	for _, tt := range []struct {
		addr string
		tls  *tls.Config
		want error
	}{
		{secure.nodes[0].addr, nil, client.ErrSpeaksTLS},
		{clear.nodes[0].addr, p.holder(trust.User, "root", trust.Stamp{}).Client(nil), client.ErrSpeaksClear},
	} {
		c, err := client.Open(client.Config{Addrs: []string{tt.addr}, TLS: tt.tls, Absent: 10 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		_, err = vigilv1.NewClusterClient(c).Status(within(t), &vigilv1.StatusRequest{})
		if !errors.Is(err, tt.want) || !errors.Is(err, client.ErrUnavailable) {
			t.Errorf("got %v, want %v", err, tt.want)
		}
		_ = c.Close()
	}
}

// Whom a server does not know may be in a part of the log that it has not read yet: before there is a
// leader, and before it has read that the cluster has identities, nobody is turned away for good.
func TestNobodyIsUnknownBeforeThereIsALeader(t *testing.T) {
	p := newPeople(t)
	w := p.start()
	status := func(name string) string {
		_, err := vigilv1.NewClusterClient(p.dial(w, 0, p.holder(trust.User, name, trust.Stamp{}).Client(nil))).
			Status(within(t), &vigilv1.StatusRequest{Stale: true})
		return codeOf(err)
	}
	if got := status("anna"); got != code.AuthDenied {
		t.Errorf("with a leader a stranger gets %q", got)
	}
	w.nodes[0].cutOff(true)
	if got := status("anna"); got != code.NoLeader {
		t.Errorf("without a leader a stranger gets %q, want %q", got, code.NoLeader)
	}
	p.put("user/ben", vouch.Standing{Generation: 2})
	if got := status("ben"); got != code.AuthDenied {
		t.Errorf("without a leader somebody who was revoked gets %q", got)
	}
	if s := vouch.StandingOf(&fsm.New().View, who.Claim{Kind: who.User, Name: "anna"}); !s.Empty {
		t.Error("an empty state is taken for one in which nobody is known")
	}
}
