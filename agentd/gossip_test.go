package agentd

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"vigil/rpc/gen/vigilv1"
)

// gossipSpy is a membership that notes what it is told.
type gossipSpy struct {
	mu      sync.Mutex
	cluster string
	addrs   []string
	left    bool
	known   chan struct{} // one fits
	ended   chan struct{}
	keys    chan *vigilv1.GossipKeys
}

func (g *gossipSpy) Addr() string { return "10.0.0.5:7422" }

func (g *gossipSpy) Know(cluster string, addrs, _ []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cluster, g.addrs = cluster, addrs
	select {
	case g.known <- struct{}{}:
	default:
	}
}

func (g *gossipSpy) Take(keys *vigilv1.GossipKeys) error {
	g.keys <- keys
	return nil
}

func (g *gossipSpy) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left = true
}

func (g *gossipSpy) Run(ctx context.Context) error {
	<-ctx.Done()
	close(g.ended)
	return nil
}

// The host tells where its gossip is, learns where that of the servers is, takes keys and says so, and says
// good-bye only when it leaves: a daemon whose agents go on has not left.
func TestGossipFollowsTheRegistration(t *testing.T) {
	for how, left := range map[OnStop]bool{End: true, Keep: false} {
		f := newFake(t, time.Minute)
		a, err := Open(Config{DataDir: t.TempDir(), Conn: f.conn, Addrs: []string{"x"}, Seams: Seams{Boot: "b"},
			Shim: shimCommand(), Stops: Stops{OnStop: how}})
		if err != nil {
			t.Fatal(err)
		}
		g := &gossipSpy{known: make(chan struct{}, 1), ended: make(chan struct{}),
			keys: make(chan *vigilv1.GossipKeys, 1)}
		a.Gossip(g)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		if r := next(t, f.registers); r.GetGossipAddr() != g.Addr() {
			t.Errorf("registered with gossip at %q", r.GetGossipAddr())
		}
		next(t, g.known)
		stream, sent := next(t, f.streams), &vigilv1.GossipKeys{Revision: 7,
			Keys: []*vigilv1.GossipKey{{Number: 1, Secret: []byte("secret"), Used: true}}}
		stream.send(t, &vigilv1.ServerMessage{Kind: &vigilv1.ServerMessage_GossipKeys{GossipKeys: sent}})
		if got := next(t, g.keys); !proto.Equal(got, sent) {
			t.Errorf("gossip got the keys %v", got)
		}
		for next(t, stream.heard).GetGossipTaken().GetRevision() != 7 { // else the test waits in vain
		}
		if g.mu.Lock(); g.cluster != "c" || !slices.Equal(g.addrs, []string{"10.0.0.1:7422"}) {
			t.Errorf("gossip knows cluster %q at %v", g.cluster, g.addrs)
		}
		g.mu.Unlock()
		cancel()
		if err := next(t, done); err != nil {
			t.Error(err)
		}
		<-g.ended
		if g.left != left {
			t.Errorf("on_stop %s: said good-bye: %v, want %v", how, g.left, left)
		}
	}
}
