package door

import (
	"context"
	"crypto/tls"
	"net"
	"runtime"
	"slices"
	"time"

	"google.golang.org/grpc/credentials"
)

// Handshakes cost signatures: when thousands of hosts come back at once they would take every processor,
// and what was let in faster would ask for more than is left. So half of the processors work on them, and
// the replication, which has a quarter of a second for a heartbeat, finds a free one.
const (
	mostHandshakes    = 16  // that are worked on at once, on any machine; the others wait for a place
	maxHandshakesFrom = 128 // that are under way at once, of one other machine; more are closed
)

// handshakesAtOnce is how many handshakes so many processors work on at once.
func handshakesAtOnce(processors int) int { return min(max(processors/2, 1), mostHandshakes) }

// protocols are what a connection may agree on, by preference: who also speaks HTTP/1.1 is a browser
// or a script, and their HTTP/2 is not the one of gRPC.
var protocols = []string{"http/1.1", "h2"}

// serverTLS gives the configuration with what every connection to this port has to have.
func serverTLS(from *tls.Config) *tls.Config {
	cfg := from.Clone()
	cfg.MinVersion = tls.VersionTLS13
	cfg.NextProtos = slices.Clone(protocols)
	// A session that is resumed shows the certificate of when it began, not the one that its holder
	// has now: it would be refused for its age, and taken for a clone when it renews.
	cfg.SessionTicketsDisabled = true
	if cfg.ClientAuth == tls.NoClientCert {
		cfg.ClientAuth = tls.RequestClientCert // who has none may have a token, or the open calls
	}
	if choose := cfg.GetConfigForClient; choose != nil {
		cfg.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			chosen, err := choose(hello)
			if chosen == nil || err != nil {
				return nil, err
			}
			chosen = chosen.Clone()
			chosen.GetConfigForClient = nil
			return serverTLS(chosen), nil
		}
	}
	return cfg
}

// handshakes makes TLS out of connections, so many at once.
type handshakes struct {
	cfg   *tls.Config
	claim func(*tls.ConnectionState) caller
	turns *turns
	from  sources
}

func newHandshakes(cfg *tls.Config, identify Identify) *handshakes {
	return &handshakes{cfg: serverTLS(cfg), turns: &turns{free: handshakesAtOnce(runtime.GOMAXPROCS(0))},
		from:  sources{most: maxHandshakesFrom},
		claim: func(cs *tls.ConnectionState) caller { return claimOf(identify, cs) }}
}

// shake turns the connection into one of TLS before until, unless the server stops.
func (h *handshakes) shake(conn *sniffedConn, until time.Time, stop <-chan struct{}) error {
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	if source, counted := sourceOf(conn.RemoteAddr()); counted {
		if !h.from.take(source) {
			return errTooMany
		}
		defer h.from.give(source)
	}
	work := &worked{Conn: conn.Conn, turns: h.turns, until: ctx.Done(), stop: stop}
	secure := tls.Server(work, h.cfg)
	err := secure.HandshakeContext(ctx)
	work.end()
	if err != nil {
		return err
	}
	cs := secure.ConnectionState()
	who := h.claim(&cs)
	conn.Conn, conn.caller = secure, &who
	return nil
}

// worked is a connection during its handshake. It has a turn while this server works on it and none
// while it waits for the other end: who says nothing keeps nobody out. The goroutine of the handshake reads
// it, and later that of the connection.
type worked struct {
	net.Conn
	turns             *turns
	until, stop       <-chan struct{}
	begun, held, over bool
}

func (w *worked) Read(p []byte) (int, error) {
	if w.over {
		return w.Conn.Read(p)
	}
	w.give()
	n, err := w.Conn.Read(p)
	if err != nil {
		return n, err
	}
	if err := w.turns.take(w.begun, w.until, w.stop); err != nil {
		return n, err
	}
	w.begun, w.held = true, true
	return n, nil
}

func (w *worked) give() {
	if w.held {
		w.held = false
		w.turns.give()
	}
}

// end is called when the handshake is over.
func (w *worked) end() {
	w.give()
	w.over = true
}

// shown is what gRPC knows of the caller of a connection.
type shown struct {
	caller *caller // nil: the gateway of this process
}

// AuthType implements credentials.AuthInfo.
func (shown) AuthType() string { return "vigil" }

// handshaken are credentials for connections whose handshake was done before gRPC gets them.
type handshaken struct{}

// ServerHandshake implements credentials.TransportCredentials.
func (handshaken) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if s, ok := c.(*sniffedConn); ok && s.caller != nil {
		return c, shown{s.caller}, nil
	}
	return c, shown{}, nil // from the listener inside this process
}

// ClientHandshake implements credentials.TransportCredentials; nobody dials with these.
func (handshaken) ClientHandshake(
	_ context.Context, _ string, c net.Conn,
) (net.Conn, credentials.AuthInfo, error) {
	return c, shown{}, nil
}

// Info implements credentials.TransportCredentials.
func (handshaken) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

// Clone implements credentials.TransportCredentials.
func (handshaken) Clone() credentials.TransportCredentials { return handshaken{} }

// OverrideServerName implements credentials.TransportCredentials.
func (handshaken) OverrideServerName(string) error { return nil }
