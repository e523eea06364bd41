package door

import (
	"context"
	"net"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"vigil/fsm"
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

	// Dial opens a connection to the API of another server; nil: TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Gatherer serves /metrics; may be nil.
	Gatherer prometheus.Gatherer
	// Hosts are the names, without a port, under which clients reach this server over HTTP
	// beside localhost and IP addresses.
	Hosts []string
	// OpenAPI describes all calls, in JSON.
	OpenAPI []byte
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

// DefaultDeadline is that of a unary call whose caller set none.
const DefaultDeadline = 30 * time.Second
