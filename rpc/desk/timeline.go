package desk

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// Bounds of a timeline.
const (
	maxSpan     = 21 * 24 * time.Hour // milliseconds of it fit into 31 bits
	someLanes   = 100                 // when nobody says
	maxLanes    = 500
	spanEvents  = 200_000 // that are looked at
	spansOfLane = 500     // about so many are told apart on one lane
	marksKept   = 1000    // of all lanes together
)

// drawing gathers a timeline from the history.
type drawing struct {
	*vigilv1.Timeline
	r        *vigilv1.GetTimelineRequest
	sees     func(room string) bool
	from, to int64 // wall times, in nanoseconds
	fine     int32 // ms: shorter things that follow each other are joined
	lanes    map[string]*lane
	holders  map[noun.TaskID]*lane // on whose lane a task's span is open
	marks    int
	looked   int
}

// lane is one lane with what is open on it.
type lane struct {
	*vigilv1.Lane
	life, task, other *vigilv1.Span // nil: none; they stand in Spans only once they have ended
	task0             noun.TaskID
}

// lives tells whether a life stands on the lane.
func (l *lane) lives() bool {
	return l.life != nil || slices.ContainsFunc(l.Spans, func(s *vigilv1.Span) bool { return s.GetKind() == "life" })
}

// GetTimeline tells what the time between two moments was filled with.
func (s *Service) GetTimeline(ctx context.Context, r *vigilv1.GetTimelineRequest) (*vigilv1.Timeline, error) {
	d, limit, err := newDrawing(r)
	if err != nil {
		return nil, err
	}
	if err := s.room(r.GetRoom()); err != nil {
		return nil, err
	}
	d.sees = s.Door.Sees(ctx)
	at, first := uint64(0), noun.Wall(0)
	s.Reader.Read(func(st *fsm.View) { at, first = firstSince(st, d.from) })
	if int64(first) > d.from {
		d.Begins = form.Wall(first)
	}
	for more := true; more && !d.Cut; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.Reader.Read(func(st *fsm.View) { at, more = d.read(st, at) })
	}
	s.Reader.Read(func(st *fsm.View) { d.silent(st) })
	d.finish(limit)
	return d.Timeline, nil
}

func newDrawing(r *vigilv1.GetTimelineRequest) (*drawing, int, error) {
	var c form.Checks
	c.OptionalName("room", r.GetRoom())
	if r.GetAgent() != "" {
		c.Agent("agent", r.GetAgent(), false)
	}
	if r.GetLimit() > maxLanes {
		c.Fail("limit %d is too large; at most %d lanes are given.", r.GetLimit(), maxLanes)
	}
	to := time.Now()
	if t := r.GetTo(); t != nil && t.IsValid() && t.AsTime().Before(to) {
		to = t.AsTime()
	}
	from := to.Add(-time.Hour)
	if r.GetFrom() != nil {
		from = r.GetFrom().AsTime()
	}
	if span := to.Sub(from); c.Err == nil && (span < time.Millisecond || span > maxSpan) {
		c.Fail("the span from %s to %s is empty or longer than three weeks.", from.UTC().Format(time.RFC3339),
			to.UTC().Format(time.RFC3339))
	}
	if c.Err != nil {
		return nil, 0, c.Err
	}
	return &drawing{Timeline: &vigilv1.Timeline{From: form.Wall(noun.Wall(from.UnixNano())),
		To: form.Wall(noun.Wall(to.UnixNano()))}, r: r, from: from.UnixNano(), to: to.UnixNano(),
		fine: int32(to.Sub(from).Milliseconds() / spansOfLane), lanes: map[string]*lane{},
		holders: map[noun.TaskID]*lane{}}, cmp.Or(int(r.GetLimit()), someLanes), nil
}

// firstSince finds the event before the first one of a moment, and when the oldest that is kept was. Wall times grow
// with the events, but where the clock of a leader was behind that of the one before it.
func firstSince(st *fsm.View, from int64) (before uint64, oldest noun.Wall) {
	first, last := st.OldestEvent(), st.LastEvent()
	if first == 0 {
		return 0, 0
	}
	wall := func(seq uint64) noun.Wall {
		for e := range st.Events(seq - 1) {
			return e.Wall
		}
		return math.MaxInt64
	}
	n := sort.Search(int(last-first+1), func(i int) bool { return int64(wall(first+uint64(i))) >= from })
	return first + uint64(n) - 1, wall(first)
}

// read looks at the events behind one, as many as one hold of the lock may look at. What began before the end of the
// span is followed to its end, or to now.
func (d *drawing) read(st *fsm.View, at uint64) (last uint64, more bool) {
	n := 0
	for e := range st.Events(at) {
		if n == eventsStep {
			return at, true
		}
		n++
		at = e.Seq
		if d.looked++; d.looked > spanEvents {
			d.Cut = true
			return at, false
		}
		if d.wants(e) {
			d.take(e)
		}
	}
	return at, false
}

func (d *drawing) wants(e *noun.Event) bool {
	switch {
	case d.sees != nil && !d.sees(e.Room):
		return false
	case d.r.GetAgent() != "" && e.Agent != "" && e.Agent != d.r.GetAgent():
		return false
	case d.r.GetRoom() != "" && e.Room != "" && e.Room != d.r.GetRoom():
		return false
	}
	return true
}

// ms is when something was, in milliseconds since the beginning, clipped.
func (d *drawing) ms(w noun.Wall) int32 {
	return int32((min(max(int64(w), d.from), d.to) - d.from) / int64(time.Millisecond))
}

func (d *drawing) lane(kind, name string) *lane {
	l := d.lanes[kind+" "+name]
	if l == nil {
		l = &lane{Lane: &vigilv1.Lane{Kind: kind, Name: name}}
		d.lanes[kind+" "+name] = l
	}
	return l
}

// ends are the events that end a life, and whether that was bad.
var ends = map[string]bool{"agent.exited": false, "agent.proven_dead": true, "agent.fence_ended": true,
	"agent.removed": false}

// badEnd tells whether a life ended as it should not have.
func badEnd(e *noun.Event) bool {
	if strings.Contains(e.Text, "exited with code ") && !strings.Contains(e.Text, "exited with code 0") {
		return true
	}
	for _, word := range []string{"ended by signal", "could not be started", "timed out"} {
		if strings.Contains(e.Text, word) {
			return true
		}
	}
	return ends[e.Kind]
}

// taskEnds are the events after which nobody works on a task, and whether that is bad.
var taskEnds = map[string]bool{"task.completed": false, "task.failed": true, "task.recovered": true,
	"task.canceled": false, "task.quarantined": true, "task.late_result": false}

// notable are events of an agent that stand on its lane at their moment.
var notable = map[string]bool{"agent.nudged": true, "agent.prompt": true, "agent.needs_human": true,
	"agent.parked": true, "agent.unkillable": true, "agent.lease_ended": true, "agent.restarted": true,
	"agent.stopped": true, "agent.terminal_taken": true}

// general are events of no lane.
var general = map[string]bool{"leader.established": true, "leader.unreached": true, "cluster.paused": true,
	"cluster.resumed": true, "cluster.restored": true, "brake.set": true, "brake.over": true, "server.announced": true,
	"server.removed": true, "server.diverged": true, "room.paused": true, "room.resumed": true, "room.canceled": true}

// hostStates are what a host can be in beside ready.
var hostStates = map[string]bool{"host.suspect": true, "host.lost": true, "host.returning": true,
	"host.drained": false, "host.pressure": true}

func (d *drawing) take(e *noun.Event) {
	switch {
	case general[e.Kind]:
		d.Marks = d.mark(d.Marks, e)
	case e.Kind == "agent.started" || e.Kind == "agent.adopted":
		l := d.lane("agent", e.Agent)
		if l.life == nil || l.life.Name != form.IncName(e.Inc) {
			d.end(l, &l.life, e, "", false)
			l.life = d.begin(e, "life", form.IncName(e.Inc))
		}
	case isEnd(e.Kind):
		l := d.lane("agent", e.Agent)
		if l.life == nil { // it began before the span
			l.life = &vigilv1.Span{Kind: "life", Name: form.IncName(e.Inc), Seq: e.Seq}
		}
		d.end(l, &l.task, e, "its holder ended", true)
		d.end(l, &l.life, e, e.Text, badEnd(e))
	case e.Kind == "task.claimed":
		l := d.lane("agent", e.Agent)
		d.end(l, &l.task, e, "", false)
		l.task, l.task0 = d.begin(e, "task", strconv.FormatUint(uint64(e.Task), 10)), e.Task
		d.holders[e.Task] = l
	case e.Kind == "agent.paused":
		l := d.lane("agent", e.Agent)
		l.other = cmp.Or(l.other, d.begin(e, "paused", ""))
	case e.Kind == "agent.resumed":
		l := d.lane("agent", e.Agent)
		l.other = cmp.Or(l.other, &vigilv1.Span{Kind: "paused", Seq: e.Seq})
		d.end(l, &l.other, e, e.Text, false)
	case e.Kind == "host.ready" || e.Kind == "host.undrained" || e.Kind == "host.pressure_over" ||
		e.Kind == "host.left" || e.Kind == "host.forgotten":
		l := d.lane("host", cmp.Or(e.Host, e.Text))
		d.end(l, &l.other, e, "", true)
		l.Marks = d.mark(l.Marks, e)
	default:
		d.takeOther(e)
	}
}

func (d *drawing) takeOther(e *noun.Event) {
	if bad, ok := taskEnds[e.Kind]; ok {
		l := d.holders[e.Task]
		if l == nil && e.Agent != "" { // it was claimed before the span
			l = d.lane("agent", e.Agent)
			l.task, l.task0 = &vigilv1.Span{Kind: "task", Name: strconv.FormatUint(uint64(e.Task), 10), Seq: e.Seq}, e.Task
		}
		if l != nil && l.task != nil && l.task0 == e.Task {
			d.end(l, &l.task, e, strings.TrimPrefix(e.Kind, "task."), bad)
		}
		delete(d.holders, e.Task)
		return
	}
	if bad, ok := hostStates[e.Kind]; ok && d.r.GetAgent() == "" {
		l := d.lane("host", e.Host)
		d.end(l, &l.other, e, "", bad)
		l.other = d.begin(e, strings.TrimPrefix(e.Kind, "host."), "")
		if l.other != nil {
			l.other.Text, l.other.Bad = e.Text, bad
		}
		return
	}
	if notable[e.Kind] {
		l := d.lane("agent", e.Agent)
		l.Marks = d.mark(l.Marks, e)
	}
}

func isEnd(kind string) bool { _, ok := ends[kind]; return ok }

// begin opens a span; nil when that is behind the end of what was asked for.
func (d *drawing) begin(e *noun.Event, kind, name string) *vigilv1.Span {
	if int64(e.Wall) >= d.to {
		return nil
	}
	return &vigilv1.Span{Kind: kind, Name: name, Begin: d.ms(e.Wall), Seq: e.Seq}
}

// end closes an open span. Short ones that follow each other become one.
func (d *drawing) end(l *lane, open **vigilv1.Span, e *noun.Event, text string, bad bool) {
	x := *open
	if *open = nil; x == nil {
		return
	}
	x.End = d.ms(e.Wall)
	if int64(e.Wall) > d.to {
		x.Open = true
	} else if text != "" {
		x.Text, x.Bad, x.Seq = text, bad, e.Seq
	}
	for _, was := range slices.Backward(l.Spans) {
		if was.GetKind() != x.GetKind() {
			continue
		}
		if x.End-x.Begin < d.fine && was.End-was.Begin < 2*d.fine && x.Begin-was.End < d.fine {
			was.End, was.Bad, was.Joined = x.End, was.Bad || x.Bad, max(was.Joined, 1)+1
			return
		}
		break
	}
	l.Spans = append(l.Spans, x)
}

func (d *drawing) mark(to []*vigilv1.Mark, e *noun.Event) []*vigilv1.Mark {
	if int64(e.Wall) < d.from || int64(e.Wall) >= d.to || d.marks >= marksKept {
		return to
	}
	d.marks++
	return append(to, &vigilv1.Mark{At: d.ms(e.Wall), Kind: e.Kind, Text: e.Text, Seq: e.Seq})
}

// silent adds what has lasted over the whole span, so that no event of it tells.
func (d *drawing) silent(st *fsm.View) {
	looked := 0
	for a := range st.Agents("") {
		if looked++; looked > 20*maxLanes {
			break
		}
		room := st.RoomByID(a.Room)
		if room == nil || d.sees != nil && !d.sees(room.Name) || d.r.GetRoom() != "" && room.Name != d.r.GetRoom() ||
			d.r.GetAgent() != "" && a.Name != d.r.GetAgent() {
			continue
		}
		l := d.lanes["agent "+a.Name]
		began := time.Now().Add(-st.Clock().Sub(a.Since)).UnixNano() // about: by cluster time
		if a.Proc == noun.ProcRunning && began < d.to && (l == nil || !l.lives()) {
			l = d.lane("agent", a.Name)
			l.life = &vigilv1.Span{Kind: "life", Name: form.IncName(a.Inc), Begin: d.ms(noun.Wall(began))}
		}
	}
}

// finish closes what goes on, and chooses the lanes that are given.
func (d *drawing) finish(limit int) {
	whole := d.ms(noun.Wall(d.to))
	for _, l := range d.lanes {
		for _, x := range []*vigilv1.Span{l.life, l.task, l.other} {
			if x != nil {
				x.End, x.Open = whole, true
				l.Spans = append(l.Spans, x)
			}
		}
		if len(l.Spans)+len(l.Marks) > 0 {
			d.Lanes = append(d.Lanes, l.Lane)
		}
	}
	slices.SortFunc(d.Lanes, func(a, b *vigilv1.Lane) int {
		return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetName(), b.GetName()))
	})
	agents := 0
	d.Lanes = slices.DeleteFunc(d.Lanes, func(l *vigilv1.Lane) bool {
		if l.GetKind() != "agent" {
			return false
		}
		agents++
		return agents > limit
	})
	d.More = uint32(max(agents-limit, 0))
}
