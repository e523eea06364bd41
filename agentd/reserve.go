package agentd

import "time"

// reserveAfter is how long no start may have been under way before shims are put in reserve again: an agent that
// has just been started needs the processors more.
const reserveAfter = 200 * time.Millisecond

// reserve is the part that has shims ready before lives are ordered, as many as may start at once and no more
// than agents run here: a host that runs little keeps little ready. Where none is ready one is started
// while the acceptance is under way. Which life a shim gets is decided when it is forked.
type reserve struct {
	base
	lives *lives
	exit  *exit

	calm time.Duration // when no start was under way for reserveAfter
}

// look keeps the reserve as large as it should be.
func (r *reserve) look(now time.Duration) time.Duration {
	most := r.config.MaxStarting
	coming, starts, running := 0, 0, 0
	for _, l := range r.lives.all {
		switch {
		case l.phase < starting:
			coming++
		case l.phase == starting && !l.hung:
			starts++
		default:
			running++
		}
	}
	switch {
	case r.exit.how != staying:
		r.launcher.Keep(0, 0)
	case coming+starts > 0:
		r.calm = now + reserveAfter
		r.launcher.Keep(min(coming, most), most)
	case now < r.calm:
		return r.calm - now
	default:
		r.launcher.Keep(min(running, most), min(running, most))
	}
	return longestNap
}
