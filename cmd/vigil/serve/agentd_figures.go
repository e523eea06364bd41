package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"vigil/cmd/vigil/cli"
)

// figuresServer serves the daemon's figures on a loopback address.
type figuresServer struct {
	listener net.Listener
	server   *http.Server
}

func listenFigures(addr string, from prometheus.Gatherer) (*figuresServer, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, cli.ExitWith(cli.ExitFailed,
			fmt.Errorf("listen for metrics: %w: stop what uses the address, or give another with --metrics", err))
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(from, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	return &figuresServer{listener: l, server: &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}}, nil
}

// run serves until ctx ends.
func (f *figuresServer) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = f.server.Close() })
	defer stop()
	if err := f.server.Serve(f.listener); !errors.Is(err, http.ErrServerClosed) {
		return cli.ExitWith(cli.ExitFailed, fmt.Errorf("serve metrics: %w", err))
	}
	return nil
}
