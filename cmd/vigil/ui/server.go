package ui

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"

	"vigil/cmd/vigil/conf"
	"vigil/rpc/door"
	"vigil/rpc/web"
)

// closeLimit is how long open answers may take to end when the server does.
const closeLimit = time.Second

// Config is what Open needs.
type Config struct {
	// Listener is on loopback; the Server closes it.
	Listener net.Listener
	// Conn speaks to the cluster in the name of its user.
	Conn grpc.ClientConnInterface
	// At is where a proxy serves the page to browsers, with a path as web.CheckBase wants it; nil: nowhere.
	At *url.URL
	// Self is who that is, and Cluster where, for people.
	Self, Cluster string
	// By is whose word a call is where servers know nobody by an identity; "": nobody's.
	By string
	// Session is for how long a browser stays signed in after its last request; 0: 12 hours.
	Session time.Duration
}

// Server serves the page to browsers of this machine that have signed in. Open it, then Run it once.
type Server struct {
	cfg      Config
	port     int
	hosts    []string // under which it may be asked
	origin   string   // of the page behind a proxy; "": there is none
	base     string   // where the page begins there
	sessions *web.Sessions
	front    *web.Front
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
	api, err := door.NewGateway(ctx, &plain{cfg.Conn, cfg.By})
	if err != nil {
		stop()
		return nil, err
	}
	port := strconv.Itoa(at.Port)
	s := &Server{cfg: cfg, port: at.Port, sessions: web.NewSessions(), stop: stop,
		hosts: []string{"127.0.0.1:" + port, "localhost:" + port, "[::1]:" + port}}
	if cfg.At != nil {
		s.hosts, s.base = append(s.hosts, strings.ToLower(cfg.At.Host)), cfg.At.Path
		s.origin = cfg.At.Scheme + "://" + cfg.At.Host
	}
	s.sessions.Life = cfg.Session
	s.front = &web.Front{Page: page, Sessions: s.sessions, Cookie: s.cookieName(), Foreign: s.foreign,
		Base: s.base, Secure: strings.HasPrefix(s.origin, "https:"),
		API: func(*web.Session) http.Handler { return api }, RoomFile: conf.RoomsJSON,
		About: func(*web.Session) any { return map[string]string{"name": cfg.Self, "cluster": cfg.Cluster} },
		Out:   "run `vigil ui` and open the link that it prints."}
	return s, nil
}

// Link makes a link that signs one browser in. The code stands behind the #, so it is in no request, log or
// referrer.
func (s *Server) Link() string {
	at := "http://" + s.cfg.Listener.Addr().String() + "/"
	if s.cfg.At != nil {
		at = s.cfg.At.String()
	}
	return at + "#code=" + s.sessions.Code("", nil)
}

// Run serves until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	defer s.stop()
	base, end := context.WithCancel(context.Background())
	defer end()
	srv := &http.Server{Handler: web.Below(s.base, s.front), ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return base }}
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

// foreign says why a request may be made by another page than ours; "": it is ours. Under another name than
// those of this machine somebody else's page could have its owner's browser ask us (DNS rebinding).
func (s *Server) foreign(r *http.Request) string {
	if !slices.Contains(s.hosts, strings.ToLower(r.Host)) {
		return "This page is served as " + s.hosts[0] + " only."
	}
	site, mode := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Sec-Fetch-Mode")
	// a link that a person followed, to the page alone
	followed := mode == "navigate" && r.Method == http.MethodGet && s.front.Has(r.URL.Path)
	origin := r.Header.Get("Origin")
	ours := origin == "" || strings.EqualFold(origin, "http://"+r.Host) || strings.EqualFold(origin, s.origin)
	if !ours || site != "" && site != "same-origin" && site != "none" && !followed {
		return "Another web page sent this; nothing was done."
	}
	return ""
}

func (s *Server) cookieName() string { return "vigil-" + strconv.Itoa(s.port) }
