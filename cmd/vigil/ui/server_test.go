package ui

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// fleet answers every call with an error of a client, and notes what it was asked.
type fleet struct {
	grpc.ClientConnInterface
	mu    sync.Mutex
	asked []string
	words []any // that were said
}

func (f *fleet) Invoke(_ context.Context, method string, args, _ any, _ ...grpc.CallOption) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked, f.words = append(f.asked, method), append(f.words, args)
	return &client.Error{Code: "conflict", Message: "Somebody was first.", Rev: 7}
}

// browser asks a served page as one tab does.
type browser struct {
	t            *testing.T
	s            *Server
	fleet        *fleet
	at           string // http://127.0.0.1:PORT
	cookie, half string
}

func served(t *testing.T) *browser {
	t.Helper()
	l, err := Listen(0, true)
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{}
	s, err := Open(Config{Listener: l, Conn: f, Self: "user/anna", By: "anna", Cluster: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return &browser{t: t, s: s, fleet: f, at: "http://" + l.Addr().String()}
}

// ask sends a request; change may spoil it.
func (b *browser) ask(method, path, body string, change func(*http.Request)) (int, map[string]any) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.at+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Origin", b.at)
	r.Header.Set("Vigil-Page", b.half)
	if b.cookie != "" {
		r.AddCookie(&http.Cookie{Name: b.s.cookieName(), Value: b.cookie})
	}
	if change != nil {
		change(r)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	for _, c := range resp.Cookies() {
		if b.cookie = c.Value; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" {
			b.t.Errorf("the cookie is %+v", c)
		}
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	got := map[string]any{}
	_ = json.Unmarshal(text, &got) // the page itself is none
	return resp.StatusCode, got
}

func (b *browser) signIn() {
	b.t.Helper()
	_, code, _ := strings.Cut(b.s.Link(), "#code=")
	status, got := b.ask("POST", "/login", `{"code":"`+code+`"}`, nil)
	if b.half, _ = got["token"].(string); status != 200 || b.half == "" || b.cookie == "" {
		b.t.Fatalf("signing in is answered with %d %v", status, got)
	}
	if status, _ := (&browser{t: b.t, s: b.s, at: b.at}).ask("POST", "/login", `{"code":"`+code+`"}`, nil); status != 401 {
		b.t.Errorf("a link that was used is answered with %d", status)
	}
}

const restart = "/v1/agents/web/a:restart"

// A browser that has signed in asks in its user's name, gets the errors of servers with code and revision, and
// nothing more once it has signed out.
func TestOnlyWhoHasSignedInAsks(t *testing.T) {
	b := served(t)
	for _, path := range []string{"/v1/status", "/session"} {
		if status, got := b.ask("GET", path, "", nil); status != 401 || got["code"] != "signed_out" {
			t.Errorf("a stranger gets %d %v of %s", status, got, path)
		}
	}
	if status, _ := b.ask("GET", "/", "", nil); status != 200 {
		t.Errorf("a stranger gets %d of the page, which says how to sign in", status)
	}
	b.signIn()
	status, got := b.ask("POST", restart, `{"reason":"x"}`, nil)
	if status != 409 || got["code"] != "conflict" || got["rev"] != 7.0 {
		t.Errorf("an action is answered with %d %v", status, got)
	}
	if status, got = b.ask("GET", "/session", "", nil); status != 200 || got["name"] != "user/anna" {
		t.Errorf("the session is %d %v", status, got)
	}
	whole := *b
	for name, spoil := range map[string]func(*browser){
		"only the cookie":      func(b *browser) { b.half = "" },
		"only the other half":  func(b *browser) { b.cookie = "" },
		"half of another page": func(b *browser) { b.half = "x" },
	} {
		x := whole
		if spoil(&x); true {
			if status, _ := x.ask("POST", restart, "{}", nil); status != 401 {
				t.Errorf("%s: %d", name, status)
			}
		}
	}
	if status, _ := b.ask("POST", "/logout", "{}", nil); status != 200 {
		t.Errorf("signing out is answered with %d", status)
	}
	if status, _ := whole.ask("POST", restart, "{}", nil); status != 401 {
		t.Errorf("after signing out: %d", status)
	}
	if want := []string{vigilv1.Fleet_RestartAgent_FullMethodName}; strings.Join(b.fleet.asked, " ") !=
		strings.Join(want, " ") {
		t.Errorf("the cluster was asked %v", b.fleet.asked)
	}
}

// Where servers know nobody by an identity, what is done and written on the page is the word of whoever runs it, unless
// the call says whose it is; what is only read says nothing.
func TestWordsOfThePageAreSomebodys(t *testing.T) {
	b := served(t)
	b.signIn()
	for _, call := range [][2]string{{restart, "{}"}, {restart, `{"by":"bert"}`}, {"/v1/mail", `{"to":"web","body":"hello"}`},
		{"/v1/mail", `{"to":"web","body":"hello","from":"bert"}`}} {
		b.ask("POST", call[0], call[1], nil)
	}
	b.ask("GET", "/v1/mail", "", nil)
	var by []string
	for _, w := range b.fleet.words {
		switch w := w.(type) {
		case *vigilv1.RestartAgentRequest:
			by = append(by, w.GetBy())
		case *vigilv1.SendMailRequest:
			by = append(by, w.GetFrom())
		case *vigilv1.ListMailRequest:
			by = append(by, "looks for "+w.GetFrom())
		}
	}
	if got := strings.Join(by, ","); got != "anna,bert,anna,bert,looks for " {
		t.Errorf("words of %s", got)
	}
}

// Other web pages, also under a name that points here, and other ports of this machine get nothing done, even
// by the browser of somebody who has signed in.
func TestOtherPagesGetNothingDone(t *testing.T) {
	b := served(t)
	b.signIn()
	for name, change := range map[string]func(*http.Request){
		"another name":      func(r *http.Request) { r.Host = "evil.example:7430" },
		"another port":      func(r *http.Request) { r.Host = "127.0.0.1:1" },
		"another site":      func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"the same site":     func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
		"another origin":    func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") },
		"an origin of null": func(r *http.Request) { r.Header.Set("Origin", "null") },
		"a form":            func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") },
		"a link to an order": func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", "navigate")
		},
	} {
		if status, got := b.ask("POST", restart, "{}", change); status != 403 && status != 415 {
			t.Errorf("%s: %d %v", name, status, got)
		}
	}
	if len(b.fleet.asked) > 0 {
		t.Errorf("the cluster was asked %v", b.fleet.asked)
	}
	status, _ := b.ask("GET", "/", "", func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Mode", "navigate")
		r.Header.Del("Origin")
	})
	if status != 200 {
		t.Errorf("a link to the page is answered with %d", status)
	}
}

// The page is for this machine.
func TestThePageIsServedOnLoopbackOnly(t *testing.T) {
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := Open(Config{Listener: l, Conn: &fleet{}}); err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("it is served on %s: %v", l.Addr(), err)
	}
}

// A room file becomes what the API is asked for; a mistake in it is named with its line, and strangers get nothing.
func TestARoomFileIsRead(t *testing.T) {
	b := served(t)
	const file = `{"text":"room: web\nroles:\n  - name: builder\n    replicas: 2\n    ttl: 90s\n"}`
	if status, _ := b.ask("POST", "/room-file", file, nil); status != 401 {
		t.Errorf("a stranger is answered with %d", status)
	}
	b.signIn()
	status, got := b.ask("POST", "/room-file", file, nil)
	text, err := json.Marshal(got)
	if want := `{"rooms":[{"budget":{},"roles":[{"name":"builder","replicas":2,"ttl":"90s"}],"room":"web"}]}`; err != nil ||
		status != 200 || string(text) != want {
		t.Errorf("it is read as %d %s", status, text)
	}
	status, got = b.ask("POST", "/room-file", `{"text":"room: web\nroles:\n  - nam: builder\n"}`, nil)
	if message, _ := got["message"].(string); status != 400 || !strings.Contains(message, "line 3") &&
		!strings.Contains(message, ":3") {
		t.Errorf("a mistake is answered with %d %v", status, got)
	}
	if len(b.fleet.asked) > 0 {
		t.Errorf("the cluster was asked %v", b.fleet.asked)
	}
}
