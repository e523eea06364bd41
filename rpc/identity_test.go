package rpc

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/client"
	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
	"vigil/rpc/vouch"
)

// people is what a cluster with identities knows in a test.
type people struct {
	t       testing.TB
	cluster string
	root    *trust.Authority
	roots   *trust.Roots

	connAge time.Duration // see Config

	mu    sync.Mutex
	known map[string]vouch.Standing // by kind/name; nobody else is known, but servers
	now   noun.Time
}

func newPeople(t testing.TB) *people {
	t.Helper()
	p := &people{t: t, cluster: trust.NewCluster(), known: map[string]vouch.Standing{}}
	var err error
	if p.root, err = trust.NewRoot(p.cluster, time.Now()); err != nil {
		t.Fatal(err)
	}
	if p.roots, err = trust.NewRoots(p.root.Chain[0]); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *people) look(_ *fsm.View, c who.Claim) vouch.Standing {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.known[string(c.Kind)+"/"+c.Name]
	s.Known = s.Known || c.Kind == who.Server
	s.Clock = p.now
	return s
}

func (p *people) put(name string, s vouch.Standing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.Known = true
	p.known[name] = s
}

// holder has a certificate of that name and stamp.
func (p *people) holder(kind trust.Kind, id string, s trust.Stamp) *trust.Holder {
	p.t.Helper()
	h := trust.NewHolder(p.roots)
	p.renew(h, kind, id, s)
	return h
}

func (p *people) renew(h *trust.Holder, kind trust.Kind, id string, s trust.Stamp) {
	p.t.Helper()
	key, err := trust.NewKey()
	if err != nil {
		p.t.Fatal(err)
	}
	csr, err := trust.Request(key)
	if err != nil {
		p.t.Fatal(err)
	}
	chain, err := p.root.Leaf(csr, trust.Name{Cluster: p.cluster, Kind: kind, ID: id}, s, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := h.Set(chain, key); err != nil {
		p.t.Fatal(err)
	}
}

// start runs two servers; the callers of the world are user/root, an admin.
func (p *people) start() *world {
	p.t.Helper()
	p.put("user/root", vouch.Standing{Rights: []who.Right{{Role: code.Admin, Room: who.AllRooms}}})
	return startAs(p.t, 2, nil, func(cfg *Config) {
		me := p.holder(trust.Server, cfg.ServerID, trust.Stamp{})
		cfg.TLS, cfg.PeerTLS, cfg.ConnAge = me.Server(false), me.Client(nil), p.connAge
		cfg.Identify = vouch.NewIdentities(func() *trust.Roots { return p.roots }, cfg.Reader, p.look)
	}, credentials.NewTLS(p.holder(trust.User, "root", trust.Stamp{}).Client(nil)))
}

func (p *people) dial(w *world, i int, cfg *tls.Config) *grpc.ClientConn {
	p.t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+w.nodes[i].addr, grpc.WithTransportCredentials(credentials.NewTLS(cfg)))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// With real certificates, through the leader and another server: an admin sets things up, an agent
// with the token of its life works, and what is written says who has written it.
func TestIdentitiesEndToEnd(t *testing.T) {
	p := newPeople(t)
	w := p.start()
	w.room("demo", "builder", 2)
	made, err := w.fleet(1).CreateTask(within(t), &vigilv1.CreateTaskRequest{Room: "demo", Role: "builder", Title: "x",
		By: "the boss"})
	if err != nil || made.GetCreatedBy() != "user/root" {
		t.Fatalf("created by %q (%v)", made.GetCreatedBy(), err)
	}
	join, err := w.work(1).Join(within(t), &vigilv1.JoinRequest{Speaker: &vigilv1.Speaker{Agent: "demo/builder",
		Token: "secret"}})
	if err != nil {
		t.Fatal(err)
	}
	me := &vigilv1.Speaker{Agent: "demo/builder", Incarnation: join.GetIncarnation(), Token: "secret"}
	strangers := p.dial(w, 1, trust.NewHolder(p.roots).Client(nil))
	work := vigilv1.NewWorkClient(strangers)
	claim, err := work.Wait(within(t), &vigilv1.WaitRequest{Speaker: me}) // claims through the leader
	if err != nil || claim.GetTask().GetId() != made.GetId() {
		t.Fatalf("with the token of its life an agent claims %v (%v)", claim, err)
	}
	batch, err := work.Batch(within(t), &vigilv1.BatchRequest{Writes: []*vigilv1.Write{
		{Op: &vigilv1.Write_StartTask{StartTask: &vigilv1.WorkRequest{Speaker: me, Task: made.GetId(),
			Attempt: claim.GetAttempt()}}},
		{Op: &vigilv1.Write_CreateTask{CreateTask: &vigilv1.CreateTaskRequest{Room: "demo", Role: "builder", Title: "y"}}},
		{Op: &vigilv1.Write_Leave{Leave: &vigilv1.LeaveRequest{Speaker: &vigilv1.Speaker{Agent: "demo/builder",
			Incarnation: me.GetIncarnation()}}}},
		{},
	}})
	if err != nil || len(batch.GetResults()) != 4 {
		t.Fatal(batch, err)
	}
	for i, want := range []string{"", code.Denied, code.Denied, code.Invalid} {
		if got := batch.GetResults()[i].GetError().GetCode(); got != want {
			t.Errorf("write %d of the batch: %q, want %q", i, got, want)
		}
	}
	wrong := &vigilv1.Speaker{Agent: "demo/builder", Incarnation: join.GetIncarnation(), Token: "guess"}
	if _, err := work.Leave(within(t), &vigilv1.LeaveRequest{Speaker: wrong}); codeOf(err) != code.Denied {
		t.Errorf("a guessed token: %v", err)
	}
}

// A batch is refused as each of its writes is: who is too old, or revoked, writes nothing by it, and numbers
// no writes. With a token such a one may join all the same.
func TestBatchesOfThoseWhoDoNotCountAreRefused(t *testing.T) {
	p := newPeople(t)
	w := p.start()
	w.room("demo", "builder", 1)
	operator := []who.Right{{Role: code.Operator, Room: "demo"}}
	p.put("user/anna", vouch.Standing{Rights: operator, Generation: 2})
	create := &vigilv1.BatchRequest{Writes: []*vigilv1.Write{{Op: &vigilv1.Write_CreateTask{
		CreateTask: &vigilv1.CreateTaskRequest{Room: "demo", Role: "builder", Title: "forged"}}}}}
	for name, tt := range map[string]struct {
		stamp trust.Stamp
		want  string
	}{
		"too old": {trust.Stamp{Generation: 2}, code.AuthExpired},
		"revoked": {trust.Stamp{Generation: 1}, code.AuthDenied},
	} {
		p.mu.Lock()
		p.now = noun.Time(13 * time.Hour)
		p.mu.Unlock()
		conn := p.dial(w, 0, p.holder(trust.User, "anna", tt.stamp).Client(nil))
		resp, err := vigilv1.NewWorkClient(conn).Batch(within(t), create)
		if codeOf(err) != tt.want {
			t.Errorf("%s: a batch gets %v (%v), want %s", name, resp.GetResults(), err, tt.want)
		}
		_, err = vigilv1.NewWorkClient(conn).OpenSession(within(t), &vigilv1.OpenSessionRequest{Client: "x"})
		if codeOf(err) != tt.want {
			t.Errorf("%s: a session: %v, want %s", name, err, tt.want)
		}
		_, err = vigilv1.NewTrustClient(conn).GetTrust(within(t), &vigilv1.GetTrustRequest{})
		if got := codeOf(err); got == code.AuthDenied || got == code.AuthExpired {
			t.Errorf("%s: nobody like that reads the roots: %v", name, err)
		}
	}
	// A host whose identity was revoked speaks for the lives on it no more.
	p.put("host/h1", vouch.Standing{Generation: 2})
	gone := vigilv1.NewWorkClient(p.dial(w, 0, p.holder(trust.Host, "h1", trust.Stamp{Generation: 1}).Client(nil)))
	resp, err := gone.Batch(within(t), &vigilv1.BatchRequest{Writes: []*vigilv1.Write{{Op: &vigilv1.Write_Leave{
		Leave: &vigilv1.LeaveRequest{Speaker: &vigilv1.Speaker{Agent: "demo/builder", Incarnation: 9}}}}}})
	if codeOf(err) != code.AuthDenied {
		t.Errorf("a revoked host writes for a life: %v (%v)", resp.GetResults(), err)
	}
}

// A watch shows what happens in the rooms that its caller may see, and nothing of the cluster.
func TestWatchesShowOnlyWhatTheirCallerMaySee(t *testing.T) {
	p := newPeople(t)
	w := p.start()
	w.room("demo", "builder", 1)
	w.room("other", "builder", 1)
	p.put("user/anna", vouch.Standing{Rights: []who.Right{{Role: code.Viewer, Room: "other"}}})
	for i := range w.servers {
		fleet := vigilv1.NewFleetClient(p.dial(w, i, p.holder(trust.User, "anna", trust.Stamp{}).Client(nil)))
		s, err := fleet.WatchEvents(within(t), &vigilv1.WatchEventsRequest{NoFollow: true})
		seen := 0
		for err == nil {
			var e *vigilv1.Event
			if e, err = s.Recv(); err != nil {
				break
			}
			if seen++; e.GetRoom() != "other" {
				t.Errorf("an event of room %q is shown: %s", e.GetRoom(), e.GetText())
			}
		}
		if seen == 0 || codeOf(err) != "internal" && err.Error() != "EOF" {
			t.Errorf("%d events, then %v", seen, err)
		}
	}
}

// A host opens its own stream, also at a server that has not heard of it yet, and no other's.
func TestS3HostsTakeTheirOwnOrdersOnly(t *testing.T) {
	p := newPeople(t)
	w := p.start()
	for _, key := range []string{"h1", "h2"} {
		p.put("host/"+key, vouch.Standing{})
	}
	own := p.dial(w, 1, p.holder(trust.Host, "h1", trust.Stamp{}).Client(nil))
	other := p.dial(w, 1, p.holder(trust.Host, "h2", trust.Stamp{}).Client(nil))
	w.nodes[1].hold() // it is behind
	agent := vigilv1.NewHostAgentClient(own)
	reg, err := agent.Register(within(t), &vigilv1.RegisterRequest{Key: "h1", Name: "one", Boot: "b1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := vigilv1.NewHostAgentClient(other).Register(within(t), &vigilv1.RegisterRequest{Key: "h1", Name: "one",
		Boot: "b2"}); codeOf(err) != code.Denied {
		t.Errorf("a host registered as another: %v", err)
	}
	open := func(conn *grpc.ClientConn) error {
		s, err := vigilv1.NewHostAgentClient(conn).Stream(within(t))
		if err != nil {
			return err
		}
		if err := s.Send(&vigilv1.HostMessage{Kind: &vigilv1.HostMessage_Hello{Hello: &vigilv1.Hello{
			Host: reg.GetHost(), Boot: "b1"}}}); err != nil {
			return err
		}
		_, err = s.Recv()
		return err
	}
	foreign, mine := make(chan error, 1), make(chan error, 1)
	go func() { foreign <- open(other) }()
	go func() { mine <- open(own) }()
	w.nodes[1].release()
	if err := <-foreign; codeOf(err) != code.Denied {
		t.Errorf("a host took the orders of another: %v", err)
	}
	if err := <-mine; err != nil {
		t.Errorf("a host did not get its own orders: %v", err)
	}
}

// Certificates are judged by generation and by age in cluster time; a client whose certificate was
// renewed shows the new one when the old one is refused, and its call is not lost.
func TestClientsShowRenewedCertificates(t *testing.T) {
	p := newPeople(t)
	w := p.start()
	p.put("host/h1", vouch.Standing{Generation: 2})
	me := p.holder(trust.Host, "h1", trust.Stamp{Generation: 2})
	c, err := client.Open(client.Config{Addrs: []string{w.nodes[1].addr}, TLS: me.Client(nil)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	register := func() error {
		_, err := vigilv1.NewHostAgentClient(c).Register(within(t), &vigilv1.RegisterRequest{Key: "h1", Name: "one",
			Boot: "b1"})
		return err
	}
	if err := register(); err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	p.now = p.now.Add(trust.Life)
	p.mu.Unlock()
	if err := register(); client.Code(err) != code.AuthExpired {
		t.Fatalf("a certificate that is too old: %v", err)
	}
	p.renew(me, trust.Host, "h1", trust.Stamp{Generation: 2, Clock: int64(p.now)})
	direct, err := client.Open(client.Config{Addrs: []string{w.nodes[0].addr}, TLS: me.Client(nil)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = direct.Close() }()
	again := func() error {
		_, err := vigilv1.NewHostAgentClient(direct).Register(within(t), &vigilv1.RegisterRequest{Key: "h1", Name: "one",
			Boot: "b1"})
		return err
	}
	if err := again(); err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	p.now = p.now.Add(trust.Life)
	p.mu.Unlock()
	p.renew(me, trust.Host, "h1", trust.Stamp{Generation: 2, Clock: int64(p.now)})
	if err := again(); err != nil {
		t.Errorf("the call of a client whose certificate was renewed: %v", err)
	}
	p.put("host/h1", vouch.Standing{Generation: 3})
	if err := again(); client.Code(err) != code.AuthDenied {
		t.Errorf("a revoked certificate: %v", err)
	}
}

// L7: what a server sends on whose own certificate has ended is never taken for its own call. It could be a request for
// a certificate, and its sender, a host, would become that server. Who asks is sent to the leader, which takes it.
func TestL7ServerThatIsTooOldLendsItsNameToNobody(t *testing.T) {
	p := newPeople(t)
	w := p.start()
	p.put("host/h1", vouch.Standing{Generation: 2})
	p.mu.Lock()
	p.now = p.now.Add(trust.Life) // of the servers' certificates
	p.mu.Unlock()
	me := p.holder(trust.Host, "h1", trust.Stamp{Generation: 2, Clock: int64(p.now)})
	err := p.dial(w, 1, me.Client(nil)).Invoke(within(t), vigilv1.Trust_Renew_FullMethodName,
		&vigilv1.RenewTrustRequest{Csr: certRequest(t)}, &vigilv1.Certificate{})
	if no := fault.Of(err); no.Code != code.NotLeader || no.Leader != w.nodes[0].addr ||
		!strings.Contains(no.Text, "server/s2 may send nothing on") {
		t.Errorf("a call by way of a server that is too old: %v, leader %q", err, no.Leader)
	}
	c, err := client.Open(client.Config{Addrs: []string{w.nodes[1].addr}, TLS: me.Client(nil)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := vigilv1.NewHostAgentClient(c).Register(within(t), &vigilv1.RegisterRequest{Key: "h1", Name: "one",
		Boot: "b1"}); err != nil {
		t.Errorf("a client finds the leader by itself: %v", err)
	}
}

// A connection shows the certificate of when it began. None grows so old that this one has run out while its holder
// has a newer one: calls go over new connections, of gRPC and of HTTP/1.1, and none is lost meanwhile.
func TestConnectionsAreReplacedBeforeTheirCertificatesRunOut(t *testing.T) {
	p := newPeople(t)
	p.connAge = 20 * time.Millisecond
	w := p.start()
	p.put("host/h1", vouch.Standing{Generation: 2})
	me := p.holder(trust.Host, "h1", trust.Stamp{Generation: 2})
	var dials atomic.Int32
	dial := func(ctx context.Context, addr string) (net.Conn, error) {
		dials.Add(1)
		return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	}
	c, err := client.Open(client.Config{Addrs: []string{w.nodes[0].addr}, TLS: me.Client(nil), Dial: dial})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for ctx := within(t); dials.Load() < 4; {
		if _, err := vigilv1.NewHostAgentClient(c).Register(ctx, &vigilv1.RegisterRequest{Key: "h1", Name: "one",
			Boot: "b1"}); err != nil {
			t.Fatalf("a call while its connection is replaced: %v", err)
		}
	}
	dials.Store(0)
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: me.Client(nil, "http/1.1"),
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) { return dial(ctx, addr) }}}
	defer web.CloseIdleConnections()
	for ctx := within(t); dials.Load() < 4; {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+w.nodes[0].addr+"/livez", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := web.Do(req)
		if err != nil {
			t.Fatalf("a request while its connection is replaced: %v", err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
}

// A port has identities or it has none; a token is never sent in clear.
func TestHalfAnIdentityIsRefused(t *testing.T) {
	c := newFakeCluster(1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = Open(Config{Listener: l, ServerID: "s1", Writer: c.nodes[0], Reader: c.nodes[0], TLS: &tls.Config{}})
	if err == nil || !strings.Contains(err.Error(), "PeerTLS") {
		t.Errorf("TLS without Identify: %v", err)
	}
	if _, err := client.Open(client.Config{Addrs: []string{"h:1"}, Bearer: "vigil-api.1.x"}); err == nil {
		t.Error("a token would be sent in clear")
	}
}

// BenchmarkUnaryWithIdentities is what BenchmarkUnary measures with one client, by TLS and checked.
func BenchmarkUnaryWithIdentities(b *testing.B) {
	w := newPeople(b).start()
	w.room("demo", "builder", 1)
	text := strings.Repeat("x", 100)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.fleet(0).CreateTask(b.Context(), &vigilv1.CreateTaskRequest{Room: "demo", Role: "builder",
			Title: "t", Text: text}); err != nil {
			b.Fatal(err)
		}
	}
}

// Whoever may not restore a backup is told so whatever they send, and nothing of it comes into the log, not even
// a note for the audit.
func TestABackupOfNobodyIsNotRead(t *testing.T) {
	p := newPeople(t)
	w := p.start()
	p.put("user/viv", vouch.Standing{Rights: []who.Right{{Role: code.Viewer, Room: who.AllRooms}}})
	index := func() (last uint64) {
		w.nodes[0].Read(func(st *fsm.View) { last = st.LastIndex() })
		return last
	}
	before := index()
	for i := range w.nodes {
		for name, holder := range map[string]*trust.Holder{"a stranger": trust.NewHolder(p.roots),
			"a viewer": p.holder(trust.User, "viv", trust.Stamp{})} {
			for what, tt := range map[string]struct {
				chunks int
				want   string
			}{"a backup": {2, code.Denied}, "nothing": {0, code.Invalid}} {
				s, err := vigilv1.NewClusterClient(p.dial(w, i, holder.Client(nil))).RestoreSnapshot(within(t))
				if err != nil {
					t.Fatal(err)
				}
				for range tt.chunks {
					_ = s.Send(&vigilv1.RestoreSnapshotRequest{Data: []byte("no backup")}) // the answer tells
				}
				if _, err := s.CloseAndRecv(); codeOf(err) != tt.want {
					t.Errorf("%s sends %s to %s: %v, want %s", name, what, w.nodes[i].addr, err, tt.want)
				}
			}
		}
	}
	if after := index(); after != before {
		t.Errorf("%d entries were written", after-before)
	}
}

// An agent answers what came to it, from wherever it came, and what somebody of its room has sent; a number of
// another mail opens no mailbox of another room.
func TestAgentsAnswerOnlyMailThatIsTheirs(t *testing.T) {
	p := newPeople(t)
	w := p.start()
	lives := map[string]*vigilv1.Speaker{}
	for _, name := range []string{"web/builder", "web/builder.2", "ops/builder"} {
		if room, _, _ := strings.Cut(name, "/"); name == room+"/builder" {
			w.room(room, "builder", 2)
		}
		life, err := w.work(0).Join(within(t), &vigilv1.JoinRequest{Speaker: &vigilv1.Speaker{Agent: name, Token: name}})
		if err != nil {
			t.Fatal(err)
		}
		lives[name] = &vigilv1.Speaker{Agent: name, Incarnation: life.GetIncarnation(), Token: name}
	}
	for i := range w.nodes {
		agents := vigilv1.NewMailboxClient(p.dial(w, i, trust.NewHolder(p.roots).Client(nil)))
		send := func(from string, m *vigilv1.SendMailRequest) uint64 {
			t.Helper()
			m.Speaker, m.Subject = lives[from], "x"
			mailbox := w.mail(0) // somebody who may write to all rooms
			if m.GetTo() == "" || strings.HasPrefix(m.GetTo(), "web") && strings.HasPrefix(from, "web") {
				mailbox = agents
			}
			sent, err := mailbox.SendMail(within(t), m)
			if err != nil {
				t.Fatalf("%s sends %v: %v", from, m, err)
			}
			return sent.GetMails()[0]
		}
		inside := send("web/builder", &vigilv1.SendMailRequest{To: "web/builder.2"})
		across := send("ops/builder", &vigilv1.SendMailRequest{To: "web/builder"})
		_, err := agents.SendMail(within(t), &vigilv1.SendMailRequest{Speaker: lives["ops/builder"], Subject: "x",
			ReplyTo: inside})
		if codeOf(err) != code.Denied {
			t.Errorf("s%d: an agent of ops answers a mail of web to web: %v", i+1, err)
		}
		_, err = agents.SendMail(within(t), &vigilv1.SendMailRequest{Speaker: lives["web/builder.2"], Subject: "x",
			ReplyTo: across})
		if codeOf(err) != code.Denied {
			t.Errorf("s%d: an agent answers another one's mail from another room: %v", i+1, err)
		}
		send("web/builder", &vigilv1.SendMailRequest{ReplyTo: across})
		send("web/builder.2", &vigilv1.SendMailRequest{ReplyTo: inside})
		_, err = agents.SendMail(within(t), &vigilv1.SendMailRequest{Speaker: lives["ops/builder"], Subject: "x",
			ReplyTo: 99_999})
		if codeOf(err) != code.Invalid {
			t.Errorf("s%d: an answer to a mail that nobody knows: %v", i+1, err)
		}
	}
}
