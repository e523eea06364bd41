package core

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"vigil/fsm/due"
	"vigil/fsm/noun"
)

// What tasks depend on may be away: then most attempts fail, whatever their agents say or die of.
// A role half-opens when that shows, instead of using up the attempts of all its tasks. Single
// tasks are tried then, each time another one, so that no task that always fails holds the role.
// One that succeeds allows 2 at once, then 4, then 8, then the role opens. Whatever fails
// meanwhile costs its task nothing, as long as it may be for what is away. A final failure is the verdict
// of an agent about one task: it counts as neither failure nor success, unless a role, half-open or not,
// ends its tasks with nothing else.

const (
	failedTasks   = 3  // a role half-opens when so many of its tasks have failed, or more
	failedTasksOf = 2  // the same of one with fewer agents than failedTasks: each task ends several of their lives
	finalMost     = 10 // final failures count when there are so many, and no success ...
	finalTasks    = 5  // ... at so many tasks
	agentsNamed   = 5  // of those whose attempts failed
	// shieldTimes is how many times its limit a task of a half-open role may fail before that counts. A hundred
	// failures in six hours, of one task after the other, are the outage of a night; more is the task's (law L11).
	shieldTimes   = 20
	bygoneAfter   = 24 * time.Hour // for so long the failures of a task that was given up speak for its role
	outlivesTimes = 10
	outlivesLeast = time.Minute
)

// probePause is the wait before the next probe after so many that failed.
var probePause = [...]time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 15 * time.Second,
	30 * time.Second, time.Minute}

// How an attempt has ended.
type end uint8

const (
	endDone end = iota
	endFailed
	endFinal // its holder says that the task cannot be done
)

// ended takes note that an attempt at a task has ended, before the task changes.
func (s *State) ended(t *noun.Task, how end, why string) {
	if !s.retries() {
		return
	}
	r := s.RoleTable.Mut(t.Role)
	if r.Half != nil {
		if how != endFinal || s.countFinal(r, t) {
			s.probed(r, t, how != endDone, why)
		}
		return
	}
	ran := time.Duration(0)
	if t.State.Held() {
		ran = s.Meta.Clock.Sub(t.ChangedAt)
	}
	r.NoteEnding(noun.Ending{At: s.Meta.Clock, Task: t.ID, Ran: ran, Failed: how == endFailed,
		Final: how == endFinal, Agent: t.Holder})
	if how != endDone {
		s.judgeRole(r, why)
	}
}

// countFinal counts a final failure of a probe, and tells whether it is one that counts: from so many in a row on
// with which a role half-opens by them. What is away may end tasks in another way than it did at first, and a
// half-open role would go through all that wait without a pause.
func (s *State) countFinal(r *noun.Role, t *noun.Task) bool {
	if !r.Half.Final && r.Half.Probe(t.ID) >= 0 {
		r.ChangeHalf(func(h *noun.HalfOpen) {
			h.Finals++
			h.Final = h.Finals >= finalTasks
		})
	}
	return r.Half.Final
}

// failing are endings of which enough have failed.
type failing struct {
	failures, all uint32
	ran           []time.Duration
	tasks         map[noun.TaskID]struct{}
	agents        []noun.AgentID // each once, by their last failure, the last one first
}

// add counts an ending.
func (f *failing) add(e *noun.Ending, final bool) {
	if f.all++; !e.Failed && !(e.Final && final) {
		return
	}
	if f.failures++; f.tasks == nil {
		f.tasks = map[noun.TaskID]struct{}{}
	}
	f.ran = append(f.ran, e.Ran)
	f.tasks[e.Task] = struct{}{}
	if e.Agent != 0 && !slices.Contains(f.agents, e.Agent) {
		f.agents = append(f.agents, e.Agent)
	}
}

// finalCounts tells that final failures count: a role that judges its tasks does some of them.
func finalCounts(endings []noun.Ending) bool {
	var finals int
	tasks := map[noun.TaskID]struct{}{}
	for _, e := range endings {
		switch {
		case e.Final:
			finals++
			tasks[e.Task] = struct{}{}
		case !e.Failed:
			return false
		}
	}
	return finals >= finalMost && len(tasks) >= finalTasks
}

// Shielded tells that what becomes of attempts at a task costs it nothing, since its role is half-open.
func (v *View) Shielded(t *noun.Task) bool {
	r := v.RoleTable.Get(t.Role)
	limit := max(r.Spec.AttemptLimit, r.Spec.KillLimit) // one of them may be off
	return r.Half != nil && (limit == 0 || uint64(t.Retried().Row) < shieldTimes*uint64(limit))
}

// bygone tells that a failure says nothing any more of what its role depends on: the task that was given up may have
// been the cause. So the next task of a role with one agent, days later, has to fail beside another one.
func (v *View) bygone(e *noun.Ending) bool {
	t := v.TaskTable.Get(e.Task)
	return e.Failed && v.Meta.Clock.Sub(e.At) > bygoneAfter && (t == nil || t.State.Terminal())
}

// failingOf judges the last endings of a role: most of those within the window have failed or, at any pace, all of
// the last ones; nil: neither.
func (s *State) failingOf(r *noun.Role, final bool) (f *failing, within string) {
	set := &s.Meta.Settings.Retry
	recent, row := &failing{}, &failing{}
	for i := range slices.Backward(r.Endings) {
		e := &r.Endings[i]
		if e.Final && !final {
			continue
		}
		if s.Meta.Clock.Sub(e.At) <= set.Window {
			recent.add(e, final)
		}
		if row.all < set.Failures && !s.bygone(e) {
			row.add(e, final)
		}
	}
	least := failedTasks
	if r.Spec.Replicas < failedTasks {
		least = failedTasksOf
	}
	switch {
	case set.Failures == 0:
	case recent.failures >= set.Failures && 2*recent.failures > recent.all && len(recent.tasks) >= least:
		return recent, fmt.Sprintf(" within %s", set.Window)
	case row.failures >= set.Failures && len(row.tasks) >= least:
		return row, ""
	}
	return nil, ""
}

// judgeRole half-opens a role when most of the last attempts have failed.
func (s *State) judgeRole(r *noun.Role, why string) {
	final := finalCounts(r.Endings)
	f, within := s.failingOf(r, final)
	if f == nil {
		return
	}
	failures, all, ran := f.failures, f.all, f.ran
	names, whose := s.agentNames(f.agents), ""
	if len(f.agents) == 1 && names != "" {
		whose = ", all of them of " + names
	} else if names != "" {
		whose = ", of " + names
	}
	slices.Sort(ran)
	r.Half = &noun.HalfOpen{Since: s.Meta.Clock, Allowed: 1, Next: s.Meta.Clock.Add(s.probeWait(r, 0)),
		Outlives: max(outlivesTimes*ran[len(ran)/2], outlivesLeast), Failed: failures, Ended: all, Why: why, Final: final}
	r.Endings, r.Rev = nil, s.Meta.Index
	s.halfOpen.Set(r.ID)
	s.Event("role.half_open", About{Room: r.Room},
		fmt.Sprintf("%s: %d of the last %d attempts failed%s%s, the last one: %s; "+
			"single tasks are tried, the others wait", r.Spec.Name, failures, all, within, whose, why))
	ri := s.roleIndexOf(r.ID)
	for ri.Pending.Len() > 0 {
		q, _ := ri.Pending.Min()
		s.Move(s.TaskTable.Mut(q.Id), noun.TaskQueued)
	}
	s.reviewGrowth(r)
	s.armRole(r.ID)
	s.Hooks.Human.Call(noun.Escalation{Kind: noun.EscRoleFailing, Subject: s.RoleName(r.ID), Priority: noun.MailHigh,
		Room: s.RoomTable.Get(r.Room).Name,
		Facts: []noun.KV{{Key: "failed", Value: strconv.FormatUint(uint64(failures), 10)},
			{Key: "of", Value: strconv.FormatUint(uint64(all), 10)},
			{Key: "last", Value: noun.Clip(why, noun.MaxTitle)},
			{Key: "agents", Value: names}}})
}

// agentNames are the names of the first agents, in this order, and how many more there are; removed ones are left out.
func (v *View) agentNames(ids []noun.AgentID) string {
	var names []string
	for _, id := range ids {
		if a := v.AgentTable.Get(id); a != nil {
			names = append(names, a.Name)
		}
	}
	if more := len(names) - agentsNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:agentsNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// probeWait is the wait before the next probe after so many that missed.
func (v *View) probeWait(r *noun.Role, missed uint32) time.Duration {
	return spread(probePause[min(int(missed), len(probePause)-1)], uint64(r.ID), v.Meta.Index)
}

// probed judges the end of an attempt while the role is half-open. Those that were under way
// when it half-opened say nothing about now.
func (s *State) probed(r *noun.Role, t *noun.Task, failed bool, why string) {
	at := r.Half.Probe(t.ID)
	switch {
	case at < 0:
	case !failed:
		s.succeeded(r, at)
	default:
		wait := s.probeWait(r, r.Half.Missed+1)
		r.ChangeHalf(func(h *noun.HalfOpen) {
			h.Probes = slices.Delete(h.Probes, at, at+1)
			h.Allowed, h.Missed, h.Why = max(1, h.Allowed/2), h.Missed+1, why
			h.Next = s.Meta.Clock.Add(wait)
		})
		s.armRole(r.ID)
	}
}

// succeeded lets more tasks through, or opens the role.
func (s *State) succeeded(r *noun.Role, at int) {
	if r.Half.Allowed >= noun.MostProbes {
		s.openRole(r)
		return
	}
	r.ChangeHalf(func(h *noun.HalfOpen) {
		h.Probes = slices.Delete(h.Probes, at, at+1)
		h.Allowed, h.Missed, h.Next, h.Final, h.Finals = h.Allowed*2, 0, s.Meta.Clock, false, 0
	})
	s.armRole(r.ID)
}

// openRole ends that a role is half-open. What waits is offered in steps, as to a role that grows: it may have as many
// replicas as tasks.
func (s *State) openRole(r *noun.Role) {
	span := s.Meta.Clock.Sub(r.Half.Since).Round(time.Second)
	armed := r.Half.Armed
	s.Rearm(timerRole, uint64(r.ID), &armed, due.Row{})
	r.Half, r.Endings, r.Rev = nil, nil, s.Meta.Index
	s.halfOpen.Delete(r.ID)
	s.Event("role.open", About{Room: r.Room}, fmt.Sprintf("%s: its tasks succeed again after %s", r.Spec.Name, span))
	s.Hooks.Over.Call(noun.Escalation{Kind: noun.EscRoleFailing, Subject: s.RoleName(r.ID)})
	s.Hooks.RoomResumed.Call(r.Room)
	s.reviewGrowth(r)
}

// followProbe keeps the probes of a half-open role what they are: its tasks that are offered, and
// those that were claimed since. It is called when a task has changed its state.
func (s *State) followProbe(t *noun.Task, from noun.TaskState) {
	r := s.RoleTable.Get(t.Role)
	if r == nil || r.Half == nil {
		return
	}
	at := r.Half.Probe(t.ID)
	claimed := t.State == noun.TaskAcknowledged && from == noun.TaskPending
	if at < 0 && t.State != noun.TaskPending || at >= 0 && !claimed && t.State.Held() {
		return
	}
	r = s.RoleTable.Mut(t.Role)
	r.ChangeHalf(func(h *noun.HalfOpen) {
		switch {
		case claimed:
			h.Probes[at].Claimed = s.Meta.Clock
		case t.State == noun.TaskPending && at < 0:
			h.Probes = append(h.Probes, noun.Probe{Task: t.ID, Urged: s.urging})
			h.Last = noun.Probed{Priority: t.Priority, Task: t.ID}
		case t.State != noun.TaskPending:
			h.Probes = slices.Delete(h.Probes, at, at+1)
		}
	})
	s.armRole(r.ID)
}

// nextProbe is the task that a half-open role tries next: the one behind the last in the queue.
func nextProbe(r *noun.Role, ri *roleIndex) Queued {
	next, _ := ri.Queued.Min()
	last := Queued{prio: r.Half.Last.Priority, Id: r.Half.Last.Task}
	ri.Queued.Ascend(last, func(q Queued) bool {
		if q.Id == last.Id {
			return true
		}
		next = q
		return false
	})
	return next
}

func (s *State) armRole(id noun.RoleID) {
	r := s.RoleTable.Mut(id)
	armed := r.Half.Armed
	if s.Rearm(timerRole, uint64(id), &armed, s.roleRow(r)); armed != r.Half.Armed {
		r.ChangeHalf(func(h *noun.HalfOpen) { h.Armed = armed })
	}
}

// fireRole offers the next probe, and takes those that have run for long for successes.
func (s *State) fireRole(id noun.RoleID) {
	r := s.RoleTable.Mut(id)
	if r == nil || r.Half == nil {
		return
	}
	r.ChangeHalf(func(h *noun.HalfOpen) { h.Armed = 0 })
	for r.Half != nil {
		at := slices.IndexFunc(r.Half.Probes, func(p noun.Probe) bool {
			return p.Claimed != 0 && p.Claimed.Add(r.Half.Outlives) <= s.Meta.Clock
		})
		if at < 0 {
			s.armRole(id)
			break
		}
		s.succeeded(r, at)
		r = s.RoleTable.Mut(id)
	}
	s.Promote(id)
}

// dropHalfOpen forgets that a role that goes is half-open.
func (s *State) dropHalfOpen(r *noun.Role) {
	if r.Half != nil {
		armed := r.Half.Armed
		s.Rearm(timerRole, uint64(r.ID), &armed, due.Row{})
		r.Half = nil
		s.halfOpen.Delete(r.ID)
		s.Hooks.Over.Call(noun.Escalation{Kind: noun.EscRoleFailing, Subject: s.RoleName(r.ID)})
	}
}

// WhyHalfOpen says why most tasks of a role wait; empty: it is not half-open.
func (v *View) WhyHalfOpen(id noun.RoleID) Why {
	r := v.RoleTable.Get(id)
	if r == nil || r.Half == nil {
		return Why{}
	}
	h, ri := r.Half, v.roleIndex(id)
	text := fmt.Sprintf("%s is half-open since %s: %d of %d attempts failed, the last one: %s; ", v.RoleName(id),
		v.Since(h.Since), h.Failed, h.Ended, h.Why)
	left := max(0, h.Next.Sub(v.Meta.Clock))
	switch {
	case len(h.Probes) > 0:
		text += fmt.Sprintf("%d tried at once, ", len(h.Probes))
	case left > 0:
		text += fmt.Sprintf("the next is tried in %s, ", inTime(left))
	default:
		text += "the next is tried at once, "
	}
	return Why{"half_open", text + fmt.Sprintf("%d wait and lose no attempt", ri.Queued.Len()+ri.Delayed.Len()), left}
}
