//go:build linux

package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"vigil/jepsen/history"
	"vigil/jepsen/stand"
)

// running is the phase of what strikes a host at work.
const running = "running"

// agentdEndLimit is how long an agentd that leaves its agents may take to end.
const agentdEndLimit = time.Minute

var agentdKilled = onHost(func(ctx context.Context, f *Field, h *stand.Host, r *rand.Rand,
	t *Touched) (string, string, error) {
	agent, phase := "", running
	if r.IntN(2) == 0 {
		if agent = f.provoke(ctx, h, r); agent != "" {
			// Between the order and the report of the start.
			f.Pause(ctx, time.Duration(r.IntN(60_000))*time.Microsecond)
		}
	}
	span := f.Span(r, 0, 1.5)
	defer t.Begin(history.Away, h.Name)()
	if err := h.Kill(); err != nil {
		return phase, "", err
	}
	f.Pause(ctx, span)
	if agent != "" {
		phase = f.phase(ctx, agent)
	}
	return phase, "for " + round(span), h.Start()
})

var agentdKilledInStorm = onHost(func(ctx context.Context, f *Field, h *stand.Host, r *rand.Rand,
	t *Touched) (string, string, error) {
	f.restart(ctx, f.AgentsOn(ctx, h)...)
	n := 1 + r.IntN(4)
	defer t.Begin(history.Away, h.Name)()
	for range n {
		f.Pause(ctx, time.Duration(r.IntN(700))*time.Millisecond)
		if err := h.Kill(); err != nil {
			return "storm", "", err
		}
		if err := h.Start(); err != nil {
			return "storm", "", err
		}
	}
	return "storm", fmt.Sprintf("%d times", n), nil
})

var agentdStopped = onHost(func(ctx context.Context, f *Field, h *stand.Host, r *rand.Rand,
	t *Touched) (string, string, error) {
	span := f.Span(r, 0.5, 3)
	defer t.Begin(history.Away, h.Name)() // not Stopped: its shims run, and nothing is excused
	if err := h.Signal(h.Process.PID, syscall.SIGSTOP); err != nil {
		return running, "", err
	}
	f.Pause(ctx, span)
	return running, "for " + round(span), h.Signal(h.Process.PID, syscall.SIGCONT)
})

// agentdRestarted is an upgrade.
var agentdRestarted = onHost(func(ctx context.Context, f *Field, h *stand.Host, r *rand.Rand,
	t *Touched) (string, string, error) {
	span := f.Span(r, 0, 1)
	defer t.Begin(history.Away, h.Name)()
	byItself, err := h.Process.End(ctx, agentdEndLimit)
	switch {
	case err != nil:
		return running, "", err
	case !byItself && ctx.Err() == nil:
		return running, "", fmt.Errorf("agentd of %s does not end within %s of SIGTERM", h.Name, agentdEndLimit)
	}
	f.Pause(ctx, span)
	return running, "for " + round(span), h.Start()
})

var hostAllKilled = onHost(func(ctx context.Context, f *Field, h *stand.Host, r *rand.Rand,
	t *Touched) (string, string, error) {
	span := f.Span(r, 0, 2)
	defer t.Begin(history.Killed, h.Name)()
	if err := h.KillAll(); err != nil {
		return running, "", err
	}
	if err := h.Kill(); err != nil { // it waits for the end
		return running, "", err
	}
	f.Pause(ctx, span)
	return running, "for " + round(span), h.Start()
})

var hostPowerOff = onHost(func(ctx context.Context, f *Field, h *stand.Host, r *rand.Rand,
	t *Touched) (string, string, error) {
	span := f.Span(r, 0, 3)
	defer t.Begin(history.Killed, h.Name)()
	if err := h.PowerOff(); err != nil {
		return running, "", err
	}
	f.Pause(ctx, span)
	if err := h.On(); err != nil {
		return running, "", err
	}
	return running, "for " + round(span), h.Start()
})

// hostPaused stops everything on the host for so many TTLs.
func hostPaused(from, to float64) strike {
	return onHost(func(ctx context.Context, f *Field, h *stand.Host, r *rand.Rand, t *Touched) (string, string, error) {
		span := f.Span(r, from, to)
		defer t.Begin(history.Stopped, h.Name)()
		if err := h.StopAll(); err != nil {
			return running, "", err
		}
		f.Pause(ctx, span)
		return running, "for " + round(span), h.ContinueAll()
	})
}

// residentKilled kills an agent, or its shim.
func residentKilled(shim bool) strike {
	return onHost(func(_ context.Context, f *Field, h *stand.Host, r *rand.Rand, t *Touched) (string, string, error) {
		one, err := f.Resident(h, r, shim)
		if err != nil {
			return running, "", err
		}
		pid := one.PID
		if shim {
			pid = one.Shim
		}
		defer t.BeginAgent(history.Killed, h.Name, one.Agent)()
		_ = h.Signal(pid, syscall.SIGKILL) // it may have ended by now
		return running, one.Agent, nil
	})
}

var shimPaused = onHost(func(ctx context.Context, f *Field, h *stand.Host, r *rand.Rand,
	t *Touched) (string, string, error) {
	one, err := f.Resident(h, r, true)
	if err != nil {
		return running, "", err
	}
	span := f.Span(r, 0.5, 3)
	end := t.BeginAgent(history.Stopped, h.Name, one.Agent)
	defer end()
	if h.Signal(one.Shim, syscall.SIGSTOP) != nil { // it has ended by now
		return running, "", ErrNobody
	}
	f.Pause(ctx, span)
	_ = h.Signal(one.Shim, syscall.SIGCONT) // it may have been killed
	return running, one.Agent + " for " + round(span), nil
})
