//go:build linux

package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"time"

	"vigil/jepsen/history"
	"vigil/jepsen/stand"
)

// firstClone is the last number of the address of the clone of the first host.
const firstClone = 200

// secondDaemon starts an agentd on a data directory that has one: it must end by
// itself and change nothing.
var secondDaemon = onHost(func(ctx context.Context, _ *Field, h *stand.Host, _ *rand.Rand,
	t *Touched) (string, string, error) {
	p, err := h.StartBeside("second")
	if err != nil {
		return running, "", err
	}
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	select {
	case <-p.Done():
		if p.Code() > 0 {
			return running, fmt.Sprintf("it ended with code %d", p.Code()), nil
		}
	case <-ctx.Done():
		return running, "", p.Kill()
	case <-limit.C:
	}
	t.Broke(fmt.Sprintf("a second agentd was let into the data directory of %s, which has one", h.Name))
	return running, "", p.Kill()
})

// hostCloned starts another machine with a copy of the host's data directory, while
// the host runs or is cut off.
var hostCloned = onHost(func(ctx context.Context, f *Field, h *stand.Host, r *rand.Rand,
	t *Touched) (phase, detail string, err error) {
	phase = running
	c, err := f.Stand.NewHost("clone-"+h.Name, firstClone+slices.Index(f.Stand.Hosts, h))
	if err != nil {
		return phase, "", err
	}
	if err := os.RemoveAll(c.Data); err != nil {
		return phase, "", fmt.Errorf("remove copy: %w", err)
	}
	// What ends while it is copied is left out.
	_ = exec.Command("cp", "-a", h.Data, c.Data).Run()
	if err := c.On(); err != nil {
		return phase, "", err
	}
	defer func() { err = errors.Join(err, c.PowerOff()) }()
	// A copy that was let in renews the certificate 10 s after its start, and then a human has to say which of the two
	// is the host: it is away before.
	off, span, back := r.IntN(2) == 0, min(f.Span(r, 0.5, 4), 6*time.Second), min(f.Span(r, 0, 2), 2*time.Second)
	if off {
		phase = "cut_off"
		defer t.Begin(history.Cut, h.Name)()
		defer func() { err = errors.Join(err, h.Heal()) }()
		if err := h.Cut(stand.Both); err != nil {
			return phase, "", err
		}
	}
	// What runs on the clone is killed when it is switched off.
	defer t.Begin(history.Killed, c.Name)()
	if err := c.Start(); err != nil {
		return phase, "", err
	}
	f.Pause(ctx, span)
	if off {
		if err := h.Heal(); err != nil {
			return phase, "", err
		}
		f.Pause(ctx, back)
	}
	return phase, "for " + round(span), nil
})
