package local

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"time"

	"vigil/rpc/code"
)

const (
	// maxCalls is how many calls of a life are under way at once, parked ones too.
	maxCalls = 128
	// maxStreams is how many of them may come over one connection.
	maxStreams = 32
	// arriveLimit is how long the head of a request may take to arrive, and its body.
	arriveLimit = 30 * time.Second
	// idleLimit is how long a connection without a call is kept.
	idleLimit = 5 * time.Minute
	// jsonMore is how many times as long JSON may be as the message that it says.
	jsonMore = 4
	// frame is what gRPC adds to a message, in bytes.
	frame = 5
)

// Who gives for whom a shim speaks, ROOM/AGENT/INCARNATION, by what it says and by its process, 0 where that
// is not known. It waits for a life that is just beginning until ctx ends. It must be safe for concurrent use.
type Who func(ctx context.Context, life Life, pid int) (string, error)

// RelayConfig is what a Relay needs.
type RelayConfig struct {
	Listener *net.UnixListener // only for shims; Run closes it
	Who      Who
	// Servers gives the API addresses of the servers, the best first. It must be safe for
	// concurrent use.
	Servers func() []string
	// TLS is how servers are spoken to; nil: in clear.
	TLS *tls.Config
}

// Relay passes calls of agents on to the servers. Run it once.
type Relay struct {
	config RelayConfig
	up     *upstream
	proxy  *httputil.ReverseProxy

	handlers sync.WaitGroup
	mu       sync.Mutex
	calls    map[string]int // under way, by life
}

// NewRelay makes a relay; Run runs it.
func NewRelay(config RelayConfig) *Relay {
	r := &Relay{config: config, up: newUpstream(config.Servers, config.TLS), calls: map[string]int{}}
	r.proxy = &httputil.ReverseProxy{Rewrite: rewrite, Transport: r.up, ModifyResponse: clean,
		ErrorHandler: failed, ErrorLog: silent()}
	return r
}

// Run serves until ctx ends. When it returns, nothing of it is alive: the connections of all
// shims are closed, and calls under way have failed.
func (r *Relay) Run(ctx context.Context) {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	conns := newHanded()
	var served open
	server := &http.Server{Handler: http.HandlerFunc(r.serve), Protocols: protocols, MaxHeaderBytes: maxHeaders,
		ReadHeaderTimeout: arriveLimit, IdleTimeout: idleLimit, ErrorLog: silent(),
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerConnection: 1 << 20,
			MaxReceiveBufferPerStream: maxWindow, WriteByteTimeout: arriveLimit},
		ConnState: served.note,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, behalfKey{}, c.(spoken).behalf)
		}}
	var work sync.WaitGroup
	work.Go(func() { _ = server.Serve(conns) }) // it ends with Close
	work.Go(func() { accept(ctx, r.config.Listener, r.config.Who, conns, &work) })
	<-ctx.Done()
	r.config.Listener.Close()
	conns.Close()
	_ = server.Close() // the connections have nothing to say any more
	work.Wait()
	served.Wait()
	r.handlers.Wait()
	r.up.close()
}

// accept takes the connections of shims until the listener is closed.
func accept(ctx context.Context, listener *net.UnixListener, who Who, conns *handed, work *sync.WaitGroup) {
	for {
		conn, err := listener.AcceptUnix()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // out of descriptors, for instance
			time.Sleep(100 * time.Millisecond)
			continue
		case !Trusted(conn, os.Geteuid()):
			conn.Close()
			continue
		}
		work.Go(func() {
			if c, err := admit(ctx, conn, who); err == nil {
				conns.give(c)
			} else {
				conn.Close() // the shim says that agentd is away
			}
		})
	}
}

// spoken is a connection of a shim, with the life that it is for.
type spoken struct {
	net.Conn
	behalf string
	life   Life
}

// admit hears for whom a new connection is.
func admit(ctx context.Context, conn *net.UnixConn, who Who) (net.Conn, error) {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := conn.SetDeadline(time.Now().Add(greetLimit)); err != nil {
		return nil, err
	}
	life, rest, err := hearGreeting(conn)
	if err != nil {
		return nil, err
	}
	_, pid, _ := peerOf(conn)
	short, cancel := context.WithTimeout(ctx, greetLimit)
	defer cancel()
	behalf, err := who(short, life, pid)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write([]byte{taken}); err != nil {
		return nil, err
	}
	return spoken{rest, behalf, life}, conn.SetDeadline(time.Time{})
}

type behalfKey struct{}

// behalfOf gives the life that a request is for.
func behalfOf(r *http.Request) string {
	behalf, _ := r.Context().Value(behalfKey{}).(string) // every connection has one
	return behalf
}

// serve answers one call of an agent.
func (r *Relay) serve(w http.ResponseWriter, req *http.Request) {
	method, may := Method(req)
	if !may {
		refuse(w, req, code.Denied, "No agent may make this call, whatever its role is granted: ask an admin to make it.")
		return
	}
	behalf := behalfOf(req)
	if !r.begin(behalf) {
		refuse(w, req, code.Full, "This life has too many calls under way: wait until some of them are answered.")
		return
	}
	defer r.end(behalf)
	r.handlers.Add(1)
	defer r.handlers.Done()
	if req.Body != nil && req.Body != http.NoBody {
		most := code.MaxRequest(method) + frame
		if !isGRPC(req) {
			most = code.MaxRequest(method) * jsonMore
		}
		control := http.NewResponseController(w)
		if err := control.SetReadDeadline(time.Now().Add(arriveLimit)); err != nil {
			refuse(w, req, code.Internal, "The time for a request cannot be bounded.")
			return
		}
		body := &timed{ReadCloser: http.MaxBytesReader(w, req.Body, int64(most)), control: control}
		defer body.end()
		req.Body = body
	}
	r.proxy.ServeHTTP(w, req)
}

func (r *Relay) begin(behalf string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls[behalf] >= maxCalls {
		return false
	}
	r.calls[behalf]++
	return true
}

func (r *Relay) end(behalf string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls[behalf]--; r.calls[behalf] == 0 {
		delete(r.calls, behalf)
	}
}

// timed is a body that has to arrive in time; what comes after it has its own time. A server may answer before it
// has read all of a request, so the body may be read on when the call is over: its ResponseController must not be
// touched then, net/http panics.
type timed struct {
	io.ReadCloser

	mu      sync.Mutex
	control *http.ResponseController // nil: the call is over
}

func (t *timed) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if err != io.EOF {
		return n, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.control != nil {
		_ = t.control.SetReadDeadline(time.Time{}) // the connection is gone: nobody waits
	}
	return n, err
}

// end says that the call is over.
func (t *timed) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.control = nil
}

// passed are the headers of an agent that reach a server. Whatever says who somebody is, or
// how a call has travelled, is not among them.
var passed = [...]string{"Accept", "Accept-Encoding", "Content-Type", "Grpc-Accept-Encoding", "Grpc-Encoding",
	"Grpc-Timeout", "Idempotency-Key", "Te", "User-Agent", http.CanonicalHeaderKey(code.HeaderRepeat),
	http.CanonicalHeaderKey(code.HeaderSaid), http.CanonicalHeaderKey(code.HeaderTrace)}

// rewrite makes the request to a server of that of an agent.
func rewrite(p *httputil.ProxyRequest) {
	h := http.Header{}
	for _, name := range passed {
		if values := p.Out.Header[name]; values != nil {
			h[name] = values
		}
	}
	h.Set(code.HeaderOnBehalf, behalfOf(p.In))
	p.Out.Header = h
	// The path as it was judged, without what an agent may have escaped in it.
	p.Out.URL = &url.URL{Path: p.In.URL.Path, RawQuery: p.In.URL.RawQuery}
	p.Out.Trailer = nil
}

// clean takes from an answer what agents have no use for: they know one door.
func clean(res *http.Response) error {
	res.Header.Del(code.HeaderLeader)
	res.Header.Del(code.HeaderServers)
	return nil
}

// failed answers a call that was not answered by a server.
func failed(w http.ResponseWriter, r *http.Request, err error) {
	var large *http.MaxBytesError
	switch {
	case errors.Is(err, errAway):
		refuse(w, r, code.AgentdAway, code.Of(code.AgentdAway).Remedy)
	case errors.As(err, &large):
		refuse(w, r, code.TooLarge, "The request has more bytes than its call takes.")
	case errors.Is(err, os.ErrDeadlineExceeded):
		refuse(w, r, code.Timeout, "The request did not arrive in time.")
	default:
		refuse(w, r, code.Unavailable, "The server was lost before it answered: a write may have been done.")
	}
}

// silent is a log of nothing: what agents do wrong is told to them.
func silent() *stdlog.Logger { return stdlog.New(io.Discard, "", 0) }
