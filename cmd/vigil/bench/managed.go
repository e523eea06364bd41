package bench

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// benchRunner is the runner that managed agents of the benchmark name. No process
// is started: the benchmark answers the orders as their hosts would.
const benchRunner = "bench"

// manage starts the agents of the herd through orders, on so many hosts that the
// benchmark plays, and gives one flock of fence beats for each host.
func (r *run) manage(ctx context.Context, c *client.Client, h herd, hosts int) ([]flock, error) {
	_, err := vigilv1.NewClusterClient(c).PutSettings(ctx,
		&vigilv1.PutSettingsRequest{By: "bench", Values: map[string]string{
			"starts_per_second": "1000000", "starts_per_host": "10000", "accept_limit": "2m"}})
	if err != nil {
		return nil, fmt.Errorf("raise start limits: %w", err)
	}
	n := h.roles * h.replicas
	var started atomic.Int64
	list := make([]*playedHost, hosts)
	for i := range list {
		list[i] = &playedHost{key: fmt.Sprintf("%s-h%d", r.tag, i), started: &started, want: int64(n),
			have: map[uint32]uint64{}}
		if err := list[i].register(ctx, c, (n+hosts-1)/hosts); err != nil {
			return nil, err
		}
	}
	h.runner = benchRunner
	serve, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var all sync.WaitGroup
	failed := make(chan error, hosts)
	for _, p := range list {
		all.Go(func() { failed <- p.serve(serve, c) })
	}
	beats := make(chan struct{})
	go func() {
		defer close(beats)
		for serve.Err() == nil {
			for _, p := range list {
				_, _ = p.flock().beat(serve, vigilv1.NewWorkClient(c)) // the measurement shows what fails
			}
			r.say("starting agents: %d of %d", started.Load(), n)
			pause(serve, 5*time.Second)
		}
	}()
	err = r.declare(ctx, c, h)
	for range list {
		if e := <-failed; err == nil && e != nil {
			err = fmt.Errorf("start agents (%d of %d): %w", started.Load(), n, e)
		}
	}
	cancel()
	all.Wait()
	<-beats
	var out []flock
	for _, p := range list {
		if len(p.have) > 0 {
			out = append(out, p.flock())
		}
	}
	return out, err
}

// playedHost answers orders as agentd would, without processes.
type playedHost struct {
	key     string
	id      uint32
	started *atomic.Int64 // on all hosts
	want    int64

	mu   sync.Mutex
	have map[uint32]uint64 // incarnation by agent
}

const playedBoot = "boot-1"

func (p *playedHost) register(ctx context.Context, c *client.Client, capacity int) error {
	answer, err := vigilv1.NewHostAgentClient(c).Register(ctx, &vigilv1.RegisterRequest{Key: p.key, Name: p.key,
		Boot: playedBoot, Version: "bench", Runners: []string{benchRunner}, Capacity: uint32(capacity)})
	if err != nil {
		return fmt.Errorf("register host: %w", err)
	}
	p.id = answer.GetHost()
	return nil
}

// serve carries out start orders until all agents of all hosts run.
func (p *playedHost) serve(ctx context.Context, c *client.Client) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := vigilv1.NewHostAgentClient(c).Stream(ctx)
	if err != nil {
		return fmt.Errorf("open stream: %w", err)
	}
	hello := &vigilv1.HostMessage{Kind: &vigilv1.HostMessage_Hello{Hello: &vigilv1.Hello{Host: p.id, Boot: playedBoot}}}
	if err := stream.Send(hello); err != nil {
		return fmt.Errorf("greet: %w", err)
	}
	for p.started.Load() < p.want {
		m, err := stream.Recv()
		if err != nil {
			return fmt.Errorf("read orders: %w", err)
		}
		if ping := m.GetPing(); ping != nil {
			pong := &vigilv1.HostMessage{Kind: &vigilv1.HostMessage_Pong{Pong: &vigilv1.Pong{N: ping.GetN()}}}
			if err := stream.Send(pong); err != nil {
				return fmt.Errorf("answer ping: %w", err)
			}
			continue
		}
		orders := m.GetOrders().GetOrders()
		if err := each(ctx, len(orders), 64,
			func(ctx context.Context, i int) error { return p.obey(ctx, c, orders[i]) }); err != nil {
			return err
		}
	}
	return nil
}

// obey accepts a start order and reports the start.
func (p *playedHost) obey(ctx context.Context, c *client.Client, o *vigilv1.Order) error {
	p.mu.Lock()
	known := p.have[o.GetAgent()] == o.GetIncarnation()
	p.mu.Unlock()
	if o.GetKind() != "start" || known {
		return nil
	}
	host := vigilv1.NewHostAgentClient(c)
	hash := sha256.Sum256([]byte(o.GetAgentName()))
	_, err := host.AcceptOrder(ctx, &vigilv1.AcceptOrderRequest{Host: p.id, Boot: playedBoot, Agent: o.GetAgent(),
		Incarnation: o.GetIncarnation(), TokenHash: hash[:]})
	if err != nil {
		return fmt.Errorf("accept order of %s: %w", o.GetAgentName(), err)
	}
	_, err = host.ReportStarted(ctx, &vigilv1.ReportStartedRequest{Host: p.id, Agent: o.GetAgent(),
		Incarnation: o.GetIncarnation(), Pid: 1})
	if err != nil {
		return fmt.Errorf("report start of %s: %w", o.GetAgentName(), err)
	}
	p.mu.Lock()
	p.have[o.GetAgent()] = o.GetIncarnation()
	p.mu.Unlock()
	p.started.Add(1)
	return nil
}

// flock is the host's beat with the fences of all its agents.
func (p *playedHost) flock() flock {
	p.mu.Lock()
	defer p.mu.Unlock()
	req := &vigilv1.BeatRequest{Host: p.id, Boot: playedBoot}
	for id, inc := range p.have {
		req.Agents, req.Incarnations, req.Kinds = append(req.Agents, id), append(req.Incarnations, inc),
			append(req.Kinds, client.BeatFence)
	}
	sortBeats(req)
	return flock{req}
}
