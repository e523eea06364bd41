package bench

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"vigil/rpc/client"
	"vigil/rpc/freeport"
	"vigil/rpc/gen/vigilv1"
)

// readyLimit is how long servers may take to answer.
const readyLimit = 30 * time.Second

// stand is the cluster that is measured: three processes of its own, or one that
// runs already.
type stand struct {
	dir     string // empty: not ours
	keep    bool
	servers []*server
	closers []func()
	tls     *tls.Config // of its admin; nil: the cluster has no identities
}

// server is one server of the stand.
type server struct {
	id, api, raft string
	dir           string
	args          []string
	program       string
	proc          *process // nil: not ours, or not running
	conn          *grpc.ClientConn
	web           string // where its pages are
	http          *http.Client
}

// newTag gives a short name of its own.
func newTag() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return "bench-" + hex.EncodeToString(b[:])
}

// openStand starts three servers, or finds those of the cluster at Addrs, and
// returns when they have a leader. config is the servers' configuration file; what
// makes them a cluster is added by flags. With secure they have identities.
func openStand(ctx context.Context, o *Options, config string, secure bool) (_ *stand, err error) {
	s := &stand{keep: o.Keep}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w%s", err, s.lastWords())
			_ = s.close() // the first error matters
		}
	}()
	if len(o.Addrs) > 0 {
		return s, s.find(ctx, o.Addrs)
	}
	if s.dir, err = os.MkdirTemp(o.Dir, "vigil-bench-"); err != nil {
		return s, fmt.Errorf("make data directory: %w", err)
	}
	ports, err := freeport.Addrs(6)
	if err != nil {
		return s, err
	}
	for i := range 3 {
		id := fmt.Sprintf("s%d", i+1)
		s.servers = append(s.servers, &server{id: id, api: ports[2*i], raft: ports[2*i+1],
			dir: filepath.Join(s.dir, id), program: o.Program})
	}
	if secure {
		if err = s.found(ctx, config, o.Debug); err != nil {
			return s, err
		}
		return s, s.connect(ctx)
	}
	file := filepath.Join(s.dir, "server.yaml")
	if err = os.WriteFile(file, []byte(config), 0o600); err != nil {
		return s, fmt.Errorf("write configuration: %w", err)
	}
	for _, sv := range s.servers {
		sv.args = serverArgs(sv, s.servers, file, o.Debug)
		if err = sv.start(); err != nil {
			return s, err
		}
	}
	if err = s.members(ctx, len(s.servers)); err != nil {
		return s, err
	}
	return s, s.connect(ctx)
}

// find learns the servers of a cluster that runs already.
func (s *stand) find(ctx context.Context, addrs []string) error {
	c, err := client.Open(client.Config{Addrs: addrs, Name: "bench"})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrOptions, err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	list, err := vigilv1.NewClusterClient(c).ListServers(ctx, &vigilv1.ListServersRequest{})
	if err != nil {
		return fmt.Errorf("list servers: %w", err)
	}
	for _, sv := range list.GetServers() {
		if sv.GetApiAddr() != "" {
			s.servers = append(s.servers, &server{id: sv.GetId(), api: sv.GetApiAddr(), raft: sv.GetRaftAddr()})
		}
	}
	if len(s.servers) == 0 {
		return errors.New("the cluster names no server with an API address")
	}
	return s.connect(ctx)
}

// connect waits until all servers have the same leader.
func (s *stand) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	shows, scheme, web := insecure.NewCredentials(), "http://", http.DefaultClient
	if s.tls != nil {
		shows, scheme = credentials.NewTLS(s.tls), "https://"
		web = &http.Client{Transport: &http.Transport{TLSClientConfig: s.tls.Clone()}}
	}
	for _, sv := range s.servers {
		sv.web, sv.http = scheme+sv.api, web
		conn, err := grpc.NewClient("passthrough:///"+sv.api, grpc.WithTransportCredentials(shows), grpc.WithNoProxy(),
			grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: time.Second, Backoff: quickBackoff()}))
		if err != nil {
			return fmt.Errorf("connect to %s: %w", sv.api, err)
		}
		sv.conn = conn
	}
	for _, sv := range s.servers {
		for {
			st, err := sv.status(ctx)
			if err == nil && st.GetLeader() != "" {
				break
			}
			if ctx.Err() != nil {
				return fmt.Errorf("server %s at %s has no leader after %s: %w", sv.id, sv.api, readyLimit,
					errors.Join(err, context.Cause(ctx)))
			}
			if e := sv.proc.ended(); e != nil {
				return fmt.Errorf("server %s ended: %w", sv.id, e)
			}
			pause(ctx, 20*time.Millisecond)
		}
	}
	return nil
}

// status asks this server for what it knows itself.
func (sv *server) status(ctx context.Context) (*vigilv1.StatusResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return vigilv1.NewClusterClient(sv.conn).Status(ctx, &vigilv1.StatusRequest{Stale: true}, grpc.WaitForReady(true))
}

func (s *stand) addrs() []string {
	list := make([]string, len(s.servers))
	for i, sv := range s.servers {
		list[i] = sv.api
	}
	return list
}

// leader finds the server that leads.
func (s *stand) leader(ctx context.Context) (*server, error) {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	for {
		for _, sv := range s.servers {
			if sv.proc == nil && s.dir != "" {
				continue
			}
			st, err := sv.status(ctx)
			if err == nil && st.GetLeader() == sv.id {
				return sv, nil
			}
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("find leader: none after %s", readyLimit)
		}
		pause(ctx, 10*time.Millisecond)
	}
}

// caughtUp waits until the server has applied what the leader has applied now.
func (s *stand) caughtUp(ctx context.Context, sv *server, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	lead, err := s.leader(ctx)
	if err != nil {
		return err
	}
	goal, err := lead.status(ctx)
	if err != nil {
		return fmt.Errorf("ask leader: %w", err)
	}
	for {
		st, err := sv.status(ctx)
		if err == nil && st.GetIndex() >= goal.GetIndex() && st.GetLeader() != "" {
			return nil
		}
		if e := sv.proc.ended(); e != nil {
			return fmt.Errorf("server %s ended: %w", sv.id, e)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("server %s has not caught up to entry %d after %s: it has %d", sv.id,
				goal.GetIndex(), limit, st.GetIndex())
		}
		pause(ctx, 5*time.Millisecond)
	}
}

// dial opens n clients. With spread, each of them begins at another server, where
// its waits stay. They close with the stand.
func (s *stand) dial(n int, spread bool) ([]*client.Client, error) {
	var list []*client.Client
	for i := range n {
		addrs := s.addrs()
		if spread {
			addrs = []string{addrs[i%len(addrs)]}
		}
		c, err := client.Open(client.Config{Addrs: addrs, Name: "bench", TLS: s.tls})
		if err != nil {
			return nil, fmt.Errorf("open client: %w", err)
		}
		s.closers = append(s.closers, func() { _ = c.Close() }) // always nil
		list = append(list, c)
	}
	return list, nil
}

// close ends clients and servers and removes the data.
func (s *stand) close() error {
	for _, c := range s.closers {
		c()
	}
	var errs []error
	for _, sv := range s.servers {
		if sv.conn != nil {
			errs = append(errs, sv.conn.Close())
		}
	}
	for _, sv := range s.servers {
		sv.stop()
	}
	if s.dir != "" && !s.keep {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}
