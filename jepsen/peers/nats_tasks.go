package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	natsStream   = "TASKS"
	natsSubject  = "tasks.new"
	natsConsumer = "workers"
)

// natsStand is a stand of nats-server whose stream serves.
type natsStand struct {
	*stand
	conns    []*natsgo.Conn
	streams  []jetstream.JetStream // by connection
	workers  []jetstream.Consumer  // by connection
	finished sync.Map              // acknowledged numbers in the stream
}

// openNATS starts nats-server with one stream of three copies on disk and its consumer, and returns when all
// copies are current.
func openNATS(ctx context.Context, o *options, r *report) (_ *natsStand, err error) {
	base, err := openStand(nats, o.dir, o.secure)
	if err != nil {
		return nil, err
	}
	s := &natsStand{stand: base}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	r.set("server", "nats-server "+natsserver.VERSION)
	err = s.await(ctx, "nats-server answers", func(ctx context.Context) error { return s.connect(o) })
	if err != nil {
		return nil, err
	}
	err = s.await(ctx, "the stream has all its copies", func(ctx context.Context) error { return s.declare(ctx, o) })
	return s, err
}

// connect opens the connections, spread over the servers as NATS clients do by chance.
func (s *natsStand) connect(o *options) error {
	for i := len(s.conns); i < o.conns; i++ {
		var secure []natsgo.Option
		if s.tls != nil {
			secure = append(secure, natsgo.Secure(s.tls.Clone()))
		}
		c, err := natsgo.Connect(s.urls("nats", "tls")[i%servers], secure...)
		if err != nil {
			return fmt.Errorf("connect to %s: %w", s.members[i%servers].Name, err)
		}
		s.conns = append(s.conns, c)
		js, err := jetstream.New(c)
		if err != nil {
			return fmt.Errorf("use streams: %w", err)
		}
		s.streams = append(s.streams, js)
	}
	return nil
}

// declare makes stream and consumer, and fails while one of their copies is behind. It may be repeated.
// Finished tasks stay in the stream, as vigil keeps them: that is what a stream does by default. One that
// drops them (a work queue) did a fifth less in trials.
func (s *natsStand) declare(ctx context.Context, o *options) error {
	sc := jetstream.StreamConfig{Name: natsStream, Subjects: []string{natsSubject},
		Storage: jetstream.FileStorage, Replicas: servers}
	if o.queue {
		sc.Retention = jetstream.WorkQueuePolicy
	}
	stream, err := s.streams[0].CreateOrUpdateStream(ctx, sc)
	if err != nil {
		return fmt.Errorf("make stream: %w", err)
	}
	cfg := jetstream.ConsumerConfig{Durable: natsConsumer, AckPolicy: jetstream.AckExplicitPolicy}
	if _, err := stream.CreateOrUpdateConsumer(ctx, cfg); err != nil {
		return fmt.Errorf("make consumer: %w", err)
	}
	s.workers = nil
	for _, js := range s.streams {
		c, err := js.Consumer(ctx, natsStream, natsConsumer)
		if err != nil {
			return fmt.Errorf("find consumer: %w", err)
		}
		s.workers = append(s.workers, c)
	}
	of, err := s.workers[0].Info(ctx)
	if err != nil {
		return fmt.Errorf("ask about consumer: %w", err)
	}
	is, err := stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("ask about stream: %w", err)
	}
	return errors.Join(current(is.Cluster), current(of.Cluster))
}

// current tells what a stream or consumer lacks to have all its copies.
func current(c *jetstream.ClusterInfo) error {
	if c == nil || c.Leader == "" || len(c.Replicas) != servers-1 {
		return errors.New("it has no leader with two followers yet")
	}
	for _, f := range c.Replicas {
		if !f.Current || f.Offline {
			return fmt.Errorf("the copy on %s is behind", f.Name)
		}
	}
	return nil
}

func (s *natsStand) close() error {
	for _, c := range s.conns {
		c.Close()
	}
	return s.stand.close()
}

// natsTasks is `vigil bench tasks --batch 1`: each worker publishes a task, fetches one, whoever has
// published it, and acknowledges it, which the server confirms: three writes on the disks of a majority.
func natsTasks(ctx context.Context, o *options, r *report) (err error) {
	s, err := openNATS(ctx, o, r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	callers := o.clients[len(o.clients)-1]
	var made, done, twice atomic.Int64
	before := s.usage()
	t := load{callers, warmUp(o.duration), o.duration}.drive(ctx, func(ctx context.Context, i int) error {
		at := i % len(s.conns)
		if _, err := s.streams[at].Publish(ctx, natsSubject, []byte(record(i))); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		made.Add(1)
		number, err := finishOne(ctx, s.workers[at])
		if err != nil {
			return err
		}
		done.Add(1)
		if _, again := s.finished.LoadOrStore(number, true); again {
			twice.Add(1)
		}
		return nil
	})
	s.reportUsage(r, before)
	r.take(t)
	r.set("clients", callers)
	r.set("connections", len(s.conns))
	r.set("tasks_created", made.Load())
	r.set("tasks_completed", done.Load())
	r.set("tasks_twice", twice.Load())
	return s.settled(ctx, r, made.Load()-done.Load())
}

// finishOne fetches one task and acknowledges it; it gives the task's number in the stream.
func finishOne(ctx context.Context, c jetstream.Consumer) (uint64, error) {
	batch, err := c.Fetch(1, jetstream.FetchContext(ctx))
	if err != nil {
		return 0, fmt.Errorf("fetch: %w", err)
	}
	task, ok := <-batch.Messages()
	if !ok {
		return 0, fmt.Errorf("fetch: %w", errors.Join(errors.New("no task came"), batch.Error()))
	}
	if err := task.DoubleAck(ctx); err != nil {
		return 0, fmt.Errorf("acknowledge: %w", err)
	}
	about, err := task.Metadata()
	if err != nil {
		return 0, fmt.Errorf("read number of task: %w", err)
	}
	if text := string(task.Data()); !strings.HasPrefix(text, "{") {
		return 0, fmt.Errorf("fetch: nobody has published %q", text)
	}
	return about.Sequence.Stream, nil
}

// settled reports by how many tasks the consumer thinks otherwise than the workers about what is still to be
// done (tasks_left): 0 when nothing was lost. It waits for what is under way.
func (s *natsStand) settled(ctx context.Context, r *report, open int64) error {
	end := time.Now().Add(settleLimit)
	for {
		of, err := s.workers[0].Info(ctx)
		if err != nil {
			return fmt.Errorf("ask what is left: %w", err)
		}
		left := int64(of.NumPending) + int64(of.NumAckPending) - open
		if left == 0 || time.Now().After(end) {
			r.set("tasks_left", left)
			return nil
		}
		pause(ctx, 20*time.Millisecond)
	}
}
