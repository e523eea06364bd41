//go:build linux

package nemesis

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"vigil/jepsen/history"
	"vigil/jepsen/stand"
	"vigil/rpc/gen/vigilv1"
)

// onHost makes a strike of what is done to one host. do says in which phase it struck
// the agent or the host, and what else people want to know: running, returning, storm,
// cut_off, or how far the start of an agent was (ordered, accepted, just_started,
// between_lives, unknown).
func onHost(do func(ctx context.Context, f *Field, h *stand.Host, r *rand.Rand,
	t *Touched) (phase, detail string, err error)) strike {
	return func(ctx context.Context, f *Field, h *stand.Host, r *rand.Rand) (Struck, error) {
		var t Touched
		phase, detail, err := do(ctx, f, h, r, &t)
		if detail != "" {
			detail = ", " + detail
		}
		return t.Struck(phase + ": " + h.Name + detail), err
	}
}

// hostKinds are what may happen to a host. Cuts come most often: they are what
// partitions are made of.
func hostKinds() []*Kind {
	kind := func(name string, weight int, s strike, says string) *Kind {
		return &Kind{Name: name, Lane: Host, Says: says, Weight: weight, Strike: s}
	}
	cut := func(c stand.Cut) strike { return hostCut(c) }
	return []*Kind{
		kind("cut_both_ways", 20, cut(stand.Both),
			"A host neither sends nor gets anything, for 0.1 to 2.5 TTL: while its agents run, while "+
				"one is started, or while it comes back from a longer cut."),
		kind("cut_towards_host", 12, cut(stand.Cut{In: true}),
			"A host gets nothing but is heard, for 0.1 to 2.5 TTL, in the same moments."),
		kind("cut_from_host", 12, cut(stand.Cut{Out: true}),
			"A host is not heard but gets everything, for 0.1 to 2.5 TTL, in the same moments."),
		kind("cut_udp", 3, cut(stand.Cut{In: true, Out: true, UDP: true}),
			"No UDP passes from and to a host, for 0.1 to 2.5 TTL."),
		kind("cut_gossip", 3, cut(stand.Cut{In: true, Out: true, Gossip: true}),
			"No gossip passes from and to a host, by UDP or TCP, for 0.1 to 2.5 TTL."),
		kind("cut_api", 5, cut(stand.Cut{In: true, Out: true, API: true}),
			"A host does not reach the API, its gossip goes on, for 0.1 to 2.5 TTL."),

		kind("agentd_killed", 10, agentdKilled,
			"agentd is killed (-9), sometimes while it starts an agent, and started again after up to 1.5 TTL."),
		kind("agentd_killed_in_storm", 8, agentdKilledInStorm,
			"All agents of a host are restarted, and agentd is killed (-9) and started 1 to 4 times meanwhile."),
		kind("agentd_stopped", 4, agentdStopped,
			"agentd is stopped (SIGSTOP) for 0.5 to 3 TTL; its shims and agents are not."),
		kind("agentd_restarted", 4, agentdRestarted,
			"agentd ends in good order (SIGTERM), leaves its agents, and is started again after up to 1 TTL."),
		kind("host_all_killed", 6, hostAllKilled,
			"Every process of a host is killed (-9), and agentd is started again after up to 2 TTL."),
		kind("power_off", 4, hostPowerOff, "A host is switched off without a word, and on again after up to 3 TTL."),
		kind("host_paused", 5, hostPaused(1, 4),
			"Nothing on a host is scheduled for 1 to 4 TTL, as on a suspended machine."),
		kind("host_paused_10_ttl", 1, hostPaused(10, 10),
			"Nothing on a host is scheduled for 10 TTL, as on a suspended machine."),
		kind("agent_killed", 3, residentKilled(false), "An agent is killed (-9)."),
		kind("shim_killed", 4, residentKilled(true), "The shim of an agent is killed (-9)."),
		kind("shim_paused", 4, shimPaused,
			"The shim of an agent is stopped (SIGSTOP) for 0.5 to 3 TTL; the agent is not."),

		kind("orders_delayed", 5, ordersDelayed,
			"What passes between a host and the servers is late by up to a third of the TTL in each "+
				"direction, for 0.5 to 2 TTL."),
		kind("orders_dropped", 6, ordersDropped,
			"What servers send to a host is lost together with its connections, three times, each time "+
				"while an agent is started."),
		kind("connections_broken", 5, connectionsBroken,
			"All connections of a host are broken off, 3 to 10 times within seconds."),
		kind("second_daemon", 3, secondDaemon,
			"A second agentd is started on the data directory of a running one, and must end by itself."),
		kind("host_cloned", 4, hostCloned,
			"Another machine runs agentd with a copy of a host's data directory for 0.5 to 4 TTL, 6 s at most, while "+
				"the host runs or is cut off."),
	}
}

// healHosts sees to it that every host runs its agentd, and all that is on it.
func healHosts(f *Field) error {
	var errs []error
	for _, h := range f.Stand.Hosts {
		if err := h.ContinueAll(); err != nil && !errors.Is(err, stand.ErrDown) {
			errs = append(errs, err)
		}
		select {
		case <-h.Process.Done():
			errs = append(errs, h.Start())
		default:
		}
	}
	return errors.Join(errs...)
}

// ordered tells of the next start that is ordered on a host, within milliseconds: the
// channel gets the agent's name. Call done when nobody waits any more.
func (f *Field) ordered(ctx context.Context, h *stand.Host) (agent <-chan string, done func()) {
	c := make(chan string, 1)
	ctx, done = context.WithCancel(ctx)
	call, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	st, err := f.Cluster.Status(call, &vigilv1.StatusRequest{})
	if err != nil {
		return c, done // no leader at the moment: nothing is ordered
	}
	stream, err := f.Fleet.WatchEvents(ctx, &vigilv1.WatchEventsRequest{After: st.GetLastEvent()})
	if err != nil {
		return c, done
	}
	go func() { // it ends with ctx
		for {
			e, err := stream.Recv()
			if err != nil {
				return
			}
			if e.GetKind() == "order.start" && e.GetHost() == h.Name {
				c <- e.GetAgent()
				return
			}
		}
	}()
	return c, done
}

// within waits for an agent's name, but not for ever.
func within(ctx context.Context, names <-chan string, limit time.Duration) string {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case name := <-names:
		return name
	case <-timer.C:
	case <-ctx.Done():
	}
	return ""
}

// provoke restarts agents of a host and gives one whose start was ordered there this
// moment, or "".
func (f *Field) provoke(ctx context.Context, h *stand.Host, r *rand.Rand) string {
	ordered, done := f.ordered(ctx, h)
	defer done()
	names := f.AgentsOn(ctx, h)
	slices.Sort(names)
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	f.restart(ctx, names[:min(len(names), 2)]...)
	return within(ctx, ordered, 2*time.Second)
}

// restart has agents restarted, where that is possible at the moment.
func (f *Field) restart(ctx context.Context, agents ...string) {
	for _, name := range agents {
		call, cancel := context.WithTimeout(ctx, time.Second)
		_, _ = f.Fleet.RestartAgent(call, &vigilv1.RestartAgentRequest{Agent: name, By: "nemesis"})
		cancel()
	}
}

// killOne kills an agent of a host and gives one whose start was ordered there then,
// or "".
func (f *Field) killOne(ctx context.Context, h *stand.Host, r *rand.Rand, t *Touched) string {
	one, err := f.Resident(h, r, false)
	if err != nil {
		return ""
	}
	ordered, done := f.ordered(ctx, h)
	defer done()
	defer t.BeginAgent(history.Killed, h.Name, one.Agent)()
	_ = h.Signal(one.PID, syscall.SIGKILL) // it may have ended by now
	return within(ctx, ordered, time.Second)
}

// phase asks how far the cluster believes the start of an agent to be.
func (f *Field) phase(ctx context.Context, agent string) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	a, err := f.Fleet.GetAgent(ctx, &vigilv1.GetAgentRequest{Agent: agent})
	if err != nil {
		return "unknown"
	}
	switch p := a.GetAgent().GetProcess(); p {
	case "ordered", "accepted":
		return p
	case "running":
		return "just_started"
	}
	return "between_lives"
}
