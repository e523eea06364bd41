package door

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// authority is a CA of a test.
type authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{t: t, pool: x509.NewCertPool()}
	a.key = newKey(t)
	a.cert = a.issue(&x509.Certificate{IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}, nil).Leaf
	a.pool.AddCert(a.cert)
	return a
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *authority) issue(c *x509.Certificate, key *ecdsa.PrivateKey) tls.Certificate {
	a.t.Helper()
	c.SerialNumber, c.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: "test"}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent := a.cert
	if key == nil {
		key, parent = a.key, c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// leaf is the certificate of a name; "" gives none.
func (a *authority) leaf(kind who.Kind, name string) []tls.Certificate {
	if kind == who.Nobody {
		return nil
	}
	uri := &url.URL{Scheme: "spiffe", Host: "test", Path: "/" + string(kind) + "/" + name}
	return []tls.Certificate{a.issue(&x509.Certificate{URIs: []*url.URL{uri}, IPAddresses: []net.IP{{127, 0, 0, 1}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}}, newKey(a.t))}
}

// verify is what the configurations of servers and clients check of the other side.
func (a *authority) verify(cs tls.ConnectionState) error {
	if len(cs.PeerCertificates) == 0 {
		return nil
	}
	_, err := cs.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: a.pool,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	return err
}

func (a *authority) server(id string) *tls.Config {
	return &tls.Config{Certificates: a.leaf(who.Server, id), VerifyConnection: a.verify}
}

// client shows that name, and takes nobody but servers for servers.
func (a *authority) client(kind who.Kind, name string) *tls.Config {
	return &tls.Config{Certificates: a.leaf(kind, name), InsecureSkipVerify: true,
		VerifyConnection: func(cs tls.ConnectionState) error {
			if len(cs.PeerCertificates) == 0 || len(cs.PeerCertificates[0].URIs) == 0 ||
				!strings.HasPrefix(cs.PeerCertificates[0].URIs[0].Path, "/server/") {
				return errors.New("it is no server")
			}
			return a.verify(cs)
		}}
}

// registry is an Identify of a test.
type registry struct {
	mu      sync.Mutex
	rights  map[string][]who.Right // by kind/name
	revoked map[string]string      // by kind/name: the code
}

func (r *registry) give(name string, rights []who.Right) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rights[name] = rights
}

func (r *registry) revoke(name, code string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.revoked[name] = code
}

func (r *registry) Claim(cs *tls.ConnectionState) (who.Claim, error) {
	if len(cs.PeerCertificates) == 0 {
		return who.Claim{}, nil
	}
	kind, name, _ := strings.Cut(strings.TrimPrefix(cs.PeerCertificates[0].URIs[0].Path, "/"), "/")
	return who.Claim{Kind: who.Kind(kind), Name: name, Generation: 1}, nil
}

func (r *registry) Principal(c who.Claim) (who.Principal, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := string(c.Kind) + "/" + c.Name
	if c.Kind == who.APIToken {
		if sum := sha256.Sum256([]byte("secret")); c.Serial != fmt.Sprintf("%x", sum) {
			return who.Principal{}, fault.New(code.AuthDenied, "There is no such token.")
		}
	}
	p := who.Principal{Claim: c, Rights: r.rights[name]}
	switch r.revoked[name] {
	case "":
		return p, nil
	case code.AuthExpired:
		return p, fault.New(code.AuthExpired, "The certificate is too old.")
	}
	return who.Principal{}, fault.New(code.AuthDenied, "The certificate was revoked.")
}

// replica is one state that all servers of a test share; s1 leads.
type replica struct {
	mu    *sync.RWMutex
	state *fsm.State
	id    string
}

func (r *replica) Read(fn func(*fsm.View)) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	fn(&r.state.View)
}
func (r *replica) Barrier(context.Context) error { return nil }
func (r *replica) Leader() Leader {
	r.mu.RLock()
	defer r.mu.RUnlock()
	st := r.state.Stint()
	return Leader{ID: st.Server, APIAddr: st.APIAddr, Self: st.Server == r.id, Term: st.Term}
}

// gates are servers with identities whose services do nothing: a call that is let through is
// answered with unimplemented.
type gates struct {
	t       testing.TB
	ca      *authority
	known   *registry
	replica *replica // of the leader
	index   uint64
	doors   []*Door
	addrs   []string
	denials *syncBuffer
	host    uint32 // number of h1
	agent   uint32 // number of web/a
	lives   map[string]noun.Incarnation
	behind  atomic.Pointer[func()] // done while a read at a follower waits for what the leader has; nil: nothing
}

type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// bidi hears the first word of a stream before it says that it does nothing.
type bidi struct {
	vigilv1.UnimplementedHostAgentServer
}

func (bidi) Stream(s grpc.BidiStreamingServer[vigilv1.HostMessage, vigilv1.ServerMessage]) error {
	if _, err := s.Recv(); err != nil {
		return err
	}
	return &fault.Error{Code: code.Unimplemented}
}

// restore reads the first part of a backup before it says that it does nothing.
type restore struct {
	vigilv1.UnimplementedClusterServer
}

func (restore) RestoreSnapshot(
	s grpc.ClientStreamingServer[vigilv1.RestoreSnapshotRequest, vigilv1.RestoreSnapshotResponse],
) error {
	if _, err := s.Recv(); err != nil {
		return err
	}
	return &fault.Error{Code: code.Unimplemented}
}

// events is a history that nobody adds to.
type events struct {
	vigilv1.UnimplementedFleetServer
}

func (events) WatchEvents(r *vigilv1.WatchEventsRequest, s grpc.ServerStreamingServer[vigilv1.Event]) error {
	if r.GetNoFollow() {
		return &fault.Error{Code: code.Unimplemented}
	}
	if err := s.SendHeader(nil); err != nil {
		return err
	}
	<-s.Context().Done()
	return s.Context().Err()
}

func openGates(t testing.TB) *gates {
	t.Helper()
	g := &gates{t: t, ca: newAuthority(t), known: &registry{rights: map[string][]who.Right{},
		revoked: map[string]string{}}, denials: &syncBuffer{}, lives: map[string]noun.Incarnation{}}
	state, mu := fsm.New(), &sync.RWMutex{}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, id := range []string{"s1", "s2"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		at := &replica{mu: mu, state: state, id: id}
		d, err := Open(Config{Listener: l, ServerID: id, ClusterID: func() string { return "secret-id" }, Reader: at,
			Log: hclog.NewNullLogger(), StopGrace: time.Second, TLS: g.ca.server(id), PeerTLS: g.ca.client(who.Server, id),
			Identify: g.known, Denials: g.denials, Gatherer: prometheus.NewRegistry(), OpenAPI: []byte("{}")})
		if err != nil {
			t.Fatal(err)
		}
		d.ReadHere(func(context.Context) error {
			if fn := g.behind.Load(); fn != nil {
				(*fn)()
			}
			return nil
		})
		r := d.GRPC()
		vigilv1.RegisterFleetServer(r, events{})
		vigilv1.RegisterWorkServer(r, vigilv1.UnimplementedWorkServer{})
		vigilv1.RegisterMailboxServer(r, vigilv1.UnimplementedMailboxServer{})
		vigilv1.RegisterHostAgentServer(r, bidi{})
		vigilv1.RegisterEscalationsServer(r, vigilv1.UnimplementedEscalationsServer{})
		vigilv1.RegisterOverseersServer(r, vigilv1.UnimplementedOverseersServer{})
		vigilv1.RegisterDeskServer(r, vigilv1.UnimplementedDeskServer{})
		vigilv1.RegisterClusterServer(r, restore{})
		vigilv1.RegisterTrustServer(r, vigilv1.UnimplementedTrustServer{})
		g.doors, g.addrs = append(g.doors, d), append(g.addrs, l.Addr().String())
		if g.replica == nil {
			g.replica = at
		}
		running.Go(func() {
			if err := d.Run(ctx); err != nil {
				t.Errorf("run %s: %v", id, err)
			}
		})
	}
	t.Cleanup(func() { stop(); running.Wait() })
	g.populate()
	return g
}

// apply applies commands, each of which has to work.
func (g *gates) apply(stamp time.Duration, cmds ...fsm.Command) []noun.Outcome {
	g.t.Helper()
	e := &fsm.Entry{Term: 1, Stint: 1, Stamp: noun.Time(0).Add(stamp)}
	for _, c := range cmds {
		e.Requests = append(e.Requests, fsm.Request{Cmd: c})
	}
	g.index++
	e.Index = g.index
	g.replica.mu.Lock()
	outs := append([]noun.Outcome(nil), g.replica.state.Apply(e).Outcomes...)
	g.replica.mu.Unlock()
	for i, out := range outs {
		if out.Code != noun.OK {
			g.t.Fatalf("%T: %s", cmds[i], out.Detail)
		}
	}
	for _, d := range g.doors {
		d.Look()
	}
	return outs
}

// populate makes two rooms with a task, a mail and an escalation each, and lives of web/a, web/b and
// ops/a on the hosts h1, h1 and h2; and ops/c on h2, whose role was granted the room web.
func (g *gates) populate() {
	g.apply(0, fsm.LeaderEstablished{Server: "s1", APIAddr: g.addrs[0]})
	g.apply(0, fsm.PutServer{ID: "s1", APIAddr: g.addrs[0], RaftAddr: "r1"},
		fsm.PutServer{ID: "s2", APIAddr: g.addrs[1], RaftAddr: "r2"},
		fsm.RegisterHost{Key: "h1", Name: "one", Boot: "b1", Runners: []string{"sh"}},
		fsm.RegisterHost{Key: "h2", Name: "two", Boot: "b2", Runners: []string{"sh"}})
	roles := []noun.RoleSpec{{Name: "a", Runner: "sh"}, {Name: "b", Runner: "sh"}}
	overseer := noun.RoleSpec{Name: "c", Runner: "sh", Grants: []noun.Binding{{Role: noun.Operator, Room: "web"}},
		AnyContainment: true}
	g.apply(0, fsm.RaiseLevel{Level: fsm.NewestLevel}, fsm.ApplyRoom{Room: "web", Roles: roles},
		fsm.ApplyRoom{Room: "ops", Roles: append(slices.Clone(roles), overseer)})
	// Tasks, mails and escalations have the numbers 1 of web and 2 of ops.
	g.apply(0, fsm.CreateTask{Room: "web", Role: "a", Title: "x"}, fsm.CreateTask{Room: "ops", Role: "a", Title: "x"},
		fsm.SendMail{From: "ann", To: "web/a", Subject: "s", Priority: noun.MailUrgent},
		fsm.SendMail{From: "ann", To: "ops/a", Subject: "s", Priority: noun.MailUrgent})
	now := 10 * time.Minute
	g.apply(now)
	g.apply(now, fsm.RegisterHost{Key: "h1", Name: "one", Boot: "b1", Runners: []string{"sh"}},
		fsm.RegisterHost{Key: "h2", Name: "two", Boot: "b2", Runners: []string{"sh"}})
	for i, at := range []struct{ agent, host, boot string }{{"web/a", "h1", "b1"}, {"web/b", "h1", "b1"},
		{"ops/a", "h2", "b2"}, {"ops/c", "h2", "b2"}} {
		var start fsm.OrderStart
		g.replica.Read(func(st *fsm.View) {
			a := st.AgentByName(at.agent)
			start = fsm.OrderStart{Agent: a.ID, Inc: st.NextInc(a), Host: st.HostByKey(at.host).ID}
		})
		hash := sha256.Sum256([]byte("token of " + at.agent))
		g.apply(now, start, fsm.AcceptOrder{Host: start.Host, Boot: at.boot, Agent: start.Agent, Inc: start.Inc,
			TokenHash: hash[:]}, fsm.ReportStarted{Host: start.Host, Agent: start.Agent, Inc: start.Inc, PID: uint32(100 + i)})
		g.lives[at.agent] = start.Inc
	}
	// The next life of web/a.
	var again fsm.OrderStart
	g.replica.Read(func(st *fsm.View) {
		a := st.AgentByName("web/a")
		again = fsm.OrderStart{Agent: a.ID, Inc: a.Inc + 1, Host: a.Host}
	})
	g.apply(now, fsm.ReportExit{Host: again.Host, Agent: again.Agent, Inc: again.Inc - 1})
	now += 40 * time.Second
	g.apply(now, fsm.RegisterHost{Key: "h1", Name: "one", Boot: "b1", Runners: []string{"sh"}})
	hash := sha256.Sum256([]byte("token of web/a"))
	g.apply(now, again, fsm.AcceptOrder{Host: again.Host, Boot: "b1", Agent: again.Agent,
		Inc: again.Inc, TokenHash: hash[:]},
		fsm.ReportStarted{Host: again.Host, Agent: again.Agent, Inc: again.Inc, PID: 200})
	g.lives["web/a"] = again.Inc
	g.replica.Read(func(st *fsm.View) {
		g.host, g.agent = uint32(st.HostByKey("h1").ID), uint32(st.AgentByName("web/a").ID)
	})
}

// dial connects to a server as that name.
func (g *gates) dial(i int, kind who.Kind, name string, more ...grpc.DialOption) *grpc.ClientConn {
	g.t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+g.addrs[i], append(more,
		grpc.WithTransportCredentials(credentials.NewTLS(g.ca.client(kind, name))))...)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func codeOf(err error) string {
	if err == nil || errors.Is(err, io.EOF) {
		return code.OK
	}
	return fault.Of(err).Code
}
