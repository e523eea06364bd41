package agentd

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"vigil/agentd/disk"
	"vigil/rpc/client"
	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

// maxWarnings is how many warnings the cluster keeps of a host.
const maxWarnings = 32

// registration is the part that introduces this host to the cluster.
type registration struct {
	base
	member  *membership
	lives   *lives
	beats   *beats
	servers *servers
	outbox  *outbox
	gossip  Gossip           // nil: none
	taken   func(moved bool) // the cluster has taken the host; moved: under another number
	fatal   chan error       // holds one: the cluster will never take it

	offered  *offer // of the last request
	inUse    bool   // refused, and said so
	unknown  bool   // the same
	older    bool   // the same
	underway bool
	due      time.Duration
	pauses   backoff
}

// enroll asks for a (new) registration.
func (r *registration) enroll() {
	if !r.member.wanted {
		r.member.wanted = true
		r.due = 0
		r.proveFirst()
	}
}

// proveFirst has a beat answered before the host registers. A registration puts a
// lost host back into service, and the planner would replace at once those of its
// lives whose fences have ended meanwhile; a beat takes them up in the very entry
// that brings the host back (law L10). So a daemon that never lives until its first
// beat after the registration keeps their fences too.
func (r *registration) proveFirst() {
	if r.member.host != 0 && len(r.lives.all) > 0 {
		r.member.unproven = true
		r.beats.now()
	}
}

// recall begins with the number that the host had, so that its first word can be a
// beat. It is checked by the cluster, like that of any beat.
func (r *registration) recall() {
	if r.member.host = r.data.Registered(r.boot); r.member.host != 0 {
		r.member.ttl = defaultTTL // until an answer says better
	}
	r.proveFirst()
}

// look introduces the host with what really runs on it, when that is wanted
// and due, and says when to look again.
func (r *registration) look(now time.Duration) time.Duration {
	if !r.member.wanted || r.underway || r.member.unproven || r.lives.closing {
		return longestNap
	}
	if now < r.due {
		return r.due - now
	}
	r.offered = r.offers.get()
	request := &vigilv1.RegisterRequest{Key: r.key, Name: r.config.Name, Boot: r.boot, Version: r.config.Version,
		Runners: r.offered.Names(), Labels: r.offered.labels, Capacity: r.offered.capacity,
		Taken: uint64(max(now, 1)), Warnings: r.warnings(), GossipAddr: r.gossipAddr(), Servers: r.servers.told(),
		Containment: string(r.offered.containment)}
	ended := r.outbox.untold()
	for _, l := range r.lives.all {
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
	r.underway = true
	r.spawn(func() {
		ctx, cancel := context.WithTimeout(r.ctx, attemptLimit)
		defer cancel()
		answer, err := r.host.Register(ctx, request)
		r.send(func() { r.enrolled(answer, err) })
		if err == nil { // afterwards: a disk that hangs holds up nothing
			if err := r.data.Note(answer.GetHost(), request.GetBoot()); err != nil {
				r.log.Warn("the host's number cannot be noted: the next agentd registers before it beats", "error", err)
			}
		}
	})
	return longestNap
}

func (r *registration) enrolled(answer *vigilv1.RegisterResponse, err error) {
	r.underway = false
	if err != nil {
		r.due = r.config.Clock() + r.pauses.pause()
		r.failed(err)
		return
	}
	moved := r.member.registered && r.member.host != answer.GetHost()
	r.member.host, r.member.ttl = answer.GetHost(), answer.GetTtl().AsDuration()
	if r.member.ttl <= 0 {
		r.member.ttl = defaultTTL
	}
	r.member.registered, r.member.wanted = true, false
	r.pauses.reset()
	r.inUse, r.unknown, r.older = false, false, false
	r.log.Info("host registered", "host", r.member.host, "ttl", r.member.ttl, "agents", len(r.lives.all))
	r.taken(moved)
	r.beats.now()
	r.introduce(answer)
	if r.offered != r.offers.get() { // replaced while the request was on its way
		r.enroll()
	}
}

// failed judges a refusal. The host's id being in use is none for ever: the
// fences of its last boot may still run, and its stream is not silent at once.
func (r *registration) failed(err error) {
	switch why := client.Code(err); {
	case why == code.HostInUse && !r.inUse:
		r.inUse = true
		r.log.Error("the host's id is in use: this is another boot of the host, or a copy of its data "+
			"directory. After a reboot it is let in when the fences of its agents have ended and its last boot is silent; "+
			"for a copy remove "+disk.KeyFile+" in "+r.data.Path+" and start agentd again", "error", err)
	case why == code.HostInUse:
		r.log.Debug("the host's id is still in use", "error", err)
	case why == code.Superseded && !r.older:
		// Of this process only one call is under way, so what is newer than the clock says was sent before
		// the clock went back, or by a clone: agentd cannot tell, and gives no later time.
		r.older = true
		r.log.Error("the cluster has a newer inventory of this boot of the host: its clock went back, as when a virtual "+
			"machine is reverted to a snapshot in which it ran, or the running machine was cloned. Nothing is started here "+
			"until it is rebooted; a clone needs a data directory of its own, too", "error", err)
	case why == code.Superseded:
		r.log.Debug("the cluster still has a newer inventory of this boot", "error", err)
	case why == code.AuthDenied && !r.unknown:
		r.unknown = true
		r.log.Error("the cluster does not take this host's identity: it was away for so long that it was forgotten "+
			"(setting forget_hosts), or it was revoked. To have it back stop agentd, move "+
			filepath.Join(r.data.Path, "trust")+" away, make a token with `vigil token create --role host`, and give it to "+
			"`vigil agentd join TOKEN`; key, agents' folders and accounts stay", "error", err)
	case why == code.AuthDenied:
		r.log.Debug("the cluster still does not take this host's identity", "error", err)
	case why == code.Invalid || why == code.Unimplemented:
		r.log.Error("registration failed", "code", why, "error", err)
		if !r.member.registered {
			r.fail(fmt.Errorf("register host: %w", err))
		}
	default:
		r.log.Warn("registration failed, trying again", "code", why, "error", err)
	}
}

// fail ends the daemon: what happened will not get better by itself.
func (r *registration) fail(err error) {
	select {
	case r.fatal <- err:
	default:
	}
}

// warnings are what people should know of this host: what the configuration found,
// and what the shims of its agents did.
func (r *registration) warnings() []string {
	var letters []string
	if w := r.outbox.letters.Warning(); w != "" {
		letters = []string{w}
	}
	all := slices.Concat(letters, r.offered.warnings, r.offered.Warnings(), slices.Sorted(maps.Keys(r.lives.warned)))
	all = all[:min(len(all), maxWarnings)]
	for i := range all {
		all[i] = clip(all[i], maxReason)
	}
	return all
}

// gossipAddr is where others reach this host's gossip; empty: nowhere.
func (r *registration) gossipAddr() string {
	if r.gossip == nil {
		return ""
	}
	return r.gossip.Addr()
}

// introduce tells gossip what the cluster said of itself.
func (r *registration) introduce(answer *vigilv1.RegisterResponse) {
	if r.gossip != nil {
		r.gossip.Know(answer.GetClusterId(), answer.GetGossipAddrs(), nil)
	}
}
