package fsm

import "time"

// declare is what an agent says of itself; now and then it is nonsense.
func (c *chaos) declare(s *State) Command {
	d := Declare{Speaker: c.speaker(c.agent(s)), Status: DeclaredStatus(c.rng.IntN(3)), Waiting: Waiting(c.rng.IntN(4)), Text: "why"}
	if d.Waiting != WaitingNone || d.Status == StatusBusy && c.one(2) {
		d.For = time.Duration(1+c.rng.IntN(20)) * time.Second
	}
	if c.one(3) {
		d.Seq = uint64(1 + c.rng.IntN(9))
	}
	if c.one(9) {
		d.For = pick(c, []time.Duration{-1, 0, time.Second, 5 * time.Hour, 8 * 24 * time.Hour})
	}
	return d
}

// declare: what has an end excuses the agent until then, what comes after it ends that.
func (w *twin) declare(c Declare) Code {
	a, no := w.living(c.Speaker)
	limit := 4 * time.Hour
	if c.Waiting == WaitingInput {
		limit = 7 * 24 * time.Hour
	}
	switch {
	case no != OK:
		return no
	case !a.managed && a.part == PartDisconnected:
		return Rejoin
	case c.For < 0 || c.For > limit || c.Waiting != WaitingNone && c.For == 0 ||
		c.Waiting == WaitingNone && c.Status != StatusBusy && c.For != 0:
		return Invalid
	case c.Seq != 0 && c.Seq <= a.declared:
		return OK
	}
	a.declared = max(a.declared, c.Seq)
	if a.excused = min(a.excused, w.now); c.For > 0 {
		a.excused = w.now.Add(c.For)
	}
	return OK
}
