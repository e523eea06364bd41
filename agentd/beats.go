package agentd

import (
	"context"
	"slices"
	"time"

	"vigil/rpc/gen/vigilv1"
)

// Kinds of beats, added up.
const (
	beatVouch = 2
	beatFence = 4
)

// retryBeat is the pause after a beat that failed.
const retryBeat = time.Second

// provenLimit bounds the wait of proven.
const provenLimit = time.Minute

// beats is when the next beat is due. One call renews the host and all its lives;
// one is under way at a time, and a failed one is never repeated but followed by
// another with a send time of its own.
type beats struct {
	due      time.Duration
	underway bool
	failing  bool
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

// beaten is one life that a beat speaks for.
type beaten struct {
	agent uint32
	inc   uint64
}

// interval is a quarter of the shortest TTL.
func (k *keeper) interval() time.Duration {
	ttl := k.entry.ttl
	for _, l := range k.lives {
		if l.renewed() {
			ttl = min(ttl, l.ttl)
		}
	}
	return ttl / 4
}

// beat sends a beat when one is due and says when the next one is.
func (k *keeper) beat(now time.Duration) time.Duration {
	if k.entry.host == 0 || k.beats.underway {
		return longestNap
	}
	if now < k.beats.due {
		return k.beats.due - now
	}
	var all []*life
	for _, l := range k.lives {
		if l.renewed() {
			all = append(all, l)
		}
	}
	// In order, so that they pack well.
	slices.SortFunc(all, func(a, b *life) int { return int(int64(a.agent) - int64(b.agent)) })
	request := &vigilv1.BeatRequest{Host: k.entry.host, Boot: k.boot}
	var who []beaten
	for _, l := range all {
		kinds := uint32(beatFence)
		if l.vouched() {
			kinds |= beatVouch
		}
		request.Agents = append(request.Agents, l.agent)
		request.Incarnations = append(request.Incarnations, l.inc)
		request.Kinds = append(request.Kinds, kinds)
		who = append(who, beaten{l.agent, l.inc})
	}
	k.beats.underway = true
	// A beat without an answer must not hold up the next one for long.
	limit := max(min(k.interval(), 5*time.Second), 200*time.Millisecond)
	k.spawn(func() {
		ctx, cancel := context.WithTimeout(k.ctx, limit)
		defer cancel()
		answer, err := k.work.Beat(ctx, request)
		k.send(func() { k.acknowledged(now, who, answer, err) })
	})
	return longestNap
}

// acknowledged reads the answer to a beat that was sent at that time.
func (k *keeper) acknowledged(sent time.Duration, who []beaten, answer *vigilv1.BeatResponse, err error) {
	k.beats.underway = false
	k.beats.due = sent + min(retryBeat, k.interval())
	if err != nil || answer.GetHostGone() {
		k.metrics.beatsFailed.Inc()
		if !k.beats.failing {
			k.log.Warn("beat was not acknowledged", "error", err, "host_gone", answer.GetHostGone())
		}
		k.beats.failing = true
		if err == nil || refused(err) {
			k.enroll()
			k.entry.unproven = false // this host is not known: nothing of it can be proved
			k.beats.heard()
		}
		return
	}
	k.entry.unproven = false
	k.metrics.beatsSent.Inc()
	if ttl := answer.GetTtl().AsDuration(); ttl > 0 { // the setting may have changed since the registration
		k.entry.ttl = ttl
	}
	if k.beats.failing {
		k.beats.failing = false
		k.log.Info("beats are acknowledged again")
		k.resume()
	}
	k.beats.due = sent + k.interval()
	verdicts := map[beaten]string{}
	for _, e := range answer.GetExceptions() {
		verdicts[beaten{e.GetAgent(), e.GetIncarnation()}] = e.GetVerdict()
	}
	for _, w := range who {
		if l := k.lives[w.agent]; l != nil && l.inc == w.inc && l.covered() {
			k.judged(l, sent, verdicts[w])
		}
	}
	k.beats.heard()
}

// proven waits, before the order stream is opened again, for the answer to a beat
// when a fence may have ended meanwhile. Servers that hear the stream trust the host
// and order starts: its lives must be taken up before (law L10). It gives up after
// provenLimit, so that logs can be read while no beat is taken.
func (k *keeper) proven(ctx context.Context) {
	answered := make(chan struct{})
	k.send(func() {
		now := k.config.Clock()
		for _, l := range k.lives {
			if l.renewed() && now-l.acked >= l.patience() {
				k.beats.answered = append(k.beats.answered, answered)
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
	case <-k.done:
	case <-ctx.Done():
	}
}

// judged acts on what the cluster says of one life.
func (k *keeper) judged(l *life, sent time.Duration, verdict string) {
	switch verdict {
	case "", "current", "adopt":
		l.acknowledge(sent)
		l.unconfirmed = 0
		switch {
		case l.phase == accepted && !k.entry.wanted: // else a registration may still bury it
			k.start(l)
		case l.phase == running && l.untold:
			l.untold = false
			k.tellStarted(l)
		}
	case "superseded", "unknown":
		k.metrics.superseded.Inc()
		k.supersede(l)
	default:
		// "held": a backup was restored just now; a later beat confirms it or ends it.
		// "rejoin": the fence ended at that very moment and was not renewed. The next
		// beat is told what became of it.
		k.unconfirmed(l, sent)
	}
}

// unconfirmed counts the time for which a leader has answered and left a frozen life in doubt, and ends it
// after FrozenLimit. Time without an answer does not count: an outage kills nobody (law L10).
func (k *keeper) unconfirmed(l *life, sent time.Duration) {
	limit := k.config.FrozenLimit
	if limit == 0 || l.phase != running || sent-l.acked < l.patience() {
		return
	}
	if l.unconfirmed += k.interval(); l.unconfirmed >= limit {
		k.end(l, ending{why: "it was frozen for " + limit.String() + " and the cluster did not confirm it", exempt: true}, 0)
	}
}
