package serve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// serveFigures serves the daemon's figures on a loopback address until ctx ends. An address that somebody else has is
// tried again after each pause, and told as a trouble.
func serveFigures(
	ctx context.Context, addr string, from prometheus.Gatherer, t *troubles, pause time.Duration, log hclog.Logger,
) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(from, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ErrorLog: log.StandardLogger(nil)}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	for ctx.Err() == nil {
		l, err := net.Listen("tcp", addr)
		if err == nil {
			t.set("metrics", "")
			if err = server.Serve(l); errors.Is(err, http.ErrServerClosed) {
				return
			}
		}
		t.set("metrics", "this host does not serve its metrics, and tries again: stop what uses the address, or give "+
			"another with --metrics: "+err.Error())
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}
