package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"path/filepath"
	"time"
)

// debugSocket is where a server with debug shows its profiles, in its data directory: nobody but its
// own account and root reaches it. They hold names and texts of whatever is in memory.
const debugSocket = "debug.sock"

// serveProfiles serves /debug/pprof on a Unix socket until ctx ends. What goes wrong with it is
// logged and ends nothing else.
func (s *server) serveProfiles(ctx context.Context) error {
	path := filepath.Join(s.conf.DataDir, debugSocket)
	l, err := listenPrivately(path)
	if err != nil {
		s.log.Warn("profiles are not served", "error", err)
		return nil
	}
	s.log.Info("profiles are served", "look", "curl --unix-socket "+path+" http://server/debug/pprof/")
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: s.log.StandardLogger(nil)}
	defer context.AfterFunc(ctx, func() { _ = web.Close() })() // what is being profiled is of no use any more
	if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		s.log.Warn("profiles are no longer served", "error", err)
	}
	return nil
}

// ownerSocket is where whoever owns the data directory of a server is an admin, without a certificate: the
// way back in when nobody can log in any more.
const ownerSocket = "admin.sock"

// listenForOwner opens that socket; nil when it cannot be: that keeps no server from its work.
func (s *server) listenForOwner() net.Listener {
	l, err := listenPrivately(filepath.Join(s.conf.DataDir, ownerSocket))
	if err != nil {
		s.log.Warn("the socket of this server's owner is not there", "error", err)
		return nil
	}
	return l
}

// listenPrivately listens on a Unix socket of mode 0600. One that an earlier run has left is replaced: the
// data directory is locked by this one.
func listenPrivately(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("clear socket: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}
