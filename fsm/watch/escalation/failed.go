package escalation

import (
	"slices"
	"strconv"
	"strings"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// Tasks that FAILED call a human, gathered by role: a thousand of them are one escalation. It is about those
// that failed since it opened, so that what a human has closed does not hold open what comes after it; the order of
// ends (FinishSeq) tells them apart. It came with a feature level.

// failedNamed is how many tasks an escalation names, the newest.
const failedNamed = 10

// isLook tells that a task is a look at an overseer: what becomes of these the watchdog chain says.
func isLook(t *noun.Task) bool {
	return t.Creator == noun.LaddersBy && t.Priority == noun.LookPriority
}

// taskMoved follows tasks into FAILED and out of it.
func (s *State) taskMoved(m core.TaskMove) {
	if m.From == noun.TaskFailed {
		s.failedLess(m.Task)
	}
	if m.State == noun.TaskFailed {
		s.failedMore(m.Task)
	}
}

func (s *State) failedMore(t *noun.Task) {
	if !s.givesWay() || isLook(t) || s.RoleTable.Get(t.Role).Retired { // nobody could try it again
		return
	}
	e := noun.Escalation{Kind: noun.EscTaskFailed, Subject: s.RoleName(t.Role), Priority: noun.MailNormal,
		Room: s.RoomTable.Get(t.Room).Name, FailedFrom: t.FinishSeq, FailedLeft: 1, FailedNamed: []noun.TaskID{t.ID}}
	if was := s.EscalationTable.Get(s.byKey[keyOf(&e)]); was != nil && was.State != noun.EscalationClosed {
		e.FailedFrom, e.FailedLeft = was.FailedFrom, was.FailedLeft+1
		named := was.FailedNamed
		e.FailedNamed = append(slices.Clone(named[max(0, len(named)-failedNamed+1):]), t.ID)
	}
	e.Facts = failedFacts(&e)
	s.escalate(e)
}

// failedLess takes a task out of the escalation that is about it: it was put back, or is no more.
func (s *State) failedLess(t *noun.Task) {
	key := escalationKey{noun.EscTaskFailed, s.RoleName(t.Role)}
	e := s.EscalationTable.Mut(s.byKey[key])
	if e == nil || e.State == noun.EscalationClosed || t.FinishSeq < e.FailedFrom || isLook(t) {
		return
	}
	if e.FailedLeft--; e.FailedLeft == 0 {
		s.close(e, noun.LaddersBy, isOver)
		return
	}
	e.FailedNamed = slices.DeleteFunc(slices.Clone(e.FailedNamed), func(id noun.TaskID) bool { return id == t.ID })
	e.Facts = failedFacts(e)
}

func failedFacts(e *noun.Escalation) []noun.KV {
	names := make([]string, 0, len(e.FailedNamed))
	for _, id := range e.FailedNamed {
		names = append(names, strconv.FormatUint(uint64(id), 10))
	}
	return []noun.KV{{Key: "failed", Value: strconv.FormatUint(e.FailedLeft, 10)},
		{Key: "newest", Value: strings.Join(names, ", ")}}
}

// failedLast tells whether a task is FAILED about which the escalation is.
func (v *View) failedLast(e *noun.Escalation) bool {
	room, role, _ := strings.Cut(e.Subject, "/")
	r := v.RoleByName(room, role)
	return r != nil && !r.Retired && e.State != noun.EscalationClosed && e.FailedLeft > 0
}

// checkFailed tests that open escalations count the tasks that they are about.
func (v *View) checkFailed(c *core.Checker) {
	left, from := map[string]uint64{}, map[string]uint64{}
	for _, e := range v.EscalationTable.From(0) {
		if e.Kind == noun.EscTaskFailed && e.State != noun.EscalationClosed {
			left[e.Subject], from[e.Subject] = e.FailedLeft, e.FailedFrom
		}
	}
	if len(left) == 0 {
		return
	}
	for _, t := range v.TaskTable.From(0) {
		if name := v.RoleName(t.Role); t.State == noun.TaskFailed && !isLook(t) && from[name] != 0 &&
			t.FinishSeq >= from[name] {
			left[name]--
		}
	}
	for name, n := range left {
		c.That(n == 0, "the escalation about failed tasks of %s counts %d too many", name, int64(n))
	}
}
