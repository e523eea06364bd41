package desk

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// Bounds of a search.
const (
	maxQuery    = 200    // bytes
	maxHits     = 100    // of one answer
	someHits    = 20     // when nobody says
	agentsTried = 20_000 // names that are looked at
	tasksTried  = 5000   // the newest ones, whose titles are looked at
)

// search is one search. Hits of a kind stop at limit, so that no kind hides the others.
type search struct {
	words []string // in lower case
	room  string   // "": all
	sees  func(room string) bool
	limit int
	hits  []ranked
	more  bool
}

type ranked struct {
	*vigilv1.Hit
	rank int // the less the better
}

// Search finds rooms, agents and hosts by their names, and the newest tasks by title or number.
func (s *Service) Search(ctx context.Context, r *vigilv1.SearchRequest) (*vigilv1.SearchResponse, error) {
	var c form.Checks
	c.Line("query", r.GetQuery(), maxQuery)
	if r.GetLimit() > maxHits {
		c.Fail("limit %d is too large; at most %d hits are given.", r.GetLimit(), maxHits)
	}
	if c.Err != nil {
		return nil, c.Err
	}
	if err := s.room(r.GetRoom()); err != nil {
		return nil, err
	}
	q := &search{words: strings.Fields(strings.ToLower(r.GetQuery())), room: r.GetRoom(),
		sees: s.Door.Sees(ctx), limit: cmp.Or(int(r.GetLimit()), someHits)}
	if len(q.words) == 0 {
		return &vigilv1.SearchResponse{}, nil
	}
	s.Reader.Read(func(st *fsm.View) {
		q.rooms(st)
		q.tasks(st)
		q.hosts(st)
	})
	after, found := "", 0
	for tried := 0; tried < agentsTried && found < q.limit; tried += base.ScanStep {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		more := false
		s.Reader.Read(func(st *fsm.View) { after, more = q.agents(st, after, &found) })
		if !more {
			after = ""
			break
		}
	}
	q.more = q.more || after != ""
	slices.SortStableFunc(q.hits, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(len(a.GetName()), len(b.GetName())))
	})
	out := &vigilv1.SearchResponse{More: q.more || len(q.hits) > q.limit}
	for _, h := range q.hits[:min(len(q.hits), q.limit)] {
		out.Hits = append(out.Hits, h.Hit)
	}
	return out, nil
}

// fits tells how well a name fits: 0 it is what was asked for, 1 it begins so, 2 the words are in it; -1: not.
func (q *search) fits(name string) int {
	name = strings.ToLower(name)
	for _, w := range q.words {
		if !strings.Contains(name, w) {
			return -1
		}
	}
	switch {
	case name == q.words[0]:
		return 0
	case strings.HasPrefix(name, q.words[0]):
		return 1
	}
	return 2
}

func (q *search) hidden(room string) bool {
	return q.room != "" && room != q.room || q.sees != nil && !q.sees(room)
}

// add notes a hit, and tells whether there is room for more of its kind.
func (q *search) add(rank int, kind, name, text string, found *int) bool {
	q.hits = append(q.hits, ranked{&vigilv1.Hit{Kind: kind, Name: name, Text: text}, rank})
	if *found++; *found >= q.limit {
		q.more = true
		return false
	}
	return true
}

func (q *search) rooms(st *fsm.View) {
	found, tried := 0, 0
	for r := range st.Rooms("") {
		if tried++; tried > base.ScanStep {
			q.more = true
			return
		}
		rank := q.fits(r.Name)
		if rank < 0 || q.hidden(r.Name) {
			continue
		}
		text := noun.Plural(len(r.Roles), "role")
		if r.Paused {
			text += ", paused"
		}
		if !q.add(rank, "room", r.Name, text, &found) {
			return
		}
	}
}

// hosts are of no room: who sees only some of these sees no hosts.
func (q *search) hosts(st *fsm.View) {
	if q.sees != nil || q.room != "" {
		return
	}
	found, tried := 0, 0
	for h := range st.Hosts() {
		if tried++; tried > base.ScanStep {
			q.more = true
			return
		}
		if rank := q.fits(h.Name); rank >= 0 && !q.add(rank, "host", h.Name, h.Status().String(), &found) {
			return
		}
	}
}

func (q *search) tasks(st *fsm.View) {
	found, tried := 0, 0
	task := func(t *noun.Task, rank int) bool {
		return q.add(rank, "task", strconv.FormatUint(uint64(t.ID), 10), t.Title, &found)
	}
	shown := func(t *noun.Task) bool {
		room := st.RoomByID(t.Room)
		return room != nil && !q.hidden(room.Name)
	}
	number, _ := strconv.ParseUint(strings.TrimPrefix(q.words[0], "#"), 10, 64)
	if t := st.Task(noun.TaskID(number)); t != nil && len(q.words) == 1 && shown(t) {
		task(t, 0)
	}
	for t := range st.TasksBack(0) {
		if tried++; tried > tasksTried {
			q.more = true
			return
		}
		// a title is found after the names, which people type more often
		if q.fits(t.Title) >= 0 && uint64(t.ID) != number && shown(t) && !task(t, 3) {
			return
		}
	}
}

// agents looks at the agents behind one, as many as one hold of the lock may look at.
func (q *search) agents(st *fsm.View, after string, found *int) (last string, more bool) {
	tried := 0
	for a := range st.Agents(after) {
		if tried++; tried > base.ScanStep {
			return last, true
		}
		last = a.Name
		rank := q.fits(a.Name)
		if rank < 0 {
			continue
		}
		if room := st.RoomByID(a.Room); room == nil || q.hidden(room.Name) {
			continue
		}
		if !q.add(rank, "agent", a.Name, a.Proc.String(), found) {
			return last, false
		}
	}
	return last, false
}
