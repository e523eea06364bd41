package fsm

import (
	"cmp"
	"time"

	"github.com/tidwall/btree"

	"vigil/fsm/noun"
	"vigil/fsm/table"
)

// Image is everything that is replicated: what a snapshot holds and what the
// servers' hashes cover. The Image that State.Copy returns never changes.
type Image struct {
	meta     meta
	rooms    table.Table[noun.RoomID, noun.Room]
	roles    table.Table[noun.RoleID, noun.Role]
	agents   table.Table[noun.AgentID, noun.Agent]
	leases   table.Table[noun.AgentID, noun.Lease] // by AgentID
	tasks    table.Table[noun.TaskID, noun.Task]
	hosts    table.Table[noun.HostID, noun.Host]
	sessions table.Table[noun.SessionID, noun.Session]
	events   table.Table[uint64, noun.Event]
	mails    table.Table[noun.MailID, noun.Mail]

	escalations table.Table[noun.EscalationID, noun.Escalation]
}

// meta holds the replicated values of which there is one.
type meta struct {
	Index     uint64 // of the last entry applied
	Clock     noun.Time
	Epoch     uint32
	HoldUntil noun.Time // no start before (restore of a backup)
	StartTAT  noun.Time // start rate: theoretical arrival time of the next start
	IncFloor  noun.Incarnation

	Stint       noun.Stint
	Settings    noun.Settings
	SettingsRev uint64
	Servers     []noun.Server // by id
	Marks       []noun.MarkReport
	Diverged    []string

	NextRoom    noun.RoomID
	NextRole    noun.RoleID
	NextAgent   noun.AgentID
	NextHost    noun.HostID
	NextTask    noun.TaskID
	NextSession noun.SessionID
	FirstEvent  uint64 // oldest kept
	NextEvent   uint64
	FinishSeq   uint64
	TasksDone   uint64 // terminal tasks that are still kept

	// Pause of everything (law L9): no starts, no new tasks.
	Paused  bool
	PauseBy string
	PauseAt noun.Wall

	Brake      noun.Brake
	Tombstones []noun.Tombstone // of deleted rooms, oldest first, at most MaxTombstones
	PauseWhy   string           // of the pause of everything

	LastMail     noun.MailID   // handed out
	LastDelivery uint64        // of mail
	Watchdog     noun.Watchdog // the conversation watchdog
	Escalations  noun.Escalations

	Ladder noun.LadderWindow // rungs of the ladder for stuck agents

	Level uint32 // the feature level that has begun

	// HoldFor is the length of the last hold, Unreported the keys of the hosts that have not
	// said since what runs on them; replaced, never changed. See restore.go.
	HoldFor    time.Duration
	Unreported []string
}

// State is the live state: the replicated image and the indexes that are built
// from it. See the package comment for who may use it.
type State struct {
	View
	Image
	derived

	looked  []noun.TaskID  // looks at overseers that ended in what is being applied; empty between entries
	now     *Entry         // being applied
	session noun.SessionID // of the command being applied; 0: none
	res     noun.Result    // reused
	steps   int            // that this entry may still take in working off what goes, see clear.go
}

// View reads the state and has no way to write: its tables only give. It belongs under the lock
// that guards Apply. What its pointers show is good until that lock is given back.
type View struct {
	readers
	*indexes
	hooks *Hooks
}

// readers are the tables of a state, for reading.
type readers struct {
	meta     *meta
	rooms    table.Reader[noun.RoomID, noun.Room]
	roles    table.Reader[noun.RoleID, noun.Role]
	agents   table.Reader[noun.AgentID, noun.Agent]
	leases   table.Reader[noun.AgentID, noun.Lease]
	tasks    table.Reader[noun.TaskID, noun.Task]
	hosts    table.Reader[noun.HostID, noun.Host]
	sessions table.Reader[noun.SessionID, noun.Session]
	events   table.Reader[uint64, noun.Event]
	mails    table.Reader[noun.MailID, noun.Mail]

	escalations table.Reader[noun.EscalationID, noun.Escalation]

	roleIdx   table.Reader[noun.RoleID, roleIndex]
	hostIdx   table.Reader[noun.HostID, hostIndex]
	roomIdx   table.Reader[noun.RoomID, roomIndex]
	mailboxes table.Reader[noun.AgentID, mailbox]
}

func (s *State) readers() readers {
	return readers{&s.meta, s.rooms.Reader(), s.roles.Reader(), s.agents.Reader(), s.leases.Reader(), s.tasks.Reader(),
		s.hosts.Reader(), s.sessions.Reader(), s.events.Reader(), s.mails.Reader(), s.escalations.Reader(),
		s.roleIdx.Reader(), s.hostIdx.Reader(), s.roomIdx.Reader(), s.mailboxes.Reader()}
}

// derived are the tables that are built from the image.
type derived struct {
	roleIdx   table.Table[noun.RoleID, roleIndex]
	hostIdx   table.Table[noun.HostID, hostIndex]
	roomIdx   table.Table[noun.RoomID, roomIndex]
	mailboxes table.Table[noun.AgentID, mailbox]
}

// indexes are what else is built from the image. Only Apply changes them.
type indexes struct {
	roomByName  map[string]noun.RoomID
	roomNames   *btree.BTreeG[string]
	agentByName map[string]noun.AgentID
	hostByKey   map[string]noun.HostID
	roleByName  map[roleKey]noun.RoleID
	silences    map[noun.RoomID]*silence
	allQuiet    *btree.BTreeG[quietRoom] // active rooms by the beginning of their silence ...
	ownQuiet    *btree.BTreeG[quietRoom] // ... and those with limits of their own by when they are stalled
	timers      *btree.BTreeG[timer]
	finished    *btree.BTreeG[finishedTask] // terminal tasks, oldest first
	mailsSent   *btree.BTreeG[sentMail]
	escByKey    map[escalationKey]noun.EscalationID // the newest about something
	escOpen     int
	escAlone    int // of these, not acknowledged
	escClosed   *btree.BTreeG[closedEscalation]
	escPending  *btree.BTreeG[noun.EscalationID] // with a notice that is to be delivered
	starts      *btree.BTreeG[noun.RoleID]       // roles of which starts are due now
	retiring    *btree.BTreeG[noun.RoleID]       // roles with agents that are still to be retired
	clearing    *btree.BTreeG[noun.RoomID]       // rooms with something to remove
	atWork      idSet                            // agents that hold a task
	offered     *btree.BTreeG[noun.RoleID]       // roles with claimable tasks
	overseers   idSet                            // agents of roles of overseers
	looks       map[noun.TaskID]noun.AgentID     // tasks that ask triage about an overseer
	aside       map[noun.TaskID]struct{}         // tasks that make no room active, see setAside
	ledger      ledger
	wordy       ended[noun.TaskID] // finished tasks with texts worth dropping
	roomEnded   ended[noun.TaskID] // finished tasks by room
	mailsEnded  ended[noun.MailID] // closed mails, in the cluster and by room
	live        uint32             // participants that are not DISCONNECTED
	parked      uint32             // agents that wait for the end of a pause, see Agent.Waits
	taskCount   [noun.TaskQuarantined + 1]uint64
	procCount   [noun.ProcLost + 1]uint32
	figures     Figures
}

type roleKey struct {
	room noun.RoomID
	name string
}

// roleIndex is what the state derives of a role's tasks and agents.
type roleIndex struct {
	queued, pending queue
	tasks           [noun.TaskQuarantined + 1]uint32
	live            uint32
	starting        uint32 // agents ordered or accepted
	spare           uint32 // agents that run, or will, and hold no task
	demand          bool   // more tasks are claimable than agents are spare
	free            idSet  // agents that a start by hand may take
	// ready are the agents that nothing of their own keeps from a start, lost those of them
	// whose last life was lost with its host: the brake holds and paces these.
	ready, lost idSet
	on          map[noun.HostID]uint32 // lives by host
	// owned is one more than the generation of the roles in which Role.Agents got memory that
	// no view shares.
	owned  uint64
	paused uint32 // agents that are paused themselves
	lives  uint32 // agents that run, or will by an order
	off    uint32 // agents that are stopped themselves or no longer declared
}

// roomIndex is what the state derives of a room's tasks.
type roomIndex struct {
	open uint32 // tasks that have not ended and are not set aside
}

// queued orders tasks: highest priority first, then oldest.
type queued struct {
	prio int32
	id   noun.TaskID
}

type finishedTask struct {
	seq uint64
	id  noun.TaskID
}

// hostIndex is what the state derives of a host's agents.
type hostIndex struct {
	orders   map[noun.AgentID]struct{} // agents with an open order here
	agents   map[noun.AgentID]struct{} // agents whose newest incarnation is or was here
	running  uint32
	starting uint32
}

// New returns the state of a cluster to which nothing has happened yet.
func New() *State {
	s := &State{}
	s.View = View{s.readers(), &indexes{}, &Hooks{}}
	install(s)
	s.meta.Settings, s.meta.Level = noun.DefaultSettings(), Baseline
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
		roomByName: map[string]noun.RoomID{}, agentByName: map[string]noun.AgentID{}, hostByKey: map[string]noun.HostID{},
		roleByName: map[roleKey]noun.RoleID{}, escByKey: map[escalationKey]noun.EscalationID{}, looks: map[noun.TaskID]noun.AgentID{}, aside: map[noun.TaskID]struct{}{}, silences: map[noun.RoomID]*silence{},
		roomNames: ordered[string](), starts: ordered[noun.RoleID](), retiring: ordered[noun.RoleID](), clearing: ordered[noun.RoomID](),
		offered: ordered[noun.RoleID](), escPending: ordered[noun.EscalationID](),
		allQuiet: sorted(lessQuiet), ownQuiet: sorted(lessQuiet), timers: sorted(lessTimer), mailsSent: sorted(lessSent),
		escClosed: sorted(lessClosed), finished: sorted(func(a, b finishedTask) bool { return a.seq < b.seq }),
		wordy: newEnded[noun.TaskID](), roomEnded: newEnded[noun.TaskID](), mailsEnded: newEnded[noun.MailID](),
	}
	s.hooks.Reset.call(struct{}{})
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
func (v *View) roleIndex(id noun.RoleID) *roleIndex {
	if ri := v.roleIdx.Get(id); ri != nil {
		return ri
	}
	return new(roleIndex)
}

func (v *View) roomIndex(id noun.RoomID) *roomIndex {
	if ri := v.roomIdx.Get(id); ri != nil {
		return ri
	}
	return new(roomIndex)
}

func (s *State) roomIndexOf(id noun.RoomID) *roomIndex {
	if ri := s.roomIdx.Get(id); ri != nil {
		return ri
	}
	return s.roomIdx.Put(id)
}

func (v *View) hostIndex(id noun.HostID) *hostIndex {
	if hi := v.hostIdx.Get(id); hi != nil {
		return hi
	}
	return new(hostIndex)
}

func (s *State) roleIndexOf(id noun.RoleID) *roleIndex {
	if ri := s.roleIdx.Get(id); ri != nil {
		return ri
	}
	return s.roleIdx.Put(id)
}

// idSet is a set of agents in order; nil is an empty one.
type idSet struct{ *btree.BTreeG[noun.AgentID] }

func (x *idSet) put(id noun.AgentID, in bool) {
	switch {
	case in && x.BTreeG == nil:
		x.BTreeG = ordered[noun.AgentID]()
		x.Set(id)
	case in:
		x.Set(id)
	case x.BTreeG != nil:
		x.Delete(id)
	}
}

func (x idSet) has(id noun.AgentID) bool {
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
func (x idSet) scan(yield func(noun.AgentID) bool) (all bool) {
	if all = true; x.BTreeG != nil {
		x.Scan(func(id noun.AgentID) bool {
			all = yield(id)
			return all
		})
	}
	return all
}

func (x idSet) first() (noun.AgentID, bool) {
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
func (ri *roleIndex) first() (noun.TaskID, bool) {
	if ri.tasks[noun.TaskPending] == 0 {
		return 0, false
	}
	q, ok := ri.pending.Min()
	return q.id, ok
}

func (s *State) hostIndexOf(id noun.HostID) *hostIndex {
	if hi := s.hostIdx.Get(id); hi != nil {
		return hi
	}
	hi := s.hostIdx.Put(id)
	hi.orders, hi.agents = map[noun.AgentID]struct{}{}, map[noun.AgentID]struct{}{}
	return hi
}

// index builds every index from the image, after a restore.
func (s *State) index() {
	s.reset()
	for id, r := range s.rooms.From(0) {
		s.roomByName[r.Name] = noun.RoomID(id)
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
		s.indexAgent(shadowOf(a), +1)
	}
	for _, ri := range s.roleIdx.From(0) {
		ri.demand = ri.tasks[noun.TaskPending] > ri.spare
	}
	for _, a := range s.agents.From(0) {
		s.want(a)
	}
	for id, ss := range s.sessions.From(0) {
		s.arm(timerSession, uint64(id), ss.Armed)
	}
	s.armHold()
	s.arm(timerBrake, 0, s.meta.Brake.Armed)
	s.hooks.Index.call(struct{}{})
	s.meters()
}
