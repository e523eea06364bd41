package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/version"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// etcdStand is a stand of etcd that serves.
type etcdStand struct {
	*stand
	admin   *clientv3.Client
	clients []*clientv3.Client
}

// openEtcd starts etcd and returns when all servers know the same leader.
func openEtcd(ctx context.Context, o *options, r *report) (*etcdStand, error) {
	base, err := openStand(etcd, o.dir, o.secure)
	if err != nil {
		return nil, err
	}
	s := &etcdStand{stand: base}
	r.set("server", "etcd "+version.Version)
	if s.admin, err = s.dial(s.endpoints()...); err == nil {
		err = s.await(ctx, "etcd has a leader", func(ctx context.Context) error {
			_, err := s.leader(ctx)
			return err
		})
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *etcdStand) endpoints() []string { return s.urls("http", "https") }

// dial opens a client, which closes with the stand.
func (s *etcdStand) dial(endpoints ...string) (*clientv3.Client, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: endpoints, TLS: s.tls, Logger: zap.NewNop()})
	if err != nil {
		return nil, fmt.Errorf("open client: %w", err)
	}
	s.clients = append(s.clients, c)
	return c, nil
}

// leader gives the number of the server that all of them call their leader. Each has to answer.
func (s *etcdStand) leader(ctx context.Context) (int, error) {
	at, id := -1, uint64(0)
	for i, url := range s.endpoints() {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		st, err := s.admin.Status(ctx, url)
		cancel()
		if err != nil {
			return 0, fmt.Errorf("ask %s: %w", s.members[i].Name, err)
		}
		if st.Leader == 0 || id != 0 && st.Leader != id {
			return 0, errors.New("the servers have no leader in common")
		}
		if id = st.Leader; st.Header.MemberId == id {
			at = i
		}
	}
	if at < 0 {
		return 0, errors.New("the leader is none of the servers")
	}
	return at, nil
}

// writers opens n clients at the leader, as etcd's own benchmark does with --target-leader: its followers
// pass writes on, which costs more. vigil's client finds the leader by itself.
func (s *etcdStand) writers(ctx context.Context, o *options) ([]*clientv3.Client, error) {
	at, err := s.leader(ctx)
	if err != nil {
		return nil, err
	}
	var list []*clientv3.Client
	for i := range o.conns {
		to := at
		if o.spread {
			to = i % servers
		}
		c, err := s.dial(s.endpoints()[to])
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

func (s *etcdStand) close() error {
	var errs []error
	for _, c := range s.clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(append(errs, s.stand.close())...)
}

// record is what one write of the benchmark carries: what a task of `vigil bench` does.
func record(n int) string {
	return `{"room":"bench-0","role":"r1","title":"write ` + strconv.Itoa(n) +
		`","text":"a small task of the benchmark","by":"bench"}`
}

// etcdWrites is `vigil bench writes`: every client puts new keys, one call after the other.
func etcdWrites(ctx context.Context, o *options, r *report) (err error) {
	s, err := openEtcd(ctx, o, r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	writers, err := s.writers(ctx, o)
	if err != nil {
		return err
	}
	var n atomic.Int64
	for _, callers := range o.clients {
		before := s.usage()
		t := load{callers, warmUp(o.duration), o.duration}.drive(ctx, func(ctx context.Context, i int) error {
			k := int(n.Add(1))
			_, err := writers[i%len(writers)].Put(ctx, "bench-0/r1/"+strconv.Itoa(k), record(k))
			return err
		})
		r.take(t)
		for _, f := range []figure{{"per_second", float64(t.ops) / t.seconds}, {"p50_ms", t.percentile(0.50)},
			{"p99_ms", t.percentile(0.99)}, {"max_ms", t.max()}} {
			r.set(fmt.Sprintf("%s_%d_clients", f.name, callers), f.value)
		}
		s.reportUsage(r, before)
	}
	r.set("connections", len(writers))
	return nil
}
