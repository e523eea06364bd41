package local

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"vigil/rpc/code"
)

const (
	// dialLimit is how long a server may take to accept a connection.
	dialLimit = time.Second
	// restLimit is for how long one that did not comes behind all others.
	restLimit = 2 * time.Second
	// pingLimit is how long a server may say nothing before it is asked for a sign of life,
	// and how long it has to give one.
	pingLimit = 2 * time.Second
	// answerLimit is after how long without an answer a call that is given up tells against its server, so that
	// the next ones go to others first: the lease of an agent may be shorter than what pings take to show it.
	answerLimit = 500 * time.Millisecond
)

// errAway says that no server could be reached: nothing was sent.
var errAway = errors.New("no server can be reached")

// undialed is an error before anything was sent.
type undialed struct{ error }

func (u undialed) Unwrap() error { return u.error }

// upstream sends requests to the servers. It is safe for concurrent use.
type upstream struct {
	servers    func() []string
	scheme     string
	grpc, json *http.Transport
	answer     time.Duration // see answerLimit

	mu   sync.Mutex
	rest map[string]time.Time // addresses that were not reached or did not answer, until when
}

// newUpstream speaks TLS by config; nil: in clear.
func newUpstream(servers func() []string, config *tls.Config) *upstream {
	u := &upstream{servers: servers, scheme: "http", answer: answerLimit, rest: map[string]time.Time{}}
	u.grpc, u.json = transport(config, "h2"), transport(config, "http/1.1")
	if config != nil {
		u.scheme = "https"
	}
	return u
}

// transport is a pool of connections over which one protocol is spoken.
func transport(config *tls.Config, protocol string) *http.Transport {
	t := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16, IdleConnTimeout: idleLimit,
		DialContext: dial, Protocols: &http.Protocols{},
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingLimit, PingTimeout: pingLimit}}
	switch {
	case protocol == "http/1.1":
		t.Protocols.SetHTTP1(true)
	case config == nil:
		t.Protocols.SetUnencryptedHTTP2(true)
	default:
		t.Protocols.SetHTTP2(true)
	}
	if config != nil {
		config = config.Clone()
		config.NextProtos = []string{protocol}
		t.DialTLSContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			return dialTLS(ctx, config, addr)
		}
	}
	return t
}

func dial(ctx context.Context, _, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialLimit}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, undialed{err}
	}
	return conn, nil
}

// dialTLS also shakes hands, so that a server which does not is passed over.
func dialTLS(ctx context.Context, config *tls.Config, addr string) (net.Conn, error) {
	conn, err := dial(ctx, "", addr)
	if err != nil {
		return nil, err
	}
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName, _, _ = net.SplitHostPort(addr) // it could not be dialed otherwise
	}
	secure := tls.Client(conn, config)
	ctx, cancel := context.WithTimeout(ctx, 2*dialLimit)
	defer cancel()
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, undialed{err}
	}
	return secure, nil
}

// RoundTrip implements http.RoundTripper. It sends the request to the first server that can
// be reached, and to one only; one that let an earlier call wait in vain comes last. errAway says that there
// was none.
func (u *upstream) RoundTrip(req *http.Request) (*http.Response, error) {
	t := u.json
	if isGRPC(req) {
		t = u.grpc
	}
	for _, addr := range u.order() {
		out := req.Clone(req.Context())
		out.URL.Scheme, out.URL.Host, out.Host = u.scheme, addr, addr
		if req.Body != nil && req.Body != http.NoBody {
			out.Body = io.NopCloser(req.Body) // it is read only once a server is there
		}
		began := time.Now()
		res, err := t.RoundTrip(out)
		var not undialed
		if !errors.As(err, &not) {
			if err != nil && time.Since(began) >= u.answer && !parks(req) {
				u.lay(addr)
			}
			return res, err
		}
		if ctx := req.Context(); ctx.Err() != nil {
			return nil, ctx.Err()
		}
		u.lay(addr)
	}
	return nil, errAway
}

// lay has a server come behind all others for a while.
func (u *upstream) lay(addr string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.rest[addr] = time.Now().Add(restLimit)
}

// parks tells whether a call may go without an answer for long.
func parks(req *http.Request) bool {
	method, _ := Method(req)
	return code.NatureOf(method).Long()
}

// order lists the servers; those that were not reached or did not answer a moment ago come last.
func (u *upstream) order() []string {
	var all []string
	for _, addr := range u.servers() {
		if !slices.Contains(all, addr) {
			all = append(all, addr)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	for addr, until := range u.rest {
		if now.After(until) {
			delete(u.rest, addr)
		}
	}
	slices.SortStableFunc(all, func(a, b string) int {
		_, left := u.rest[a]
		_, right := u.rest[b]
		switch {
		case left == right:
			return 0
		case right:
			return -1
		}
		return 1
	})
	return all
}

func (u *upstream) close() {
	u.grpc.CloseIdleConnections()
	u.json.CloseIdleConnections()
}
