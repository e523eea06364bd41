package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"

	"vigil/rpc/door"
	"vigil/rpc/web"
)

// halfHeader is in which the page shows what it holds beside the cookie.
const halfHeader = "Vigil-Page"

// closeLimit is how long open answers may take to end when the server does.
const closeLimit = time.Second

// Config is what Open needs.
type Config struct {
	// Listener is on loopback; the Server closes it.
	Listener net.Listener
	// Conn speaks to the cluster in the name of its user.
	Conn grpc.ClientConnInterface
	// Self is who that is, and Cluster where, for people.
	Self, Cluster string
}

// Server serves the page to browsers of this machine that have signed in. Open it, then Run it once.
type Server struct {
	cfg      Config
	port     int
	hosts    []string // under which it may be asked
	sessions *sessions
	page     *web.Page
	api      http.Handler
	stop     context.CancelFunc
}

// Open prepares a server. It refuses a listener that other machines can reach.
func Open(cfg Config) (*Server, error) {
	at, ok := cfg.Listener.Addr().(*net.TCPAddr)
	if !ok || !at.IP.IsLoopback() {
		return nil, fmt.Errorf("serve the page: %s is not a loopback address", cfg.Listener.Addr())
	}
	page, err := web.Open()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	api, err := door.NewGateway(ctx, &plain{cfg.Conn})
	if err != nil {
		stop()
		return nil, err
	}
	port := strconv.Itoa(at.Port)
	return &Server{cfg: cfg, port: at.Port, sessions: newSessions(), page: page, api: api, stop: stop,
		hosts: []string{"127.0.0.1:" + port, "localhost:" + port, "[::1]:" + port}}, nil
}

// Link makes a link that signs one browser in. The code stands behind the #, so it is in no request, log or
// referrer.
func (s *Server) Link() string {
	return fmt.Sprintf("http://%s/#code=%s", s.cfg.Listener.Addr(), s.sessions.code())
}

// Run serves until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	defer s.stop()
	base, end := context.WithCancel(context.Background())
	defer end()
	srv := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10, BaseContext: func(net.Listener) context.Context { return base }}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(s.cfg.Listener) }()
	select {
	case err := <-done:
		return fmt.Errorf("serve the page: %w", err)
	case <-ctx.Done():
	}
	end() // streams have no end of their own
	late, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	if err := srv.Shutdown(late); err != nil {
		_ = srv.Close() // who still hangs on has had the time to leave
	}
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the page: %w", err)
	}
	return nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Referrer-Policy", "no-referrer")
	switch why := s.foreign(r); {
	case why != "":
		refuse(w, http.StatusForbidden, "wrong_origin", why)
	case s.page.Has(r.URL.Path):
		s.page.ServeHTTP(w, r)
	case strings.HasPrefix(r.URL.Path, "/v1/"):
		s.call(w, r)
	case r.URL.Path == "/login":
		s.login(w, r)
	case r.URL.Path == "/logout":
		s.logout(w, r)
	case r.URL.Path == "/session":
		s.session(w, r)
	case r.URL.Path == "/room-file":
		s.roomFile(w, r)
	default:
		s.page.ServeHTTP(w, r) // says that there is nothing
	}
}

// foreign says why a request may be made by another page than ours; "": it is ours. Under another name than
// those of this machine somebody else's page could have its owner's browser ask us (DNS rebinding).
func (s *Server) foreign(r *http.Request) string {
	if !slices.Contains(s.hosts, strings.ToLower(r.Host)) {
		return "This page is served as " + s.hosts[0] + " only."
	}
	site, mode := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Sec-Fetch-Mode")
	// a link that a person followed, to the page alone
	followed := mode == "navigate" && r.Method == http.MethodGet && s.page.Has(r.URL.Path)
	if origin := r.Header.Get("Origin"); origin != "" && !strings.EqualFold(origin, "http://"+r.Host) ||
		site != "" && site != "same-origin" && site != "none" && !followed {
		return "Another web page sent this; nothing was done."
	}
	return ""
}

func (s *Server) cookieName() string { return "vigil-" + strconv.Itoa(s.port) }

// signedIn gives the session of a request, or says that there is none.
func (s *Server) signedIn(w http.ResponseWriter, r *http.Request) *session {
	cookie, err := r.Cookie(s.cookieName())
	if err == nil {
		if x := s.sessions.find(cookie.Value, r.Header.Get(halfHeader)); x != nil {
			return x
		}
	}
	refuse(w, http.StatusUnauthorized, "signed_out", "You are signed out: run `vigil ui` and open the link that it prints.")
	return nil
}

// login trades a one-time code for a session.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Code string `json:"code"`
	}
	if !isPost(w, r) {
		return
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4<<10)).Decode(&body); err != nil {
		refuse(w, http.StatusBadRequest, "invalid", "The body is not {\"code\": ...}.")
		return
	}
	cookie, half, ok := s.sessions.signIn(body.Code)
	if !ok {
		refuse(w, http.StatusUnauthorized, "signed_out",
			"This link was used before or is too old: run `vigil ui` again for another one.")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: s.cookieName(), Value: cookie, Path: "/", HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
	answer(w, map[string]string{"token": half})
}

func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	if !isPost(w, r) || s.signedIn(w, r) == nil {
		return
	}
	cookie, _ := r.Cookie(s.cookieName()) // it is there: the request is signed in by it
	s.sessions.signOut(cookie.Value)
	http.SetCookie(w, &http.Cookie{Name: s.cookieName(), Path: "/", MaxAge: -1, HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
	answer(w, map[string]string{})
}

func (s *Server) session(w http.ResponseWriter, r *http.Request) {
	if s.signedIn(w, r) != nil {
		answer(w, map[string]string{"name": s.cfg.Self, "cluster": s.cfg.Cluster})
	}
}

// passed are the headers of a browser that mean something to the API; no other goes along.
var passed = []string{"Accept", "Content-Type", "Idempotency-Key", "Last-Event-Id"}

// call asks the cluster in the name of the user.
func (s *Server) call(w http.ResponseWriter, r *http.Request) {
	x := s.signedIn(w, r)
	if x == nil {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(x.ctx, cancel)()
	inner := r.Clone(ctx)
	inner.Header = http.Header{}
	for _, name := range passed {
		if v := r.Header.Get(name); v != "" {
			inner.Header.Set(name, v)
		}
	}
	if r.Method != http.MethodGet && r.Method != http.MethodDelete && !isJSON(w, r) {
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	s.api.ServeHTTP(w, inner)
}

func isPost(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodPost {
		refuse(w, http.StatusMethodNotAllowed, "wrong_method", "Only POST is possible here.")
		return false
	}
	return isJSON(w, r)
}

// isJSON refuses bodies of forms, which other pages can send without asking.
func isJSON(w http.ResponseWriter, r *http.Request) bool {
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(kind) != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, "wrong_type", "Send JSON, and say so: Content-Type: application/json.")
		return false
	}
	return true
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(v) // the reader has gone; nobody is left to tell
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"code": code, "message": message}) // as above
}
