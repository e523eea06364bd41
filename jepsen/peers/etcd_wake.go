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

// waking is a run of etcd-wake.
type waking struct {
	sent  []atomic.Int64 // since began, by number of the put
	began time.Time
	skip  time.Duration // puts sent before are warm-up

	mu   sync.Mutex
	seen tally
	put  samples
}

// etcdWake is `vigil bench wake`: -count watchers, spread over all servers, each of a key of its own, and
// -rate puts a second, each at its own time whatever became of the ones before. Latency is the time from
// sending a put to the moment when its watcher has the event in hand.
func etcdWake(ctx context.Context, o *options, r *report) (err error) {
	s, err := openEtcd(ctx, o, r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	writers, err := s.writers(ctx, o)
	if err != nil {
		return err
	}
	var watchers []*clientv3.Client
	for i := range max(o.conns, servers) {
		c, err := s.dial(s.endpoints()[i%servers])
		if err != nil {
			return err
		}
		watchers = append(watchers, c)
	}
	warm := warmUp(o.duration)
	w := &waking{skip: warm, sent: make([]atomic.Int64, int((warm+o.duration).Seconds()*float64(o.rate))+1)}
	watching, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	for i := range o.count {
		events := watchers[i%len(watchers)].Watch(watching, wakeKey(i), clientv3.WithCreatedNotify())
		if first, ok := <-events; !ok || !first.Created {
			return fmt.Errorf("watch %s: %w", wakeKey(i), errors.Join(errors.New("it was not confirmed"), first.Err()))
		}
		all.Go(func() { w.watch(watching, events) })
	}
	before := s.usage()
	w.began = time.Now()
	n, late := paced(ctx, o.rate, warm+o.duration, func(i int) { w.send(ctx, writers[i%len(writers)], i, o.count) })
	s.reportUsage(r, before)
	w.drain(ctx, n)
	stop()
	all.Wait()
	w.seen.seconds = o.duration.Seconds()
	r.take(&w.seen)
	r.set("waiters", o.count)
	r.set("rate", o.rate)
	r.set("created", n)
	r.set("create_p50_ms", w.put.percentile(0.50))
	r.set("create_p99_ms", w.put.percentile(0.99))
	r.set("send_late_p99_ms", late.percentile(0.99))
	return nil
}

func wakeKey(i int) string { return "bench-0/wake/" + strconv.Itoa(i) }

// send puts the i-th value.
func (w *waking) send(ctx context.Context, c *clientv3.Client, i, keys int) {
	at := time.Since(w.began)
	w.sent[i].Store(int64(at))
	_, err := c.Put(ctx, wakeKey(i%keys), strconv.Itoa(i)+" "+record(i))
	took := time.Since(w.began) - at
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err != nil:
		w.seen.fail(fmt.Errorf("put: %w", err))
	case at >= w.skip:
		w.put.add(took)
	}
}

// watch notes what one watcher sees, until it is told to stop.
func (w *waking) watch(ctx context.Context, events clientv3.WatchChan) {
	for resp := range events {
		now := time.Since(w.began)
		for _, e := range resp.Events {
			w.note(string(e.Kv.Value), now)
		}
		if err := resp.Err(); err != nil && ctx.Err() == nil {
			w.mu.Lock()
			w.seen.fail(fmt.Errorf("watch: %w", err))
			w.mu.Unlock()
		}
	}
}

func (w *waking) note(value string, now time.Duration) {
	var i int
	_, err := fmt.Sscan(value, &i)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil || i < 0 || i >= len(w.sent) {
		w.seen.fail(fmt.Errorf("watch: nobody has put %q", value))
		return
	}
	if at := time.Duration(w.sent[i].Load()); at >= w.skip {
		w.seen.ops++
		w.seen.add(now - at)
	}
}

// drain waits until the watchers have seen all that was put after the warm-up.
func (w *waking) drain(ctx context.Context, n int) {
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	for ctx.Err() == nil {
		w.mu.Lock()
		missing := len(w.put.times) - len(w.seen.times)
		w.mu.Unlock()
		if missing <= 0 {
			return
		}
		pause(ctx, 10*time.Millisecond)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen.fail(fmt.Errorf("watch: of %d puts some were not seen after %s", n, settleLimit))
}
