package trust

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
)

// lookLimit is how long a server may take to show its certificate.
const lookLimit = 3 * time.Second

func newTLSShowCmd(a *cli.App) *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use: "show", Short: "Show the roots, and which certificate everybody holds and until when", Args: cobra.NoArgs,
		Long: `Show the roots and issuers of the cluster, and of every server, host and person which certificate
they hold, until when, and what comes next. For admins.

A certificate is good for so much of the cluster's time: LEFT. What browsers and tools go by instead,
each by its own clock, is its date: UNTIL. Issuers are what the servers show when they are asked.

With --data-dir what one server or host has on this machine, without asking anybody.`,
		Example: "  vigil tls show\n  vigil tls show --data-dir /var/lib/vigil-server",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if data != "" {
				return showLocalTLS(a, data)
			}
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				r, err := readTLS(ctx, a, c)
				if err != nil {
					return err
				}
				return r.print(a)
			})
		},
	}
	cmd.Flags().StringVar(&data, "data-dir", "",
		"data directory of a server or host of this machine, instead of the cluster")
	_ = cmd.MarkFlagDirname("data-dir") // the flag is there
	return cmd
}

// tlsReport is what a cluster has of certificates. Names of fields are those of --json.
type tlsReport struct {
	Cluster string      `json:"cluster"`
	Roots   []tlsCert   `json:"roots"`
	Issuers []tlsCert   `json:"issuers"`
	Members []tlsMember `json:"members"`
}

// tlsCert is a root, or the issuer of a server.
type tlsCert struct {
	Server string     `json:"server,omitempty"` // whose it is; of a root none
	Serial string     `json:"serial,omitempty"`
	Pin    string     `json:"pin,omitempty"`    // of a root: the SHA-256 sum of its public key, as tokens have it
	Issues bool       `json:"issues,omitempty"` // the root that signs new issuers
	From   *time.Time `json:"from,omitempty"`
	Until  *time.Time `json:"until,omitempty"`
	Why    string     `json:"why,omitempty"` // why nothing is known
}

// tlsMember is who holds a certificate. Spans are of cluster time, in seconds.
type tlsMember struct {
	Kind       string     `json:"kind"`
	Name       string     `json:"name"`
	Host       string     `json:"host,omitempty"` // as people know it
	Generation uint64     `json:"generation"`
	Serial     string     `json:"serial,omitempty"` // of the newest one; none: nothing was issued in this generation
	Age        float64    `json:"age"`
	Left       float64    `json:"left"`      // until it can only be renewed; 0: that is so
	RenewsIn   float64    `json:"renews_in"` // 0: it is due
	Until      *time.Time `json:"until,omitempty"`
	Next       string     `json:"next"`
	Shows      string     `json:"shows,omitempty"` // serial of what the server shows, where that is another one
}

// readTLS asks the cluster, and every server for what it shows.
func readTLS(ctx context.Context, a *cli.App, c *cli.Conn) (*tlsReport, error) {
	anchors, err := c.Trust.GetTrust(ctx, &vigilv1.GetTrustRequest{Stale: a.Stale})
	if err != nil {
		return nil, err
	}
	identities, err := allIdentities(ctx, a, c)
	if err != nil {
		return nil, err
	}
	roots, err := trust.Parse(anchors.GetRoots())
	if err != nil {
		return nil, fmt.Errorf("read the roots of the cluster: %w", err)
	}
	servers, err := c.Cluster.ListServers(ctx, &vigilv1.ListServersRequest{})
	if err != nil {
		return nil, err
	}
	r := &tlsReport{Cluster: anchors.GetCluster()}
	for i, root := range roots {
		cert := certOf(root)
		cert.Pin, cert.Issues = trust.Pin(root), i == int(anchors.GetIssues())
		r.Roots = append(r.Roots, cert)
	}
	chains := shown(ctx, c.Identity(), servers.GetServers())
	for i, s := range servers.GetServers() {
		r.Issuers = append(r.Issuers, chains[i].issuer(s.GetId()))
	}
	for _, i := range identities {
		m := memberOf(i)
		for k, s := range servers.GetServers() {
			if m.Kind == string(trust.Server) && s.GetId() == m.Name {
				chains[k].compare(&m)
			}
		}
		r.Members = append(r.Members, m)
	}
	return r, nil
}

// chain is what a server has shown, its own certificate first.
type chain struct {
	certs []*x509.Certificate
	err   error
}

// shown connects to each server for what it shows.
func shown(ctx context.Context, self *trust.Holder, servers []*vigilv1.Server) []chain {
	out := make([]chain, len(servers))
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() { out[i] = shownBy(ctx, self, s.GetApiAddr()) })
	}
	wg.Wait()
	return out
}

func shownBy(ctx context.Context, self *trust.Holder, addr string) chain {
	switch {
	case self == nil:
		return chain{err: errors.New("you have no identity of the cluster, so nobody is asked")}
	case addr == "":
		return chain{err: errors.New("its address is not known")}
	}
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	conn, err := (&tls.Dialer{Config: self.Client(nil, "h2")}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return chain{err: err}
	}
	certs := conn.(*tls.Conn).ConnectionState().PeerCertificates
	return chain{certs, conn.Close()}
}

// issuer is who has signed what the server shows.
func (c chain) issuer(server string) tlsCert {
	switch {
	case c.err != nil:
		return tlsCert{Server: server, Why: c.err.Error()}
	case len(c.certs) < 2:
		return tlsCert{Server: server, Why: "it shows its own certificate only"}
	}
	cert := certOf(c.certs[1])
	cert.Server = server
	return cert
}

// compare adds to what the cluster knows of a server what that shows.
func (c chain) compare(m *tlsMember) {
	if c.err != nil || len(c.certs) == 0 {
		return
	}
	if serial := c.certs[0].SerialNumber.Text(16); serial != m.Serial {
		m.Shows = serial
		m.Next = "shows another certificate than the newest one; " + m.Next
	} else {
		m.Until = date(c.certs[0].NotAfter)
	}
}

func certOf(c *x509.Certificate) tlsCert {
	return tlsCert{Serial: c.SerialNumber.Text(16), From: date(c.NotBefore), Until: date(c.NotAfter)}
}

func date(at time.Time) *time.Time {
	at = at.UTC()
	return &at
}

func memberOf(i *vigilv1.Identity) tlsMember {
	m := tlsMember{Kind: i.GetKind(), Name: i.GetName(), Host: i.GetHost(), Generation: i.GetGeneration(),
		Serial: i.GetSerial(),
		Age:    i.GetAge().AsDuration().Seconds(), Left: i.GetLeft().AsDuration().Seconds(),
		RenewsIn: i.GetRenewsIn().AsDuration().Seconds()}
	if at := i.GetUntil(); at != nil {
		m.Until = date(at.AsTime())
	}
	m.Next = next(i)
	return m
}

// next is what comes next of a certificate.
func next(i *vigilv1.Identity) string {
	renews, left, late := i.GetRenewsIn().AsDuration(), i.GetLeft().AsDuration(), i.GetGrace().AsDuration()
	by, again := "it renews itself", "it joins by a new token"
	if i.GetKind() == string(trust.User) {
		by, again = "a command renews it", "log in by a new token"
	}
	switch {
	case i.GetGone():
		return "out of use"
	case i.GetSerial() == "":
		return "none was issued in this generation: " + again
	case renews > 0:
		return by + " in " + term.Short(renews)
	case left > 0:
		return by + " from now on, within " + term.Short(left)
	case late > 0:
		return "too old: it can only be renewed, for " + term.Short(late)
	}
	return "over: " + again
}

func (r *tlsReport) print(a *cli.App) error {
	roots := term.NewTable("ROOT", "FROM", "UNTIL", "")
	for _, c := range r.Roots {
		use := "is trusted"
		if c.Issues {
			use = "signs new issuers"
		}
		roots.Add(short(c.Pin), day(c.From), day(c.Until), use)
	}
	issuers := term.NewTable("SERVER", "SIGNED BY", "FROM", "UNTIL", "~")
	for _, c := range r.Issuers {
		issuers.Add(c.Server, short(c.Serial), day(c.From), day(c.Until), c.Why)
	}
	members := term.NewTable("KIND", "NAME", ">GENERATION", "SERIAL", "AGE", "LEFT", "UNTIL", "NEXT~")
	for _, m := range r.Members {
		age := ""
		if m.Serial != "" {
			age = seconds(m.Age)
		}
		members.Add(m.Kind, holder(m.Name, m.Host), fmt.Sprint(m.Generation), short(m.Serial), age, seconds(m.Left),
			day(m.Until), m.Next)
	}
	return printReport(a, r, "cluster "+r.Cluster, part{roots, "there are no roots"},
		part{issuers, "there are no servers"}, part{members, "nobody has an identity"})
}

// short is the beginning of a serial or a sum, as long as people can compare.
func short(hex string) string {
	return strings.TrimSpace(hex[:min(len(hex), 16)])
}

func day(at *time.Time) string {
	if at == nil {
		return ""
	}
	return at.Format(time.DateOnly)
}

func seconds(s float64) string {
	if s <= 0 {
		return ""
	}
	return term.Short(time.Duration(s * float64(time.Second)))
}
