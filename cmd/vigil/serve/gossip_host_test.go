package serve

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"vigil/cluster/gossip"
)

// patience is how long a test waits for what must happen.
const patience = time.Minute

// soon waits for something that tells nobody when it happens.
func soon(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited %s for: %s", patience, what)
		}
	}
}

// take listens somewhere, so that nobody else can.
func take(t *testing.T) (addr string, free func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // it may be free already
	return l.Addr().String(), func() { _ = l.Close() }
}

func newTroubles() *troubles { return &troubles{log: hclog.NewNullLogger(), all: map[string]string{}} }

// A host whose gossip address is taken goes on without gossip, says so, and joins once the address is free, with what
// it was told meanwhile.
func TestHostGossipsOnceItsAddressIsFree(t *testing.T) {
	open := func(kind gossip.Kind, id, bind string) func() (*gossip.Gossip, error) {
		return func() (*gossip.Gossip, error) {
			return gossip.Open(gossip.Config{Kind: kind, ID: id, Boot: "b", Bind: bind})
		}
	}
	server, err := open(gossip.Server, "s1", "127.0.0.1:0")()
	if err != nil {
		t.Fatal(err)
	}
	server.Know("c", nil, nil)
	addr, free := take(t)
	h := &hostGossip{open: open(gossip.Host, "k", addr), pause: time.Millisecond, registry: prometheus.NewRegistry(),
		troubles: newTroubles()}
	if err := h.listen(); err == nil {
		t.Fatal("it listens where somebody else does")
	}
	if all := h.troubles.list(); h.Addr() != "" || len(all) != 1 || !strings.Contains(all[0], "does not gossip") ||
		!strings.Contains(all[0], addr) {
		t.Errorf("it is at %q and says %q", h.Addr(), all)
	}
	h.Know("c", []string{server.Addr()}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- server.Run(ctx) }()
	go func() { ended <- h.Run(ctx) }()
	free()
	soon(t, "its address", func() bool { return h.Addr() == addr })
	soon(t, "the server to hear it", func() bool { return server.Hears(gossip.Host, "k", "b") == gossip.Alive })
	if all := h.troubles.list(); len(all) != 0 {
		t.Errorf("it still says %q", all)
	}
	cancel()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	h.close()
}

// One that never gets its address ends when it is told to.
func TestHostThatNeverGossipsEnds(t *testing.T) {
	addr, _ := take(t)
	h := &hostGossip{pause: time.Millisecond, registry: prometheus.NewRegistry(), troubles: newTroubles(),
		open: func() (*gossip.Gossip, error) {
			return gossip.Open(gossip.Config{Kind: gossip.Host, ID: "k", Bind: addr})
		}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	soon(t, "an attempt", func() bool { return len(h.troubles.list()) == 1 })
	h.Leave()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	h.close()
}

// Metrics are served once their address is free; nothing else waits for that.
func TestFiguresAreServedOnceTheirAddressIsFree(t *testing.T) {
	addr, free := take(t)
	ctx, cancel := context.WithCancel(t.Context())
	all, ended := newTroubles(), make(chan struct{})
	go func() {
		defer close(ended)
		serveFigures(ctx, addr, prometheus.NewRegistry(), all, time.Millisecond, hclog.NewNullLogger())
	}()
	soon(t, "a word", func() bool {
		l := all.list()
		return len(l) == 1 && strings.Contains(l[0], "does not serve its metrics") && strings.Contains(l[0], addr)
	})
	free()
	soon(t, "figures", func() bool {
		resp, err := http.Get("http://" + addr + "/livez")
		if err != nil {
			return false
		}
		return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	})
	if l := all.list(); len(l) != 0 {
		t.Errorf("it still says %q", l)
	}
	cancel()
	<-ended
	if l := all.list(); len(l) != 0 {
		t.Errorf("its end is told as a trouble: %q", l)
	}
}
