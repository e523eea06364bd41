package agentd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"vigil/agentd/agenttest"
	"vigil/agentd/disk"
	"vigil/agentd/runner"
	"vigil/agentd/shim"
	"vigil/rpc/client"
	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

// api is the servers' side of what agents call.
type api struct {
	vigilv1.UnimplementedWorkServer
	vigilv1.UnimplementedMailboxServer
	vigilv1.UnimplementedFleetServer
	calls chan string // name and life of each
}

func newAPI(t testing.TB) (a *api, addr string) {
	a = &api{calls: make(chan string, 100)}
	g := grpc.NewServer()
	vigilv1.RegisterWorkServer(g, a)
	vigilv1.RegisterMailboxServer(g, a)
	vigilv1.RegisterFleetServer(g, a)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 {
			g.ServeHTTP(w, r)
			return
		}
		a.calls <- r.URL.Path + " " + strings.Join(r.Header.Values(code.HeaderOnBehalf), ",")
	}))
	s.Config.Protocols = &http.Protocols{}
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return a, s.Listener.Addr().String()
}

func (a *api) hear(ctx context.Context, name string) {
	a.calls <- name + " " + strings.Join(metadata.ValueFromIncomingContext(ctx, code.HeaderOnBehalf), ",")
}

func (a *api) OpenSession(context.Context, *vigilv1.OpenSessionRequest) (*vigilv1.OpenSessionResponse, error) {
	return &vigilv1.OpenSessionResponse{Session: 5}, nil
}

func (a *api) CloseSession(context.Context, *vigilv1.CloseSessionRequest) (*vigilv1.CloseSessionResponse, error) {
	return &vigilv1.CloseSessionResponse{}, nil
}

func (a *api) Join(ctx context.Context, r *vigilv1.JoinRequest) (*vigilv1.JoinResponse, error) {
	a.hear(ctx, "join")
	return &vigilv1.JoinResponse{}, nil
}

func (a *api) Wait(ctx context.Context, r *vigilv1.WaitRequest) (*vigilv1.ClaimResponse, error) {
	a.hear(ctx, "wait")
	return &vigilv1.ClaimResponse{Attempt: 1}, nil
}

func (a *api) CompleteTask(ctx context.Context, r *vigilv1.CompleteTaskRequest) (*vigilv1.WorkResponse, error) {
	a.hear(ctx, "complete")
	return &vigilv1.WorkResponse{}, nil
}

func (a *api) ReadMail(ctx context.Context, r *vigilv1.ReadMailRequest) (*vigilv1.ReadMailResponse, error) {
	a.hear(ctx, "mail")
	return &vigilv1.ReadMailResponse{}, nil
}

func (a *api) SetAgent(ctx context.Context, r *vigilv1.SetAgentRequest) (*vigilv1.Agent, error) {
	a.hear(ctx, "set")
	return &vigilv1.Agent{}, nil
}

// callAs is what the test agent does at a word: one call by the socket of its life. It gives
// the code of the answer.
func callAs(word string) string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	path := os.Getenv(client.EnvSocket)
	c, err := client.Open(client.Config{Addrs: []string{"unix:" + path}})
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	work := vigilv1.NewWorkClient(c)
	switch word {
	case "join":
		_, err = work.Join(ctx, &vigilv1.JoinRequest{})
	case "forge":
		ctx = metadata.AppendToOutgoingContext(ctx, code.HeaderOnBehalf, "demo/other/1")
		_, err = work.Join(ctx, &vigilv1.JoinRequest{})
	case "wait":
		_, err = work.Wait(ctx, &vigilv1.WaitRequest{})
	case "complete":
		_, err = work.CompleteTask(ctx, &vigilv1.CompleteTaskRequest{})
	case "mail":
		_, err = vigilv1.NewMailboxClient(c).ReadMail(ctx, &vigilv1.ReadMailRequest{})
	case "set":
		_, err = vigilv1.NewFleetClient(c).SetAgent(ctx, &vigilv1.SetAgentRequest{})
	case "settings":
		_, err = vigilv1.NewClusterClient(c).PutSettings(ctx, &vigilv1.PutSettingsRequest{})
	case "http":
		return webAs(path)
	case "interfaces":
		up := 0
		all, err := net.Interfaces()
		for _, i := range all {
			if i.Flags&net.FlagUp != 0 {
				up++
			}
		}
		return fmt.Sprint(up, err)
	}
	if err == nil {
		return "ok"
	}
	return client.Code(err)
}

func webAs(path string) string {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Post("http://vigil/v1/work:progress", "application/json",
		strings.NewReader("{}"))
	if err != nil {
		return err.Error()
	}
	res.Body.Close()
	return res.Status
}

// ask gives the test agent a word and waits for what came of it.
func (a *agentTalk) ask(t testing.TB, word string) string {
	t.Helper()
	fmt.Fprintln(a.conn, word)
	for {
		words := next(t, a.words)
		if words == "" {
			t.Fatalf("the agent ended at %q", word)
		}
		if _, got, ok := strings.Cut(words, "did "+word+": "); ok {
			return got
		}
	}
}

// An agent that has no network at all does everything by the socket of its life, whose shim keeps
// it while agentd is away.
func TestAgentWithoutNetwork(t *testing.T) {
	unshare, err := exec.LookPath("unshare")
	if os.Geteuid() != 0 || err != nil || exec.Command(unshare, "-n", "true").Run() != nil {
		t.Skip("network namespaces cannot be made here")
	}
	servers, addr := newAPI(t)
	here := func(c *Config) {
		c.Addrs = []string{addr}
		c.OnStop = Keep
		for i := range c.Runners {
			if c.Runners[i].Name == "calls" {
				c.Runners[i].Program, c.Runners[i].Args = unshare, []string{"-n", agenttest.Program()}
			}
		}
	}
	r := &rig{fake: newFake(t, time.Hour), dir: t.TempDir(), agents: make(chan *agentTalk, 100), log: &lockedBuffer{}}
	socket := r.listen(t)
	offer := func(c *Config) { c.Runners = []runner.Runner{testRunner("calls", socket)} }
	r.configure(t, false, offer, here)
	a := r.start(t, "calls", 7, 3)
	if got := a.ask(t, "interfaces"); got != "0 <nil>" {
		t.Errorf("interfaces that are up: %s", got)
	}
	for _, x := range []struct{ word, want, heard string }{
		{"join", "ok", "join demo/r7/3"}, {"wait", "ok", "wait demo/r7/3"},
		{"complete", "ok", "complete demo/r7/3"}, {"mail", "ok", "mail demo/r7/3"},
		{"forge", "ok", "join demo/r7/3"}, {"http", "200 OK", "/v1/work:progress demo/r7/3"},
		{"set", "ok", "set demo/r7/3"}, // what a role can be granted: servers judge
		{"settings", code.Denied, ""},  // what admins do
	} {
		if got := a.ask(t, x.word); got != x.want {
			t.Errorf("%s: %s, want %s", x.word, got, x.want)
		}
		if x.heard != "" {
			if got := next(t, servers.calls); got != x.heard {
				t.Errorf("%s: a server heard %q", x.word, got)
			}
		}
	}
	none(t, servers.calls, "a call that is not an agent's")
	path := socketOf(t, r)

	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	if got := a.ask(t, "wait"); got != code.AgentdAway {
		t.Errorf("without agentd: %s", got)
	}
	if got := a.ask(t, "http"); got != "503 Service Unavailable" {
		t.Errorf("without agentd: %s", got)
	}
	drained(servers.calls)
	r.configure(t, false, offer, here, func(c *Config) { c.OnStop = End })
	if got := a.ask(t, "join"); got != "ok" {
		t.Errorf("with the next agentd: %s", got)
	}
	if got := next(t, servers.calls); got != "join demo/r7/3" {
		t.Errorf("with the next agentd a server heard %q", got)
	}

	held, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	r.stream.orders(t, order("stop", 7, 3, "calls"))
	next(t, r.exits)
	if _, err := held.Read(make([]byte, 1)); err == nil {
		t.Error("a connection outlives the life")
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket of a life that is over: %v", err)
	}
}

// socketOf gives the socket of the one life of the rig.
func socketOf(t testing.TB, r *rig) string {
	t.Helper()
	started := shim.Started{}
	until(t, "the record of the start", func() bool {
		s, err := shim.Adopt(r.dir + "/lives/7-3")
		if err == nil {
			started = s.Started()
			s.Close()
		}
		return err == nil
	})
	info, err := os.Stat(started.Socket)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the socket %q of the life: %v, %v", started.Socket, info, err)
	}
	return started.Socket
}

// Only the shim of a life speaks for it, though all share an account.
func TestNobodyElseSpeaksForALife(t *testing.T) {
	servers, addr := newAPI(t)
	r := newRig(t, time.Hour, false, func(c *Config) { c.Addrs = []string{addr} })
	r.start(t, "wait", 7, 3)
	conn, err := net.Dial("unix", r.dir+"/"+disk.AgentsFile)
	if err != nil {
		t.Skipf("the path of the folder is too long here: %v", err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "{\"Agent\":7,\"Incarnation\":3}\nPOST /v1/work:progress HTTP/1.1\r\nHost: v\r\n\r\n")
	if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Error("a process that is no shim was taken for one")
	}
	none(t, servers.calls, "a call of a process that is no shim")
}
