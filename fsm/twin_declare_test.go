package fsm

import (
	"time"

	"vigil/fsm/noun"
)

// declare is what an agent says of itself; now and then it is nonsense.
func (c *chaos) declare(s *State) Command {
	d := Declare{Speaker: c.speaker(c.agent(s)), Status: noun.DeclaredStatus(c.rng.IntN(3)),
		Waiting: noun.Waiting(c.rng.IntN(4)), Text: "why"}
	if d.Waiting != noun.WaitingNone || d.Status == noun.StatusBusy && c.one(2) {
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
func (w *twin) declare(c Declare) noun.Code {
	a, no := w.living(c.Speaker)
	limit := 4 * time.Hour
	if c.Waiting == noun.WaitingInput {
		limit = 7 * 24 * time.Hour
	}
	switch {
	case no != noun.OK:
		return no
	case !a.managed && a.part == noun.PartDisconnected:
		return noun.Rejoin
	case c.For < 0 || c.For > limit || c.Waiting != noun.WaitingNone && c.For == 0 ||
		c.Waiting == noun.WaitingNone && c.Status != noun.StatusBusy && c.For != 0:
		return noun.Invalid
	case c.Seq != 0 && c.Seq <= a.declared:
		return noun.OK
	}
	a.declared = max(a.declared, c.Seq)
	if a.excused = min(a.excused, w.now); c.For > 0 {
		a.excused = w.now.Add(c.For)
	}
	return noun.OK
}
