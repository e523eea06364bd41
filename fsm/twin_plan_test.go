package fsm

import (
	"testing"
	"time"

	"vigil/fsm/noun"
)

// expect is how long a task may take; nothing where tasks are not planned.
func (c *chaos) expect() time.Duration {
	if !c.plans || c.one(2) {
		return 0
	}
	if c.one(15) {
		return pick(c, []time.Duration{-1, time.Millisecond, noun.MaxExpect + 1})
	}
	return time.Duration(1+c.rng.IntN(12)) * time.Second
}

// progress is what the holder of a task says of how far it is.
func (c *chaos) progress(w Work) Command {
	p := ProgressTask{Work: w, Note: "note", Expect: c.expect()}
	if c.plans && c.one(2) {
		p.Percent = noun.PercentOf(uint32(c.rng.IntN(104)))
	}
	return p
}

// reply is the answer of an agent that the ladder asks about its task; nil: there is none.
func (c *chaos) reply(s *State) Command {
	for id := range s.MayBeStuck(0) {
		a := s.Agent(id)
		if at := s.Climb(id); at.Rung == noun.NoRung || c.one(3) {
			continue
		}
		me := Speaker{Agent: a.Name, Inc: a.Inc, TokenHash: []byte(a.TokenHash)}
		switch c.rng.IntN(4) {
		case 0:
			return c.progress(Work{Speaker: me, Task: a.Task, Attempt: s.Task(a.Task).Attempt})
		case 1:
			return SendMail{Speaker: me, To: a.Name, Subject: "s"}
		case 2:
			return Declare{Speaker: me, Status: noun.StatusBusy, For: time.Second}
		}
		return Declare{Speaker: me}
	}
	return nil
}

// employ has agents that nobody asks anything work and report once, so that they can fall
// silent with a task.
func (c *chaos) employ(s *State, do func(Command)) {
	if !c.plans {
		return
	}
	for a := range s.Agents("") {
		me := Speaker{Agent: a.Name, Inc: a.Inc, TokenHash: []byte(a.TokenHash)}
		t := s.Task(a.Task)
		switch {
		case s.Climb(a.ID).Rung != noun.NoRung || !c.one(8):
		case t == nil && a.Part == noun.PartWaiting:
			do(Claim{Speaker: me})
		case t != nil && t.State == noun.TaskAcknowledged:
			do(StartTask{Work: Work{Speaker: me, Task: t.ID, Attempt: t.Attempt}})
		case t != nil && a.Declared == nil:
			do(Declare{Speaker: me})
		}
	}
}

// plannedRoles are the roles, one of them with an expectation of its own or on demand.
func (c *chaos) plannedRoles() []noun.RoleSpec {
	roles := chaosRoles()
	if c.plans {
		roles[2].Expect = 4 * time.Second
	}
	if c.retries { // at a level that has it
		roles[1].Policy, roles[1].AnyContainment = noun.PolicyConfirm, true
	}
	if c.demand {
		roles[2].Start = noun.StartOnDemand
	}
	return roles
}

// claimedPlan: each attempt is expected anew, by the task's word or its role's.
func (w *twin) claimedPlan(x *twinTask) {
	expect := x.plan.Expect
	x.plan = noun.Plan{Expect: expect}
	if expect == 0 {
		expect = w.roles[x.role].Expect
	}
	if expect > 0 {
		x.plan.Due = w.now.Add(expect)
	}
}

// planned: what progress says replaces what was said; a time that has passed is put off.
func (w *twin) planned(x *twinTask, c ProgressTask) {
	if c.Percent > 0 {
		x.plan.Percent = c.Percent
	}
	if c.Expect > 0 {
		if x.plan.Due != 0 && x.plan.Due < w.now {
			x.plan.Extended++
		}
		x.plan.Due = w.now.Add(c.Expect)
	}
}

func (w *twin) samePlans(t *testing.T, s *State, index uint64) {
	t.Helper()
	for _, x := range w.tasks {
		if got := s.Task(x.id).Planned(); got != x.plan {
			t.Fatalf("after entry %d at %s task %d has the plan %+v, the twin says %+v", index,
				time.Duration(w.now), x.id, got, x.plan)
		}
	}
}

// extends applies an entry with one command and demands: an expectation that has passed
// is put off by an answer to the ladder, or by who says how long the rest takes, and by
// nothing else. It counts the answers that did it.
func (w *ladderTwin) extends(t *testing.T, s *State, e *Entry) (answers int) {
	t.Helper()
	was := map[noun.TaskID]noun.Plan{}
	for a := range s.Agents("") {
		if k := s.Task(a.Task); k != nil {
			was[a.Task] = k.Planned()
		}
	}
	heard := map[noun.AgentID]words{}
	for id, x := range w.words {
		heard[id] = x
	}
	out := s.Apply(e).Outcomes[0]
	for a := range s.Agents("") {
		k, old := s.Task(a.Task), was[a.Task]
		if k == nil || k.ChangedAt == s.Meta.Clock {
			continue // claimed or begun just now
		}
		p, said := e.Requests[0].Cmd.(ProgressTask)
		said = said && out.Code == noun.OK && p.Task == k.ID && k.Rev == e.Index
		now, x := wordsOf(s, a), w.climbers[a.ID]
		answer := x != nil && x.inc == a.Inc && w.heard[a.ID] < x.at && now.inc == heard[a.ID].inc &&
			(now.mail != heard[a.ID].mail || now.said != heard[a.ID].said || now.until != heard[a.ID].until || said)
		want := old
		switch passed := old.Due != 0 && old.Due < s.Meta.Clock; {
		case said && p.Expect != 0:
			want.Due = s.Meta.Clock.Add(p.Expect)
		case passed && answer:
			want.Due = s.Meta.Clock.Add(30 * time.Minute)
			answers++
		}
		if old.Due != 0 && old.Due < s.Meta.Clock && want.Due != old.Due {
			want.Extended++
		}
		if want.Percent = k.Planned().Percent; k.Planned() != want {
			t.Fatalf("entry %d: %+v of %s makes %+v of %+v, the twin says %+v", e.Index, e.Requests[0].Cmd,
				a.Name, k.Planned(), old, want)
		}
	}
	return answers
}
