package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// calm is how long the servers are left alone between a restart and the next kill, as by vigil bench.
	calm = time.Second
	// probeEvery is how often a put is begun after a kill, and probeLimit how long each may take. A put
	// that a follower had passed on to the dead leader is answered after 7 s only, so waiting for the
	// first one would be to etcd's disadvantage.
	probeEvery = 25 * time.Millisecond
	probeLimit = 5 * time.Second
)

// etcdFailover is `vigil bench failover`: it kills the leader -count times. Latency is the time from the
// kill to the acknowledgement of the first put that was begun after it. All the time -rate puts a second
// go on. A killed server is started again and known to all before the next kill.
func etcdFailover(ctx context.Context, o *options, r *report) (err error) {
	s, err := openEtcd(ctx, o, r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var clients []*clientv3.Client
	for range o.conns {
		c, err := s.dial(s.endpoints()...)
		if err != nil {
			return err
		}
		clients = append(clients, c)
	}
	beside, enough := context.WithCancel(ctx)
	var all sync.WaitGroup
	var lost atomic.Int64
	all.Go(func() {
		paced(beside, o.rate, time.Hour, func(i int) {
			ctx, cancel := context.WithTimeout(beside, probeLimit)
			defer cancel()
			_, err := clients[i%len(clients)].Put(ctx, "bench-0/beside/"+strconv.Itoa(i), record(i))
			if err != nil && beside.Err() == nil {
				lost.Add(1)
			}
		})
	})
	began := time.Now()
	t, err := s.kills(ctx, o.count, clients[0])
	enough()
	all.Wait()
	if err != nil {
		return err
	}
	t.seconds = time.Since(began).Seconds()
	r.take(t)
	r.set("puts_refused", lost.Load())
	return nil
}

// kills is the rounds; their times are from kill to put.
func (s *etcdStand) kills(ctx context.Context, n int, c *clientv3.Client) (*tally, error) {
	t := &tally{}
	for i := range n {
		pause(ctx, calm)
		if _, err := c.Put(ctx, "bench-0/calm/"+strconv.Itoa(i), record(i)); err != nil {
			return nil, fmt.Errorf("put before kill %d: %w", i+1, err)
		}
		at, err := s.leader(ctx)
		if err != nil {
			return nil, err
		}
		begin := time.Now()
		s.kill(at)
		took, err := s.firstPut(ctx, c, i, begin)
		if err != nil {
			return nil, fmt.Errorf("put after kill %d: %w", i+1, err)
		}
		t.ops++
		t.add(took)
		if err := s.start(at); err != nil {
			return nil, err
		}
		err = s.await(ctx, s.members[at].Name+" is back", func(ctx context.Context) error {
			_, err := s.leader(ctx)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// firstPut begins puts until one is acknowledged and gives the time since begin.
func (s *etcdStand) firstPut(ctx context.Context, c *clientv3.Client, round int, begin time.Time) (took time.Duration,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	done := make(chan time.Duration, 1)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	every := time.NewTicker(probeEvery)
	defer every.Stop()
	for try := 0; ; try++ {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, probeLimit)
			defer cancel()
			if _, err := c.Put(ctx, fmt.Sprintf("bench-0/kill/%d/%d", round, try), record(try)); err != nil {
				return // another one is under way
			}
			select {
			case done <- time.Since(begin):
			default:
			}
		})
		select {
		case took = <-done:
			return took, nil
		case <-every.C:
		case <-ctx.Done():
			return 0, fmt.Errorf("none was acknowledged after %s: %w", time.Since(begin), ctx.Err())
		}
	}
}
