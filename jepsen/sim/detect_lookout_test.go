package sim

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"time"

	"vigil/fsm"
	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// lookout reads what the servers tell and looks at every verdict, as a person would.
type lookout struct {
	c      *cast
	turn   turn // one look at a time
	last   uint64
	looked time.Time
	agents map[string]*part // by agent
	rooms  map[string]*part
	counts map[string]map[string]int // kind -> what -> how often
	causes []string                  // of first rungs with healthy agents
	looks  int
	past   map[string][]noun.Event // the last ones of each
	lost   map[string]noun.Time    // agents whose lease or fence has ended, when last
	wrong  map[string]time.Time    // agents with a wrong verdict, since when

	mu       sync.Mutex
	stints   []noun.Time         // when each leader began
	episodes map[string]*episode // by agent or room; not over
	ended    []*episode
	holders  map[noun.TaskID]string
	hosts    map[string]string      // of agents
	away     map[string][]noun.Time // host: from and to of when it was not heard
}

func newLookout(c *cast) *lookout {
	o := &lookout{c: c, turn: newTurn(), agents: map[string]*part{}, rooms: map[string]*part{},
		counts: map[string]map[string]int{}, wrong: map[string]time.Time{}, episodes: map[string]*episode{},
		past: map[string][]noun.Event{}, lost: map[string]noun.Time{}, holders: map[noun.TaskID]string{},
		hosts: map[string]string{}, away: map[string][]noun.Time{}}
	for _, p := range c.parts {
		o.rooms[p.room] = p
		if o.counts[p.kind] == nil {
			o.counts[p.kind] = map[string]int{}
		}
		for i := range p.spec.Replicas {
			o.agents[noun.AgentName(p.room, p.name, i+1)] = p
		}
	}
	return o
}

func (o *lookout) run() {
	for nap(o.c.w.ctx, 2*time.Second) {
		o.look()
	}
}

// look reads the events of the leader, and now and then all verdicts.
func (o *lookout) look() {
	o.turn.Lock()
	defer o.turn.Unlock()
	i := o.c.w.leading()
	if i < 0 {
		return
	}
	rep := o.c.w.replica(i)
	if rep == nil {
		return
	}
	var fresh []noun.Event
	rep.Read(func(st *fsm.View) {
		if first := st.OldestEvent(); o.last > 0 && first > o.last+1 {
			o.c.w.ledger.breach("events", "events %d to %d were gone before anybody has read them", o.last+1, first-1)
		}
		for e := range st.Events(o.last) {
			fresh, o.last = append(fresh, *e), e.Seq
		}
		if time.Since(o.looked) >= 30*time.Second {
			o.looked = time.Now()
			o.verdicts(st)
		}
	})
	for i := range fresh {
		o.event(&fresh[i])
	}
}

// event counts what concerns one of the cast.
func (o *lookout) event(e *noun.Event) {
	if e.Kind == "leader.established" {
		o.mu.Lock()
		o.stints = append(o.stints, e.At)
		o.mu.Unlock()
	}
	o.place(e)
	p := o.agents[e.Agent]
	if p == nil && e.Agent == "" {
		p = o.rooms[e.Room]
	}
	if p == nil {
		return
	}
	o.counts[p.kind][e.Kind]++
	who := cmp.Or(e.Agent, e.Room)
	o.past[who] = append(o.past[who][max(0, len(o.past[who])-9):], *e)
	if p.ill == nil {
		o.innocent(e, p)
		return
	}
	o.noticed(e, p)
}

// innocent judges what was done to a healthy agent or its room. The first rung is a
// question, and allowed; whatever takes something away, or calls a human, is not.
func (o *lookout) innocent(e *noun.Event, p *part) {
	wrong := ""
	switch e.Kind {
	case "agent.nudged":
		if len(o.causes) < 100 {
			o.causes = append(o.causes, p.kind+": "+e.Text+o.before(e))
		}
	case "agent.woken", "agent.interrupted", "agent.restarted_stuck", "agent.needs_human", "agent.turn_limit",
		"room.idle_timeout", "room.canceled", "mail.escalated", "task.canceled", "task.quarantined":
		wrong = e.Kind
	case "agent.start_limit": // of a life whose lease has ended with its host, it ends what is left
		if lost, ok := o.lost[e.Agent]; !ok || e.At.Sub(lost) > 5*time.Minute {
			wrong = e.Kind
		}
	case "agent.lease_ended", "agent.fence_ended":
		o.lost[e.Agent] = e.At
	case "task.recovered", "task.failed":
		if strings.Contains(e.Text, "limit") {
			wrong = "taken back by a limit"
		}
	}
	if wrong != "" {
		o.counts[p.kind]["wrong: "+wrong]++
		o.c.w.ledger.breach("false alarm", "%s of %s (%s): %s", e.Kind, cmp.Or(e.Agent, e.Room), p.kind,
			e.Text+o.before(e))
	}
}

// verdicts looks at what is said of every healthy agent. Unresponsive is never right;
// offline is when no process of it runs, which is so for a while after its host was hit.
func (o *lookout) verdicts(st *fsm.View) {
	o.looks++
	for a := range st.Agents("") {
		p := o.agents[a.Name]
		if p == nil || p.ill != nil {
			continue
		}
		v := st.Verdict(a.ID, true)
		n := o.counts[p.kind]
		n["verdict: "+v.Kind.String()]++
		bad := v.Kind == judge.AgentUnresponsive || v.Kind == judge.AgentOffline && o.c.runs(a.Name, a.Inc)
		if !bad {
			delete(o.wrong, a.Name)
			continue
		}
		since, seen := o.wrong[a.Name]
		if !seen {
			since = time.Now()
			o.wrong[a.Name] = since
		}
		if v.Kind == judge.AgentOffline && time.Since(since) < 2*time.Minute {
			continue // its process was started, and nobody has said so yet
		}
		n["wrong: grave"]++
		o.c.w.ledger.breach("false alarm", "%s (%s) is called %s: %v", a.Name, p.kind, v.Kind, v.Reasons)
	}
}

// before tells what happened before an event, for whoever looks for its cause.
func (o *lookout) before(e *noun.Event) (text string) {
	for _, was := range o.past[cmp.Or(e.Agent, e.Room)] {
		text += fmt.Sprintf("; %v %s %d %s", time.Duration(was.At).Round(time.Second), was.Kind, was.Task, was.Text)
	}
	return text + o.c.w.lately(10*time.Minute)
}

// lately names the faults of so long.
func (w *world) lately(span time.Duration) (text string) {
	w.ledger.story.mu.Lock()
	defer w.ledger.story.mu.Unlock()
	for _, f := range w.ledger.story.faults {
		if f.To > int64(w.since()-span) {
			text += fmt.Sprintf("; %s %s%v to %v", f.Kind, f.Note+" ", time.Duration(f.From).Round(time.Second),
				time.Duration(f.To).Round(time.Second))
		}
	}
	return text
}

// runs tells that a life runs, on a host to which nothing was done lately.
func (c *cast) runs(name string, inc noun.Incarnation) bool {
	c.w.ledger.mu.Lock()
	on, ok := c.w.ledger.agent(name).running[inc]
	c.w.ledger.mu.Unlock()
	return ok && !c.troubled(on)
}

// unacknowledged lists the mail that the agent has read and not acknowledged.
func (w *world) unacknowledged(id noun.AgentID) (list []noun.MailID) {
	i := w.leading()
	if i < 0 {
		return nil
	}
	if rep := w.replica(i); rep != nil {
		rep.Read(func(st *fsm.View) {
			for m := range st.Mailbox(id, 0) {
				if m.State == noun.MailDelivered {
					list = append(list, m.ID)
				}
			}
		})
	}
	return list
}
