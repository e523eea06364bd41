package rpc

import (
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// newHTTP serves everything that is not gRPC.
func (s *Server) newHTTP(g *gateway) *http.Server {
	mux := http.NewServeMux()
	mux.Handle("/v1/", g)
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(openAPI) // the reader has gone; nobody is left to tell
	})
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "alive") })
	mux.HandleFunc("GET /readyz", s.readyz)
	if s.cfg.Gatherer != nil {
		mux.Handle("GET /metrics", promhttp.HandlerFor(s.cfg.Gatherer, promhttp.HandlerOpts{}))
	}
	mux.HandleFunc("GET /{$}", s.front)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		g.noRoute(r.Context(), nil, nil, w, r, http.StatusNotFound)
	})
	return &http.Server{
		Handler:           newPages(s.cfg.Hosts, g.write).guard(mux),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          s.log.Named("http").StandardLogger(nil),
	}
}

func plain(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = fmt.Fprintln(w, text) // the reader has gone; nobody is left to tell
}

// readyz is 200 while this server may be sent traffic: it knows a leader and nothing
// else speaks against it.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	if l := s.cfg.Reader.Leader(); l.ID == "" {
		plain(w, http.StatusServiceUnavailable, "not ready: no leader is known")
		return
	}
	if s.cfg.Health != nil {
		if err := s.cfg.Health.Ready(); err != nil {
			plain(w, http.StatusServiceUnavailable, "not ready: "+err.Error())
			return
		}
	}
	plain(w, http.StatusOK, "ready")
}

// front says to a person with a browser what this is.
func (s *Server) front(w http.ResponseWriter, _ *http.Request) {
	l := s.cfg.Reader.Leader()
	if l.ID == "" {
		l.ID = "nobody"
	}
	plain(w, http.StatusOK, fmt.Sprintf(`vigil keeps fleets of AI agents alive.
This is server %s of cluster %s, version %s; %s leads.

  /v1/status      what the cluster is doing (JSON)
  /v1/rooms       rooms, roles and their counts
  /v1/agents      agents and why they run or do not
  /v1/tasks       tasks
  /v1/events      the history; follows until you leave
  /openapi.json   every call
  /metrics        figures for Prometheus
  /livez /readyz  probes

gRPC is served on this same port. On a terminal: vigil status`, s.cfg.ServerID, s.cfg.ClusterID(), s.cfg.Version, l.ID))
}
