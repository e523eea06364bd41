package door

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math"
	"net"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"vigil/fsm"
	"vigil/rpc/door/who"
)

// Config is what Open needs. It is read once; what may be nil or empty says so.
type Config struct {
	// Listener takes gRPC and HTTP; the Door closes it.
	Listener net.Listener

	ServerID  string        // of this server, as in the membership
	Version   string        // of the program; may be empty
	ClusterID func() string // label of the cluster's gossip
	Reader    Reader
	Health    Health // may be nil: /readyz asks for a leader only
	Log       hclog.Logger
	StopGrace time.Duration // how long calls in flight may take to end

	// TLS serves the port with identities; nil: in clear, and whoever reaches it may do everything.
	// It verifies the chains of certificates; to show one is optional.
	TLS *tls.Config
	// Identify says who calls; it is needed with TLS, and only there.
	Identify Identify
	// PeerTLS is shown to other servers, and proves that they are servers of this cluster; needed
	// with TLS, and only there.
	PeerTLS *tls.Config
	// ConnAge is how old a connection may grow before its next calls go over another one, about; those under way stay.
	// A connection shows the certificate of when it began, so it must be shorter than one is good for. 0: an hour;
	// without TLS as old as it likes.
	ConnAge time.Duration
	// Private takes calls of the owner of this server, an admin of the cluster whom no certificate names: a
	// Unix socket that only its account and root reach. The Door closes it; nil without TLS, else optional.
	Private net.Listener
	// Denials gets one line of JSON for each refused call, some a second at most; it may be nil.
	// It is written to by one goroutine at a time.
	Denials io.Writer

	// Dial opens a connection to the API of another server; nil: TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Gatherer serves /metrics; may be nil.
	Gatherer prometheus.Gatherer
	// Hosts are the names, without a port, under which clients reach this server over HTTP
	// beside localhost and IP addresses.
	Hosts []string
	// BasePath is a path below which the page and the API are served beside /, as web.CheckBase wants it; "": none.
	BasePath string
	// RoomFile reads a room file for the page: what the API is asked for, as a list in JSON; nil: none is read.
	RoomFile func(text string) ([]byte, error)
	// OpenAPI describes all calls, in JSON.
	OpenAPI []byte
}

// Identify says who calls. Safe for concurrent use.
type Identify interface {
	// Claim reads what a connection has shown in its handshake, once for each. Without a certificate
	// it gives the zero claim; an error is one that the caller gets for everything that it asks.
	Claim(*tls.ConnectionState) (who.Claim, error)
	// Principal checks a claim against the state, for each call: it must be quick. Its errors have
	// the codes auth_denied and auth_expired; with the latter the principal is there all the same,
	// and may renew its certificate. It is not asked about who has shown nothing.
	Principal(who.Claim) (who.Principal, error)
}

// check tells what is missing.
func (cfg *Config) check() error {
	if set := cfg.TLS != nil; set != (cfg.Identify != nil) || set != (cfg.PeerTLS != nil) {
		return errors.New("TLS, Identify and PeerTLS belong together: give all of them, or none")
	}
	if cfg.Private != nil && cfg.TLS == nil {
		return errors.New("without TLS everybody may do everything: Private is for servers with identities")
	}
	return nil
}

// age is how old a connection may grow.
func (cfg *Config) age() time.Duration {
	switch {
	case cfg.TLS == nil:
		return math.MaxInt64
	case cfg.ConnAge == 0:
		return connAge
	}
	return cfg.ConnAge
}

// Reader gives access to the replicated state. Safe for concurrent use.
type Reader interface {
	// Read calls fn under the read lock; fn is short and keeps no pointer.
	Read(fn func(*fsm.View))
	// Barrier returns when Read sees everything that was committed before the
	// call. Only the leader can.
	Barrier(ctx context.Context) error
	Leader() Leader
}

// Leader says who leads, as far as this server knows. The zero value: nobody.
type Leader struct {
	ID, APIAddr string
	Self        bool // this server, and its stint is open
	Term        uint64
}

// Health tells what /readyz shows beyond the state.
type Health interface {
	// Ready is nil when this server may be sent traffic; its error says why not.
	Ready() error
}

// connAge is ConnAge where it is not set.
const connAge = time.Hour

// DefaultDeadline is that of a unary call whose caller set none.
const DefaultDeadline = 30 * time.Second
