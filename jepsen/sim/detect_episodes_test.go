package sim

import (
	"cmp"
	"slices"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// episode is one time that somebody was stuck or dead. Times are cluster time.
type episode struct {
	p           *part
	who         string
	fell        noun.Time
	found, over noun.Time // 0: not yet
	shaken      bool      // the leader changed meanwhile
}

// measured is the slack of measuring: cluster time is read from the last entry, and the entry that says what was found
// takes its time while messages are late.
const measured = 5 * time.Second

// fell begins an episode now.
func (o *lookout) fell(who string, p *part) { o.fellAt(who, p, o.c.w.clock()) }

// fellAt begins an episode. One in twenty gets another leader in its middle.
func (o *lookout) fellAt(who string, p *part, at noun.Time) {
	w := o.c.w
	o.look() // the end of the last episode may be among events that nobody has read yet
	e := &episode{p: p, who: who, fell: at}
	var set noun.Settings
	if st := w.ready(time.Minute); st != nil {
		st.rep.Read(func(s *fsm.View) { set = *s.Settings() })
	}
	o.mu.Lock()
	before := o.episodes[who]
	o.episodes[who] = e
	nth := len(o.ended) + len(o.episodes)
	o.mu.Unlock()
	if before != nil {
		w.ledger.breach("true alarm", "%s (%s) fell at %v and again at %v, and %s in between", who, p.kind,
			time.Duration(before.fell), time.Duration(e.fell), before.missing())
	}
	if nth%20 == 0 {
		total := p.ill.due(&set, p.role(w)) + p.ill.look(&set, p.role(w))
		if p.ill.after != nil {
			total += p.ill.after(&set, p.role(w))
		}
		at := time.Duration(w.rng(who, uint64(e.fell)).Int64N(int64(total)))
		w.tasks.Go(func() {
			if nap(w.ctx, at) {
				(&blow{w: w}).handOver()
			}
		})
	}
}

// role is the role with its defaults, as the servers have it.
func (p *part) role(w *world) *noun.RoleSpec { return &w.roles[p.name].spec }

func (e *episode) missing() string {
	if e.found == 0 {
		return "was not found"
	}
	return "nothing followed"
}

// open tells that somebody is stuck and that it is not over.
func (o *lookout) open(who string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.episodes[who] != nil
}

// noticed follows the episodes by the servers' events.
func (o *lookout) noticed(ev *noun.Event, p *part) {
	o.mu.Lock()
	defer o.mu.Unlock()
	who := cmp.Or(ev.Agent, ev.Room)
	switch ev.Kind {
	case "task.claimed":
		o.holders[ev.Task] = ev.Agent
	case "task.recovered", "task.failed":
		who = o.holders[ev.Task]
	}
	e := o.episodes[who]
	if e == nil || ev.At < e.fell.Add(-measured) {
		return
	}
	if e.found == 0 && slices.Contains(p.ill.found, ev.Kind) {
		e.found = ev.At
		if p.ill.decided == "" {
			e.over = ev.At
		}
	}
	if e.found != 0 && ev.Kind == p.ill.decided {
		e.over = ev.At
	}
	if e.over == 0 {
		return
	}
	delete(o.episodes, who)
	for _, at := range o.stints {
		e.shaken = e.shaken || at > e.fell && at < e.over
	}
	o.ended = append(o.ended, e)
	if p.ill.human && who == ev.Agent {
		o.c.w.tasks.Go(func() {
			nap(o.c.w.ctx, time.Minute)
			o.c.helped(p, who)
		})
	}
}

// place follows where agents run, and which hosts are not heard.
func (o *lookout) place(e *noun.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	away := o.away[e.Host]
	switch e.Kind {
	case "agent.started":
		o.hosts[e.Agent] = e.Host
	case "host.suspect", "host.lost":
		if len(away)%2 == 0 {
			o.away[e.Host] = append(away, e.At.Add(-20*time.Second)) // its last beat was so long ago at most
		}
	case "host.ready", "host.returning":
		if len(away)%2 == 1 {
			o.away[e.Host] = append(away, e.At)
		}
	}
}

// unheard is for how long of a time the host of an agent was not heard, which does not
// count for what it does or does not.
func (o *lookout) unheard(agent string, from, to noun.Time) (total time.Duration) {
	list := o.away[o.hosts[agent]]
	for i := 0; i < len(list); i += 2 {
		end := to
		if i+1 < len(list) {
			end = min(to, list[i+1])
		}
		total += max(0, end.Sub(max(from, list[i])))
	}
	return total
}

// late compares an episode with its bounds; 0: it is within. A finder looks at intervals
// that begin with each leader, so what was due is found a look after the later of both.
func (o *lookout) late(e *episode, set *noun.Settings) (found, over time.Duration) {
	spec, ill := e.p.role(o.c.w), e.p.ill
	due := o.stint(e.fell.Add(ill.due(set, spec)), e.found)
	if ill.anew {
		due = o.stint(e.fell, e.found).Add(ill.due(set, spec))
	}
	found = e.found.Sub(due) - ill.look(set, spec)
	if ill.play != nil && len(spec.Labels) > 0 && spec.Labels[0] == rack[0] {
		found -= o.unheard(e.who, e.fell, e.found)
	}
	if ill.decided == "" {
		return found, 0
	}
	after := ill.after(set, spec) + time.Duration(ill.looks)*ladderLook(set, spec) + time.Second
	for _, at := range o.stints {
		if at > e.found && at <= e.over { // whoever leads next begins a look of its own
			after += ladderLook(set, spec)
		}
	}
	return found, e.over.Sub(e.found) - after - o.unheard(e.who, e.found, e.over)
}

// stint is the beginning of the stint in which something was found, or when it was due.
func (o *lookout) stint(due, found noun.Time) noun.Time {
	for _, at := range o.stints {
		if at > due && at <= found {
			due = at
		}
	}
	return due
}

// outcome is what became of all episodes of one kind.
type outcome struct {
	ill          *illness
	runs, shaken int
	found, over  []time.Duration // sorted
	lateFound    int
	lateOver     int
	open         int // too late by now
}

// outcomes judges all episodes. Now is the cluster time of the end.
func (o *lookout) outcomes(set *noun.Settings, now noun.Time) (list []*outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	of := map[string]*outcome{}
	for _, p := range o.c.parts {
		if p.ill != nil && of[p.kind] == nil {
			of[p.kind] = &outcome{ill: p.ill}
			list = append(list, of[p.kind])
		}
	}
	for _, e := range o.ended {
		x := of[e.p.kind]
		x.runs++
		if e.shaken {
			x.shaken++
		}
		x.found = append(x.found, e.found.Sub(e.fell))
		found, over := o.late(e, set)
		if found > measured {
			x.lateFound++
			o.c.w.ledger.breach("true alarm",
				"%s (%s) was found %v after it fell at %v, that is %v beyond the bound", e.who, e.p.kind,
				e.found.Sub(e.fell), time.Duration(e.fell), found)
		}
		if e.p.ill.decided != "" {
			x.over = append(x.over, e.over.Sub(e.found))
			if over > measured {
				x.lateOver++
				o.c.w.ledger.breach("true alarm",
					"%s (%s), found at %v, ended %v later, that is %v beyond the bound", e.who, e.p.kind,
					time.Duration(e.found), e.over.Sub(e.found), over)
			}
		}
	}
	for _, e := range o.episodes {
		again := *e
		again.found = cmp.Or(again.found, now)
		again.over = now
		if found, over := o.late(&again, set); found > measured || over > measured {
			of[e.p.kind].open++
			o.c.w.ledger.breach("true alarm", "%s (%s) fell at %v, and %s until %v", e.who, e.p.kind,
				time.Duration(e.fell), e.missing(), time.Duration(now))
		}
	}
	for _, x := range list {
		slices.Sort(x.found)
		slices.Sort(x.over)
	}
	return list
}
