package escalation

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/due"
	"vigil/fsm/noun"
)

// escalate opens an escalation, or adds to the one that is there. The caller fills in
// Kind, Subject, the names and the facts. It announces what is new, and what happens again
// after the cool-down while nobody looks after it.
func (s *State) escalate(e noun.Escalation) {
	now, cooldown := s.Meta.Clock, s.Meta.Settings.Escalation.Cooldown
	was := s.EscalationTable.Mut(s.byKey[keyOf(&e)])
	switch {
	case was == nil || was.State == noun.EscalationClosed && now.Sub(was.Notice.At) >= cooldown:
		s.openEscalation(e)
		return
	case was.State == noun.EscalationClosed:
		if !s.fits(e.Priority) {
			return
		}
		if was = s.EscalationTable.Mut(s.byKey[keyOf(&e)]); was == nil { // the one that gave way pushed it out
			s.openEscalation(e)
			return
		}
		s.indexEscalation(was, -1)
		was.State, was.Closed, was.CloseBy, was.CloseAt, was.Note, was.AckBy, was.AckAt = noun.EscalationOpen,
			0, "", 0, "", "", 0
		was.Acked = 0
		was.Reopened++
		s.indexEscalation(was, +1)
		s.escalationEvent("escalation.reopened", was, "it has come back: "+was.Reason())
	case s.forgotten(was):
		s.indexEscalation(was, -1)
		was.State, was.AckBy, was.AckAt, was.Acked = noun.EscalationOpen, "", 0, 0
		s.indexEscalation(was, +1)
		s.escalationEvent("escalation.reopened", was, fmt.Sprintf("it has happened again, %s after it was the last time: %s",
			now.Sub(was.Last).Round(time.Second), was.Reason()))
	}
	was.Count++
	was.Last, was.LastWall = now, s.Entry.Wall
	was.Room, was.Agent, was.Inc, was.Task, was.Host, was.Facts = e.Room, e.Agent, e.Inc, e.Task, e.Host, e.Facts
	was.FailedFrom, was.FailedLeft, was.FailedNamed = e.FailedFrom, e.FailedLeft, e.FailedNamed
	worse := false
	if e.Priority.Rank() < was.Priority.Rank() {
		worse = s.Meta.Level >= core.LevelRetry // who knows of it knows of something less urgent
		s.indexEscalation(was, -1)
		if was.Priority = e.Priority; worse && was.State == noun.EscalationAcknowledged {
			was.State, was.AckBy, was.AckAt, was.Acked = noun.EscalationOpen, "", 0, 0
		}
		s.indexEscalation(was, +1)
	}
	if was.State == noun.EscalationOpen && !was.Notice.Pending && (worse || now.Sub(was.Notice.At) >= cooldown) {
		s.announce(was)
	}
	s.Rearm(core.TimerEscalation, uint64(was.ID), &was.Armed, s.noticeRow(was))
}

// forgotten tells that what happens now is another episode of what was acknowledged: who looked after that one
// is done with it, and nobody looks after this one.
func (v *View) forgotten(e *noun.Escalation) bool {
	set := &v.Meta.Settings.Escalation
	return e.State == noun.EscalationAcknowledged && v.Level() >= core.LevelRetry && set.Remind > 0 &&
		v.Meta.Clock.Sub(max(e.Last, e.Acked)) >= max(set.Remind, set.Cooldown)
}

// weightOfOpening is what an escalation weighs beside its event: its facts, its sentence and its notice.
const weightOfOpening = 3

func (s *State) openEscalation(e noun.Escalation) {
	s.Weigh(weightOfOpening)
	if !s.fits(e.Priority) { // law L11
		return
	}
	x := &s.Meta.Escalations
	x.Last++
	x.Opened++
	n := s.EscalationTable.Put(x.Last)
	*n = e
	n.ID, n.State, n.Count = x.Last, noun.EscalationOpen, 1
	n.First, n.Last, n.FirstWall, n.LastWall = s.Meta.Clock, s.Meta.Clock, s.Entry.Wall, s.Entry.Wall
	s.indexEscalation(n, +1)
	s.escalationEvent("escalation.opened", n, n.Priority.String()+": "+n.Reason())
	s.announce(n)
}

// announce makes a new notice, for the leader to deliver.
func (s *State) announce(e *noun.Escalation) {
	s.Meta.Escalations.LastNotice++
	e.Notice = noun.Notice{Number: s.Meta.Escalations.LastNotice, At: s.Meta.Clock, Pending: true}
	s.pending.Set(e.ID)
	s.Result.Effects.Notice = true
}

// unannounce ends a notice: everybody was told, or a human has said a word.
func (s *State) unannounce(e *noun.Escalation) {
	e.Notice.Pending = false
	s.pending.Delete(e.ID)
	s.Rearm(core.TimerEscalation, uint64(e.ID), &e.Armed, due.Row{})
}

func (s *State) escalationEvent(kind string, e *noun.Escalation, text string) {
	w := core.About{Task: e.Task}
	if a := s.AgentByName(e.Agent); a != nil {
		w.Agent = a
	}
	if rm := s.Room(e.Room); rm != nil {
		w.Room = rm.ID
	}
	s.Event(kind, w, fmt.Sprintf("escalation %d about %s, %s", e.ID, e.Subject, text))
}

// indexEscalation adds (by 1) or takes away (by -1) an escalation's share of the indexes.
// The newest one about something stays findable when it is closed.
func (s *State) indexEscalation(e *noun.Escalation, by int) {
	switch {
	case e.State != noun.EscalationClosed:
		if s.opened += by; e.State == noun.EscalationOpen {
			s.alone += by
		}
		if by > 0 {
			s.open.Set(placeOf(e))
		} else {
			s.open.Delete(placeOf(e))
		}
	case by > 0:
		s.closed.Set(closedEscalation{e.Closed, e.ID})
	default:
		s.closed.Delete(closedEscalation{e.Closed, e.ID})
	}
	if by > 0 {
		s.byKey[keyOf(e)] = max(s.byKey[keyOf(e)], e.ID)
		if e.Notice.Pending {
			s.pending.Set(e.ID)
		}
	}
}

func (s *State) removeEscalation(id noun.EscalationID) {
	e := s.EscalationTable.Mut(id)
	s.indexEscalation(e, -1)
	s.unannounce(e)
	if s.byKey[keyOf(e)] == id {
		delete(s.byKey, keyOf(e))
	}
	s.EscalationTable.Del(id)
}

func (s *State) escalation(id noun.EscalationID) (*noun.Escalation, noun.Outcome) {
	e := s.EscalationTable.Mut(id)
	if e == nil {
		return nil, core.Refuse(noun.NotFound, "%s", noun.AbsentEscalation(id))
	}
	return e, noun.Outcome{}
}

func (c AckEscalation) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	e, no := s.escalation(c.Escalation)
	switch {
	case e == nil:
		return no
	case e.State == noun.EscalationAcknowledged:
		return noun.Outcome{Count: 1}
	case e.State == noun.EscalationClosed:
		return core.Refuse(noun.Conflict, "escalation %d is closed already, by %s", e.ID, core.Nobody(e.CloseBy))
	}
	s.unannounce(e)
	s.indexEscalation(e, -1)
	e.State, e.AckBy, e.AckAt = noun.EscalationAcknowledged, noun.Clip(c.By, noun.MaxMailFrom), s.Entry.Wall
	if s.Level() >= core.LevelRetry {
		e.Acked = s.Meta.Clock
	}
	s.indexEscalation(e, +1)
	s.escalationEvent("escalation.acknowledged", e, "by "+core.Nobody(e.AckBy))
	return noun.Outcome{}
}

func (c CloseEscalation) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	e, no := s.escalation(c.Escalation)
	switch {
	case e == nil:
		return no
	case e.State == noun.EscalationClosed:
		return noun.Outcome{Count: 1}
	case len(c.Note) > noun.MaxEscalationNote:
		return core.Refuse(noun.Invalid, "the note has %d bytes, at most %d are allowed", len(c.Note),
			noun.MaxEscalationNote)
	}
	about := *e
	s.close(e, noun.Clip(c.By, noun.MaxMailFrom), c.Note)
	s.Hooks.Closed.Call(about)
	return noun.Outcome{}
}

// called tells whether an escalation of this kind and subject is there and not closed.
func (v *View) called(kind noun.EscalationKind, subject string) bool {
	e := v.EscalationTable.Get(v.byKey[keyOf(&noun.Escalation{Kind: kind, Subject: subject})])
	return e != nil && e.State != noun.EscalationClosed
}

// isOver is the note of what is closed since it is over by itself.
const isOver = "it is over"

// over closes the escalation about something that is over by itself.
func (s *State) over(about noun.Escalation) {
	if e := s.EscalationTable.Mut(s.byKey[keyOf(&about)]); e != nil && e.State != noun.EscalationClosed {
		s.close(e, noun.LaddersBy, isOver)
	}
}

func (s *State) close(e *noun.Escalation, by, note string) {
	s.unannounce(e)
	s.indexEscalation(e, -1)
	e.State, e.Closed = noun.EscalationClosed, s.Meta.Clock
	e.CloseBy, e.CloseAt, e.Note = by, s.Entry.Wall, note
	s.indexEscalation(e, +1)
	s.escalationEvent("escalation.closed", e, "by "+core.Nobody(e.CloseBy))
	for uint64(s.closed.Len()) > s.Meta.Settings.Escalation.Kept {
		oldest, _ := s.closed.Min()
		s.removeEscalation(oldest.id)
	}
}

// Apply books one try. The next one comes after a pause that doubles.
func (c NoteNotice) Apply(of *core.State) noun.Outcome {
	s := core.Part[*State](of)
	e, no := s.escalation(c.Escalation)
	switch {
	case e == nil:
		return no
	case c.Notice == 0 || e.Notice.Number != c.Notice:
		return core.Refuse(noun.Conflict, "notice %d about escalation %d is over", c.Notice, c.Escalation)
	case c.Notifier == "" || len(c.Notifier) > noun.MaxNotifierName || len(c.Notifiers) > noun.MaxNotifiers ||
		len(c.Failure) > noun.MaxFailure:
		return core.Refuse(noun.Invalid,
			"a notifier needs a name of 1 to %d bytes, at most %d are allowed, and a failure is at most %d bytes long",
			noun.MaxNotifierName, noun.MaxNotifiers, noun.MaxFailure)
	}
	list := slices.Clone(e.Notice.Deliveries)
	at := slices.IndexFunc(list, func(d noun.Delivery) bool { return d.Notifier == c.Notifier })
	switch {
	case at >= 0 && list[at].Over():
		return noun.Outcome{Count: 1}
	case at < 0 && len(list) >= noun.MaxNotifiers: // of leaders with other notifiers
		return core.Refuse(noun.Invalid, "%d notifiers have tried to deliver notice %d, more are not noted",
			len(list), c.Notice)
	case at < 0:
		at, list = len(list), append(list, noun.Delivery{Notifier: c.Notifier})
	}
	s.booked(e, &list[at], c.Failure)
	e.Notice.Deliveries = list
	open := slices.ContainsFunc(c.Notifiers, func(name string) bool {
		return !slices.ContainsFunc(list, func(d noun.Delivery) bool { return d.Notifier == name && d.Over() })
	})
	if e.Notice.Pending && !open {
		s.unannounce(e)
	}
	s.Rearm(core.TimerEscalation, uint64(e.ID), &e.Armed, s.noticeRow(e))
	return noun.Outcome{}
}

func (s *State) booked(e *noun.Escalation, d *noun.Delivery, failure string) {
	set := &s.Meta.Settings.Escalation
	d.Tries++
	d.At, d.Wall, d.Failure = s.Meta.Clock, s.Entry.Wall, failure
	switch {
	case failure == "":
		d.Done, d.Next = true, 0
		s.escalationEvent("escalation.notified", e, fmt.Sprintf("notice %d by %s", e.Notice.Number, d.Notifier))
	case d.Tries >= set.Tries:
		d.GaveUp, d.Next = true, 0
		s.escalationEvent("escalation.undelivered", e,
			fmt.Sprintf("notice %d by %s is given up after %d tries: %s", e.Notice.Number, d.Notifier,
				d.Tries, failure))
	default:
		d.Next = s.Meta.Clock.Add(min(set.Retry<<min(d.Tries-1, 20), noun.NoticeRest))
	}
}

// rearmReminders follows the settings, and the level from which on what comes back is announced.
func (s *State) rearmReminders() {
	for id := range s.EscalationTable.From(0) {
		if e := s.EscalationTable.Get(id); e.State == noun.EscalationOpen && !e.Notice.Pending {
			e = s.EscalationTable.Mut(id)
			s.Rearm(core.TimerEscalation, uint64(id), &e.Armed, s.noticeRow(e))
		}
	}
}

func (s *State) fireEscalation(id noun.EscalationID) {
	e := s.EscalationTable.Mut(id)
	if e == nil {
		return
	}
	e.Armed = 0
	s.Result.Effects.Notice = true
	set := &s.Meta.Settings.Escalation
	switch row := s.remindRow(e); {
	case s.again(e) && s.Meta.Clock.Sub(e.Notice.At) >= set.Cooldown && (e.Priority == noun.MailUrgent || s.Lasts(e)):
		s.escalationEvent("escalation.reminded", e,
			fmt.Sprintf("it has happened again since it was announced, %s in all", noun.Plural(e.Count, "time")))
		s.announce(e)
	case row.Kind != nil && row.Ran(s.Meta.Clock) >= set.Remind && s.Lasts(e):
		s.escalationEvent("escalation.reminded", e, "nobody looks after it for "+s.Since(e.First).String())
		s.announce(e)
	}
	s.Rearm(core.TimerEscalation, uint64(id), &e.Armed, s.noticeRow(e))
}

// Notices lists what the notifier has to deliver now, the most urgent first, then the
// oldest. It costs a walk over what is pending.
func (v *View) Notices(notifier string) (list []*noun.Escalation) {
	v.pending.Scan(func(id noun.EscalationID) bool {
		e := v.EscalationTable.Get(id)
		at := slices.IndexFunc(e.Notice.Deliveries, func(d noun.Delivery) bool { return d.Notifier == notifier })
		if at < 0 || !e.Notice.Deliveries[at].Over() && e.Notice.Deliveries[at].Next <= v.Meta.Clock {
			list = append(list, e)
		}
		return true
	})
	slices.SortStableFunc(list, func(a, b *noun.Escalation) int {
		return cmp.Or(a.Priority.Rank()-b.Priority.Rank(), cmp.Compare(a.Notice.Number, b.Notice.Number))
	})
	return list
}

// Escalation finds an escalation.
func (v *View) Escalation(id noun.EscalationID) *noun.Escalation { return v.EscalationTable.Get(id) }

// Escalations yields the escalations behind id, oldest first.
func (v *View) Escalations(after noun.EscalationID) iter.Seq[*noun.Escalation] {
	return core.Values(v.EscalationTable.From(after + 1))
}

// EscalationCounts sums up the escalations.
type EscalationCounts struct {
	noun.Escalations
	Open    int // not closed
	Alone   int // of these, without anybody who looks after it
	Pending int // notices that are not delivered everywhere
}

// EscalationCounts sums up; it costs nothing.
func (v *View) EscalationCounts() EscalationCounts {
	return EscalationCounts{v.Meta.Escalations, v.opened, v.alone, v.pending.Len()}
}

// AckEscalation is a human's word that somebody looks after it: no more notices.
type AckEscalation struct {
	Escalation noun.EscalationID
	By         string
}

// CloseEscalation is a human's word that nothing is left to decide.
type CloseEscalation struct {
	Escalation noun.EscalationID
	By, Note   string
}

// NoteNotice says how one notifier fared with a notice.
type NoteNotice struct {
	Escalation noun.EscalationID
	Notice     uint64
	Notifier   string
	Failure    string // empty: it was delivered
	// Notifiers are all that the leader has: when each is through, nothing is pending.
	Notifiers []string
}

// escalationKey finds the newest escalation about something.
type escalationKey struct {
	kind    noun.EscalationKind
	subject string
}

func keyOf(e *noun.Escalation) escalationKey { return escalationKey{e.Kind, e.Subject} }

// closedEscalation orders closed ones: those go first that were closed first.
type closedEscalation struct {
	at noun.Time
	id noun.EscalationID
}

func lessClosed(a, b closedEscalation) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	return a.id < b.id
}
