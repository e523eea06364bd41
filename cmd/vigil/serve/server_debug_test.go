package serve

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"

	"vigil/cmd/vigil/conf"
)

// S15: profiles, which hold whatever is in memory, are shown on a socket of the server's own account, and not
// on the port of the API.
func TestS15ProfilesAreOnAPrivateSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "s15") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, debugSocket)
	if err := os.WriteFile(path, nil, 0o600); err != nil { // left by an earlier run
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	s := &server{conf: &conf.Server{DataDir: dir}, log: hclog.NewNullLogger()}
	go func() { served <- s.serveProfiles(ctx) }()
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}}}
	for tries := 0; ; tries++ {
		resp, err := web.Get("http://server/debug/pprof/cmdline")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("status %d", resp.StatusCode)
			}
			break
		}
		if tries == 1_000_000 {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket: %v, %v", info, err)
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
