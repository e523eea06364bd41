package agentd

import (
	"context"
	"sync"
	"time"

	"vigil/agentd/local"
	"vigil/agentd/telemetry"
)

// complainEvery is the least time between two lines in the log about telemetry that was dropped.
const complainEvery = 10 * time.Minute

// receiver makes what takes the telemetry of this host's agents, and what passes it on.
func (a *Agentd) receiver() *telemetry.Receiver {
	m := a.metrics
	for _, outcome := range telemetry.Outcomes() {
		m.telemetry.WithLabelValues(outcome)
	}
	config := telemetry.Config{HostKey: a.data.Key, LifeOf: local.LifeOf,
		Count: func(outcome string) { m.telemetry.WithLabelValues(outcome).Inc() }}
	if to := a.config.TelemetryForward; to != "" {
		var mu sync.Mutex
		var last time.Time
		a.forwarder = telemetry.NewForwarder(to, func(err error) {
			m.telemetryDropped.Inc()
			mu.Lock()
			defer mu.Unlock()
			if now := time.Now(); now.Sub(last) >= complainEvery {
				last = now
				a.config.Logger.Warn("telemetry of agents does not reach its collector and is dropped", "error", err)
			}
		})
		config.Forward = a.forwarder.Forward
	}
	return telemetry.NewReceiver(config)
}

// hear takes telemetry of agents until ctx ends.
func (a *Agentd) hear(ctx context.Context, tasks *sync.WaitGroup, k *keeper) {
	reception := &local.Reception{Listener: a.told, Who: k.callers.behalf, Handler: k.telemetry}
	tasks.Go(func() { reception.Run(ctx) })
	if a.forwarder != nil {
		tasks.Go(func() { a.forwarder.Run(ctx) })
	}
}
