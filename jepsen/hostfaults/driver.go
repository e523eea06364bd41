//go:build linux

package hostfaults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/jepsen/history"
	"vigil/jepsen/ledger"
	"vigil/jepsen/nemesis"
	"vigil/jepsen/stand"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// room is where the agents are.
const room = "faults"

// settings keep budgets out of the way: they are tested elsewhere, and here every
// agent has to come back soon after it was killed many times.
func settings(ttl time.Duration) map[string]string {
	return map[string]string{
		"ttl": ttl.String(), "host_ttl": ttl.String(), "stop_grace": (ttl / 5).String(), "accept_limit": "3s",
		"breaker_starts": "1000", "breaker_window": "5s", "healthy_after": "2s", "attempt_limit": "0", "kill_limit": "0",
		"brake_agents": "0", "flap_window": "10s", "flap_pause": "1s",
	}
}

// driver is one run.
type driver struct {
	Config
	stand *stand.Stand
	fleet vigilv1.FleetClient
	ask   vigilv1.ClusterClient
	field *nemesis.Field
	hosts deck // faults of hosts
	extra deck // faults of servers, meanwhile

	mu     sync.Mutex
	result *Result
	pauses []ledger.Pause
}

// Run lets the faults loose on a stand and judges. The error says that the run
// itself failed; broken laws are in the result.
func Run(ctx context.Context, s *stand.Stand, c Config) (*Result, error) {
	conn, err := client.Open(client.Config{Addrs: s.Addrs(), Name: "hostfaults", RetryFor: time.Minute})
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	d := &driver{Config: c, stand: s, fleet: vigilv1.NewFleetClient(conn), ask: vigilv1.NewClusterClient(conn),
		result: newResult(c)}
	d.field = &nemesis.Field{Stand: s, Fleet: d.fleet, Cluster: d.ask, TTL: c.TTL, Room: room, Say: c.Say}
	if err := errors.Join(d.hosts.fill(nemesis.Host), d.extra.fill("server_killed", "leader_killed", "server_paused", "leader_paused_beyond_ttl")); err != nil {
		return nil, err
	}
	if err := d.prepare(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer cancel()
	helpers.Go(func() { d.listen(ctx) })
	helpers.Go(func() { d.feed(ctx) })
	if err := d.settle(ctx, 3*d.Bound, "before the first fault"); err != nil {
		return nil, err
	}
	began := time.Now()
	for n := 0; d.result.Faults < c.Faults && ctx.Err() == nil; n++ {
		if err := d.round(ctx, n); err != nil {
			return nil, err
		}
	}
	cancel()
	helpers.Wait()
	d.result.Seconds = time.Since(began).Seconds()
	return d.result, d.judge()
}

// prepare declares the agents.
func (d *driver) prepare(ctx context.Context) error {
	_, err := d.ask.PutSettings(ctx, &vigilv1.PutSettingsRequest{By: "hostfaults", Values: settings(d.TTL)})
	if err != nil {
		return fmt.Errorf("put settings: %w", err)
	}
	roles := []*vigilv1.RoleSpec{
		{Name: "fenced", Policy: "fenced", Replicas: uint32(d.Fenced)},
		{Name: "fast", Policy: "fast", Replicas: uint32(d.Fast)},
	}
	for _, r := range roles {
		r.Runner, r.Ttl = stand.Runner, durationpb.New(d.TTL)
		r.StopGrace, r.StartLimit = durationpb.New(d.TTL/5), durationpb.New(10*time.Second)
	}
	_, err = d.fleet.ApplyRoom(ctx, &vigilv1.ApplyRoomRequest{Room: room, By: "hostfaults", Roles: roles})
	if err != nil {
		return fmt.Errorf("apply room: %w", err)
	}
	return nil
}

// feed gives the agents something to say.
func (d *driver) feed(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		role := "fenced"
		if n%4 == 3 {
			role = "fast"
		}
		call, cancel := context.WithTimeout(ctx, 10*time.Second)
		_, err := d.fleet.CreateTask(call, &vigilv1.CreateTaskRequest{Room: room, Role: role, Title: fmt.Sprint("task ", n), By: "hostfaults"})
		cancel()
		if err == nil {
			d.mu.Lock()
			d.result.Tasks++
			d.mu.Unlock()
		}
		d.field.Pause(ctx, 300*time.Millisecond)
	}
}

// round lets one round of faults loose, heals everything and looks.
func (d *driver) round(ctx context.Context, n int) error {
	left := min(d.Round, d.Faults-d.result.Faults)
	var all sync.WaitGroup
	errs := make([]error, len(d.stand.Hosts)+1)
	for i, h := range d.stand.Hosts {
		share := left / len(d.stand.Hosts)
		if i < left%len(d.stand.Hosts) {
			share++
		}
		r := rand.New(rand.NewPCG(d.Seed, uint64(n*100+i)))
		all.Go(func() { errs[i] = d.trouble(ctx, h, r, share) })
	}
	hosts := make(chan struct{})
	go func() { all.Wait(); close(hosts) }()
	r := rand.New(rand.NewPCG(d.Seed, uint64(n*100+99)))
	errs[len(d.stand.Hosts)] = d.troubleServers(ctx, r, hosts)
	<-hosts
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("round %d: %w", n, err)
	}
	if err := d.settle(ctx, d.Bound, fmt.Sprintf("after round %d", n)); err != nil {
		return err
	}
	if n%4 == 0 {
		if err := d.outage(ctx); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Say("round %d: %d of %d faults, slowest return %s, %d tasks", n, d.result.Faults, d.Faults, d.result.slowest, d.result.Tasks)
	return nil
}

// trouble lets faults loose on one host, one after the other.
func (d *driver) trouble(ctx context.Context, h *stand.Host, r *rand.Rand, faults int) error {
	for faults > 0 {
		done, err := d.strike(ctx, d.hosts.draw(r), h, r)
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return nil
		case done:
			faults--
		}
		d.field.Pause(ctx, d.field.Span(r, 0.1, 0.6))
	}
	return nil
}

// troubleServers lets faults loose on servers, one at a time, while the hosts have
// theirs.
func (d *driver) troubleServers(ctx context.Context, r *rand.Rand, until <-chan struct{}) error {
	for {
		timer := time.NewTimer(d.field.Span(r, 3, 10))
		select {
		case <-until:
			timer.Stop()
			return nil
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		if _, err := d.strike(ctx, d.extra.draw(r), nil, r); err != nil {
			return err
		}
	}
}

// strike lets one fault loose and books it; done is false when there was nothing to
// strike.
func (d *driver) strike(ctx context.Context, k *nemesis.Kind, on *stand.Host, r *rand.Rand) (done bool, err error) {
	fault, err := d.field.Strike(ctx, k, on, r)
	d.mu.Lock()
	defer d.mu.Unlock()
	if errors.Is(err, nemesis.ErrLetIn) {
		d.result.Daemons++
		d.result.Evidence = append(d.result.Evidence, err.Error())
		err = nil
	}
	switch {
	case errors.Is(err, nemesis.ErrNobody) || err == nil && fault == nil:
		return false, nil
	case err != nil:
		return false, fmt.Errorf("fault %s: %w", k.Name, err)
	}
	phase := "running"
	if on != nil {
		phase = nemesis.Phase(fault.Note)
	}
	for _, e := range fault.Effects {
		if e.What == history.Stopped {
			d.pauses = append(d.pauses, ledger.Pause{Host: e.Machine, Agent: e.Agent, From: e.From, To: e.To})
		}
	}
	d.result.count(k.Name, phase)
	return true, nil
}

// deck is kinds of faults to draw from, by their weights.
type deck struct {
	kinds []*nemesis.Kind
	sum   int
}

func (d *deck) fill(words ...string) (err error) {
	d.kinds, err = nemesis.Select(words...)
	for _, k := range d.kinds {
		d.sum += max(k.Weight, 1)
	}
	return err
}

func (d *deck) draw(r *rand.Rand) *nemesis.Kind {
	n := r.IntN(d.sum)
	for _, k := range d.kinds {
		if n -= max(k.Weight, 1); n < 0 {
			return k
		}
	}
	panic("the weights do not add up")
}

// listen counts what the cluster's history says, which shows what the faults have
// reached, until ctx ends.
func (d *driver) listen(ctx context.Context) {
	last := uint64(0)
	for ctx.Err() == nil {
		stream, err := d.fleet.WatchEvents(ctx, &vigilv1.WatchEventsRequest{After: last})
		for err == nil {
			var e *vigilv1.Event
			if e, err = stream.Recv(); err != nil || e.GetSeq() <= last {
				continue
			}
			last = e.GetSeq()
			d.mu.Lock()
			d.result.Events[e.GetKind()]++
			d.mu.Unlock()
		}
		d.field.Pause(ctx, 100*time.Millisecond) // a server died; ask another
	}
}

// judge reads the ledger.
func (d *driver) judge() error {
	lives, err := ledger.Read(d.stand.Ledger.Folder)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.result.take(ledger.Judge(lives, ledger.Rules{Fenced: fenced, Pauses: d.pauses, Slack: slack}))
	return nil
}

// fenced tells whether law L7 holds for an agent.
func fenced(agent string) bool {
	return len(agent) >= len(room)+len("/fenced") && agent[:len(room)+len("/fenced")] == room+"/fenced"
}

// slack is how long after a pause of its shim an agent may run on before the shim,
// which is let go at the same moment, has judged. It is far below the time in which
// anything could be done with it, and the longest that was needed is reported.
const slack = 2 * time.Second
