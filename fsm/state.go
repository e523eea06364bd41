package fsm

import (
	"cmp"
	"time"

	"github.com/tidwall/btree"

	"vigil/fsm/table"
)

// Image is everything that is replicated: what a snapshot holds and what the
// servers' hashes cover. The Image that State.Copy returns never changes.
type Image struct {
	meta     meta
	rooms    table.Table[RoomID, Room]
	roles    table.Table[RoleID, Role]
	agents   table.Table[AgentID, Agent]
	leases   table.Table[AgentID, Lease] // by AgentID
	tasks    table.Table[TaskID, Task]
	hosts    table.Table[HostID, Host]
	sessions table.Table[SessionID, Session]
	events   table.Table[uint64, Event]
	mails    table.Table[MailID, Mail]

	escalations table.Table[EscalationID, Escalation]
}

// meta holds the replicated values of which there is one.
type meta struct {
	Index     uint64 // of the last entry applied
	Clock     Time
	Epoch     uint32
	HoldUntil Time // no start before (restore of a backup)
	StartTAT  Time // start rate: theoretical arrival time of the next start
	IncFloor  Incarnation

	Stint       Stint
	Settings    Settings
	SettingsRev uint64
	Servers     []PutServer // by id
	Marks       []MarkReport
	Diverged    []string

	NextRoom    RoomID
	NextRole    RoleID
	NextAgent   AgentID
	NextHost    HostID
	NextTask    TaskID
	NextSession SessionID
	FirstEvent  uint64 // oldest kept
	NextEvent   uint64
	FinishSeq   uint64
	TasksDone   uint64 // terminal tasks that are still kept

	// Pause of everything (law L9): no starts, no new tasks.
	Paused  bool
	PauseBy string
	PauseAt Wall

	Brake      Brake
	Tombstones []Tombstone // of deleted rooms, oldest first, at most MaxTombstones
	PauseWhy   string      // of the pause of everything

	LastMail     MailID   // handed out
	LastDelivery uint64   // of mail
	Watchdog     Watchdog // the conversation watchdog
	Escalations  Escalations

	Ladder LadderWindow // rungs of the ladder for stuck agents

	Level uint32 // the feature level that has begun

	// HoldFor is the length of the last hold, Unreported the keys of the hosts that have not
	// said since what runs on them; replaced, never changed. See restore.go.
	HoldFor    time.Duration
	Unreported []string
}

// Tombstone remembers a deleted room, so that whoever asks is told who deleted it.
type Tombstone struct {
	Room string
	By   string
	At   Wall
}

// Stint is one leader's time in office.
type Stint struct {
	Term    uint64
	Server  string
	APIAddr string
}

// MarkReport gathers the hashes of the state at one Mark.
type MarkReport struct {
	Index  uint64
	Voters []string
	Hashes []KV // server id, hash
}

// State is the live state: the replicated image and the indexes that are built
// from it. See the package comment for who may use it.
type State struct {
	View
	Image
	derived

	looked []TaskID // looks at overseers that ended in what is being applied; empty between entries
	now    *Entry   // being applied
	res    Result   // reused
	steps  int      // that this entry may still take in working off what goes, see clear.go
}

// View reads the state and has no way to write: its tables only give. It belongs under the lock
// that guards Apply. What its pointers show is good until that lock is given back.
type View struct {
	readers
	*indexes
}

// readers are the tables of a state, for reading.
type readers struct {
	meta     *meta
	rooms    table.Reader[RoomID, Room]
	roles    table.Reader[RoleID, Role]
	agents   table.Reader[AgentID, Agent]
	leases   table.Reader[AgentID, Lease]
	tasks    table.Reader[TaskID, Task]
	hosts    table.Reader[HostID, Host]
	sessions table.Reader[SessionID, Session]
	events   table.Reader[uint64, Event]
	mails    table.Reader[MailID, Mail]

	escalations table.Reader[EscalationID, Escalation]

	roleIdx   table.Reader[RoleID, roleIndex]
	hostIdx   table.Reader[HostID, hostIndex]
	roomIdx   table.Reader[RoomID, roomIndex]
	mailboxes table.Reader[AgentID, mailbox]
}

func (s *State) readers() readers {
	return readers{&s.meta, s.rooms.Reader(), s.roles.Reader(), s.agents.Reader(), s.leases.Reader(), s.tasks.Reader(),
		s.hosts.Reader(), s.sessions.Reader(), s.events.Reader(), s.mails.Reader(), s.escalations.Reader(),
		s.roleIdx.Reader(), s.hostIdx.Reader(), s.roomIdx.Reader(), s.mailboxes.Reader()}
}

// derived are the tables that are built from the image.
type derived struct {
	roleIdx   table.Table[RoleID, roleIndex]
	hostIdx   table.Table[HostID, hostIndex]
	roomIdx   table.Table[RoomID, roomIndex]
	mailboxes table.Table[AgentID, mailbox]
}

// indexes are what else is built from the image. Only Apply changes them.
type indexes struct {
	roomByName  map[string]RoomID
	roomNames   *btree.BTreeG[string]
	agentByName map[string]AgentID
	hostByKey   map[string]HostID
	roleByName  map[roleKey]RoleID
	allQuiet    *btree.BTreeG[quietRoom] // active rooms by the beginning of their silence ...
	ownQuiet    *btree.BTreeG[quietRoom] // ... and those with limits of their own by when they are stalled
	timers      *btree.BTreeG[timer]
	finished    *btree.BTreeG[finishedTask] // terminal tasks, oldest first
	mailsSent   *btree.BTreeG[sentMail]
	escByKey    map[escalationKey]EscalationID // the newest about something
	escOpen     int
	escAlone    int // of these, not acknowledged
	escClosed   *btree.BTreeG[closedEscalation]
	escPending  *btree.BTreeG[EscalationID] // with a notice that is to be delivered
	starts      *btree.BTreeG[RoleID]       // roles of which starts are due now
	retiring    *btree.BTreeG[RoleID]       // roles with agents that are still to be retired
	clearing    *btree.BTreeG[RoomID]       // rooms with something to remove
	atWork      idSet                       // agents that hold a task
	offered     *btree.BTreeG[RoleID]       // roles with claimable tasks
	overseers   idSet                       // agents of roles of overseers
	looks       map[TaskID]AgentID          // tasks that ask triage about an overseer
	ledger      ledger
	wordy       ended[TaskID] // finished tasks with texts worth dropping
	roomEnded   ended[TaskID] // finished tasks by room
	mailsEnded  ended[MailID] // closed mails, in the cluster and by room
	live        uint32        // participants that are not DISCONNECTED
	parked      uint32        // agents that wait for the end of a pause, see Agent.Waits
	taskCount   [TaskQuarantined + 1]uint64
	procCount   [ProcLost + 1]uint32
	figures     Figures
}

type roleKey struct {
	room RoomID
	name string
}

// roleIndex is what the state derives of a role's tasks and agents.
type roleIndex struct {
	queued, pending queue
	tasks           [TaskQuarantined + 1]uint32
	live            uint32
	starting        uint32 // agents ordered or accepted
	spare           uint32 // agents that run, or will, and hold no task
	demand          bool   // more tasks are claimable than agents are spare
	free            idSet  // agents that a start by hand may take
	// ready are the agents that nothing of their own keeps from a start, lost those of them
	// whose last life was lost with its host: the brake holds and paces these.
	ready, lost idSet
	on          map[HostID]uint32 // lives by host
	// owned is one more than the generation of the roles in which Role.Agents got memory that
	// no view shares.
	owned  uint64
	paused uint32 // agents that are paused themselves
	lives  uint32 // agents that run, or will by an order
	off    uint32 // agents that are stopped themselves or no longer declared
}

// queued orders tasks: highest priority first, then oldest.
type queued struct {
	prio int32
	id   TaskID
}

type finishedTask struct {
	seq uint64
	id  TaskID
}

// hostIndex is what the state derives of a host's agents.
type hostIndex struct {
	orders   map[AgentID]struct{} // agents with an open order here
	agents   map[AgentID]struct{} // agents whose newest incarnation is or was here
	running  uint32
	starting uint32
}

// New returns the state of a cluster to which nothing has happened yet.
func New() *State {
	s := &State{}
	s.View = View{s.readers(), &indexes{}}
	s.meta.Settings, s.meta.Level = DefaultSettings(), Baseline
	s.meta.NextRoom, s.meta.NextRole, s.meta.NextAgent, s.meta.NextHost = 1, 1, 1, 1
	s.meta.NextTask, s.meta.NextSession = 1, 1
	s.meta.FirstEvent, s.meta.NextEvent = 1, 1
	s.reset()
	s.meters()
	return s
}

// reset makes empty indexes.
func (s *State) reset() {
	s.derived, s.looked = derived{}, nil
	*s.indexes = indexes{
		roomByName: map[string]RoomID{}, agentByName: map[string]AgentID{}, hostByKey: map[string]HostID{},
		roleByName: map[roleKey]RoleID{}, escByKey: map[escalationKey]EscalationID{}, looks: map[TaskID]AgentID{},
		roomNames: ordered[string](), starts: ordered[RoleID](), retiring: ordered[RoleID](), clearing: ordered[RoomID](),
		offered: ordered[RoleID](), escPending: ordered[EscalationID](),
		allQuiet: sorted(lessQuiet), ownQuiet: sorted(lessQuiet), timers: sorted(lessTimer), mailsSent: sorted(lessSent),
		escClosed: sorted(lessClosed), finished: sorted(func(a, b finishedTask) bool { return a.seq < b.seq }),
		wordy: newEnded[TaskID](), roomEnded: newEnded[TaskID](), mailsEnded: newEnded[MailID](),
	}
}

// sorted makes an ordered set. It has no lock: whoever holds the state has one.
func sorted[T any](less func(a, b T) bool) *btree.BTreeG[T] {
	return btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})
}

func ordered[T cmp.Ordered]() *btree.BTreeG[T] { return sorted(cmp.Less[T]) }

// Copy returns an immutable view of everything replicated. It costs a few
// microseconds whatever the size; later writes copy the pages they touch.
func (s *State) Copy() *Image {
	return &Image{
		meta: s.meta, rooms: s.rooms.Copy(), roles: s.roles.Copy(), agents: s.agents.Copy(),
		leases: s.leases.Copy(), tasks: s.tasks.Copy(), hosts: s.hosts.Copy(),
		sessions: s.sessions.Copy(), events: s.events.Copy(), mails: s.mails.Copy(),
		escalations: s.escalations.Copy(),
	}
}

// Index is the log index of the last entry that the image holds.
func (i *Image) Index() uint64 { return i.meta.Index }

// roleIndex is for reading; a role of which nothing is known yet has an empty one.
func (v *View) roleIndex(id RoleID) *roleIndex {
	if ri := v.roleIdx.Get(id); ri != nil {
		return ri
	}
	return new(roleIndex)
}

func (v *View) roomIndex(id RoomID) *roomIndex {
	if ri := v.roomIdx.Get(id); ri != nil {
		return ri
	}
	return new(roomIndex)
}

func (v *View) hostIndex(id HostID) *hostIndex {
	if hi := v.hostIdx.Get(id); hi != nil {
		return hi
	}
	return new(hostIndex)
}

func (s *State) roleIndexOf(id RoleID) *roleIndex {
	if ri := s.roleIdx.Get(id); ri != nil {
		return ri
	}
	return s.roleIdx.Put(id)
}

// idSet is a set of agents in order; nil is an empty one.
type idSet struct{ *btree.BTreeG[AgentID] }

func (x *idSet) put(id AgentID, in bool) {
	switch {
	case in && x.BTreeG == nil:
		x.BTreeG = ordered[AgentID]()
		x.Set(id)
	case in:
		x.Set(id)
	case x.BTreeG != nil:
		x.Delete(id)
	}
}

func (x idSet) has(id AgentID) bool {
	if x.BTreeG == nil {
		return false
	}
	_, in := x.Get(id)
	return in
}

func (x idSet) len() int {
	if x.BTreeG == nil {
		return 0
	}
	return x.Len()
}

// scan calls yield with each, in order, until it gives false; it tells whether all were.
func (x idSet) scan(yield func(AgentID) bool) (all bool) {
	if all = true; x.BTreeG != nil {
		x.Scan(func(id AgentID) bool {
			all = yield(id)
			return all
		})
	}
	return all
}

func (x idSet) first() (AgentID, bool) {
	if x.BTreeG == nil {
		return 0, false
	}
	return x.Min()
}

// queue orders tasks as they are promoted and claimed; nil is an empty one.
type queue struct{ *btree.BTreeG[queued] }

func (q queue) len() int {
	if q.BTreeG == nil {
		return 0
	}
	return q.Len()
}

func (q *queue) add(t queued) {
	if q.BTreeG == nil {
		*q = newQueue()
	}
	q.Set(t)
}

func newQueue() queue {
	less := func(a, b queued) bool {
		if a.prio != b.prio {
			return a.prio > b.prio
		}
		return a.id < b.id
	}
	return queue{sorted(less)}
}

// first is the task at the head of the claimable ones.
func (ri *roleIndex) first() (TaskID, bool) {
	if ri.tasks[TaskPending] == 0 {
		return 0, false
	}
	q, ok := ri.pending.Min()
	return q.id, ok
}

func (s *State) hostIndexOf(id HostID) *hostIndex {
	if hi := s.hostIdx.Get(id); hi != nil {
		return hi
	}
	hi := s.hostIdx.Put(id)
	hi.orders, hi.agents = map[AgentID]struct{}{}, map[AgentID]struct{}{}
	return hi
}

// index builds every index from the image, after a restore.
func (s *State) index() {
	s.reset()
	for id, r := range s.rooms.From(0) {
		s.roomByName[r.Name] = RoomID(id)
		s.roomNames.Set(r.Name)
		if r.Clearing {
			s.clearing.Set(r.ID)
		}
	}
	for _, r := range s.roles.From(0) {
		s.roleIndexOf(r.ID)
		s.roleByName[roleKey{r.Room, r.Spec.Name}] = r.ID
		if r.Below != 0 {
			s.retiring.Set(r.ID)
		}
	}
	for _, h := range s.hosts.From(0) {
		s.hostByKey[h.Key] = h.ID
		s.arm(timerHost, uint64(h.ID), h.Armed)
	}
	for id, a := range s.agents.From(0) { // before the tasks, see countRoom
		if c := a.Notes().Chain; c != nil {
			s.arm(timerChain, uint64(id), c.Armed)
			if c.Task != 0 {
				s.looks[c.Task] = a.ID
			}
		}
	}
	for _, t := range s.tasks.From(0) {
		s.indexTask(t, +1)
		s.arm(timerTask, uint64(t.ID), t.Armed)
	}
	for id, l := range s.leases.From(0) {
		s.arm(timerLease, uint64(id), l.ArmedL)
		s.arm(timerFence, uint64(id), l.ArmedF)
	}
	for id, a := range s.agents.From(0) {
		s.agentByName[a.Name] = a.ID
		s.arm(timerAgent, uint64(id), a.Armed)
		s.indexAgent(a.shadow(), +1)
	}
	for _, ri := range s.roleIdx.From(0) {
		ri.demand = ri.tasks[TaskPending] > ri.spare
	}
	for _, a := range s.agents.From(0) {
		s.want(a)
	}
	for id, ss := range s.sessions.From(0) {
		s.arm(timerSession, uint64(id), ss.Armed)
	}
	for id, m := range s.mails.From(0) {
		s.indexMail(m, +1)
		s.arm(timerMail, uint64(id), m.Armed)
	}
	for id, e := range s.escalations.From(0) {
		s.indexEscalation(e, +1)
		s.arm(timerEscalation, uint64(id), e.Armed)
	}
	s.armHold()
	s.arm(timerBrake, 0, s.meta.Brake.Armed)
	s.indexRooms()
	s.meters()
}
