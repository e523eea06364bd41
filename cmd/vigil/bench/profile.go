package bench

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"sync"
	"time"
)

// profiles are processor profiles of the servers and of the load, taken while a
// measurement runs.
type profiles struct {
	all  sync.WaitGroup
	mu   sync.Mutex
	errs []error
}

// startProfiles begins to take profiles for the length of a measurement, when they
// are wanted; they take a few percent of the speed.
func (r *run) startProfiles(ctx context.Context, lasting time.Duration) *profiles {
	p := &profiles{}
	if r.Profile == "" {
		return p
	}
	r.profiled++
	name := func(who string) string {
		return filepath.Join(r.Profile, fmt.Sprintf("%s-%d-%s.pprof", r.spec.Name, r.profiled, who))
	}
	for _, sv := range r.stand.servers {
		p.all.Go(func() {
			p.note(fetch(ctx, sv, fmt.Sprintf("/debug/pprof/profile?seconds=%d", max(1, int(lasting.Seconds()))),
				name(sv.id)))
		})
	}
	p.all.Go(func() { p.note(ownProfile(ctx, name("bench"), lasting)) })
	return p
}

func (p *profiles) note(err error) {
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.errs = append(p.errs, err)
	}
}

// wait returns when all profiles are written, with the first error.
func (p *profiles) wait() error {
	p.all.Wait()
	if len(p.errs) > 0 {
		return fmt.Errorf("take profile: %w", p.errs[0])
	}
	return nil
}

// fetch asks a server that was started here on the Unix socket in its data directory.
func fetch(ctx context.Context, sv *server, path, file string) error {
	if sv.dir == "" {
		return fmt.Errorf("server %s was not started here: "+
			"profiles are shown on its own machine only, to its own account", sv.api)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+sv.id+path, nil)
	if err != nil {
		return err
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(sv.dir, "debug.sock"))
	}
	web := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	resp, err := web.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s of %s: %s", path, sv.id, resp.Status)
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, resp.Body); err != nil {
		_ = f.Close() // the first error matters
		return err
	}
	return f.Close()
}

func ownProfile(ctx context.Context, file string, lasting time.Duration) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		_ = f.Close() // the first error matters
		return err
	}
	pause(ctx, lasting)
	pprof.StopCPUProfile()
	return f.Close()
}
