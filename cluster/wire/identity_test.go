package wire

import (
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/raft"

	"vigil/cluster/wire/wiretest"
)

func secured(t *testing.T, id string, identity Identity) *end {
	t.Helper()
	return listen(t, id, func(c *Config) { c.Identity = identity })
}

func TestServersProveWhoTheyAre(t *testing.T) {
	ca := wiretest.New(t, "blue")
	a, b := secured(t, "a", ca.Server("a", 1)), secured(t, "b", ca.Server("b", 1))
	b.answerVotes(t)
	if resp, err := a.vote("a", "b", b.addr); err != nil || !resp.Granted {
		t.Errorf("vote: %+v, %v", resp, err)
	}
	if got, err := a.Ask("b", b.addr, "ask me"); err != nil || got != "me a" {
		t.Errorf("question: %q, %v", got, err)
	}
	var resp raft.AppendEntriesResponse
	b.SetHeartbeatHandler(func(rpc raft.RPC) { rpc.Respond(&raft.AppendEntriesResponse{Success: true}, nil) })
	for name, want := range map[string]bool{"a": true, "c": false} {
		beat := &raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ID: []byte(name), Addr: []byte(a.addr)}, Term: 9}
		if err := a.AppendEntries("b", raft.ServerAddress(b.addr), beat, &resp); (err == nil) != want {
			t.Errorf("heartbeat in the name of %s: %v", name, err)
		}
	}
}

// Who dials knows whom it wants: another server at the address, its own image, or none is not spoken to.
func TestWhoeverElseIsAtAnAddressIsNotSpokenTo(t *testing.T) {
	ca := wiretest.New(t, "blue")
	a := secured(t, "a", ca.Server("a", 1))
	for name, other := range map[string]struct {
		identity *wiretest.Identity
		want     string
	}{
		"another server":        {ca.Server("c", 1), "is server c, not b"},
		"a clone of this one":   {ca.Server("a", 1), "is server a, not b"},
		"a host":                {ca.Issue("host", "b", 1), "is no server"},
		"one of another root":   {wiretest.New(t, "blue").Server("b", 1), "unknown authority"},
		"one without any":       {nil, "connect to server b"},
		"one that speaks grpcs": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			addr := ""
			switch {
			case other.identity != nil:
				addr = secured(t, "b", other.identity).addr
			case other.want != "":
				addr = listen(t, "b", nil).addr
			default:
				addr = foreign(t, ca.Server("b", 1), "h2")
			}
			if _, err := a.vote("a", "b", addr); err == nil || !strings.Contains(err.Error(), other.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// foreign is a port that speaks another protocol within TLS.
func foreign(t *testing.T, identity *wiretest.Identity, protocol string) string {
	t.Helper()
	conf := identity.ServerConfig()
	conf.NextProtos = []string{protocol}
	l, err := tls.Listen("tcp", "127.0.0.1:0", conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.(*tls.Conn).Handshake()
			c.Close()
		}
	}()
	return l.Addr().String()
}

// Raft hears nothing of whoever connects without being a server of this cluster, or in another's name.
func TestStrangersReachNobody(t *testing.T) {
	ca := wiretest.New(t, "blue")
	b := listen(t, "b", func(c *Config) {
		c.Identity = ca.Server("b", 1)
		c.Revoked = func(p Peer) bool { return p.ID == "old" && p.Generation < 3 }
	})
	go func() {
		for rpc := range b.Consumer() {
			t.Errorf("raft has heard %T", rpc.Command)
		}
	}()
	for name, s := range map[string]struct {
		identity *wiretest.Identity
		says     string // who it says to be in its request
		want     string
	}{
		"no certificate":    {nil, "a", atHandshake + "|127.0.0.1|"},
		"another cluster's": {wiretest.New(t, "green").Server("a", 1), "a", atHandshake + "|127.0.0.1|"},
		"a host's":          {ca.Issue("host", "a", 1), "a", atCertificate + "|127.0.0.1|spiffe://blue/host/a is no server"},
		"this one's own":    {ca.Server("b", 1), "b", atCertificate + "|b|"},
		"a revoked one":     {ca.Server("old", 2), "old", atGeneration + "|old|"},
		"a false sender":    {ca.Server("c", 1), "a", atSender + `|c|server c sends requests in the name of "a"`},
		"no sender":         {ca.Server("c", 1), "", atSender + "|c|"},
	} {
		t.Run(name, func(t *testing.T) {
			var e *end
			if s.identity == nil {
				e = listen(t, "a", nil)
			} else {
				e = secured(t, "a", s.identity)
			}
			if _, err := e.vote(s.says, "b", b.addr); err == nil {
				t.Error("it was answered")
			}
			if got := b.reject(t); !strings.HasPrefix(got, s.want) {
				t.Error(got)
			}
		})
	}
}

// A server that is revoked loses the connections that it has.
func TestRevokedServersAreCutOff(t *testing.T) {
	ca := wiretest.New(t, "blue")
	var least atomic.Uint64
	a := secured(t, "a", ca.Server("a", 1))
	b := listen(t, "b", func(c *Config) {
		c.Identity = ca.Server("b", 1)
		c.Revoked = func(p Peer) bool { return p.ID == "a" && p.Generation < least.Load() }
	})
	b.answerVotes(t)
	if _, err := a.vote("a", "b", b.addr); err != nil {
		t.Fatal(err)
	}
	least.Store(2)
	want := fmt.Sprintf("%s|a|server a is revoked", atGeneration)
	if got := b.reject(t); !strings.HasPrefix(got, want) {
		t.Error(got)
	}
	if _, err := a.vote("a", "b", b.addr); err == nil {
		t.Error("a revoked server is heard")
	}
}

// A session is taken up again, and none that stands for a certificate that was refused.
func TestSessionsAreResumedUntilRefused(t *testing.T) {
	ca := wiretest.New(t, "blue")
	var least atomic.Uint64
	ida, idb := ca.Server("a", 1), ca.Server("b", 1)
	revokes := func(other string) func(Peer) bool {
		return func(p Peer) bool { return p.ID == other && p.Generation < least.Load() }
	}
	a := listen(t, "a", func(c *Config) { c.Identity, c.Revoked = ida, revokes("b") })
	b := listen(t, "b", func(c *Config) { c.Identity, c.Revoked = idb, revokes("a") })
	for range 2 {
		if _, err := a.Ask("b", b.addr, "ask me"); err != nil {
			t.Fatal(err)
		}
	}
	if n := ida.Resumed.Load(); n != 1 {
		t.Fatalf("%d sessions were taken up again", n)
	}
	least.Store(2)
	if _, err := a.Ask("b", b.addr, "ask me"); err == nil || !strings.Contains(err.Error(), "b is revoked") {
		t.Fatalf("a revoked server is spoken to: %v", err)
	}
	idb.Renew("server", "b", 2)
	if _, err := a.Ask("b", b.addr, "ask me"); err == nil {
		t.Fatal("a revoked server is heard")
	}
	ida.Renew("server", "a", 2)
	if got, err := a.Ask("b", b.addr, "ask me"); err != nil || got != "me a" {
		t.Errorf("with its new certificate: %q, %v", got, err)
	}
}

// Who connects and says nothing is hung up on within the time of a handshake, see openBound; who ends
// before leaves no trace.
func TestProbesOfThePortAreNoStrangers(t *testing.T) {
	ca := wiretest.New(t, "blue")
	b := secured(t, "b", ca.Server("b", 1))
	c, err := net.Dial("tcp", b.addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("it was answered")
	}
	c.Close()
	select {
	case got := <-b.rejected:
		t.Error(got)
	default:
	}
}
