package serve

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"vigil/cluster/traces"
)

// tracing makes spans of tasks and brings them to a collector.
type tracing struct {
	follower *traces.Follower
	sender   *traces.Sender
}

// Leads gives traces what they ask of the replica.
func (r reader) Leads() bool { return r.Replica.Leader().Self }

// openTraces is called when a collector is named, before the replica runs.
func (s *server) openTraces(registry prometheus.Registerer) (*tracing, error) {
	sender, err := traces.NewSender(s.conf.OTLP, s.conf.ID, s.log.Named("traces"))
	if err != nil {
		return nil, err
	}
	t := &tracing{traces.NewFollower(reader{s.replica}, s.replica.Cluster, sender), sender}
	s.replica.Subscribe(t.follower.Wake)
	return t, registry.Register(sender)
}

// run returns once ctx has ended and what was to be sent is sent, or dropped.
func (t *tracing) run(ctx context.Context) error {
	g := errgroup.Group{}
	g.Go(func() error {
		t.follower.Run(ctx)
		return nil
	})
	g.Go(func() error {
		t.sender.Run(ctx)
		return nil
	})
	return g.Wait()
}
