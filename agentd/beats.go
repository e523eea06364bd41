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

// beats is when the next beat is due. One call renews the host and all its lives;
// one is under way at a time, and a failed one is never repeated but followed by
// another with a send time of its own.
type beats struct {
	due      time.Duration
	underway bool
	failing  bool
}

func (b *beats) now() { b.due = 0 }

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
	if !k.entry.registered || k.beats.underway {
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
		}
		return
	}
	k.metrics.beatsSent.Inc()
	if ttl := answer.GetTtl().AsDuration(); ttl > 0 { // the setting may have changed since the registration
		k.entry.ttl = ttl
	}
	if k.beats.failing {
		k.beats.failing = false
		k.log.Info("beats are acknowledged again")
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
}

// judged acts on what the cluster says of one life.
func (k *keeper) judged(l *life, sent time.Duration, verdict string) {
	switch verdict {
	case "", "current", "adopt":
		l.acknowledge(sent)
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
		// "rejoin": the fence ended at that very moment and was not renewed. The next
		// beat is told what became of it.
	}
}
