package agentd

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"time"

	"vigil/rpc/gen/vigilv1"
)

// lookAtMemory is the time between two looks at the memory.
const lookAtMemory = time.Second

// pressure is why this host takes no orders at the moment.
type pressure struct {
	reason   string // empty: it takes them
	due      time.Duration
	told     bool // the cluster knows; what an earlier agentd said is unknown
	underway bool
	failing  bool // the memory cannot be read
}

// weigh looks at the memory when that is due, tells the cluster of a change, and
// says when to look again.
func (k *keeper) weigh(now time.Duration) time.Duration {
	p, floor := &k.pressure, k.config.MinFreeMemory
	if floor != 0 && now >= p.due {
		p.due = now + lookAtMemory
		available, err := k.config.Memory()
		switch {
		case err != nil && !p.failing:
			p.failing = true
			k.log.Warn("available memory cannot be read: min_free_memory has no effect", "error", err)
		case err != nil:
		case p.reason == "" && available < floor:
			p.reason, p.told = fmt.Sprintf("is short of memory: %d MiB are available, %d MiB are wanted", available>>20, floor>>20), false
			k.log.Warn("this host takes no orders: it is short of memory", "available_mib", available>>20, "wanted_mib", floor>>20)
		case p.reason != "" && available >= floor+floor/4: // a gap, so that it does not flap
			p.reason, p.told = "", false
			k.log.Info("this host takes orders again", "available_mib", available>>20)
		}
	}
	if !p.told && !p.underway && k.entry.registered {
		k.tellPressure()
	}
	return longestNap
}

// tellPressure reports what the keeper believes by now. What cannot be delivered is
// told with the next look.
func (k *keeper) tellPressure() {
	request := &vigilv1.ReportPressureRequest{Host: k.entry.host, Boot: k.boot, Reason: k.pressure.reason}
	k.pressure.underway = true
	k.spawn(func() {
		ctx, cancel := context.WithTimeout(k.ctx, attemptLimit)
		defer cancel()
		_, err := k.host.ReportPressure(ctx, request)
		k.send(func() {
			k.pressure.underway = false
			k.pressure.told = k.pressure.reason == request.GetReason() && (err == nil || refused(err))
		})
	})
}

// availableMemory reads MemAvailable: what new programs can have without swapping.
func availableMemory() (uint64, error) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, fmt.Errorf("read available memory: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var kib uint64
		if n, _ := fmt.Sscanf(lines.Text(), "MemAvailable: %d kB", &kib); n == 1 {
			return kib << 10, nil
		}
	}
	return 0, fmt.Errorf("read available memory: /proc/meminfo has no line MemAvailable (%v)", lines.Err())
}
