package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/link"
	"vigil/rpc/trust"
)

// Conn is a client with a stub for every service.
type Conn struct {
	*client.Client
	Fleet   vigilv1.FleetClient
	Work    vigilv1.WorkClient
	Cluster vigilv1.ClusterClient
	Mail    vigilv1.MailboxClient
	Trust   vigilv1.TrustClient

	absent time.Duration // see App.absent
	self   *trust.Holder // who asks; nil: nobody
	dir    trust.Dir     // where that is kept
}

// absentLimit is how long a command looks for servers that all refuse connections. Something
// that starts servers and asks them at once is still served.
const absentLimit = time.Second

// Dial opens a client that is as patient as the cluster may be slow; the caller closes it.
func (a *App) Dial() (*Conn, error) { return a.dial(0) }

func (a *App) dial(absent time.Duration) (*Conn, error) {
	s, err := a.source()
	if err != nil {
		return nil, err
	}
	self, secure, err := s.secure()
	if err != nil {
		return nil, err
	}
	c, err := client.Open(client.Config{Addrs: s.addrs, File: a.ServersFile(), Name: "vigil " + Version(),
		Absent: absent, TLS: secure})
	if err != nil {
		return nil, WrongUsage(err)
	}
	conn := NewConn(c)
	conn.absent, conn.self, conn.dir = absent, self, trust.Dir(s.identity)
	return conn, nil
}

// Direct gives a connection to one server and no other, as the same person; the caller closes it.
func (c *Conn) Direct(addr string) (*link.Conn, error) {
	var secure *tls.Config
	if c.self != nil {
		secure = c.self.Client(nil)
	}
	dial := func(ctx context.Context, addr string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	}
	return link.New(addr, client.DefaultSilence, dial, secure)
}

// Nobody tells whoever opens streams again and again since began that no server was ever reached,
// and that a person waits who wants to know.
func (c *Conn) Nobody(began time.Time) bool {
	return c.absent > 0 && !c.Reached() && time.Since(began) >= c.absent
}

// Identity is who asks; nil: nobody, in clear.
func (c *Conn) Identity() *trust.Holder { return c.self }

// Self is the name by which the cluster knows who asks, such as user/anna; false: nobody has an identity.
func (c *Conn) Self() (name string, known bool) {
	if c.self == nil {
		return "", false
	}
	peer, known := c.self.Self()
	return peer.Short(), known
}

// whereElse adds to an error that no server was found what to do about it.
func (a *App) whereElse(c *Conn, err error) error {
	if !errors.Is(err, client.ErrUnavailable) || c.Reached() {
		return err
	}
	s, e := a.source()
	switch {
	case e != nil:
		return err
	case errors.Is(err, client.ErrSpeaksTLS):
		return fmt.Errorf("%w: log in with `vigil login TOKEN`, or select a context in which you are with "+
			"`vigil context use NAME`", err)
	case errors.Is(err, client.ErrSpeaksClear):
		return fmt.Errorf("%w: it runs without an identity (insecure: true), and you have one in %s; "+
			"`vigil context set NAME %s`, with a new NAME, makes a context for it", err, s.identity, strings.Join(s.addrs, " "))
	}
	return fmt.Errorf("%w: %s", err, s.remedy())
}

// NewConn makes the stubs of a client.
func NewConn(c *client.Client) *Conn {
	return &Conn{Client: c, Fleet: vigilv1.NewFleetClient(c), Work: vigilv1.NewWorkClient(c),
		Cluster: vigilv1.NewClusterClient(c), Mail: vigilv1.NewMailboxClient(c),
		Trust: vigilv1.NewTrustClient(c)}
}
