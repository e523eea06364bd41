package local

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"vigil/agentd/agenttest"
	"vigil/rpc/client"
	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 60 * time.Second

// api is a server of one address for gRPC and JSON, as the real ones are.
type api struct {
	vigilv1.UnimplementedWorkServer
	addr  string
	heard chan http.Header // of each call
	hold  chan struct{}    // Wait answers when it is closed
}

func newAPI(t *testing.T) *api {
	a := &api{heard: make(chan http.Header, 1000), hold: make(chan struct{})}
	g := grpc.NewServer()
	vigilv1.RegisterWorkServer(g, a)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := r.Header.Clone()
		h.Set("Path", r.URL.Path)
		a.heard <- h
		if isGRPC(r) {
			g.ServeHTTP(w, r)
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			fmt.Fprintln(w, `{"ok": true}`)
		}
	}))
	s.Config.Protocols = &http.Protocols{}
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	a.addr = s.Listener.Addr().String()
	return a
}

func (a *api) Join(ctx context.Context, r *vigilv1.JoinRequest) (*vigilv1.JoinResponse, error) {
	_ = grpc.SetHeader(ctx, metadata.Pairs(code.HeaderLeader, "192.0.2.1:7420", code.HeaderServers, "192.0.2.1:7420"))
	return &vigilv1.JoinResponse{}, nil
}

func (a *api) Leave(context.Context, *vigilv1.LeaveRequest) (*vigilv1.LeaveResponse, error) {
	return nil, (&client.Error{Code: code.Superseded, Message: "over"}).GRPCStatus().Err()
}

func (a *api) Wait(ctx context.Context, r *vigilv1.WaitRequest) (*vigilv1.ClaimResponse, error) {
	select {
	case <-a.hold:
		return &vigilv1.ClaimResponse{Attempt: 9}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// stand is a door with its relay.
type stand struct {
	t      *testing.T
	folder string
	door   *Door
	end    func() // of the relay
}

func newStand(t *testing.T, servers ...string) *stand {
	t.Helper()
	folder, err := os.MkdirTemp("", "vl")
	if err != nil {
		t.Fatal(err)
	}
	s := &stand{t: t, folder: folder}
	if len(servers) > 0 {
		s.run(servers...)
	}
	s.door, err = OpenDoor(DoorConfig{Folder: folder, Name: "api", Owner: os.Geteuid(), Life: Life{7, 3},
		Reach: func() (net.Conn, error) { return Dial(filepath.Join(folder, "agentd")) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.door.Close()
		if s.end != nil {
			s.end()
		}
		os.RemoveAll(folder)
	})
	return s
}

// run runs the relay.
func (s *stand) run(servers ...string) {
	s.t.Helper()
	l, err := Listen(s.folder, "agentd")
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	relay := NewRelay(RelayConfig{Listener: l, Servers: func() []string { return servers },
		Who: func(_ context.Context, who Life, pid int) (string, error) {
			if who != (Life{7, 3}) || pid != os.Getpid() {
				return "", fmt.Errorf("%v %d", who, pid)
			}
			return "demo/r/3", nil
		}})
	work.Go(func() { relay.Run(ctx) })
	s.end = func() {
		cancel()
		work.Wait()
		s.end = nil
	}
}

func (s *stand) client() *client.Client {
	s.t.Helper()
	c, err := client.Open(client.Config{Addrs: []string{"unix:" + s.door.Path()}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c
}

// web is an HTTP client that speaks to the door.
func (s *stand) web() *http.Client {
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", s.door.Path())
	}}
	s.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience}
}

// call makes a JSON call and gives status and code.
func (s *stand) call(verb, path, body string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequest(verb, "http://vigil"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(code.HeaderOnBehalf, "demo/other/1")
	r.Header.Set("Authorization", "Bearer x")
	res, err := s.web().Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct{ Code string }
	_ = json.NewDecoder(res.Body).Decode(&answer) // an answer without a code has none
	return res.StatusCode, answer.Code
}

// join makes a call that is repeated while agentd is away.
func join(c *client.Client, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, code.HeaderOnBehalf, "demo/other/1", code.HeaderForwarded, "s1",
		"authorization", "Bearer x")
	// One that has a write id needs no session.
	_, err := vigilv1.NewWorkClient(c).Join(ctx, &vigilv1.JoinRequest{Id: &vigilv1.WriteId{Session: 1, Seq: 1}})
	return err
}

// What an agent says of who it is does not get through, whichever way it calls.
func TestCallsAreOnBehalfOfTheLife(t *testing.T) {
	a := newAPI(t)
	s := newStand(t, "127.0.0.1:1", a.addr) // the first one is not there
	c := s.client()
	if err := join(c, patience); err != nil {
		t.Fatal(err)
	}
	if status, _ := s.call("POST", "/v1/work:progress", `{}`); status != 200 {
		t.Errorf("status %d", status)
	}
	for range 2 {
		h := <-a.heard
		if got := h.Values(code.HeaderOnBehalf); len(got) != 1 || got[0] != "demo/r/3" {
			t.Errorf("%s: on behalf of %q", h.Get("Path"), got)
		}
		for _, name := range []string{"Authorization", code.HeaderForwarded} {
			if got := h.Values(name); len(got) > 0 {
				t.Errorf("%s: %s %q reaches a server", h.Get("Path"), name, got)
			}
		}
	}
	if got := c.Servers(); len(got) != 1 || c.Addr() != "unix:"+s.door.Path() {
		t.Errorf("the client goes to %v, %s", got, c.Addr())
	}
	// An error of a server comes through as it is.
	_, err := vigilv1.NewWorkClient(c).Leave(context.Background(), &vigilv1.LeaveRequest{
		Speaker: &vigilv1.Speaker{Agent: "demo/r"}, Id: &vigilv1.WriteId{Session: 1, Seq: 2}})
	if !errors.Is(err, client.ErrConflict) {
		t.Errorf("leave: %v", err)
	}
}

func TestOnlyCallsOfAgentsPass(t *testing.T) {
	a := newAPI(t)
	s := newStand(t, a.addr)
	c := s.client()
	_, err := vigilv1.NewClusterClient(c).RemoveServer(context.Background(), &vigilv1.RemoveServerRequest{Server: "s1"})
	if !errors.Is(err, client.ErrDenied) {
		t.Errorf("RemoveServer: %v", err)
	}
	for _, x := range []struct{ verb, path string }{
		{"PUT", "/v1/settings"}, {"GET", "/v1/users"}, {"GET", "/v1/agents/x/../rooms"}, {"GET", "/v1/agents/x/%2e%2e"},
		{"GET", "/metrics"}, {"DELETE", "/v1/users/ann"}, {"PATCH", "/v1/work:join"}, {"POST", "/vigil.v1.Work/Join"},
	} {
		if status, name := s.call(x.verb, x.path, "{}"); status != 403 || name != code.Denied {
			t.Errorf("%s %s: %d %s", x.verb, x.path, status, name)
		}
	}
	if n := len(a.heard); n != 0 {
		t.Errorf("%d calls reached the server", n)
	}
	for _, x := range []struct{ verb, path string }{
		{"GET", "/v1/agents/demo/r"}, {"GET", "/v1/agents/demo/r/status"}, {"GET", "/v1/tasks/7?stale=true"},
		{"DELETE", "/v1/sessions/4"}, {"POST", "/v1/mail/3/ack"}, {"POST", "/v1/mail:wait"},
	} {
		if status, name := s.call(x.verb, x.path, "{}"); status != 200 {
			t.Errorf("%s %s: %d %s", x.verb, x.path, status, name)
		}
	}
}

// While agentd is away every call is answered at once, and repeated calls go on when it is back.
func TestAgentdAway(t *testing.T) {
	a := newAPI(t)
	s := newStand(t)
	away := func(what string) {
		t.Helper()
		if status, name := s.call("POST", "/v1/work:join", "{}"); status != 503 || name != code.AgentdAway {
			t.Errorf("%s: %d %s", what, status, name)
		}
		c := s.client()
		if err := join(c, 300*time.Millisecond); err == nil {
			t.Errorf("%s: it was answered", what)
		}
		until(t, what+": a wait is refused", func() bool { // on a slow machine it has to connect first
			_, err := vigilv1.NewWorkClient(c).Wait(context.Background(), &vigilv1.WaitRequest{})
			return errors.Is(err, client.ErrAgentdAway)
		})
	}
	away("no agentd")
	s.run("127.0.0.1:1")
	away("no server")
	c := s.client()
	ended := make(chan error, 1)
	go func() { ended <- join(c, patience) }()
	s.end()
	s.run(a.addr)
	if err := <-ended; err != nil {
		t.Errorf("a call that was repeated: %v", err)
	}
	if err := join(c, patience); err != nil {
		t.Errorf("agentd is back: %v", err)
	}
}

// A call that parks at a server passes, and one that is cut off does not hang.
func TestParkedCalls(t *testing.T) {
	a := newAPI(t)
	s := newStand(t, a.addr)
	c := s.client()
	ended := make(chan error, 1)
	wait := func() {
		answer, err := vigilv1.NewWorkClient(c).Wait(context.Background(), &vigilv1.WaitRequest{})
		if err == nil && answer.GetAttempt() != 9 {
			err = fmt.Errorf("answer %v", answer)
		}
		ended <- err
	}
	go wait()
	<-a.heard
	s.end()
	if err := <-ended; !errors.Is(err, client.ErrUnavailable) {
		t.Errorf("a relay that ends: %v", err)
	}
	s.run(a.addr)
	// A wait is never repeated, and an address that has failed rests for a moment; a call that is repeated
	// outlasts that.
	if err := join(c, patience); err != nil {
		t.Errorf("the relay is back: %v", err)
	}
	<-a.heard
	go wait()
	<-a.heard
	close(a.hold)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A flood of connections and requests without an end keep nobody busy for ever, and nobody out.
func TestBounds(t *testing.T) {
	a := newAPI(t)
	s := newStand(t, a.addr)
	var flood []net.Conn
	for range maxConns {
		conn, err := net.Dial("unix", s.door.Path())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		flood = append(flood, conn)
	}
	until(t, "all places are taken", func() bool { return len(s.door.slots) == maxConns })
	// Silent ones are closed, and there is room again.
	if err := join(s.client(), patience); err != nil {
		t.Errorf("beside a flood: %v", err)
	}
	if _, err := flood[0].Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a silent connection: %v", err)
	}
	<-a.heard
	conn, err := net.Dial("unix", s.door.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/work:join HTTP/1.1\r\nHost: v\r\nContent-Type: application/json\r\n"+
		"Transfer-Encoding: chunked\r\n\r\n")
	go func() {
		piece := strings.Repeat("x", 1<<16)
		for {
			if _, err := fmt.Fprintf(conn, "10000\r\n%s\r\n", piece); err != nil {
				return
			}
		}
	}()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.Body.Close(); res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("an endless request: %s", res.Status)
	}
}

// A server may answer before it has read a request to its end, and the end may come when the call is over: that must
// not touch what the call was answered with, for which net/http panics, and agentd with it.
func TestRequestEndsAfterItsCall(t *testing.T) {
	relay := NewRelay(RelayConfig{})
	body := &slowBody{asked: make(chan bool), over: make(chan bool)}
	read := make(chan error, 1)
	relay.proxy.Transport = answering(func(r *http.Request) *http.Response {
		go func() {
			_, err := io.ReadAll(r.Body)
			read <- err
		}()
		<-body.asked
		return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody, Header: http.Header{}}
	})
	req := httptest.NewRequest(http.MethodPost, vigilv1.Work_Join_FullMethodName, body)
	req.Header.Set("Content-Type", "application/grpc")
	req.ProtoMajor = 2
	answer := &watched{ResponseRecorder: httptest.NewRecorder()}
	relay.serve(answer, req)
	deadlines := answer.deadlines
	close(body.over)
	if err := <-read; err != nil || answer.Code != http.StatusForbidden || deadlines != 1 {
		t.Errorf("answered with %d and %d deadlines, read to the end: %v", answer.Code, deadlines, err)
	}
	if answer.deadlines != deadlines {
		t.Error("the answer was touched when the call was over")
	}
}

// slowBody is empty, and ends when the call is over.
type slowBody struct{ asked, over chan bool }

func (b *slowBody) Read([]byte) (int, error) {
	close(b.asked)
	<-b.over
	return 0, io.EOF
}

// answering is an upstream.
type answering func(*http.Request) *http.Response

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) { return a(r), nil }

// watched is an answer that counts the deadlines of its request.
type watched struct {
	*httptest.ResponseRecorder
	deadlines int
}

func (w *watched) SetReadDeadline(time.Time) error {
	w.deadlines++
	return nil
}

// The end of a life closes what its processes still hold, and leaves no file.
func TestEndOfTheLife(t *testing.T) {
	a := newAPI(t)
	s := newStand(t, a.addr)
	if err := join(s.client(), patience); err != nil {
		t.Fatal(err)
	}
	held, err := net.Dial("unix", s.door.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	until(t, "the connection is served", func() bool { return len(s.door.slots) > 1 })
	path := s.door.Path()
	s.door.Close()
	if _, err := held.Read(make([]byte, 1)); err == nil {
		t.Error("a connection outlives the life")
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket: %v", err)
	}
	if s.door, err = OpenDoor(s.door.config); err != nil { // for the cleanup
		t.Fatal(err)
	}
}

// A folder of any depth has a socket whose path fits.
func TestLongPath(t *testing.T) {
	folder := t.TempDir() + "/" + strings.Repeat("x", 120)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	d, err := OpenDoor(DoorConfig{Folder: folder, Name: "api", Owner: os.Geteuid(),
		Reach: func() (net.Conn, error) { return nil, errors.New("away") }})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", d.Path())
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	d.Close()
	if _, err := os.Stat(filepath.Dir(d.Path())); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of the socket: %v", err)
	}
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	agenttest.Until(t, patience, 2*time.Millisecond, what, ok)
}
