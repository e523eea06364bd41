package agentd

import (
	"context"
	"fmt"
	"time"

	"vigil/rpc/gen/vigilv1"
)

// entry is this host's registration.
type entry struct {
	host       uint32
	ttl        time.Duration
	registered bool
	wanted     bool
	underway   bool
	due        time.Duration
	pauses     backoff
}

// enroll asks for a (new) registration.
func (k *keeper) enroll() {
	if !k.entry.wanted {
		k.entry.wanted = true
		k.entry.due = 0
	}
}

// register introduces the host with what really runs on it, when that is wanted
// and due, and says when to look again.
func (k *keeper) register(now time.Duration) time.Duration {
	if !k.entry.wanted || k.entry.underway || k.leave {
		return longestNap
	}
	if now < k.entry.due {
		return k.entry.due - now
	}
	request := &vigilv1.RegisterRequest{Key: k.key, Name: k.config.Name, Boot: k.boot, Version: k.config.Version,
		Runners: k.runners.Names(), Labels: k.config.Labels, Capacity: k.config.Capacity,
		Taken: uint64(max(now, 1))}
	for _, l := range k.lives {
		if !l.covered() {
			// The cluster may take it for accepted and, since it is not in the inventory,
			// for gone. A beat will tell.
			l.confirm = true
			continue
		}
		running := &vigilv1.RunningAgent{Agent: l.agent, Incarnation: l.inc}
		if l.process != nil {
			running.Pid = uint32(l.process.PID())
		}
		request.Inventory = append(request.Inventory, running)
	}
	k.entry.underway = true
	k.spawn(func() {
		ctx, cancel := context.WithTimeout(k.ctx, attemptLimit)
		defer cancel()
		answer, err := k.host.Register(ctx, request)
		k.send(func() { k.enrolled(answer, err) })
	})
	return longestNap
}

func (k *keeper) enrolled(answer *vigilv1.RegisterResponse, err error) {
	k.entry.underway = false
	if err != nil {
		k.entry.due = k.config.Clock() + k.entry.pauses.pause()
		level := k.log.Warn
		if codeOf(err) == "invalid" || codeOf(err) == "unimplemented" {
			level = k.log.Error
			if !k.entry.registered {
				k.fail(fmt.Errorf("register host: %w", err))
			}
		}
		level("registration failed, trying again", "code", codeOf(err), "error", err)
		return
	}
	moved := k.entry.registered && k.entry.host != answer.GetHost()
	k.entry.host, k.entry.ttl = answer.GetHost(), answer.GetTtl().AsDuration()
	if k.entry.ttl <= 0 {
		k.entry.ttl = defaultTTL
	}
	k.entry.registered, k.entry.wanted = true, false
	k.entry.pauses.reset()
	k.log.Info("host registered", "host", k.entry.host, "ttl", k.entry.ttl, "agents", len(k.lives))
	k.outbox.speakFor(k.entry.host)
	k.stream.speakFor(k.entry.host, moved)
	k.beats.now()
}

// fail ends the daemon: what happened will not get better by itself.
func (k *keeper) fail(err error) {
	select {
	case k.fatal <- err:
	default:
	}
}
