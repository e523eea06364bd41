package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"vigil/rpc/base"
	"vigil/rpc/door"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/servers"
	"vigil/rpc/vouch"
)

// Config is what Open needs. It is read once.
type Config struct {
	// Listener takes gRPC and HTTP; the Server closes it.
	Listener net.Listener

	ServerID string // of this server, as in the membership
	Version  string // of the program
	// ClusterID is the label of the cluster's gossip; "" while the server belongs to
	// no cluster; nil: always. It must be safe for concurrent use.
	ClusterID func() string

	Writer base.Writer
	Reader base.Reader

	// Members, Backups and Health may be nil: their calls answer unimplemented, and
	// /readyz asks for a leader only.
	Members servers.Members
	Backups servers.Backups
	Health  servers.Health

	// Diagnosis tells of this server what is in no other answer; nil: nothing. It must be safe for
	// concurrent use.
	Diagnosis func(context.Context) (*vigilv1.Diagnosis, error)

	// Signer makes certificates; nil: nobody has an identity here, and calls that need one are refused.
	Signer vouch.Signer
	// Keys are the keys of gossip; nil: they do not come by themselves.
	Keys base.GossipKeys

	// Traced says that servers make spans of tasks: whoever claims one is told the traceparent of the
	// attempt's. Else it is told the one that the task's creator has given, as it came.
	Traced bool

	// Watchdog gives the counts of this server's conversation watchdog. It must be safe
	// for concurrent use. Nil: zeros.
	Watchdog func() WatchdogStats

	// Notifiers counts those through which this server announces escalations while it leads. It must be safe for
	// concurrent use. Nil: nobody knows.
	Notifiers func() int

	// TLS serves the port with identities; nil: in clear, and whoever reaches it may do everything.
	// It verifies the chains of certificates; to show one is optional. PeerTLS is shown to other
	// servers and proves that they are servers of this cluster; Identify says who calls. Either all
	// three are given or none.
	TLS, PeerTLS *tls.Config
	Identify     door.Identify
	// ConnAge is how old a connection may grow, see door.Config.
	ConnAge time.Duration
	// Private is the socket of this server's owner, an admin whom no certificate names; nil: there is none.
	// It makes sense with identities only.
	Private net.Listener
	// Denials gets one line of JSON for some refused calls a second; it may be nil.
	Denials io.Writer

	// Dial opens a connection to the API of another server; nil: TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)

	// Log gets one line a call at debug level. Nil: nothing is logged.
	Log hclog.Logger
	// Registerer gets the metrics, Gatherer serves /metrics. Either may be nil.
	Registerer prometheus.Registerer
	Gatherer   prometheus.Gatherer

	// Hosts are the names, without a port, under which clients reach this server over HTTP beside
	// localhost and IP addresses. Requests that name another host are refused: a web page could
	// have sent them by a name of its own that points here.
	Hosts []string
	// BasePath is a path below which page and API are served beside /; "": none.
	BasePath string
	// RoomFile reads a room file for the page: requests as a list in JSON; nil: none is read.
	RoomFile func(text string) ([]byte, error)

	// StopGrace is how long calls in flight may take to end when the server stops;
	// 0: 5 s.
	StopGrace time.Duration
}

func (c Config) withDefaults() (Config, error) {
	var faults []error
	need := func(ok bool, field string) {
		if !ok {
			faults = append(faults, fmt.Errorf("%s is missing", field))
		}
	}
	need(c.Listener != nil, "Listener")
	need(c.ServerID != "", "ServerID")
	need(c.Writer != nil, "Writer")
	need(c.Reader != nil, "Reader")
	if c.StopGrace < 0 {
		faults = append(faults, fmt.Errorf("StopGrace is %s, must not be negative", c.StopGrace))
	}
	if c.StopGrace == 0 {
		c.StopGrace = 5 * time.Second
	}
	if c.ClusterID == nil {
		c.ClusterID = func() string { return "" }
	}
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	return c, errors.Join(faults...)
}
