package agentd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"vigil/rpc/client"
	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

// maxWarnings is how many warnings the cluster keeps of a host.
const maxWarnings = 32

// entry is this host's registration.
type entry struct {
	host       uint32
	ttl        time.Duration
	registered bool
	wanted     bool
	inUse      bool // refused, and said so
	// unproven: a beat must be answered first, see proveFirst.
	unproven bool
	underway bool
	due      time.Duration
	pauses   backoff
}

// enroll asks for a (new) registration.
func (k *keeper) enroll() {
	if !k.entry.wanted {
		k.entry.wanted = true
		k.entry.due = 0
		k.proveFirst()
	}
}

// proveFirst has a beat answered before the host registers. A registration puts a
// lost host back into service, and the planner would replace at once those of its
// lives whose fences have ended meanwhile; a beat takes them up in the very entry
// that brings the host back (law L10). So a daemon that never lives until its first
// beat after the registration keeps their fences too.
func (k *keeper) proveFirst() {
	if k.entry.host != 0 && len(k.lives) > 0 {
		k.entry.unproven = true
		k.beats.now()
	}
}

// recall begins with the number that the host had, so that its first word can be a
// beat. It is checked by the cluster, like that of any beat.
func (k *keeper) recall() {
	if k.entry.host = k.data.registered(k.boot); k.entry.host != 0 {
		k.entry.ttl = defaultTTL // until an answer says better
	}
	k.proveFirst()
}

// register introduces the host with what really runs on it, when that is wanted
// and due, and says when to look again.
func (k *keeper) register(now time.Duration) time.Duration {
	if !k.entry.wanted || k.entry.underway || k.entry.unproven || k.exit.how >= closing {
		return longestNap
	}
	if now < k.entry.due {
		return k.entry.due - now
	}
	request := &vigilv1.RegisterRequest{Key: k.key, Name: k.config.Name, Boot: k.boot, Version: k.config.Version,
		Runners: k.runners.Names(), Labels: k.config.Labels, Capacity: k.config.Capacity,
		Taken: uint64(max(now, 1)), Warnings: k.warnings(), GossipAddr: k.gossipAddr(), Servers: k.servers.told(),
		Containment: string(k.containment)}
	ended := k.outbox.untold()
	for _, l := range k.lives {
		if !l.covered() {
			// The cluster may take it for accepted and, since it is not in the inventory,
			// for gone. A beat will tell.
			l.confirm = true
			continue
		}
		running := &vigilv1.RunningAgent{Agent: l.agent, Incarnation: l.inc}
		if l.process != nil {
			running.Pid = uint32(l.process.Started().PID)
		}
		request.Inventory = append(request.Inventory, running)
		delete(ended, l.agent) // older: the cluster has given it up
	}
	for agent, inc := range ended {
		// No beat follows: if its report never comes, its fence ends.
		request.Inventory = append(request.Inventory, &vigilv1.RunningAgent{Agent: agent, Incarnation: inc})
	}
	k.entry.underway = true
	k.spawn(func() {
		ctx, cancel := context.WithTimeout(k.ctx, attemptLimit)
		defer cancel()
		answer, err := k.host.Register(ctx, request)
		k.send(func() { k.enrolled(answer, err) })
		if err == nil { // afterwards: a disk that hangs holds up nothing
			if err := k.data.note(answer.GetHost(), request.GetBoot()); err != nil {
				k.log.Warn("the host's number cannot be noted: the next agentd registers before it beats", "error", err)
			}
		}
	})
	return longestNap
}

func (k *keeper) enrolled(answer *vigilv1.RegisterResponse, err error) {
	k.entry.underway = false
	if err != nil {
		k.entry.due = k.config.Clock() + k.entry.pauses.pause()
		k.registerFailed(err)
		return
	}
	moved := k.entry.registered && k.entry.host != answer.GetHost()
	k.entry.host, k.entry.ttl = answer.GetHost(), answer.GetTtl().AsDuration()
	if k.entry.ttl <= 0 {
		k.entry.ttl = defaultTTL
	}
	k.entry.registered, k.entry.wanted = true, false
	k.entry.pauses.reset()
	k.entry.inUse = false
	if k.pressure.reason != "" {
		k.pressure.told = false
	}
	k.log.Info("host registered", "host", k.entry.host, "ttl", k.entry.ttl, "agents", len(k.lives))
	k.tellAgain()
	k.outbox.speakFor(k.entry.host)
	k.stream.speakFor(k.entry.host, moved)
	k.beats.now()
	k.introduce(answer)
	if k.exit.how == draining {
		k.drainSelf(max(k.exit.until-k.config.Clock(), time.Second))
	}
}

// registerFailed judges a refusal. The host's id being in use is none for ever: the
// fences of its last boot may still run.
func (k *keeper) registerFailed(err error) {
	switch why := client.Code(err); {
	case why == code.HostInUse && !k.entry.inUse:
		k.entry.inUse = true
		k.log.Error("the host's id is in use: this is another boot of the host, or a copy of its data "+
			"directory. After a reboot it is "+
			"let in when the fences of its agents have ended; for a copy remove "+keyFile+" in "+
			k.data.path+" and start agentd again", "error", err)
	case why == code.HostInUse:
		k.log.Debug("the host's id is still in use", "error", err)
	case why == code.Invalid || why == code.Unimplemented:
		k.log.Error("registration failed", "code", why, "error", err)
		if !k.entry.registered {
			k.fail(fmt.Errorf("register host: %w", err))
		}
	default:
		k.log.Warn("registration failed, trying again", "code", why, "error", err)
	}
}

// fail ends the daemon: what happened will not get better by itself.
func (k *keeper) fail(err error) {
	select {
	case k.fatal <- err:
	default:
	}
}

// warnings are what people should know of this host: what the configuration found,
// and what the shims of its agents did.
func (k *keeper) warnings() []string {
	var letters []string
	if w := k.outbox.letters.warning(); w != "" {
		letters = []string{w}
	}
	all := slices.Concat(letters, k.config.Warnings, k.runners.Warnings(), slices.Sorted(maps.Keys(k.warned)))
	all = all[:min(len(all), maxWarnings)]
	for i := range all {
		all[i] = clip(all[i], maxReason)
	}
	return all
}
