package desk

import (
	"context"
	"sync"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

const (
	// lookShare is the part of a processor that looking may cost, whoever asks and how often: the next look
	// at a fleet waits for so many times what the last one took.
	lookShare = 50
	// maxLooks is of how many rooms looks are kept.
	maxLooks = 64
)

// look is how things were at one index. It is made once and shared by all who want it; its messages are
// never changed afterwards.
type look struct {
	sync.Mutex // held while it is made anew

	made     time.Time
	took     time.Duration
	overview *vigilv1.Overview
	inbox    []*vigilv1.InboxItem // the most urgent first, at most maxInbox
	left     int                  // that were left out of it
}

// sight is what a look has seen.
type sight struct {
	overview *vigilv1.Overview
	inbox    []*vigilv1.InboxItem
	left     int
}

// room refuses a room that does not exist.
func (s *Service) room(name string) error {
	var c form.Checks
	if c.OptionalName("room", name); c.Err != nil || name == "" {
		return c.Err
	}
	return base.Read(s.Core, func(st *fsm.View) error {
		if st.Room(name) == nil {
			return base.NoRoom(st, name)
		}
		return nil
	})
}

// look gives how things are, or were within age; a large fleet is looked at no more often than lookShare
// allows.
func (s *Service) look(ctx context.Context, room string, age time.Duration) (sight, error) {
	l := s.lookOf(room)
	l.Lock()
	defer l.Unlock()
	if past := time.Since(l.made); l.overview == nil || past >= age && past >= lookShare*l.took {
		began := time.Now()
		if err := s.survey(ctx, room, l); err != nil {
			return sight{}, err
		}
		l.made, l.took = time.Now(), time.Since(began)
	}
	return sight{l.overview, l.inbox, l.left}, nil
}

// lookOf finds or makes the place for the looks at a room.
func (s *Service) lookOf(room string) *look {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.looks[room]
	if l == nil {
		if len(s.looks) >= maxLooks {
			clear(s.looks) // who looks at one goes on with it
		}
		l = &look{}
		s.looks[room] = l
	}
	return l
}

// survey looks at everything. The lock of the state is given back every base.ScanStep agents.
func (s *Service) survey(ctx context.Context, room string, l *look) error {
	leader := s.Reader.Leader()
	o := &vigilv1.Overview{Leader: leader.ID, Term: leader.Term, Verdicts: map[string]uint32{},
		Hosts: map[string]uint32{}, Inbox: map[string]uint32{}}
	in := &inbox{room: room, leader: leader.ID != "", agents: map[noun.AgentID]bool{}, tasks: map[noun.TaskID]bool{}}
	s.Reader.Read(func(st *fsm.View) {
		in.escalations(st)
		in.endedTasks(st)
	})
	after := ""
	if room != "" {
		after = room // what is behind the name of a room begins with its agents
	}
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.Reader.Read(func(st *fsm.View) { after, more = s.agents(st, room, after, o, in) })
	}
	s.Reader.Read(func(st *fsm.View) {
		in.roles(st)
		sumUp(st, room, leader.ID, o)
	})
	l.inbox, l.left = in.sorted()
	for _, i := range l.inbox {
		o.Inbox[i.GetPriority()]++
	}
	l.overview = o
	return nil
}

// agents counts the agents behind one, as many as one hold of the lock may look at.
func (s *Service) agents(
	st *fsm.View, room, after string, o *vigilv1.Overview, in *inbox,
) (last string, more bool) {
	seen := 0
	for a := range st.Agents(after) {
		if seen == base.ScanStep {
			return last, true
		}
		seen++
		last = a.Name
		if room != "" && st.RoomByID(a.Room).Name != room {
			return last, false
		}
		g := st.Signals(a.ID, in.leader)
		kind := g.Kind()
		o.Agents++
		o.Verdicts[kind.String()]++
		if a.Proc == noun.ProcRunning {
			o.AgentsRunning++
		}
		in.agent(st, a, kind)
	}
	return last, false
}

// sumUp fills in what is not counted agent by agent.
func sumUp(st *fsm.View, room, leader string, o *vigilv1.Overview) {
	now := st.Clock()
	o.Index, o.Clock = st.LastIndex(), form.Lasting(time.Duration(now))
	for _, srv := range st.Servers() {
		o.Servers = append(o.Servers, &vigilv1.OverviewServer{Id: srv.ID, ApiAddr: srv.APIAddr,
			Leader: srv.ID == leader, Version: srv.Version})
	}
	for _, id := range st.Diverged() {
		for _, srv := range o.Servers {
			srv.Diverged = srv.Diverged || srv.Id == id
		}
	}
	if b := st.Brake(); b.Set != 0 {
		o.Brake = b.Why
	}
	o.Hold = form.Lasting(st.HoldLeft())
	o.Paused, o.PauseBy, o.PauseWhy, _ = st.Pause()
	o.PauseEndsIn = form.Until(now, st.PauseEnd().At)
	var tasks [noun.TaskQuarantined + 1]uint64
	if r := st.Room(room); r != nil {
		o.Rooms = 1
		for _, id := range r.Roles {
			for state, n := range st.RoleStats(id).Tasks {
				tasks[state] += uint64(n)
			}
		}
		if r.Paused && !o.Paused {
			o.Paused, o.PauseBy, o.PauseWhy = true, r.PauseBy, r.PauseWhy
			o.PauseEndsIn = form.Until(now, r.PauseEnd.At)
		}
	} else if room == "" {
		n := st.Counts()
		o.Rooms, o.AgentsWanted, tasks = n.Rooms, st.Wanted(), n.Tasks
		for h := range st.Hosts() {
			o.Hosts[h.Status().String()]++
		}
	}
	countTasks(st, room, tasks, o)
}

// countTasks lists the tasks by state, with the age of the oldest that has not ended.
func countTasks(st *fsm.View, room string, tasks [noun.TaskQuarantined + 1]uint64, o *vigilv1.Overview) {
	only := st.Room(room)
	oldest := map[noun.TaskState]noun.Time{}
	ages, _ := st.TaskAges()
	for _, x := range ages {
		if r := st.Role(x.Role); only != nil && r.Room != only.ID {
			continue
		}
		if since, ok := oldest[x.State]; !ok || x.Since < since {
			oldest[x.State] = x.Since
		}
	}
	for state := noun.TaskQueued; state <= noun.TaskQuarantined; state++ {
		row := &vigilv1.TaskCount{State: vigilv1.TaskState(state), Count: tasks[state]}
		if since, ok := oldest[state]; ok {
			row.Oldest = form.Lasting(st.Clock().Sub(since))
		}
		o.Tasks = append(o.Tasks, row)
	}
}
