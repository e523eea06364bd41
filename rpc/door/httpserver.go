package door

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"vigil/rpc/web"
)

// newHTTP serves everything that is not gRPC.
func (d *Door) newHTTP(g *gateway) (*http.Server, error) {
	mux := http.NewServeMux()
	if err := d.servePage(mux, g); err != nil {
		return nil, err
	}
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(d.cfg.OpenAPI) // the reader has gone; nobody is left to tell
	})
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "alive") })
	mux.HandleFunc("GET /readyz", d.readyz)
	if d.cfg.Gatherer != nil {
		mux.Handle("GET /metrics", d.forViewers(g, promhttp.HandlerFor(d.cfg.Gatherer, promhttp.HandlerOpts{})))
	}
	mux.HandleFunc("GET /{$}", d.root)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		g.noRoute(r.Context(), nil, nil, w, r, http.StatusNotFound)
	})
	return &http.Server{
		Handler:           replaced(d.cfg.age(), newPages(d.cfg.Hosts, g.write).guard(web.Below(d.cfg.BasePath, mux))),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeader,
		ConnContext:       withCaller,
		ErrorLog:          d.log.Named("http").StandardLogger(nil),
	}, nil
}

func plain(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = fmt.Fprintln(w, text) // the reader has gone; nobody is left to tell
}

// readyz is 200 while this server may be sent traffic: it knows a leader and nothing
// else speaks against it.
func (d *Door) readyz(w http.ResponseWriter, _ *http.Request) {
	if l := d.cfg.Reader.Leader(); l.ID == "" {
		plain(w, http.StatusServiceUnavailable, "not ready: no leader is known")
		return
	}
	if d.cfg.Health != nil {
		if err := d.cfg.Health.Ready(); err != nil {
			plain(w, http.StatusServiceUnavailable, "not ready: "+err.Error())
			return
		}
	}
	plain(w, http.StatusOK, "ready")
}

// root shows the page to a browser, and says to others what this is; to strangers not which.
func (d *Door) root(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept")
	if strings.Contains(r.Header.Get("Accept"), "text/html") {
		d.front.ServeHTTP(w, r)
		return
	}
	which := ""
	if d.guard == nil {
		l := d.cfg.Reader.Leader()
		if l.ID == "" {
			l.ID = "nobody"
		}
		which = fmt.Sprintf("\nThis is server %s of cluster %s, version %s; %s leads.", d.cfg.ServerID,
			d.cfg.ClusterID(), d.cfg.Version, l.ID)
	}
	plain(w, http.StatusOK, fmt.Sprintf(`vigil keeps fleets of AI agents alive.%s

  /v1/status      what the cluster is doing (JSON)
  /v1/rooms       rooms, roles and their counts
  /v1/agents      agents and why they run or do not
  /v1/tasks       tasks
  /v1/events      the history; follows until you leave
  /openapi.json   every call
  /metrics        figures for Prometheus
  /livez /readyz  probes

gRPC is served on this same port. On a terminal: vigil status`, which))
}
