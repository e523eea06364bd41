package agentd

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// take reads a whole list of open orders. What is absent from it means nothing: an
// accepted order is no longer listed.
func (k *keeper) take(orders []*vigilv1.Order) {
	if k.exit.how >= closing {
		return
	}
	k.orders = orders
	for _, o := range orders {
		switch o.GetKind() {
		case "start":
			k.takeStart(o)
		case "stop":
			k.takeStop(o)
		default:
			k.log.Warn("order of an unknown kind was ignored; this agentd is older than the cluster",
				"kind", o.GetKind(), "agent", o.GetAgentName())
		}
	}
}

// takeStart begins a life, once.
func (k *keeper) takeStart(o *vigilv1.Order) {
	l, now := k.lives[o.GetAgent()], k.config.Clock()
	switch {
	case o.GetIncarnation() <= k.ended[o.GetAgent()]:
		// An old list: that life is over.
	case k.exit.how != staying:
		// It is somebody else's.
	case l == nil && k.open(now):
		k.pass(now)
		k.accept(o)
	case l == nil:
		k.gate.held = true
	case o.GetIncarnation() > l.inc:
		// The old life is stopped first; there is never a second one beside it.
		k.gate.held = true
		k.supersede(l)
	}
}

// takeStop ends a life. One that is not here is reported as gone, or its order
// would stay open for ever.
func (k *keeper) takeStop(o *vigilv1.Order) {
	l := k.lives[o.GetAgent()]
	switch {
	case l != nil && l.inc == o.GetIncarnation():
		why := o.GetReason()
		if why == "" {
			why = "stopped by order"
		}
		k.end(l, ending{why: why, exempt: true}, k.grace(l, o.GetStopGrace()))
	case l != nil && l.inc < o.GetIncarnation():
		// Not heard of: a stop can only follow an acceptance, and that would be known.
		k.log.Warn("stop order for an unknown incarnation was ignored", "agent", o.GetAgentName(),
			"incarnation", o.GetIncarnation())
	case o.GetIncarnation() <= k.ended[o.GetAgent()]:
		// Its exit report is on the way or has arrived.
	default:
		k.ended[o.GetAgent()] = o.GetIncarnation()
		k.outbox.exit(&vigilv1.ReportExitRequest{Agent: o.GetAgent(), Incarnation: o.GetIncarnation(),
			Reason: "it does not run on this host"}, spool{})
	}
}

// accept commits that this host will start the life. Nothing is forked before the
// answer.
func (k *keeper) accept(o *vigilv1.Order) {
	raw := make([]byte, 32)
	rand.Read(raw) // never fails
	ctx, cancel := context.WithCancel(k.ctx)
	l := &life{agent: o.GetAgent(), inc: o.GetIncarnation(), order: o, phase: accepting,
		token: base64.RawURLEncoding.EncodeToString(raw), giveUp: cancel, asked: k.config.Clock(),
		// A registration that is under way does not list it and may bury it.
		confirm: k.entry.wanted}
	k.lives[l.agent] = l
	point("accepting")
	hash := sha256.Sum256([]byte(l.token))
	request := &vigilv1.AcceptOrderRequest{Host: k.entry.host, Boot: k.boot, Agent: l.agent,
		Incarnation: l.inc, TokenHash: hash[:]}
	k.spawn(func() {
		defer cancel()
		var ttl time.Duration
		err := insist(ctx, &k.outbox.again, func(ctx context.Context) error {
			answer, err := k.host.AcceptOrder(ctx, request)
			ttl = answer.GetTtl().AsDuration()
			return err
		})
		point("accepted")
		k.send(func() { k.answered(l, ttl, err) })
	})
}

// answered goes on after the answer to an acceptance.
func (k *keeper) answered(l *life, ttl time.Duration, err error) {
	name := l.order.GetAgentName()
	if err != nil && refused(err) {
		k.metrics.refused.Inc()
		k.log.Info("order is no longer open: nothing was started", "agent", name, "incarnation", l.inc,
			"code", client.Code(err))
		k.forget(l)
		return
	}
	l.phase = accepted
	if l.ttl = ttl; l.ttl <= 0 {
		l.ttl = l.order.GetTtl().AsDuration()
	}
	if l.ttl <= 0 {
		l.ttl = defaultTTL
	}
	// The fence began with the first attempt that was committed, perhaps the first.
	l.acknowledge(l.asked)
	if l.ending.why != "" || err != nil {
		// With err it is open whether it was accepted; a report does no harm.
		k.bury(l, &vigilv1.ReportExitRequest{StartFailed: !l.ending.exempt, Reason: l.ending.why})
		return
	}
	k.beats.hurry(k.config.Clock(), l.ttl)
	if age := k.config.Clock() - l.asked; l.confirm || age > l.patience()/2 {
		k.log.Warn("acceptance was answered late: waiting for a beat before the start", "agent", name,
			"incarnation", l.inc, "age", age)
		l.confirm = true
		k.beats.now()
		return
	}
	k.start(l)
}

// supersede ends a life that is not the newest one any more. One that is frozen
// may not run for another moment.
func (k *keeper) supersede(l *life) {
	grace := k.grace(l, nil)
	if l.phase == running && l.process.Frozen() {
		grace = 0
	}
	k.end(l, ending{why: "superseded", exempt: true}, grace)
}

// grace is how long a life gets between SIGTERM and SIGKILL: as ordered, but not
// longer than its runner allows.
func (k *keeper) grace(l *life, ordered *durationpb.Duration) time.Duration {
	grace := ordered.AsDuration()
	if grace <= 0 {
		grace = l.order.GetStopGrace().AsDuration()
	}
	if grace <= 0 {
		grace = k.config.StopGrace
	}
	if l.longest > 0 {
		grace = min(grace, l.longest)
	}
	return min(grace, MaxStopGrace)
}
