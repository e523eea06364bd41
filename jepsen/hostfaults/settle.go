//go:build linux

package hostfaults

import (
	"context"
	"fmt"
	"strings"
	"time"

	"vigil/jepsen/ledger"
	"vigil/rpc/gen/vigilv1"
)

// settle waits until every declared agent runs once, as the ledger and the cluster
// agree. After bound it notes what is missing; after a few times that it gives up.
func (d *driver) settle(ctx context.Context, bound time.Duration, when string) error {
	began := time.Now()
	noted := false
	for {
		faults := d.look(ctx)
		took := time.Since(began)
		if len(faults) == 0 {
			d.result.slowest = max(d.result.slowest, took)
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if took > bound && !noted {
			noted = true
			d.result.Missing += len(faults)
			d.result.Evidence = append(d.result.Evidence, fmt.Sprintf("%s %s: %s", when, took, strings.Join(faults, "; ")))
			d.Say("MISSING %s %s: %s", when, took, strings.Join(faults, "; "))
		}
		if took > 4*bound {
			return fmt.Errorf("%s: not everything runs after %s: %s", when, took, strings.Join(faults, "; "))
		}
		d.field.Pause(ctx, 200*time.Millisecond)
	}
}

// look says what does not run as it should.
func (d *driver) look(ctx context.Context) (faults []string) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	list, err := d.fleet.ListAgents(ctx, &vigilv1.ListAgentsRequest{Room: room})
	if err != nil {
		return []string{fmt.Sprintf("agents cannot be listed: %v", err)}
	}
	lives, err := ledger.Running(d.stand.Ledger.Folder, time.Second)
	if err != nil {
		return []string{err.Error()}
	}
	running := map[string][]*ledger.Life{}
	for _, l := range lives {
		running[l.Agent] = append(running[l.Agent], l)
	}
	if len(list.GetAgents()) != d.Fenced+d.Fast {
		faults = append(faults, fmt.Sprintf("%d agents are declared, not %d", len(list.GetAgents()), d.Fenced+d.Fast))
	}
	for _, a := range list.GetAgents() {
		now := running[a.GetName()]
		say := func(what string) {
			faults = append(faults, fmt.Sprintf("%s %s (the cluster: incarnation %d, %s, %s, on %s, %s)", a.GetName(), what,
				a.GetIncarnationRaw(), a.GetProcess(), a.GetParticipant(), a.GetHost(), a.GetWhy()))
		}
		switch {
		case len(now) == 0:
			say("does not run")
		case len(now) > 1:
			say(fmt.Sprintf("runs %d times", len(now)))
		case now[0].Incarnation != a.GetIncarnationRaw():
			say(fmt.Sprintf("runs as incarnation %d", now[0].Incarnation))
		case a.GetProcess() != "running" || a.GetParticipant() == "DISCONNECTED":
			say("runs, but is not at work")
		}
	}
	return faults
}

// outage takes all servers away for 5 TTL: every agent must go on in its life.
func (d *driver) outage(ctx context.Context) error {
	before, err := d.incarnations(ctx)
	if err != nil {
		return err
	}
	for _, sv := range d.stand.Servers {
		if err := sv.Kill(); err != nil {
			return err
		}
	}
	d.field.Pause(ctx, 5*d.TTL)
	for _, sv := range d.stand.Servers {
		if err := sv.Start(); err != nil {
			return err
		}
	}
	if err := d.settle(ctx, d.Bound, "after the outage of all servers"); err != nil {
		return err
	}
	after, err := d.incarnations(ctx)
	if err != nil {
		return err
	}
	for agent, inc := range before {
		if after[agent] != inc {
			d.result.Replaced++
			d.result.Evidence = append(d.result.Evidence, fmt.Sprintf("L10: the outage of all servers ended life %d of %s: it is %d now", inc, agent, after[agent]))
		}
	}
	d.result.count("servers_all_down", "running")
	return nil
}

func (d *driver) incarnations(ctx context.Context) (map[string]uint64, error) {
	list, err := d.fleet.ListAgents(ctx, &vigilv1.ListAgentsRequest{Room: room})
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	found := map[string]uint64{}
	for _, a := range list.GetAgents() {
		found[a.GetName()] = a.GetIncarnationRaw()
	}
	return found, nil
}
