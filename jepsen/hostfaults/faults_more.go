//go:build linux

package hostfaults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"
	"time"

	"vigil/jepsen/stand"
	"vigil/rpc/gen/vigilv1"
)

// ordersDelayed makes everything between agentd, agents and servers late.
func ordersDelayed(d *driver, ctx context.Context, h *stand.Host, r *rand.Rand) (string, error) {
	late := func() time.Duration { return time.Duration(r.IntN(int(d.TTL / 3))) }
	d.stand.Wires.Cast(h.Machine, stand.Spell{DelayIn: late(), DelayOut: late()})
	d.provoke(ctx, h, r)
	pause(ctx, d.span(r, 0.5, 2))
	d.stand.Wires.Cast(h.Machine, stand.Spell{})
	return "running", nil
}

// ordersDropped loses what the servers sent to the host, orders and answers, so
// that both sides say again what they have said.
func ordersDropped(d *driver, ctx context.Context, h *stand.Host, r *rand.Rand) (string, error) {
	phase := "running"
	for i := range 3 {
		agent := d.provoke(ctx, h, r)
		pause(ctx, time.Duration(r.IntN(40_000))*time.Microsecond)
		d.stand.Wires.Cast(h.Machine, stand.Spell{HoldIn: true})
		if agent != "" && i == 0 {
			phase = d.phase(ctx, agent)
		}
		pause(ctx, d.span(r, 0.02, 0.4))
		d.stand.Wires.Break(h.Machine)
		d.stand.Wires.Cast(h.Machine, stand.Spell{})
		pause(ctx, d.span(r, 0, 0.3))
	}
	return phase, nil
}

// connectionsBroken loses what is on its way in both directions, often.
func connectionsBroken(d *driver, ctx context.Context, h *stand.Host, r *rand.Rand) (string, error) {
	d.provoke(ctx, h, r)
	for range 3 + r.IntN(8) {
		d.stand.Wires.Break(h.Machine)
		pause(ctx, time.Duration(r.IntN(300))*time.Millisecond)
	}
	return "running", nil
}

// secondDaemon starts an agentd on a data directory that has one: it must end by
// itself and change nothing.
func secondDaemon(d *driver, ctx context.Context, h *stand.Host, _ *rand.Rand) (string, error) {
	p, err := h.StartBeside("second")
	if err != nil {
		return "", err
	}
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	select {
	case <-p.Done():
		if p.Code() > 0 {
			return "running", nil
		}
	case <-ctx.Done():
		return "", p.Kill()
	case <-limit.C:
	}
	d.mu.Lock()
	d.result.Daemons++
	d.result.Evidence = append(d.result.Evidence, "a second agentd was let into the data directory of "+h.Name)
	d.mu.Unlock()
	return "running", p.Kill()
}

// hostCloned starts another machine with a copy of the host's data directory, while
// the host runs or is cut off.
func hostCloned(d *driver, ctx context.Context, h *stand.Host, r *rand.Rand) (phase string, err error) {
	d.clone.Lock()
	defer d.clone.Unlock()
	c, err := d.stand.NewHost("clone", 41)
	if err != nil {
		return "", err
	}
	if err := os.RemoveAll(c.Data); err != nil {
		return "", fmt.Errorf("remove copy: %w", err)
	}
	// What ends while it is copied is left out.
	_ = exec.Command("cp", "-a", h.Data, c.Data).Run()
	if err := c.On(); err != nil {
		return "", err
	}
	defer func() {
		if e := c.PowerOff(); err == nil {
			err = e
		}
	}()
	phase = "running"
	if r.IntN(2) == 0 {
		phase = "cut_off"
		if err := h.Cut(stand.Both); err != nil {
			return "", err
		}
	}
	if err := c.Start(); err != nil {
		return "", err
	}
	pause(ctx, d.span(r, 0.5, 4))
	if phase == "cut_off" {
		if err := h.Heal(); err != nil {
			return "", err
		}
		pause(ctx, d.span(r, 0, 2))
	}
	return phase, nil
}

// troubleServers kills and stops servers, one at a time, while the hosts have their
// faults.
func (d *driver) troubleServers(ctx context.Context, r *rand.Rand, until <-chan struct{}) error {
	for {
		timer := time.NewTimer(d.span(r, 3, 10))
		select {
		case <-until:
			timer.Stop()
			return nil
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		sv := d.stand.Servers[r.IntN(len(d.stand.Servers))]
		kind := "server_killed"
		if r.IntN(2) == 0 {
			if lead := d.leader(ctx); lead != nil {
				sv, kind = lead, "leader_killed"
			}
		}
		if r.IntN(3) == 0 {
			if err := sv.Signal(sv.Process.PID, syscall.SIGSTOP); err != nil {
				return err
			}
			pause(ctx, d.span(r, 0.2, 2))
			if err := sv.Signal(sv.Process.PID, syscall.SIGCONT); err != nil {
				return err
			}
			d.count("server_stopped", "running")
			continue
		}
		if err := sv.Kill(); err != nil {
			return err
		}
		pause(ctx, d.span(r, 0, 1))
		if err := sv.Start(); err != nil {
			return err
		}
		d.count(kind, "running")
	}
}

// leader finds the server that leads, nil when nobody says so.
func (d *driver) leader(ctx context.Context) *stand.Server {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	st, err := d.ask.Status(ctx, &vigilv1.StatusRequest{Stale: true})
	if err != nil {
		return nil
	}
	for _, sv := range d.stand.Servers {
		if sv.Name == st.GetLeader() {
			return sv
		}
	}
	return nil
}
