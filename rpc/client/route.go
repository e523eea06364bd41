package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"

	"vigil/rpc/code"
	"vigil/rpc/link"
)

// dialLimit is how long a server may take to accept a connection before the next
// one is tried, a third of the time that the call has left where that is less: the beats of a short
// lease must come to a server that lives. An unreachable address rests for restMin, then longer, to restMax.
// The connection goes on to come meanwhile, until acceptLimit, and its handshake until shakeLimit: where thousands
// come back at once it waits for its turn, and who hung up and called again would wait behind all others.
const (
	dialLimit   = time.Second
	dialShare   = 3
	acceptLimit = 5 * time.Second
	shakeLimit  = 10 * time.Second // as long as a server lets one wait
	restMin     = 50 * time.Millisecond
	restMax     = 2 * time.Second
)

// route is the server that a kind of call goes to at the moment.
type route struct {
	target string                    // guarded by servers.mu
	cur    atomic.Pointer[link.Conn] // the connection to target once it worked
}

// servers keeps the connections and knows which server to ask.
type servers struct {
	cfg     *Config
	options []grpc.DialOption
	lead    route // writes, reads, beats
	park    route // calls that park
	watches sync.WaitGroup

	told    atomic.Pointer[string] // the newest list from a server
	reached atomic.Bool            // a server was connected to

	mu     sync.Mutex
	addrs  []string  // see Client.Servers
	readAt time.Time // when the file was read
	closed bool
	conns  map[string]*link.Conn
	rest   map[string]*rest
}

// rest keeps an address that failed from being tried again and again.
type rest struct {
	times  int
	until  time.Time
	late   time.Time // until then the others are asked before it
	reason error
	nobody bool // the machine refused the connection, or there is none of that name, or it speaks otherwise
}

func newServers(cfg *Config, options []grpc.DialOption) *servers {
	s := &servers{cfg: cfg, options: options, conns: map[string]*link.Conn{}, rest: map[string]*rest{},
		addrs: cfg.Addrs}
	s.reread()
	s.lead.target = cfg.Addrs[0]
	s.park.target = cfg.Addrs[rand.N(len(cfg.Addrs))]
	return s
}

// route gives the route of a call.
func (s *servers) route(long bool) *route {
	if long && !s.cfg.WaitAtLeader {
		return &s.park
	}
	return &s.lead
}

// pick gives a connection on which a call can be sent now: the route's own, or
// the first that works in the order of Addrs after it.
func (s *servers) pick(ctx context.Context, r *route) (*link.Conn, *Error) {
	if k := r.cur.Load(); k != nil && k.Usable() {
		return k, nil
	}
	for _, addr := range s.order(r) {
		k, err := s.conn(addr)
		if err != nil {
			if err == ErrClosed {
				return nil, From(err)
			}
			return nil, &Error{Code: code.Invalid, Message: err.Error()}
		}
		limit := dialLimit
		if end, ok := ctx.Deadline(); ok {
			limit = min(limit, time.Until(end)/dialShare)
		}
		if err = k.Ready(ctx, limit); err == nil {
			s.settle(r, k)
			return k, nil
		}
		switch {
		case ctx.Err() == context.Canceled: // that says nothing of the server
		case errors.Is(err, link.ErrConnecting):
			s.slow(k, err)
		default:
			s.failed(k, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	s.reread()
	return nil, s.unreachable()
}

// absent tells whether no server was ever reached and the last try of every address has shown
// that none is there.
func (s *servers) absent() bool {
	if s.reached.Load() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(s.addrs, func(addr string) bool {
		bad := s.rest[addr]
		return bad == nil || !bad.nobody
	})
}

// nobody tells whether a failure to connect says that no server listens there, or none that can be
// spoken to like this, or that the life of a socket is over.
func nobody(err error) bool {
	var lookup *net.DNSError
	return misfit(err) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT) ||
		errors.As(err, &lookup) && lookup.IsNotFound
}

// misfit tells whether one end of a connection speaks TLS and the other does not.
func misfit(err error) bool { return errors.Is(err, ErrSpeaksTLS) || errors.Is(err, ErrSpeaksClear) }

// unreachable says which servers were tried and why the first does not answer.
func (s *servers) unreachable() *Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := &Error{Code: code.Unavailable, Message: "no server could be reached at " + strings.Join(s.addrs, ", ")}
	for _, addr := range s.addrs {
		if bad := s.rest[addr]; bad != nil && bad.reason != nil {
			e.Message += " (" + bad.reason.Error() + ")"
			if misfit(bad.reason) {
				e.cause = bad.reason
			}
			break
		}
	}
	e.Message += "; check that the servers run and that the addresses are right"
	return e
}

// order lists the addresses that are worth trying: the route's target, then the
// known ones from there on, without those that rest. Those that are slow to connect come last, so that
// they do not take the time of each call, until they are connected.
func (s *servers) order(r *route) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := max(slices.Index(s.addrs, r.target), 0)
	all := make([]string, 0, len(s.addrs)+1)
	all = append(all, r.target)
	for i := range s.addrs {
		if addr := s.addrs[(at+i)%len(s.addrs)]; addr != r.target {
			all = append(all, addr)
		}
	}
	now := time.Now()
	late := func(addr string) bool {
		bad, k := s.rest[addr], s.conns[addr]
		return bad != nil && now.Before(bad.late) && (k == nil || !k.Usable())
	}
	all = slices.DeleteFunc(all, func(addr string) bool {
		bad := s.rest[addr]
		return bad != nil && now.Before(bad.until)
	})
	var first, last []string
	for _, addr := range all {
		if late(addr) {
			last = append(last, addr)
		} else {
			first = append(first, addr)
		}
	}
	return append(first, last...)
}

// conn gives the connection to addr, opening one when there is none.
func (s *servers) conn(addr string) (*link.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if k := s.conns[addr]; k != nil {
		return k, nil
	}
	k, err := link.New(addr, s.cfg.Silence, s.cfg.Dial, s.cfg.TLS, s.options...)
	if err != nil {
		return nil, err
	}
	s.conns[addr] = k
	s.watches.Go(func() { k.Watch(s.fail) })
	return k, nil
}

// settle remembers that the route's calls now go through k.
func (s *servers) settle(r *route, k *link.Conn) {
	s.reached.Store(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.rest, k.Addr)
	if s.conns[k.Addr] == k {
		r.target = k.Addr
		r.cur.Store(k)
	}
}

// fail drops a connection that does not work and lets its address rest.
func (s *servers) fail(k *link.Conn) { s.failed(k, errSilent) }

var errSilent = errors.New("the server has stopped answering")

func (s *servers) failed(k *link.Conn, reason error) {
	s.mu.Lock()
	if s.conns[k.Addr] == k {
		delete(s.conns, k.Addr)
		bad := s.resting(k.Addr, reason)
		bad.until = bad.after()
	}
	s.forget(&s.lead, k.Addr)
	s.forget(&s.park, k.Addr)
	s.mu.Unlock()
	k.Close()
}

// slow has others asked before k, which goes on connecting.
func (s *servers) slow(k *link.Conn, reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns[k.Addr] == k {
		bad := s.resting(k.Addr, reason)
		bad.until, bad.late = time.Now().Add(restMin), bad.after()
	}
}

// after is when an address has rested, the longer the more often it has failed.
func (r *rest) after() time.Time {
	r.times++
	return time.Now().Add(min(restMin<<min(r.times-1, 10), restMax))
}

// resting notes why addr is not asked for a while; the caller holds mu, and says for how long.
func (s *servers) resting(addr string, reason error) *rest {
	bad := s.rest[addr]
	if bad == nil {
		bad = &rest{}
		s.rest[addr] = bad
	}
	bad.reason, bad.nobody = reason, nobody(reason)
	return bad
}

// redial has the next call open a new connection to the server of k, with the newest certificate.
func (s *servers) redial(k *link.Conn) {
	s.mu.Lock()
	if s.conns[k.Addr] == k {
		delete(s.conns, k.Addr)
	}
	s.lead.cur.CompareAndSwap(k, nil)
	s.park.cur.CompareAndSwap(k, nil)
	s.mu.Unlock()
	k.Close()
}

// lost follows a call that ended without an answer: a broken connection is
// dropped, one that still works is only left.
func (s *servers) lost(r *route, k *link.Conn) {
	if k.Usable() {
		s.leave(r, k.Addr)
		return
	}
	s.fail(k)
}

// leave makes the route try the server after addr next, unless it has moved on.
func (s *servers) leave(r *route, addr string) {
	s.mu.Lock()
	s.forget(r, addr)
	s.mu.Unlock()
}

// forget moves the route on from addr; the caller holds mu.
func (s *servers) forget(r *route, addr string) {
	if r.target != addr {
		return
	}
	at := slices.Index(s.addrs, addr)
	r.target = s.addrs[(at+1)%len(s.addrs)]
	r.cur.Store(nil)
}

// follow sends the leader's calls to addr from now on; it gives false when addr
// cannot be what we look for. A leader that cannot be reached from here rests like
// any other address, and the servers that can be reached forward to it.
func (s *servers) follow(addr string) bool {
	if s.cfg.local() || !dialable(addr) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lead.target == addr {
		return true
	}
	if bad := s.rest[addr]; bad != nil && time.Now().Before(bad.until) {
		return false
	}
	s.lead.target = addr
	s.lead.cur.Store(nil)
	return true
}

// close ends all connections and waits for their goroutines.
func (s *servers) close() {
	s.mu.Lock()
	s.closed = true
	conns := s.conns
	s.conns = map[string]*link.Conn{}
	s.mu.Unlock()
	for _, k := range conns {
		k.Close()
	}
	s.watches.Wait()
}
