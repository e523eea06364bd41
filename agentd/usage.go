package agentd

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"vigil/agentd/disk"
	"vigil/agentd/local"
	"vigil/agentd/telemetry"
	"vigil/rpc/gen/vigilv1"
)

// complainEvery is the least time between two lines in the log about telemetry that was dropped.
const complainEvery = 10 * time.Minute

// receiver makes what takes the telemetry of this host's agents, and what passes it on.
func (a *Agentd) receiver() *telemetry.Receiver {
	m := a.metrics
	for _, outcome := range telemetry.Outcomes() {
		m.telemetry.WithLabelValues(outcome)
	}
	config := telemetry.Config{Key: a.data.TelemetryKey, LifeOf: local.LifeOf,
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

// maxUsed is how many lives a beat tells the usage of; the others follow with the next ones.
const maxUsed = 1024

// used is what beats tell of the usage of lives. It belongs to the keeper.
type used struct {
	run   uint64                        // which run of the daemon counts
	known map[disk.Life]telemetry.Usage // as acknowledged
	now   map[disk.Life]telemetry.Usage // in the beat that is under way
	ended map[disk.Life]telemetry.Usage // last totals of lives that are over
}

// end keeps the last total of a life for the next beat.
func (u *used) end(who disk.Life, total telemetry.Usage) {
	if total == u.known[who] { // also when it has used nothing
		delete(u.known, who)
		return
	}
	if u.ended == nil {
		u.ended = map[disk.Life]telemetry.Usage{}
	}
	if len(u.ended) < maxUsed {
		u.ended[who] = total
	}
}

// tell gives what has changed since the last acknowledged beat.
func (u *used) tell(r *telemetry.Receiver, lives map[uint32]*life) (all []*vigilv1.LifeUsage) {
	if u.run == 0 {
		u.run, u.known = rand.Uint64()|1, map[disk.Life]telemetry.Usage{}
	}
	u.now = map[disk.Life]telemetry.Usage{}
	add := func(who disk.Life, total telemetry.Usage) {
		if total == u.known[who] || len(all) >= maxUsed {
			return
		}
		u.now[who] = total
		all = append(all, &vigilv1.LifeUsage{Agent: who.Agent, Incarnation: who.Incarnation, Run: u.run,
			Total: &vigilv1.Usage{InputTokens: total.Input, OutputTokens: total.Output, CacheTokens: total.Cache,
				MicroUsd: total.MicroUSD, Tools: total.Uses(), Kinds: total.Tools[:]}})
	}
	for who, total := range u.ended {
		add(who, total)
	}
	for _, l := range lives {
		add(l.who(), r.Total(local.Life(l.who())))
	}
	return all
}

// told takes note that the beat under way was acknowledged.
func (u *used) told() {
	for who, total := range u.now {
		if u.ended[who] == total {
			delete(u.ended, who)
			delete(u.known, who)
			continue
		}
		u.known[who] = total
	}
	u.now = nil
}
