package fsm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// escalation is what leaders and humans say of escalations; now and then it is nonsense.
func (c *chaos) escalation(s *State) Command {
	switch {
	case s.Meta.Settings.Escalation.Retry > 9e9:
		return PutSettings{Values: []noun.KV{{Key: "escalation_cooldown", Value: "20s"},
			{Key: "escalation_retry", Value: "1s"}, {Key: "escalation_tries", Value: "3"},
			{Key: "escalations_kept", Value: "9"}}}
	}
	id := noun.EscalationID(1 + max(0, int(s.Meta.Escalations.Last)-c.rng.IntN(8)))
	e := s.Escalation(id)
	switch n := c.rng.IntN(10); {
	case n < 2:
		return AckEscalation{Escalation: id, By: "ann"}
	case n < 5 || e == nil:
		return CloseEscalation{Escalation: id, By: "ann", Note: "n"}
	}
	w := NoteNotice{Escalation: id, Notice: e.Notice.Number, Notifier: pick(c, []string{"hook", "page", "old"}),
		Notifiers: []string{"hook", "page"}}
	if c.one(2) {
		w.Failure = "timeout"
	}
	if c.one(12) {
		w.Notice += uint64(c.rng.IntN(3)) - 1
	}
	return w
}

// trouble has something happen to an agent that runs, or starts one.
func (c *chaos) trouble(s *State) Command {
	var list []*noun.Agent
	for a := range s.Agents("") {
		if a.Proc == noun.ProcOrdered || a.Proc.Fenced() {
			list = append(list, a)
		}
	}
	a := pick(c, list)
	if a == nil || c.one(3) {
		for id := range s.Wanting() {
			return OrderStart{Agent: id, Inc: s.NextInc(s.Agent(id)), Host: noun.HostID(1 + c.rng.IntN(2))}
		}
		return CreateTask{Room: "r", Role: "c", Title: "t"}
	}
	boot := s.Host(a.Host).Boot
	switch n := c.rng.IntN(6); {
	case a.Proc == noun.ProcOrdered:
		return AcceptOrder{Host: a.Host, Boot: boot, Agent: a.ID, Inc: a.Inc}
	case a.Proc == noun.ProcAccepted && n < 2:
		return ReportExit{Host: a.Host, Agent: a.ID, Inc: a.Inc, Kind: noun.ExitStartFailed}
	case a.Proc == noun.ProcAccepted:
		return ReportStarted{Host: a.Host, Agent: a.ID, Inc: a.Inc, PID: 1}
	case n == 0:
		return ReportStuck{Host: a.Host, Agent: a.ID, Inc: a.Inc, Reason: pick(c, []string{"", "stuck"})}
	case a.Part == noun.PartDisconnected:
		return Join{Speaker: Speaker{Agent: a.Name, Inc: a.Inc, TokenHash: []byte(a.TokenHash)}}
	case a.Task == 0 && n < 4:
		return Claim{Speaker: Speaker{Agent: a.Name, Inc: a.Inc, TokenHash: []byte(a.TokenHash)}}
	}
	return ReportExit{Host: a.Host, Agent: a.ID, Inc: a.Inc, Code: 1}
}

// twinEscalation is one escalation, naively.
type twinEscalation struct {
	closedAt noun.Time
	state    noun.EscalationState
	count    uint64
	notice   noun.Time // when it was last announced
	last     noun.Time // when it has last happened
	acked    noun.Time // when a human took it last
	pending  bool
	tries    map[string]int
	over     map[string]bool
	urgent   bool // of mail: as urgent as it becomes
}

// twinAlarms knows of escalations what events and accepted commands tell; it has no
// numbers, no index and no timers.
type twinAlarms struct {
	on              bool
	newest          map[twinKey]*twinEscalation
	byID            map[noun.EscalationID]*twinEscalation
	closed          []noun.EscalationID // in this order
	last            noun.EscalationID
	ever            map[noun.EscalationKind]bool
	reopened, again int
	reminders       int
	came            int    // announced at the end of the cool-down
	episodes        int    // opened again after an acknowledgement
	left            int    // closed since what they were about was gone
	broken          string // the agent whose next end is one more start that failed
	// roles are those of all tasks but looks, by name; failed are the tasks that open escalations are about.
	roles  map[noun.TaskID]string
	failed map[twinKey][]noun.TaskID
}

func (w *twinAlarms) happens(s *State, k twinKey) {
	if !w.on {
		return
	}
	e, now, cool := w.newest[k], s.Meta.Clock, s.Meta.Settings.Escalation.Cooldown
	if e == nil || e.state == noun.EscalationClosed && now.Sub(e.notice) >= cool {
		e = &twinEscalation{state: noun.EscalationOpen, count: 1, last: now}
		w.ever[k.kind] = true
		w.last++
		w.newest[k], w.byID[w.last] = e, e
		e.announce(now)
		return
	}
	if e.state == noun.EscalationClosed {
		e.state = noun.EscalationOpen
		w.reopened++
		for i, id := range w.closed {
			if w.byID[id] == e {
				w.closed = append(w.closed[:i:i], w.closed[i+1:]...)
				break
			}
		}
	}
	if every := s.Meta.Settings.Escalation.Remind; e.state == noun.EscalationAcknowledged && every > 0 &&
		s.Level() >= core.LevelRetry && now.Sub(max(e.last, e.acked)) >= max(every, cool) {
		e.state = noun.EscalationOpen
		w.episodes++
	}
	e.count++
	e.last = now
	if e.state == noun.EscalationOpen && !e.pending && now.Sub(e.notice) >= cool {
		e.announce(now)
		w.again++
	}
}

// worse announces at once what has become urgent, from the level on that does so.
func (w *twinAlarms) worse(s *State, k twinKey, urgent bool) {
	e := w.newest[k]
	if e == nil || !urgent || e.urgent {
		return
	}
	worse := e.count > 1 && s.Level() >= core.LevelRetry
	if e.urgent = true; worse && e.state == noun.EscalationAcknowledged {
		e.state = noun.EscalationOpen
	}
	if worse && e.state == noun.EscalationOpen && !e.pending {
		e.announce(s.Meta.Clock)
	}
}

// reminded holds that only what nobody looks after is announced again, and not too soon.
func (w *twinAlarms) reminded(s *State, ev *noun.Event) {
	var id noun.EscalationID
	fmt.Sscanf(ev.Text, "escalation %d ", &id)
	e, every := w.byID[id], s.Meta.Settings.Escalation.Remind
	came := strings.Contains(ev.Text, "happened again")
	if came {
		every = s.Meta.Settings.Escalation.Cooldown
	}
	if e == nil || e.state != noun.EscalationOpen || e.pending || s.Meta.Clock.Sub(e.notice) < every || every == 0 ||
		came && (e.last <= e.notice || s.Level() < core.LevelRetry) {
		panic(fmt.Sprintf("at %d: %s; the twin has %+v", s.Meta.Clock, ev.Text, e))
	}
	e.announce(s.Meta.Clock)
	if came {
		w.came++
	} else {
		w.reminders++
	}
}

func (e *twinEscalation) announce(now noun.Time) {
	e.notice, e.pending, e.tries, e.over = now, true, map[string]int{}, map[string]bool{}
}

// seen takes note of what an event says, none of which the escalations have written.
func (w *twinAlarms) seen(s *State, ev *noun.Event) {
	switch {
	case ev.Kind == "agent.unkillable":
		w.happens(s, twinKey{noun.EscStuckProcess, ev.Agent})
	case ev.Kind == "agent.parked" && !strings.HasPrefix(ev.Text, "a usage limit") &&
		!strings.HasPrefix(ev.Text, "its trial could not start"):
		w.happens(s, twinKey{noun.EscBreaker, ev.Agent})
	case ev.Kind == "agent.needs_human":
		w.happens(s, twinKey{noun.EscAgentStuck, ev.Agent})
	case ev.Kind == "agent.exited" && ev.Agent == w.broken:
		w.happens(s, twinKey{noun.EscBrokenStart, ev.Agent})
	case ev.Kind == "task.quarantined":
		w.happens(s, twinKey{noun.EscTaskQuarantined, "task " + uintText(uint64(ev.Task))})
	case ev.Kind == "task.created":
		if t := s.Task(ev.Task); t == nil || t.Creator != noun.LaddersBy || t.Priority != noun.LookPriority {
			w.roles[ev.Task] = ev.Room + "/" + ev.Text
		}
	case ev.Kind == "task.failed":
		w.taskFails(s, ev.Task)
	case ev.Kind == "mail.escalated":
		k := twinKey{noun.EscMailUnanswered, ev.Agent}
		w.happens(s, k)
		w.worse(s, k, strings.Contains(ev.Text, ", urgent, from "))
	case ev.Kind == "brake.set":
		w.happens(s, twinKey{noun.EscMassFailure, "cluster"})
	case ev.Kind == "room.canceled" && strings.HasPrefix(ev.Text, "by watchdog"):
		w.happens(s, twinKey{noun.EscRoomCanceled, ev.Room})
	case ev.Kind == "escalation.reminded":
		w.reminded(s, ev)
	case ev.Kind == "agent.removed":
		w.gone(s, []noun.EscalationKind{noun.EscStuckProcess, noun.EscBreaker, noun.EscBrokenStart, noun.EscAgentStuck,
			noun.EscMailUnanswered}, ev.Agent)
	case ev.Kind == "room.deleted":
		w.gone(s, []noun.EscalationKind{noun.EscRoomCanceled}, ev.Room)
	case ev.Kind == "servers.differ":
		w.happens(s, twinKey{noun.EscStatesDiffer, "cluster"})
	case ev.Kind == "server.diverged":
		w.happens(s, twinKey{noun.EscServerDiverged, ev.Text})
	}
}

// close closes one that is open, and forgets those that were closed first.
func (w *twinAlarms) close(s *State, id noun.EscalationID) {
	e := w.byID[id]
	if e.state == noun.EscalationClosed {
		return
	}
	e.state, e.pending = noun.EscalationClosed, false
	at := len(w.closed) // of those closed at the same time, the lower number is the older one
	for e.closedAt = s.Meta.Clock; at > 0 && w.byID[w.closed[at-1]].closedAt == e.closedAt && w.closed[at-1] > id; {
		at--
	}
	w.closed = slices.Insert(w.closed, at, id)
	for len(w.closed) > int(s.Meta.Settings.Escalation.Kept) {
		for k, newest := range w.newest {
			if newest == w.byID[w.closed[0]] {
				delete(w.newest, k)
			}
		}
		delete(w.byID, w.closed[0])
		w.closed = w.closed[1:]
	}
}

// gone closes what is about something that is no more, once the level has begun that does so.
func (w *twinAlarms) gone(s *State, kinds []noun.EscalationKind, subject string) {
	if s.Level() < core.LevelRetry {
		return
	}
	for _, kind := range kinds {
		for id, e := range w.byID {
			if e == w.newest[twinKey{kind, subject}] && e.state != noun.EscalationClosed {
				w.left++
				w.close(s, id)
				break
			}
		}
	}
}

// taskFails counts a task that FAILED in the escalation about those of its role.
func (w *twinAlarms) taskFails(s *State, id noun.TaskID) {
	k := twinKey{noun.EscTaskFailed, w.roles[id]}
	if k.subject == "" || s.Level() < core.LevelRetry {
		return
	}
	if e := w.newest[k]; e == nil || e.state == noun.EscalationClosed {
		w.failed[k] = nil
	}
	w.happens(s, k)
	w.failed[k] = append(w.failed[k], id)
}

// tasksGone does so for tasks: nothing is said of their end.
func (w *twinAlarms) tasksGone(s *State) {
	for k := range w.failed {
		room, role, _ := strings.Cut(k.subject, "/")
		r := s.RoleByName(room, role)
		w.failed[k] = slices.DeleteFunc(w.failed[k], func(id noun.TaskID) bool {
			t := s.Task(id)
			return t == nil || t.State != noun.TaskFailed
		})
		if len(w.failed[k]) == 0 || r == nil || r.Retired {
			w.gone(s, []noun.EscalationKind{k.kind}, k.subject)
		}
	}
	for k := range maps.Clone(w.newest) {
		var id noun.TaskID
		if n, _ := fmt.Sscanf(k.subject, "task %d", &id); n == 1 && s.Task(id) == nil {
			w.gone(s, []noun.EscalationKind{noun.EscTaskQuarantined}, k.subject)
		}
	}
}

func uintText(n uint64) (text string) {
	for ; n > 0 || text == ""; n /= 10 {
		text = string(rune('0'+n%10)) + text
	}
	return text
}

// said takes note of an accepted command.
func (w *twinAlarms) said(s *State, c Command) {
	switch c := c.(type) {
	case AckEscalation:
		if e := w.byID[c.Escalation]; e.state == noun.EscalationOpen {
			e.state, e.pending, e.acked = noun.EscalationAcknowledged, false, s.Clock()
		}
	case CloseEscalation:
		w.close(s, c.Escalation)
	case NoteNotice:
		e := w.byID[c.Escalation]
		if e.over[c.Notifier] {
			return
		}
		e.tries[c.Notifier]++
		e.over[c.Notifier] = c.Failure == "" || e.tries[c.Notifier] >= int(s.Meta.Settings.Escalation.Tries)
		if e.over["hook"] && e.over["page"] {
			e.pending = false
		}
	}
}

// What is escalated, how often, whether it is announced and to whom agrees with what is
// found from events and commands alone.
func TestTwinOfEscalationsAgrees(t *testing.T) {
	kinds, reopened, announced, reminded := map[noun.EscalationKind]int{}, 0, 0, 0
	gone, left, came, episodes := 0, 0, 0, 0
	for _, seed := range seeds(t, 8) {
		c, s := newChaos(seed, true), New()
		remind := []string{"0s", "7s"}[seed%2] // who is reminded often is never announced again
		opening := c.opening()
		if seed%3 > 0 { // without what else calls humans from this level on
			opening = append(opening, c.entry(Request{Cmd: RaiseLevel{Level: core.LevelRetry}}),
				c.entry(Request{Cmd: PutSettings{Values: []noun.KV{{Key: "circuit_failures", Value: "0"},
					{Key: "watchdog_untaken", Value: "cancel"}}}}))
		}
		for _, e := range append(opening,
			c.entry(Request{Cmd: PutSettings{Values: []noun.KV{{Key: "breaker_starts", Value: "2"},
				{Key: "breaker_pause", Value: "2s"}}}}),
			c.entry(Request{Cmd: PutSettings{Values: []noun.KV{{Key: "escalation_remind", Value: remind}}}})) {
			s.Apply(e)
		}
		w := &twinAlarms{on: true, ever: map[noun.EscalationKind]bool{}, newest: map[twinKey]*twinEscalation{},
			byID:  map[noun.EscalationID]*twinEscalation{},
			roles: map[noun.TaskID]string{}, failed: map[twinKey][]noun.TaskID{}}
		for range 6000 {
			e := c.next(s)
			if len(e.Requests) > 1 { // what each command did is seen one by one
				e.Requests = e.Requests[:1]
			}
			switch c.rng.IntN(8) {
			case 0:
				e.Requests = []Request{{Cmd: c.escalation(s)}}
			case 1, 2:
				e.Requests = []Request{{Cmd: c.trouble(s)}}
			}
			for i, r := range e.Requests {
				if set, ok := r.Cmd.(SetRoomWatch); ok {
					set.Untaken = noun.UntakenAsSet
					e.Requests[i].Cmd = set
				}
			}
			after := s.LastEvent()
			events := func() {
				for ev := range s.Events(after) {
					w.seen(s, ev)
				}
				after = s.LastEvent()
				w.tasksGone(s)
			}
			// What time and beats do is seen apart from the command.
			s.Apply(&Entry{Index: e.Index, Term: e.Term, Stint: e.Stint, Stamp: e.Stamp, Wall: e.Wall, Beats: e.Beats})
			events()
			c.index++
			e.Index, e.Beats = c.index, nil
			w.broken = ""
			if len(e.Requests) == 1 {
				x, _ := e.Requests[0].Cmd.(ReportExit)
				if a := s.Agent(x.Agent); a != nil && x.Kind == noun.ExitStartFailed &&
					a.Order != noun.StopOrder && a.Notes().Faults >= 2 {
					w.broken = a.Name
				}
			}
			repeated := s.Figures().Repeated
			out := s.Apply(e).Outcomes
			events()
			if len(out) == 1 && out[0].Code == noun.OK && s.Figures().Repeated == repeated {
				w.said(s, e.Requests[0].Cmd)
			}
			if len(w.byID) != s.EscalationTable.Len() {
				t.Fatalf("seed %d, entry %d, %+v: %d escalations, the twin has %d", seed, e.Index, e.Requests,
					s.EscalationTable.Len(), len(w.byID))
			}
			for id, e2 := range w.byID {
				x := s.Escalation(id)
				if x == nil || x.State != e2.state || x.Count != e2.count || x.Notice.At != e2.notice ||
					x.Notice.Pending != e2.pending {
					t.Fatalf("seed %d, entry %d, %+v: escalation %d is\n%+v, the twin says\n%+v", seed,
						e.Index, e.Requests, id, x, e2)
				}
				for _, d := range x.Notice.Deliveries {
					if int(d.Tries) != e2.tries[d.Notifier] || d.Over() != e2.over[d.Notifier] {
						t.Fatalf("seed %d, entry %d: delivery %+v, the twin says %d tries, over %v", seed,
							e.Index, d, e2.tries[d.Notifier], e2.over[d.Notifier])
					}
				}
			}
			if err := s.Check(); err != nil {
				t.Fatalf("seed %d, entry %d, %+v: %v", seed, e.Index, e.Requests, err)
			}
		}
		for k := range w.ever {
			kinds[k]++
		}
		reopened += w.reopened
		announced += w.again
		reminded += w.reminders
		left += w.left
		came += w.came
		episodes += w.episodes
		gone += int(w.last) - len(w.byID)
	}
	if *seedFlag == 0 && (len(kinds) < 6 || reopened == 0 || announced == 0 || reminded == 0 || gone == 0 ||
		left == 0 || came == 0 || episodes == 0) {
		t.Errorf("the log exercises too little")
	}
	t.Logf("kinds %v, %d reopened, %d announced again, %d reminded of, %d forgotten, %d about what was gone, "+
		"%d at the end of a cool-down, %d again after an acknowledgement", kinds, reopened, announced, reminded,
		gone, left, came, episodes)
}

// twinKey is what an escalation is about.
type twinKey struct {
	kind    noun.EscalationKind
	subject string
}
