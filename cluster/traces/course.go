package traces

import (
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// span is something that has ended.
type span struct {
	of         noun.Spans
	id, parent noun.SpanID
	name       string
	begin, end noun.Wall
	facts      []fact
	why        string // why it failed
	failed     bool
	after      *noun.Spans // of the task that handed this one over; nil: none, or it is forgotten
}

// fact is an attribute: a word, or without one a number.
type fact struct {
	name, word string
	n          uint64
}

// course is how far a task is that has been claimed, or put back by a human, and has not ended.
type course struct {
	of       noun.Spans
	role     string    // room/role
	created  noun.Wall // of the task
	since    noun.Wall // since when it waits, or is worked on
	again    noun.Wall // when it was put back after it had ended; 0: it has not ended before
	attempt  uint32
	agent    string
	inc      noun.Incarnation
	host     string
	running  bool
	handedBy *noun.Spans
}

// courses follows tasks through the history. It is not safe for concurrent use.
type courses struct {
	cluster func() string
	tasks   map[noun.TaskID]*course
}

func newCourses(cluster func() string) *courses {
	return &courses{cluster: cluster, tasks: map[noun.TaskID]*course{}}
}

// take goes on with one event and gives the spans that it ends. The state may be further than the event.
func (c *courses) take(st *fsm.View, e *noun.Event) []span {
	if e.Task == 0 {
		return nil
	}
	switch e.Kind {
	case "task.claimed":
		return c.claimed(st, e)
	case "task.recovered":
		return c.recovered(st, e)
	case "task.completed", "task.failed", "task.quarantined", "task.canceled":
		return c.ended(st, e)
	case "task.retried", "task.unquarantined", "task.reopened":
		c.putBack(st, e)
	}
	return nil
}

// find gives the course of a task; nil: the state has forgotten the task.
func (c *courses) find(st *fsm.View, id noun.TaskID) *course {
	if x := c.tasks[id]; x != nil {
		return x
	}
	t := st.Task(id)
	if t == nil {
		return nil
	}
	x := &course{of: noun.SpansOf(c.cluster(), t.ID, t.CreatedAt, t.Trace), role: st.RoleName(t.Role),
		created: t.CreatedAt, since: t.CreatedAt}
	if by := st.Task(t.Parent); by != nil {
		of := noun.SpansOf(c.cluster(), by.ID, by.CreatedAt, by.Trace)
		x.handedBy = &of
	}
	c.tasks[id] = x
	return x
}

func (c *courses) claimed(st *fsm.View, e *noun.Event) []span {
	x := c.find(st, e.Task)
	if x == nil {
		return nil
	}
	list := x.stop(e, "", false) // nothing but the wait, unless events are missing
	x.running, x.since, x.attempt, x.agent, x.inc, x.host = true, e.Wall, e.Attempt, e.Agent, e.Inc, ""
	if a := st.AgentByName(e.Agent); a != nil && a.Inc == e.Inc {
		if h := st.Host(a.Host); h != nil {
			x.host = h.Name
		}
	}
	return list
}

func (c *courses) recovered(st *fsm.View, e *noun.Event) []span {
	x := c.find(st, e.Task)
	if x == nil {
		return nil
	}
	x.missed(e)
	list := x.stop(e, "RECOVERED", true)
	x.running, x.since = false, e.Wall
	return list
}

// ends are the states with which tasks end, by the event.
var ends = map[string]string{"task.completed": "COMPLETED", "task.failed": "FAILED",
	"task.quarantined": "QUARANTINED", "task.canceled": "CANCELED"}

func (c *courses) ended(st *fsm.View, e *noun.Event) []span {
	x := c.find(st, e.Task)
	if x == nil {
		return nil
	}
	delete(c.tasks, e.Task)
	x.missed(e)
	state := ends[e.Kind]
	failed := state == "FAILED" || state == "QUARANTINED"
	list := x.stop(e, state, failed)
	whole := x.span("task "+x.role, x.of.Root(), x.created, e)
	whole.parent, whole.after = x.of.Parent, x.handedBy
	if x.again != 0 { // the span of the task was sent when it ended for the first time
		whole.name, whole.begin = "task again "+x.role, x.again
		whole.id, whole.parent, whole.after = x.of.Span("again", e.Seq), x.of.Root(), nil
	}
	whole.facts = append(whole.facts, fact{name: "vigil.cluster", word: c.cluster()},
		fact{name: "vigil.task.state", word: state},
		fact{name: "vigil.task.attempts", n: uint64(x.attempt)})
	if whole.failed = failed; failed {
		whole.why = e.Text
	}
	return append(list, whole)
}

// putBack is about a task that is offered again by a human's word: after its end, or before it was due.
func (c *courses) putBack(st *fsm.View, e *noun.Event) {
	t := st.Task(e.Task)
	if t == nil {
		return
	}
	known := c.tasks[e.Task] != nil
	x := c.find(st, e.Task)
	if !known && t.FinishedAt != 0 && t.FinishedAt <= e.At {
		x.again, x.since = e.Wall, e.Wall
	}
}

// missed makes up for the claim of an attempt that ends, where nothing was heard of it.
func (x *course) missed(e *noun.Event) {
	if e.Attempt != 0 && !x.running {
		x.running, x.attempt, x.agent, x.inc = true, e.Attempt, e.Agent, e.Inc
	}
}

// stop ends what goes on, by the event: an attempt, or waiting for one.
func (x *course) stop(e *noun.Event, how string, failed bool) []span {
	if !x.running {
		return []span{x.below(x.span("waiting", x.of.Span("waiting", e.Seq), x.since, e))}
	}
	s := x.below(x.span("attempt "+x.role, x.of.Attempt(x.attempt), x.since, e))
	s.facts = append(s.facts, fact{name: "vigil.attempt", n: uint64(x.attempt)},
		fact{name: "vigil.agent", word: x.agent}, fact{name: "vigil.incarnation", n: uint64(x.inc)})
	if x.host != "" {
		s.facts = append(s.facts, fact{name: "vigil.host", word: x.host})
	}
	if how != "" {
		s.facts = append(s.facts, fact{name: "vigil.attempt.end", word: how})
	}
	if s.failed = failed; failed {
		s.why = e.Text
	}
	return []span{s}
}

func (x *course) below(s span) span {
	s.parent = x.of.Root()
	return s
}

func (x *course) span(name string, id noun.SpanID, from noun.Wall, e *noun.Event) span {
	return span{of: x.of, id: id, name: name, begin: from, end: max(from, e.Wall), facts: []fact{
		{name: "vigil.task", n: uint64(e.Task)}, {name: "vigil.role", word: x.role}}}
}

// seed adds what the state alone still tells of a task that was claimed, or had ended, before the oldest
// event: when its attempt began follows from cluster time.
func (c *courses) seed(st *fsm.View, t *noun.Task, now noun.Wall) {
	if c.tasks[t.ID] != nil || t.State.Terminal() || !t.State.Held() && t.FinishedAt == 0 {
		return
	}
	x := c.find(st, t.ID)
	x.attempt = t.Attempt
	ago := func(at noun.Time) noun.Wall {
		return max(t.CreatedAt, now-noun.Wall(st.Clock().Sub(at)/time.Nanosecond))
	}
	if t.FinishedAt != 0 {
		x.again = ago(t.FinishedAt)
		x.since = ago(t.ChangedAt)
	}
	a := st.Agent(t.Holder)
	if !t.State.Held() || a == nil || a.Task != t.ID {
		return
	}
	x.running, x.agent, x.inc, x.since = true, a.Name, t.HolderInc, ago(a.TaskSince)
	if h := st.Host(a.Host); h != nil {
		x.host = h.Name
	}
}
