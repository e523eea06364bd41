package rpc

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
)

// Bounds of what is shown by room and role, however many there are.
const (
	agesShown  = 20 // of each state, the oldest tasks
	roomsShown = 20 // the rooms with the most open tasks
)

// agesKept is for how long ages are kept: a look walks over all agents at work.
const agesKept = 10 * time.Second

// workFigures are the metrics of tasks that wait or are worked on; the same on every server.
type workFigures struct {
	*base.Core
	queue, oldest, overdue, open, half *prometheus.Desc

	mu    sync.Mutex
	until time.Time
	ages  []taskAge
	late  int
}

// taskAge is fsm.TaskAge with names.
type taskAge struct {
	room, role string
	state      noun.TaskState
	age        time.Duration
}

// roomLoad is fsm.RoomLoad with a name.
type roomLoad struct {
	room string
	open uint32
}

func newWorkFigures(c *base.Core) *workFigures {
	return &workFigures{Core: c,
		queue: prometheus.NewDesc("vigil_task_queue_seconds",
			"Time that claimed tasks were in the queue of their role, in cluster time, as applied here.", nil, nil),
		oldest: prometheus.NewDesc("vigil_task_oldest_seconds",
			"Cluster time for which the oldest open task of a role is in its state; of each state the 20 roles "+
				"with the oldest.", []string{"state", "room", "role"}, nil),
		overdue: prometheus.NewDesc("vigil_tasks_overdue",
			"Tasks that are worked on and have passed their expected completion.", nil, nil),
		open: prometheus.NewDesc("vigil_room_open_tasks",
			"Tasks that have not ended, of the 20 rooms with the most.", []string{"room"}, nil),
		half: prometheus.NewDesc("vigil_roles_half_open",
			"Roles most of whose attempts fail: trying, a few tasks are offered or worked on; waiting, none is "+
				"before the next is tried.", []string{"state"}, nil),
	}
}

func (w *workFigures) describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{w.queue, w.oldest, w.overdue, w.open, w.half} {
		ch <- d
	}
}

func (w *workFigures) collect(ch chan<- prometheus.Metric, s *scrape) {
	buckets, n := map[float64]uint64{}, uint64(0)
	for i, count := range s.figures.Waited {
		n += count
		if i < len(fsm.WaitedBounds) {
			buckets[fsm.WaitedBounds[i]] = n
		}
	}
	ch <- prometheus.MustNewConstHistogram(w.queue, n, seconds(s.figures.WaitedSum), buckets)
	ages, late := w.look()
	for _, a := range ages {
		ch <- prometheus.MustNewConstMetric(w.oldest, prometheus.GaugeValue, a.age.Seconds(), a.state.String(),
			a.room, a.role)
	}
	ch <- prometheus.MustNewConstMetric(w.overdue, prometheus.GaugeValue, float64(late))
	for state, n := range map[string]int{"trying": s.trying, "waiting": s.halfOpen - s.trying} {
		ch <- prometheus.MustNewConstMetric(w.half, prometheus.GaugeValue, float64(n), state)
	}
	for _, r := range s.rooms {
		ch <- prometheus.MustNewConstMetric(w.open, prometheus.GaugeValue, float64(r.open), r.room)
	}
}

// look gives the oldest tasks, and how many are overdue, as they were agesKept ago at most.
func (w *workFigures) look() ([]taskAge, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); now.After(w.until) {
		w.Reader.Read(func(st *fsm.View) { w.ages, w.late = oldest(st) })
		w.until = now.Add(agesKept)
	}
	return w.ages, w.late
}

// oldest picks the oldest tasks of each state.
func oldest(st *fsm.View) (out []taskAge, late int) {
	ages, late := st.TaskAges()
	slices.SortFunc(ages, func(a, b fsm.TaskAge) int {
		return cmp.Or(cmp.Compare(a.State, b.State), cmp.Compare(a.Since, b.Since), cmp.Compare(a.Role, b.Role))
	})
	shown := map[noun.TaskState]int{}
	for _, a := range ages {
		if shown[a.State]++; shown[a.State] > agesShown {
			continue
		}
		r := st.Role(a.Role)
		out = append(out, taskAge{st.RoomByID(r.Room).Name, r.Spec.Name, a.State, st.Clock().Sub(a.Since)})
	}
	return out, late
}

// busiest names the rooms with the most open tasks.
func busiest(st *fsm.View) (out []roomLoad) {
	for _, r := range st.BusiestRooms(roomsShown) {
		out = append(out, roomLoad{st.RoomByID(r.Room).Name, r.Open})
	}
	return out
}
