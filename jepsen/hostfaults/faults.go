//go:build linux

package hostfaults

import (
	"context"
	"errors"
	"math/rand/v2"
	"syscall"
	"time"

	"vigil/jepsen/ledger"
	"vigil/jepsen/stand"
	"vigil/rpc/gen/vigilv1"
)

// fault is one kind of fault. strike lets it loose, waits and undoes it, and says
// in which phase the host, or the agent that was being started there, was struck.
type fault struct {
	kind   string
	weight int
	strike func(*driver, context.Context, *stand.Host, *rand.Rand) (phase string, err error)
}

// faults are all kinds. The first three are the ones that partitions are made of,
// and come most often.
var faults = []fault{
	{"cut_both_ways", 20, cut(stand.Both)},
	{"cut_towards_host", 12, cut(stand.Cut{In: true})},
	{"cut_from_host", 12, cut(stand.Cut{Out: true})},
	{"cut_udp", 3, cut(stand.Cut{In: true, Out: true, UDP: true})},
	{"cut_gossip", 3, cut(stand.Cut{In: true, Out: true, Gossip: true})},
	{"cut_api", 5, cut(stand.Cut{In: true, Out: true, API: true})},
	{"agentd_killed", 10, agentdKilled},
	{"agentd_killed_in_storm", 8, agentdKilledInStorm},
	{"agentd_stopped", 4, agentdStopped},
	{"agentd_restarted", 4, agentdRestarted},
	{"all_killed", 6, allKilled},
	{"power_off", 4, powerOff},
	{"host_paused", 5, hostPaused(1, 4)},
	{"host_paused_10_ttl", 1, hostPaused(10, 10)},
	{"agent_killed", 3, residentKilled(false)},
	{"shim_killed", 4, residentKilled(true)},
	{"shim_paused", 4, shimPaused},
	{"orders_delayed", 5, ordersDelayed},
	{"orders_dropped", 6, ordersDropped},
	{"connections_broken", 5, connectionsBroken},
	{"second_daemon", 3, secondDaemon},
	{"host_cloned", 4, hostCloned},
}

func choose(r *rand.Rand) *fault {
	sum := 0
	for i := range faults {
		sum += faults[i].weight
	}
	n := r.IntN(sum)
	for i := range faults {
		if n -= faults[i].weight; n < 0 {
			return &faults[i]
		}
	}
	panic("the weights do not add up")
}

// cut takes packets away: while agents run, while one is being started, or while
// the host comes back from an earlier cut.
func cut(c stand.Cut) func(*driver, context.Context, *stand.Host, *rand.Rand) (string, error) {
	return func(d *driver, ctx context.Context, h *stand.Host, r *rand.Rand) (string, error) {
		phase := "running"
		hold := stand.Spell{HoldIn: c.In, HoldOut: c.Out}
		if c.UDP || c.Gossip {
			hold = stand.Spell{}
		}
		agent := ""
		switch r.IntN(4) {
		case 0:
			if agent = d.provoke(ctx, h, r); agent != "" {
				// From before the order is delivered until after the start is reported.
				pause(ctx, time.Duration(r.IntN(40_000))*time.Microsecond)
			}
		case 1:
			phase = "returning"
			if err := h.Cut(stand.Both); err != nil {
				return "", err
			}
			pause(ctx, d.span(r, 1.1, 2.5))
			if err := h.Heal(); err != nil {
				return "", err
			}
			pause(ctx, d.span(r, 0, 0.6))
		case 2:
			// An agent has died, and the next order for it does not arrive any more.
			d.stand.Wires.Cast(h.Machine, stand.Spell{HoldIn: true})
			agent = d.kill(ctx, h, r)
		}
		// The wires hold at once; dropping packets takes some milliseconds to arrange.
		d.stand.Wires.Cast(h.Machine, hold)
		if err := h.Cut(c); err != nil {
			return "", err
		}
		if agent != "" {
			phase = d.phase(ctx, agent)
		}
		pause(ctx, d.span(r, 0.1, 2.5))
		err := h.Heal()
		if r.IntN(2) == 0 {
			d.stand.Wires.Break(h.Machine)
		}
		d.stand.Wires.Cast(h.Machine, stand.Spell{})
		return phase, err
	}
}

// provoke restarts agents of a host and gives one whose start was ordered there
// this moment, or "".
func (d *driver) provoke(ctx context.Context, h *stand.Host, r *rand.Rand) string {
	ordered := d.watch.next(h.Name)
	names := d.on(ctx, h)
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names[:min(len(names), 2)] {
		call, cancel := context.WithTimeout(ctx, time.Second)
		// Not possible at the moment: then nothing is ordered.
		_, _ = d.fleet.RestartAgent(call, &vigilv1.RestartAgentRequest{Agent: name, By: "hostfaults"})
		cancel()
	}
	return within(ctx, ordered, 2*time.Second)
}

// kill kills an agent of a host and gives one whose start was ordered there then,
// or "".
func (d *driver) kill(ctx context.Context, h *stand.Host, r *rand.Rand) string {
	one, err := resident(h, r, false)
	if err != nil {
		return ""
	}
	ordered := d.watch.next(h.Name)
	_ = h.Signal(one.PID, syscall.SIGKILL) // it may have ended by now
	return within(ctx, ordered, time.Second)
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

// phase asks how far the cluster believes the start of an agent to be.
func (d *driver) phase(ctx context.Context, agent string) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	a, err := d.fleet.GetAgent(ctx, &vigilv1.GetAgentRequest{Agent: agent})
	if err != nil {
		return "unknown"
	}
	if p := a.GetAgent().GetProcess(); p == "ordered" || p == "accepted" || p == "running" {
		if p == "running" {
			return "just_started"
		}
		return p
	}
	return "between_lives"
}

func agentdKilled(d *driver, ctx context.Context, h *stand.Host, r *rand.Rand) (string, error) {
	phase := "running"
	if r.IntN(2) == 0 {
		if agent := d.provoke(ctx, h, r); agent != "" {
			// Between the order and the report of the start.
			pause(ctx, time.Duration(r.IntN(60_000))*time.Microsecond)
			defer func() { phase = d.phase(ctx, agent) }()
		}
	}
	if err := h.Kill(); err != nil {
		return "", err
	}
	pause(ctx, d.span(r, 0, 1.5))
	return phase, h.Start()
}

// agentdKilledInStorm restarts everything on the host and kills agentd again and
// again meanwhile.
func agentdKilledInStorm(d *driver, ctx context.Context, h *stand.Host, r *rand.Rand) (string, error) {
	for _, name := range d.on(ctx, h) {
		call, cancel := context.WithTimeout(ctx, time.Second)
		_, _ = d.fleet.RestartAgent(call, &vigilv1.RestartAgentRequest{Agent: name, By: "hostfaults"}) // as in provoke
		cancel()
	}
	for range 1 + r.IntN(4) {
		pause(ctx, time.Duration(r.IntN(700))*time.Millisecond)
		if err := h.Kill(); err != nil {
			return "", err
		}
		if err := h.Start(); err != nil {
			return "", err
		}
	}
	return "storm", nil
}

func agentdStopped(d *driver, ctx context.Context, h *stand.Host, r *rand.Rand) (string, error) {
	if err := h.Signal(h.Process.PID, syscall.SIGSTOP); err != nil {
		return "", err
	}
	pause(ctx, d.span(r, 0.5, 3))
	return "running", h.Signal(h.Process.PID, syscall.SIGCONT)
}

// agentdRestarted is an upgrade: agentd ends in good order and leaves its agents.
func agentdRestarted(d *driver, ctx context.Context, h *stand.Host, r *rand.Rand) (string, error) {
	if err := h.Signal(h.Process.PID, syscall.SIGTERM); err != nil {
		return "", err
	}
	limit := time.NewTimer(d.Bound)
	defer limit.Stop()
	select {
	case <-h.Process.Done():
	case <-limit.C:
		return "", errors.New("agentd does not end after SIGTERM")
	}
	pause(ctx, d.span(r, 0, 1))
	return "running", h.Start()
}

func allKilled(d *driver, ctx context.Context, h *stand.Host, r *rand.Rand) (string, error) {
	if err := h.KillAll(); err != nil {
		return "", err
	}
	<-h.Process.Done()
	pause(ctx, d.span(r, 0, 2))
	return "running", h.Start()
}

func powerOff(d *driver, ctx context.Context, h *stand.Host, r *rand.Rand) (string, error) {
	if err := h.PowerOff(); err != nil {
		return "", err
	}
	pause(ctx, d.span(r, 0, 3))
	if err := h.On(); err != nil {
		return "", err
	}
	return "running", h.Start()
}

// hostPaused stops everything on the host for so many TTLs, as a suspended machine.
func hostPaused(from, to float64) func(*driver, context.Context, *stand.Host, *rand.Rand) (string, error) {
	return func(d *driver, ctx context.Context, h *stand.Host, r *rand.Rand) (string, error) {
		began := ledger.Now()
		if err := h.StopAll(); err != nil {
			return "", err
		}
		pause(ctx, d.span(r, from, to))
		err := h.ContinueAll()
		d.paused(ledger.Pause{Host: h.Name, From: began, To: ledger.Now()})
		return "running", err
	}
}

func (d *driver) paused(p ledger.Pause) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pauses = append(d.pauses, p)
}

// resident picks an agent on the host.
func resident(h *stand.Host, r *rand.Rand, shim bool) (stand.Resident, error) {
	list, err := h.Residents()
	if err != nil {
		return stand.Resident{}, err
	}
	if len(list) == 0 {
		return stand.Resident{}, errNobody
	}
	one := list[r.IntN(len(list))]
	if shim && one.Shim == 0 {
		return one, errNobody
	}
	return one, nil
}

func residentKilled(shim bool) func(*driver, context.Context, *stand.Host, *rand.Rand) (string, error) {
	return func(_ *driver, _ context.Context, h *stand.Host, r *rand.Rand) (string, error) {
		one, err := resident(h, r, shim)
		switch {
		case errors.Is(err, errNobody):
			return "nobody_there", nil
		case err != nil:
			return "", err
		}
		pid := one.PID
		if shim {
			pid = one.Shim
		}
		_ = h.Signal(pid, syscall.SIGKILL) // it may have ended by now
		return "running", nil
	}
}

func shimPaused(d *driver, ctx context.Context, h *stand.Host, r *rand.Rand) (string, error) {
	one, err := resident(h, r, true)
	switch {
	case errors.Is(err, errNobody):
		return "nobody_there", nil
	case err != nil:
		return "", err
	}
	began := ledger.Now()
	if h.Signal(one.Shim, syscall.SIGSTOP) != nil {
		return "nobody_there", nil
	}
	pause(ctx, d.span(r, 0.5, 3))
	_ = h.Signal(one.Shim, syscall.SIGCONT) // it may have been killed
	d.paused(ledger.Pause{Host: h.Name, Agent: one.Agent, From: began, To: ledger.Now()})
	return "running", nil
}
