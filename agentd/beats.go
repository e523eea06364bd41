package agentd

import (
	"cmp"
	"context"
	"slices"
	"time"

	"vigil/agentd/disk"
	"vigil/rpc/gen/vigilv1"
)

// Kinds of beats, added up.
const (
	beatVouch = 2
	beatFence = 4
)

// retryBeat is the longest pause after a beat that failed; a tenth of the shortest TTL when
// that is less, so that a failure or two do not freeze what has a short lease.
const retryBeat = time.Second

// provenLimit bounds the wait of proven.
const provenLimit = time.Minute

// beats is the part that proves to the cluster that this host and its lives are there. One
// call renews all of them; one is under way at a time, and a failed one is never repeated
// but followed by another with a send time of its own.
type beats struct {
	base
	member  *membership
	lives   *lives
	gone    func() // the cluster does not know this host
	resumed func() // it answers again

	due      time.Duration
	underway bool
	failing  bool
	used     used
	// answered are told of the next beat that is answered.
	answered []chan<- struct{}
}

func (b *beats) now() { b.due = 0 }

// heard tells who waits for an answer.
func (b *beats) heard() {
	for _, c := range b.answered {
		close(c)
	}
	b.answered = nil
}

// hurry makes sure that a new life gets its first beat in time.
func (b *beats) hurry(now, ttl time.Duration) { b.due = min(b.due, now+ttl/4) }

// shortest is the shortest TTL that beats renew.
func (b *beats) shortest() time.Duration {
	ttl := b.member.ttl
	for _, l := range b.lives.all {
		if l.renewed() {
			ttl = min(ttl, l.ttl)
		}
	}
	return ttl
}

// interval is a quarter of the shortest TTL.
func (b *beats) interval() time.Duration { return b.shortest() / 4 }

// look sends a beat when one is due and says when the next one is.
func (b *beats) look(now time.Duration) time.Duration {
	if b.member.host == 0 || b.underway {
		return longestNap
	}
	if now < b.due {
		return b.due - now
	}
	var all []*life
	for _, l := range b.lives.all {
		if l.renewed() {
			all = append(all, l)
		}
	}
	// In order, so that they pack well.
	slices.SortFunc(all, func(x, y *life) int { return cmp.Compare(x.agent, y.agent) })
	request := &vigilv1.BeatRequest{Host: b.member.host, Boot: b.boot}
	var who []disk.Life
	for _, l := range all {
		kinds := uint32(beatFence)
		if l.vouched() {
			kinds |= beatVouch
		}
		request.Agents = append(request.Agents, l.agent)
		request.Incarnations = append(request.Incarnations, l.inc)
		request.Kinds = append(request.Kinds, kinds)
		who = append(who, l.who())
	}
	request.Usage = b.used.tell(b.telemetry, b.lives.all)
	b.underway = true
	// A beat without an answer must not hold up the next one for long.
	limit := max(min(b.interval(), 5*time.Second), 200*time.Millisecond)
	b.spawn(func() {
		ctx, cancel := context.WithTimeout(b.ctx, limit)
		defer cancel()
		answer, err := b.work.Beat(ctx, request)
		b.send(func() { b.acknowledged(now, who, answer, err) })
	})
	return longestNap
}

// acknowledged reads the answer to a beat that was sent at that time.
func (b *beats) acknowledged(sent time.Duration, who []disk.Life, answer *vigilv1.BeatResponse, err error) {
	b.underway = false
	b.due = sent + min(retryBeat, b.shortest()/10)
	if err != nil || answer.GetHostGone() {
		b.metrics.beatsFailed.Inc()
		if !b.failing {
			b.log.Warn("beat was not acknowledged", "error", err, "host_gone", answer.GetHostGone())
		}
		b.failing = true
		if err == nil || refused(err) {
			b.gone()
			b.member.unproven = false // this host is not known: nothing of it can be proved
			b.heard()
		}
		return
	}
	b.member.unproven = false
	b.metrics.beatsSent.Inc()
	if ttl := answer.GetTtl().AsDuration(); ttl > 0 { // the setting may have changed since the registration
		b.member.ttl = ttl
	}
	if b.failing {
		b.failing = false
		b.log.Info("beats are acknowledged again")
		b.resumed()
	}
	b.used.told()
	b.due = sent + b.interval()
	verdicts := map[disk.Life]string{}
	for _, e := range answer.GetExceptions() {
		verdicts[disk.Life{Agent: e.GetAgent(), Incarnation: e.GetIncarnation()}] = e.GetVerdict()
	}
	for _, w := range who {
		if l := b.lives.all[w.Agent]; l != nil && l.inc == w.Incarnation && l.covered() {
			b.judged(l, sent, verdicts[w])
		}
	}
	b.heard()
}

// proven waits, before the order stream is opened again, for the answer to a beat
// when a fence may have ended meanwhile. Servers that hear the stream trust the host
// and order starts: its lives must be taken up before (law L10). It gives up after
// provenLimit, so that logs can be read while no beat is taken.
func (b *beats) proven(ctx context.Context) {
	answered := make(chan struct{})
	b.send(func() {
		now := b.config.Clock()
		for _, l := range b.lives.all {
			if l.renewed() && now-l.acked >= l.patience() {
				b.answered = append(b.answered, answered)
				return
			}
		}
		close(answered)
	})
	limit := time.NewTimer(provenLimit)
	defer limit.Stop()
	select {
	case <-answered:
	case <-limit.C:
	case <-b.done:
	case <-ctx.Done():
	}
}

// judged acts on what the cluster says of one life.
func (b *beats) judged(l *life, sent time.Duration, verdict string) {
	switch verdict {
	case "", "current", "adopt":
		l.acknowledge(sent)
		l.unconfirmed = 0
		switch {
		case l.phase == accepted && !b.member.wanted: // else a registration may still bury it
			b.lives.start(l)
		case l.phase == running && l.untold:
			l.untold = false
			b.lives.tellStarted(l)
		}
	case "superseded", "unknown":
		b.metrics.superseded.Inc()
		b.lives.overtaken(l)
	default:
		// "held": a backup was restored just now; a later beat confirms it or ends it.
		// "rejoin": the fence ended at that very moment and was not renewed. The next
		// beat is told what became of it.
		b.unconfirmed(l, sent)
	}
}

// unconfirmed counts the time for which a leader has answered and left a frozen life in doubt, and ends it
// after FrozenLimit. Time without an answer does not count: an outage kills nobody (law L10).
func (b *beats) unconfirmed(l *life, sent time.Duration) {
	limit := b.config.FrozenLimit
	if limit == 0 || l.phase != running || sent-l.acked < l.patience() {
		return
	}
	if l.unconfirmed += b.interval(); l.unconfirmed >= limit {
		b.lives.end(l, ending{why: "it was frozen for " + limit.String() + " and the cluster did not confirm it",
			exempt: true}, 0)
	}
}
