package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	"vigil/rpc/link"
)

// Limits of Config, and how long the cluster remembers a session. Clients give up
// well before a session can end, so an unknown session means that the write was
// not done.
const (
	DefaultRetryFor = 5 * time.Minute
	DefaultAttempt  = 5 * time.Second
	DefaultSilence  = 500 * time.Millisecond
	MaxMessage      = 16 << 20 // bytes of one message in either direction
)

// EnvFile is the variable that names Config.File to the agents of agentd.
const EnvFile = "VIGIL_SERVERS"

// EnvSocket is the variable that names the socket of its life to an agent of agentd.
const EnvSocket = "VIGIL_SOCKET"

// unixPrefix begins the address of a socket.
const unixPrefix = "unix:"

// isSocket tells whether addr is that of a Unix socket.
func isSocket(addr string) bool { return strings.HasPrefix(addr, unixPrefix+"/") }

// Config says where the cluster is. Only Addrs is required; Open copies it.
type Config struct {
	// Addrs are the API addresses (host:port) of some servers, best of all. They
	// are tried in this order until the leader is known. A leader that is not
	// among them is used too, and so are all servers that the cluster is known to have:
	// every answer tells them.
	//
	// Instead of all that it may be unix:/PATH, the socket of an agent's life (EnvSocket):
	// the agentd behind it knows the servers, and the client asks nobody else.
	Addrs []string

	// File, if not empty, is a file with more addresses, one a line, that somebody keeps up
	// to date; an agent of agentd finds its name in EnvFile. It is read by Open, and
	// again while no server can be reached. One that cannot be read is passed over.
	File string

	// Name is shown in the cluster's list of sessions, for people. Empty: "client".
	Name string

	// RetryFor is how long a call is repeated when its context has no earlier
	// deadline: at most 5 min, since the cluster forgets a session after 10.
	// 0: DefaultRetryFor.
	RetryFor time.Duration

	// Absent is how long a call is repeated while no server was ever reached and every address
	// refuses connections or has no machine of that name: what a person waits who has mistyped
	// an address. 0: as long as RetryFor, so that a program survives an outage at its start.
	Absent time.Duration

	// Attempt is the longest that one attempt may wait for its answer before the
	// next server is asked. 0: DefaultAttempt.
	Attempt time.Duration

	// Silence is how long a server that owes an answer may say nothing before it
	// is asked for a sign of life, and how long it then has to give one. Twice
	// this after a server stopped answering, its calls fail or go elsewhere.
	// 0: DefaultSilence.
	Silence time.Duration

	// WaitAtLeader sends calls that park (Wait, streams) to the leader, where a new
	// task is seen a few milliseconds earlier. By default they are spread over
	// Addrs, which a large fleet needs.
	WaitAtLeader bool

	// TLS is what connections show, and how they check that servers are servers of the cluster: also
	// those to addresses that answers name. Nil: connections are in clear.
	TLS *tls.Config

	// Bearer is an API token that is sent with every call; it needs TLS. Empty: none.
	Bearer string

	// Dial opens a connection to addr, within a second; nil: TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)

	// Options are added to those of every connection.
	Options []grpc.DialOption
}

// local tells whether the cluster is reached through the socket of a life only.
func (cfg *Config) local() bool { return isSocket(cfg.Addrs[0]) }

func (cfg Config) withDefaults() (Config, error) {
	cfg.Addrs = slices.Clone(cfg.Addrs)
	if len(cfg.Addrs) == 0 {
		return cfg, fmt.Errorf("open client: no address: name at least one server as host:port")
	}
	for _, addr := range cfg.Addrs {
		if isSocket(addr) {
			if len(cfg.Addrs) > 1 {
				return cfg, fmt.Errorf("open client: address %q: a socket is named alone", addr)
			}
			cfg.File = ""
			continue
		}
		if _, port, err := net.SplitHostPort(addr); err != nil || port == "" {
			return cfg, fmt.Errorf("open client: address %q: want host:port, for instance 127.0.0.1:7420", addr)
		}
	}
	if cfg.Bearer != "" && cfg.TLS == nil {
		return cfg, fmt.Errorf("open client: a Bearer needs TLS: whoever hears it could use it")
	}
	if cfg.Name == "" {
		cfg.Name = "client"
	}
	if cfg.RetryFor == 0 {
		cfg.RetryFor = DefaultRetryFor
	}
	if cfg.RetryFor < 0 || cfg.RetryFor > DefaultRetryFor {
		return cfg, fmt.Errorf("open client: RetryFor %s: want at most %s", cfg.RetryFor, DefaultRetryFor)
	}
	if cfg.Absent <= 0 || cfg.Absent > cfg.RetryFor {
		cfg.Absent = cfg.RetryFor
	}
	if cfg.Attempt <= 0 {
		cfg.Attempt = DefaultAttempt
	}
	if cfg.Silence <= 0 {
		cfg.Silence = DefaultSilence
	}
	if cfg.Dial == nil {
		var d net.Dialer
		cfg.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			if isSocket(addr) {
				return d.DialContext(ctx, "unix", strings.TrimPrefix(addr, unixPrefix))
			}
			return d.DialContext(ctx, "tcp", addr)
		}
	}
	cfg.Dial = patient(cfg.Dial)
	return cfg, nil
}

// patient has a connection take up to acceptLimit, as on a line whose queues are full, and dials beside it each
// dialLimit: the kernel's pauses between its tries grow, and a line that comes back is to be noticed soon.
func patient(dial func(ctx context.Context, addr string) (net.Conn, error)) link.Dialer {
	type result struct {
		conn net.Conn
		err  error
	}
	return func(ctx context.Context, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, acceptLimit)
		defer cancel()
		came, over := make(chan result), make(chan struct{})
		defer close(over)
		try := func() {
			c, err := dial(ctx, addr)
			select {
			case came <- result{c, err}:
			case <-over:
				if err == nil {
					_ = c.Close() // another one was first
				}
			}
		}
		again := time.NewTicker(dialLimit)
		defer again.Stop()
		for {
			go try()
			select {
			case r := <-came:
				return r.conn, r.err
			case <-again.C:
			}
		}
	}
}
