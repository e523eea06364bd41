package duty

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

const (
	// firstLook is when a new leader looks for stuck agents; until then it hears its hosts.
	firstLook = 5 * time.Second
	// visits bounds how many agents one plan of the ladder looks at, and so how long it
	// holds the read lock.
	visits = 4096
	// prods is how many terminals are reached at a time.
	prods = 32
)

// Step is a rung that is due, with the name of its agent.
type Step struct {
	fsm.StepLadder
	Name string
}

// Place is where among the agents that may be stuck a plan has ended. The zero value is
// before all of them.
type Place struct {
	list  kindOfStuck
	agent noun.AgentID
	deaf  fsm.DeafPlace
}

// kindOfStuck is why an agent may be stuck. The ladder looks at one kind after the other.
type kindOfStuck uint8

const (
	holders   kindOfStuck = iota // of tasks
	waiting                      // those that let a task wait
	overseers                    // without a task
)

// Climbs plans the rungs that are due for stuck agents behind after, at most so many; it
// looks at no more than visits. Next is where to go on, the zero value when all were seen.
func Climbs(s *fsm.View, after Place, most int) (steps []Step, next Place) {
	if !s.Settings().Ladder.Enabled {
		return nil, Place{}
	}
	seen := 0
	look := func(id noun.AgentID, at Place) bool {
		if seen == visits || len(steps) == most {
			return false
		}
		seen, next = seen+1, at
		if c := s.Climb(id); c.Next != noun.NoRung && c.Due <= s.Clock() {
			a := s.Agent(id)
			steps = append(steps, Step{fsm.StepLadder{Agent: id, Inc: a.Inc, Rung: c.Next, Seen: c.Seen}, a.Name})
		}
		return true
	}
	next = after
	if after.list == holders {
		for id := range s.MayBeStuck(after.agent) {
			if !look(id, Place{agent: id}) {
				return steps, next
			}
		}
		after = Place{list: waiting}
	}
	if after.list == waiting {
		for at, id := range s.MayBeDeaf(after.deaf) {
			if !look(id, Place{list: waiting, deaf: at}) {
				return steps, next
			}
		}
		after = Place{list: overseers}
	}
	for id := range s.Overseers(after.agent) {
		if s.Agent(id).Task == 0 && !look(id, Place{list: overseers, agent: id}) {
			return steps, next
		}
	}
	return steps, Place{}
}

// ladderCounts are written by the ladder and read by anybody.
type ladderCounts struct {
	steps  [noun.RungEscalate + 1]atomic.Uint64
	failed atomic.Uint64
	errors atomic.Uint64
}

// LadderFigures are what the ladder has done since the server started.
type LadderFigures struct {
	Steps  map[string]uint64 // rungs taken, by name, zeros included
	Failed uint64            // rungs that reached nobody
	Errors uint64            // plans that could not be submitted
}

// LadderFigures returns the counts. Safe for concurrent use.
func (d *Duty) LadderFigures() LadderFigures {
	f := LadderFigures{Steps: map[string]uint64{}, Failed: d.ladder.failed.Load(), Errors: d.ladder.errors.Load()}
	for r := noun.RungNudge; r <= noun.RungEscalate; r++ {
		f.Steps[r.String()] = d.ladder.steps[r].Load()
	}
	return f
}

// climb is the ladder of one stint: a first look after firstLook, then one each
// ladder_interval. A look ends when all that it did has had its effect or failed, so looks
// never overlap. Deadlines and the budget are in the state, so an early look is harmless, and
// leaders that follow each other quickly do not keep the ladder from looking.
func (d *Duty) climb(ctx context.Context) {
	began, first := time.Now(), true
	var at Place
	for {
		var every time.Duration
		d.cfg.Replica.Read(func(s *fsm.View) { every = s.Settings().Ladder.Interval })
		if first {
			every = min(every, firstLook)
		}
		if wait := every - time.Since(began); wait > 0 {
			if !pause(ctx, min(wait, settingsLook)) {
				return
			}
			continue
		}
		began, first = time.Now(), false
		at = d.lookForStuck(ctx, at)
		if ctx.Err() != nil {
			return
		}
	}
}

// lookForStuck takes the rungs that are due, from behind after on, and then from the
// beginning. It returns where it ended when the budget of a look was used up: the next one
// goes on there, so nobody waits behind those with low numbers for ever.
func (d *Duty) lookForStuck(ctx context.Context, after Place) Place {
	var left int
	d.cfg.Replica.Read(func(s *fsm.View) { left = int(s.Settings().Ladder.PerPass) })
	for whole := after == (Place{}); left > 0 && ctx.Err() == nil; {
		var steps []Step
		d.cfg.Replica.Read(func(s *fsm.View) { steps, after = Climbs(s, after, left) })
		left -= len(steps)
		d.step(ctx, steps)
		if after == (Place{}) {
			if whole {
				break
			}
			whole = true
		}
	}
	return after
}

// step submits a plan and then does what was accepted. Nothing is typed before it is
// committed, so a leader that takes over never repeats it.
func (d *Duty) step(ctx context.Context, steps []Step) {
	if len(steps) == 0 {
		return
	}
	reqs, outs := make([]fsm.Request, len(steps)), make([]noun.Outcome, len(steps))
	for i := range steps {
		reqs[i] = fsm.Request{Planned: true, Cmd: steps[i].StepLadder}
	}
	if !d.write(ctx, "the ladder", &d.ladder.errors, reqs, outs) {
		return
	}
	var due []int
	for i := range steps {
		if outs[i].Code != noun.OK {
			d.log.Debug("rung refused", "agent", steps[i].Name, "rung", steps[i].Rung, "code", outs[i].Code,
				"detail", outs[i].Detail)
			continue
		}
		d.ladder.steps[steps[i].Rung].Add(1)
		d.log.Info("stuck agent", "agent", steps[i].Name, "life", steps[i].Inc, "rung", steps[i].Rung)
		if d.cfg.Prod != nil && steps[i].Rung <= noun.RungInterrupt {
			due = append(due, i)
		}
	}
	atTerminals(due, func(i int) { d.prod(ctx, &steps[i]) })
}

// write submits what who has planned. False: that failed, which is counted unless the stint
// has ended.
func (d *Duty) write(
	ctx context.Context, who string, failed *atomic.Uint64, reqs []fsm.Request, outs []noun.Outcome,
) bool {
	switch err := d.cfg.Replica.SubmitAll(ctx, reqs, outs); {
	case ctx.Err() != nil:
		return false
	case err != nil:
		failed.Add(1)
		d.log.Warn(who+" could not write", "error", err)
		return false
	}
	return true
}

// atTerminals calls do for each of these, some at a time, and waits for all.
func atTerminals(due []int, do func(int)) {
	var busy sync.WaitGroup
	defer busy.Wait()
	slots := make(chan struct{}, prods)
	for _, i := range due {
		slots <- struct{}{}
		busy.Go(func() {
			defer func() { <-slots }()
			do(i)
		})
	}
}

// prod does at a terminal what a rung is, and notes it when that reached nobody.
func (d *Duty) prod(ctx context.Context, s *Step) {
	err := d.cfg.Prod(ctx, s.Name, s.Inc, s.Rung)
	if err == nil || ctx.Err() != nil {
		return
	}
	d.ladder.failed.Add(1)
	note := fsm.NoteRung{Agent: s.Agent, Inc: s.Inc, Rung: s.Rung, Reason: err.Error()}
	if err := d.cfg.Replica.SubmitAll(ctx, []fsm.Request{{Planned: true, Cmd: note}},
		make([]noun.Outcome, 1)); err != nil && ctx.Err() == nil {
		d.log.Debug("a rung that reached nobody is not noted", "agent", s.Name, "error", err)
	}
}
