package agentd

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"time"

	"vigil/agentd/results"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// orders is the part that takes the cluster's orders: it begins lives and ends them. The
// gate bounds how many begin at once.
type orders struct {
	base
	member   *membership
	lives    *lives
	beats    *beats
	pressure *pressure
	exit     *exit
	outbox   *outbox

	newest []*vigilv1.Order // the newest list
	gate   gate
}

// take reads a whole list of open orders. What is absent from it means nothing: an
// accepted order is no longer listed.
func (s *orders) take(list []*vigilv1.Order) {
	if s.lives.closing {
		return
	}
	s.newest = list
	for _, order := range list {
		switch order.GetKind() {
		case "start":
			s.takeStart(order)
		case "stop":
			s.takeStop(order)
		default:
			s.log.Warn("order of an unknown kind was ignored; this agentd is older than the cluster",
				"kind", order.GetKind(), "agent", order.GetAgentName())
		}
	}
}

// takeNext takes the order that came with the answer to the report of an end. The stream brings it too, perhaps
// later; whether it is open still is decided by its acceptance. One that has to wait here waits for the stream.
func (s *orders) takeNext(o *vigilv1.Order) {
	if !s.lives.closing && o.GetKind() == "start" {
		s.takeStart(o)
	}
}

// takeStart begins a life, once.
func (s *orders) takeStart(o *vigilv1.Order) {
	l, now := s.lives.all[o.GetAgent()], s.config.Clock()
	switch {
	case o.GetIncarnation() <= s.lives.ended[o.GetAgent()]:
		// An old list: that life is over.
	case s.exit.how != staying:
		// It is somebody else's.
	case l == nil && s.open(now):
		s.pass(now)
		s.accept(o)
	case l == nil:
		s.gate.held = true
	case o.GetIncarnation() > l.inc:
		// The old life is stopped first; there is never a second one beside it.
		s.gate.held = true
		s.lives.supersede(l)
	}
}

// takeStop ends a life. One that is not here is reported as gone, or its order
// would stay open for ever.
func (s *orders) takeStop(o *vigilv1.Order) {
	l := s.lives.all[o.GetAgent()]
	switch {
	case l != nil && l.inc == o.GetIncarnation():
		why := o.GetReason()
		if why == "" {
			why = "stopped by order"
		}
		s.lives.end(l, ending{why: why, exempt: true}, s.lives.grace(l, o.GetStopGrace()))
	case l != nil && l.inc < o.GetIncarnation():
		// Not heard of: a stop can only follow an acceptance, and that would be known.
		s.log.Warn("stop order for an unknown incarnation was ignored", "agent", o.GetAgentName(),
			"incarnation", o.GetIncarnation())
	case o.GetIncarnation() <= s.lives.ended[o.GetAgent()]:
		// Its exit report is on the way or has arrived.
	default:
		s.lives.ended[o.GetAgent()] = o.GetIncarnation()
		s.outbox.exit(&vigilv1.ReportExitRequest{Agent: o.GetAgent(), Incarnation: o.GetIncarnation(),
			Reason: "it does not run on this host"}, results.Spool{})
	}
}

// accept commits that this host will start the life. Nothing is forked before the
// answer.
func (s *orders) accept(o *vigilv1.Order) {
	raw := make([]byte, 32)
	rand.Read(raw) // never fails
	ctx, cancel := context.WithCancel(s.ctx)
	l := &life{agent: o.GetAgent(), inc: o.GetIncarnation(), order: o, phase: accepting,
		acceptance: acceptance{token: base64.RawURLEncoding.EncodeToString(raw), giveUp: cancel,
			asked: s.config.Clock(),
			// A registration that is under way does not list it and may bury it.
			confirm: s.member.wanted}}
	l.course = s.courseOf(o)
	s.lives.all[l.agent] = l
	point("accepting")
	hash := sha256.Sum256([]byte(l.token))
	request := &vigilv1.AcceptOrderRequest{Host: s.member.host, Boot: s.boot, Agent: l.agent,
		Incarnation: l.inc, TokenHash: hash[:]}
	s.spawn(func() {
		defer cancel()
		var ttl time.Duration
		err := insist(ctx, &s.outbox.again, func(ctx context.Context) error {
			answer, err := s.host.AcceptOrder(ctx, request)
			ttl = answer.GetTtl().AsDuration()
			return err
		})
		point("accepted")
		s.send(func() { s.answered(l, ttl, err) })
	})
}

// answered goes on after the answer to an acceptance.
func (s *orders) answered(l *life, ttl time.Duration, err error) {
	name := l.order.GetAgentName()
	if err != nil && refused(err) {
		s.metrics.refused.Inc()
		s.log.Info("order is no longer open: nothing was started", "agent", name, "incarnation", l.inc,
			"code", client.Code(err))
		s.lives.forget(l)
		return
	}
	l.phase = accepted
	if l.course != nil {
		l.course.Accepted = s.config.Wall()
	}
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
		s.lives.bury(l, &vigilv1.ReportExitRequest{StartFailed: !l.ending.exempt, Reason: l.ending.why})
		return
	}
	s.beats.hurry(s.config.Clock(), l.ttl)
	if age := s.config.Clock() - l.asked; l.confirm || age > l.patience()/2 {
		s.log.Warn("acceptance was answered late: waiting for a beat before the start", "agent", name,
			"incarnation", l.inc, "age", age)
		l.confirm = true
		s.beats.now()
		return
	}
	s.lives.start(l)
}
