package core

import (
	"cmp"
	"time"

	"github.com/tidwall/btree"

	"vigil/fsm/noun"
	"vigil/fsm/table"
)

// Image is everything that is replicated: what a snapshot holds and what the
// servers' hashes cover. The one that Copy returns never changes.
type Image struct {
	Meta         Meta
	RoomTable    table.Table[noun.RoomID, noun.Room]
	RoleTable    table.Table[noun.RoleID, noun.Role]
	AgentTable   table.Table[noun.AgentID, noun.Agent]
	LeaseTable   table.Table[noun.AgentID, noun.Lease] // by AgentID
	TaskTable    table.Table[noun.TaskID, noun.Task]
	HostTable    table.Table[noun.HostID, noun.Host]
	SessionTable table.Table[noun.SessionID, noun.Session]
	EventTable   table.Table[uint64, noun.Event]
	MailTable    table.Table[noun.MailID, noun.Mail]

	EscalationTable table.Table[noun.EscalationID, noun.Escalation]

	TokenTable      table.Table[noun.TokenID, noun.Token]
	CredentialTable table.Table[noun.CredentialID, noun.Credential]
	UserTable       table.Table[noun.UserID, noun.User]
	APITokenTable   table.Table[noun.APITokenID, noun.APIToken]

	AuditTable table.Table[uint64, noun.Audit]
}

// Meta holds the replicated values of which there is one.
type Meta struct {
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

	PauseEnd noun.End // of Paused

	Trust noun.Trust // identities

	LastAudit uint64 // number of the newest entry of the audit
	PastAudit uint64 // number of the newest one that is no longer kept

	Standbys []string // servers that are kept without a vote, by id; replaced, never changed

	Refused []noun.Refusal // entries that could not be applied, by index; replaced, never changed
}

// State is the live state: the replicated image and the indexes that are built
// from it. See the package comment for who may use it.
type State struct {
	View
	Image
	derived

	Entry   *Entry         // being applied
	session noun.SessionID // of the command being applied; 0: none
	Result  noun.Result    // reused
	urging  bool           // the task that is moved is offered by a human's word
	weight  int            // of what was done in this entry, see timers.go
	steps   int            // that this entry may still take in working off what goes, see clear.go
}

// View reads the state and has no way to write: its tables only give. It belongs under the lock
// that guards Apply. What its pointers show is good until that lock is given back.
type View struct {
	readers
	*indexes
	Hooks *Hooks
}

// readers are the tables of a state, for reading.
type readers struct {
	Meta         *Meta
	RoomTable    table.Reader[noun.RoomID, noun.Room]
	RoleTable    table.Reader[noun.RoleID, noun.Role]
	AgentTable   table.Reader[noun.AgentID, noun.Agent]
	LeaseTable   table.Reader[noun.AgentID, noun.Lease]
	TaskTable    table.Reader[noun.TaskID, noun.Task]
	HostTable    table.Reader[noun.HostID, noun.Host]
	SessionTable table.Reader[noun.SessionID, noun.Session]
	EventTable   table.Reader[uint64, noun.Event]
	MailTable    table.Reader[noun.MailID, noun.Mail]

	EscalationTable table.Reader[noun.EscalationID, noun.Escalation]

	TokenTable      table.Reader[noun.TokenID, noun.Token]
	CredentialTable table.Reader[noun.CredentialID, noun.Credential]
	UserTable       table.Reader[noun.UserID, noun.User]
	APITokenTable   table.Reader[noun.APITokenID, noun.APIToken]

	AuditTable table.Reader[uint64, noun.Audit]

	RoleIdx table.Reader[noun.RoleID, roleIndex]
	hostIdx table.Reader[noun.HostID, hostIndex]
	roomIdx table.Reader[noun.RoomID, roomIndex]
}

func (s *State) readers() readers {
	return readers{&s.Meta, s.RoomTable.Reader(), s.RoleTable.Reader(), s.AgentTable.Reader(),
		s.LeaseTable.Reader(), s.TaskTable.Reader(),
		s.HostTable.Reader(), s.SessionTable.Reader(), s.EventTable.Reader(), s.MailTable.Reader(),
		s.EscalationTable.Reader(),
		s.TokenTable.Reader(), s.CredentialTable.Reader(), s.UserTable.Reader(), s.APITokenTable.Reader(),
		s.AuditTable.Reader(),
		s.roleIdx.Reader(), s.hostIdx.Reader(), s.roomIdx.Reader()}
}

// derived are the tables that are built from the image.
type derived struct {
	roleIdx table.Table[noun.RoleID, roleIndex]
	hostIdx table.Table[noun.HostID, hostIndex]
	roomIdx table.Table[noun.RoomID, roomIndex]
}

// indexes are what else is built from the image. Only Apply changes them.
type indexes struct {
	roomByName  map[string]noun.RoomID
	roomNames   *btree.BTreeG[string]
	agentByName map[string]noun.AgentID
	hostByKey   map[string]noun.HostID
	roleByName  map[roleKey]noun.RoleID
	taskByKey   map[taskKey]noun.TaskID
	Timers      *btree.BTreeG[timer]
	Finished    *btree.BTreeG[FinishedTask] // terminal tasks that may go, oldest first
	starts      *btree.BTreeG[noun.RoleID]  // roles of which starts are due now
	halfOpen    *btree.BTreeG[noun.RoleID]  // roles that are half-open
	visiting    *btree.BTreeG[noun.RoleID]  // roles with agents on which a word is still to be carried out
	growing     *btree.BTreeG[noun.RoleID]  // roles with agents to create or tasks to offer
	withdrawing *btree.BTreeG[noun.RoleID]  // roles with start orders that a pause takes back
	promised    int                         // agents that are to be created
	clearing    *btree.BTreeG[noun.RoomID]  // rooms with something to remove
	AtWork      IdSet                       // agents that hold a task
	Offered     *btree.BTreeG[noun.RoleID]  // roles with claimable tasks
	Aside       map[noun.TaskID]struct{}    // tasks that make no room active, see SetAside
	Ledger      ledger
	wordy       Ended[noun.TaskID] // finished tasks with texts worth dropping
	roomEnded   Ended[noun.TaskID] // finished tasks by room
	quarantined Ended[noun.TaskID] // QUARANTINED tasks; from LevelRetry on in none of the three above, see View.asks
	live        uint32             // participants that are not DISCONNECTED
	parked      uint32             // agents that wait for the end of a pause, see Agent.Waits
	taskCount   [noun.TaskQuarantined + 1]uint64
	procCount   [noun.ProcUnproven + 1]uint32
	Tally       Figures
}

type taskKey struct {
	room noun.RoomID
	key  string
}

type roleKey struct {
	room noun.RoomID
	name string
}

// roleIndex is what the state derives of a role's tasks and agents.
type roleIndex struct {
	Queued, Pending queue
	Delayed         delays // tasks that are put off, in none of the queues
	Tasks           [noun.TaskQuarantined + 1]uint32
	live            uint32
	starting        uint32   // agents ordered or accepted
	spare           uint32   // agents that run in their room, or will, and hold no task
	free            IdSet    // agents that a start by hand may take
	ordered         IdSet    // agents with a start order that is not accepted
	missing         []uint32 // replicas without an agent, see grow.go
	// ready are the agents that nothing of their own keeps from a start, lost those of them
	// whose last life was lost with its host: the brake holds and paces these.
	ready, lost IdSet
	// called are those of ready that a feature calls for, calledLost those of lost; on_demand roles only.
	called, calledLost IdSet
	on                 map[noun.HostID]uint32 // lives by host
	// owned is one more than the generation of the roles in which Role.Agents got memory that
	// no view shares.
	owned  uint64
	paused uint32 // agents that are paused themselves
	lives  uint32 // agents that run, or will by an order
	off    uint32 // agents that are stopped themselves or no longer declared
}

// roomIndex is what the state derives of a room's tasks.
type roomIndex struct {
	Open    uint32 // tasks that have not ended and are not set aside
	Delayed uint32 // of these, put off

	quarantined uint32 // QUARANTINED tasks
}

// Queued orders tasks: highest priority first, then oldest.
type Queued struct {
	prio  int32
	Id    noun.TaskID
	since noun.Time // it waits; after a start from a snapshot since its last change of state
}

type FinishedTask struct {
	Seq uint64
	Id  noun.TaskID
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
	s.lasts()
	s.Meta.Settings, s.Meta.Level = noun.DefaultSettings(), Baseline
	s.Meta.NextRoom, s.Meta.NextRole, s.Meta.NextAgent, s.Meta.NextHost = 1, 1, 1, 1
	s.Meta.NextTask, s.Meta.NextSession = 1, 1
	s.Meta.FirstEvent, s.Meta.NextEvent = 1, 1
	s.reset()
	s.meters()
	return s
}

// reset makes empty indexes.
func (s *State) reset() {
	s.derived = derived{}
	*s.indexes = indexes{
		roomByName: map[string]noun.RoomID{}, agentByName: map[string]noun.AgentID{},
		hostByKey:  map[string]noun.HostID{},
		roleByName: map[roleKey]noun.RoleID{}, taskByKey: map[taskKey]noun.TaskID{}, Aside: map[noun.TaskID]struct{}{},
		roomNames: Ordered[string](), starts: Ordered[noun.RoleID](), visiting: Ordered[noun.RoleID](),
		halfOpen: Ordered[noun.RoleID](), growing: Ordered[noun.RoleID](), withdrawing: Ordered[noun.RoleID](),
		clearing: Ordered[noun.RoomID](),
		Offered:  Ordered[noun.RoleID](), Timers: Sorted(lessTimer),
		Finished: Sorted(func(a, b FinishedTask) bool { return a.Seq < b.Seq }),
		wordy:    NewEnded[noun.TaskID](), roomEnded: NewEnded[noun.TaskID](),
		quarantined: NewEnded[noun.TaskID](),
	}
	s.Hooks.Reset.Call(struct{}{})
}

// Sorted makes an ordered set. It has no lock: whoever holds the state has one.
func Sorted[T any](less func(a, b T) bool) *btree.BTreeG[T] {
	return btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})
}

func Ordered[T cmp.Ordered]() *btree.BTreeG[T] { return Sorted(cmp.Less[T]) }

// Copy returns an immutable view of everything replicated. It costs a few
// microseconds whatever the size; later writes copy the pages they touch.
func (s *State) Copy() *Image {
	return &Image{
		Meta: s.Meta, RoomTable: s.RoomTable.Copy(), RoleTable: s.RoleTable.Copy(), AgentTable: s.AgentTable.Copy(),
		LeaseTable: s.LeaseTable.Copy(), TaskTable: s.TaskTable.Copy(), HostTable: s.HostTable.Copy(),
		SessionTable: s.SessionTable.Copy(), EventTable: s.EventTable.Copy(), MailTable: s.MailTable.Copy(),
		EscalationTable: s.EscalationTable.Copy(),
		TokenTable:      s.TokenTable.Copy(), CredentialTable: s.CredentialTable.Copy(),
		UserTable: s.UserTable.Copy(), APITokenTable: s.APITokenTable.Copy(),
		AuditTable: s.AuditTable.Copy(),
	}
}

// roleIndex is for reading; a role of which nothing is known yet has an empty one.
func (v *View) roleIndex(id noun.RoleID) *roleIndex {
	if ri := v.RoleIdx.Get(id); ri != nil {
		return ri
	}
	return new(roleIndex)
}

func (v *View) RoomIndex(id noun.RoomID) *roomIndex {
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

// IdSet is a set of agents in order; nil is an empty one.
type IdSet struct{ *btree.BTreeG[noun.AgentID] }

func (x *IdSet) Put(id noun.AgentID, in bool) {
	switch {
	case in && x.BTreeG == nil:
		x.BTreeG = Ordered[noun.AgentID]()
		x.Set(id)
	case in:
		x.Set(id)
	case x.BTreeG != nil:
		x.Delete(id)
	}
}

func (x IdSet) Has(id noun.AgentID) bool {
	if x.BTreeG == nil {
		return false
	}
	_, in := x.Get(id)
	return in
}

func (x IdSet) len() int {
	if x.BTreeG == nil {
		return 0
	}
	return x.Len()
}

// scan calls yield with each, in order, until it gives false; it tells whether all were.
func (x IdSet) scan(yield func(noun.AgentID) bool) (all bool) {
	if all = true; x.BTreeG != nil {
		x.Scan(func(id noun.AgentID) bool {
			all = yield(id)
			return all
		})
	}
	return all
}

func (x IdSet) first() (noun.AgentID, bool) {
	if x.BTreeG == nil {
		return 0, false
	}
	return x.Min()
}

// queue orders tasks as they are promoted and claimed; nil is an empty one.
type queue struct{ *btree.BTreeG[Queued] }

func (q queue) Len() int {
	if q.BTreeG == nil {
		return 0
	}
	return q.BTreeG.Len()
}

func (q *queue) add(t Queued) {
	if q.BTreeG == nil {
		*q = newQueue()
	}
	q.Set(t)
}

// delays orders tasks that are put off, the next one first; nil is empty.
type delays struct{ *btree.BTreeG[DelayedTask] }

type DelayedTask struct {
	at noun.Time
	Id noun.TaskID
}

func (d delays) Len() int {
	if d.BTreeG == nil {
		return 0
	}
	return d.BTreeG.Len()
}

func (d delays) Min() (DelayedTask, bool) {
	if d.BTreeG == nil {
		return DelayedTask{}, false
	}
	return d.BTreeG.Min()
}

func (d *delays) put(t *noun.Task) {
	if d.BTreeG == nil {
		d.BTreeG = Sorted(func(a, b DelayedTask) bool {
			if a.at != b.at {
				return a.at < b.at
			}
			return a.Id < b.Id
		})
	}
	d.Set(DelayedTask{t.Retry.NotBefore, t.ID})
}

func newQueue() queue {
	less := func(a, b Queued) bool {
		if a.prio != b.prio {
			return a.prio > b.prio
		}
		return a.Id < b.Id
	}
	return queue{Sorted(less)}
}

// waits tells since when a task is in the role's queue; its last change when it is in none.
func (ri *roleIndex) waits(t *noun.Task) noun.Time {
	var in *queue
	switch t.State {
	case noun.TaskPending:
		in = &ri.Pending
	case noun.TaskQueued:
		in = &ri.Queued
	default:
		return t.ChangedAt
	}
	if in.Len() > 0 {
		if q, ok := in.Get(Queued{prio: t.Priority, Id: t.ID}); ok {
			return q.since
		}
	}
	return t.ChangedAt
}

// first is the task at the head of the claimable ones.
func (ri *roleIndex) first() (noun.TaskID, bool) {
	if ri.Tasks[noun.TaskPending] == 0 {
		return 0, false
	}
	q, ok := ri.Pending.Min()
	return q.Id, ok
}

func (s *State) hostIndexOf(id noun.HostID) *hostIndex {
	if hi := s.hostIdx.Get(id); hi != nil {
		return hi
	}
	hi := s.hostIdx.Put(id)
	hi.orders, hi.agents = map[noun.AgentID]struct{}{}, map[noun.AgentID]struct{}{}
	return hi
}

// Rebuild builds every index from the image, after a restore.
func (s *State) Rebuild() {
	s.reset()
	for id, r := range s.RoomTable.From(0) {
		s.roomByName[r.Name] = noun.RoomID(id)
		s.roomNames.Set(r.Name)
		if r.Clearing {
			s.clearing.Set(r.ID)
		}
		s.Arm(timerRoom, uint64(r.ID), r.PauseEnd.At)
	}
	for _, r := range s.RoleTable.From(0) {
		s.roleIndexOf(r.ID)
		s.roleByName[roleKey{r.Room, r.Spec.Name}] = r.ID
		if r.Below != 0 {
			s.visiting.Set(r.ID)
		}
		if r.Half != nil {
			s.halfOpen.Set(r.ID)
			s.Arm(timerRole, uint64(r.ID), r.Half.Armed)
		}
	}
	for _, h := range s.HostTable.From(0) {
		s.hostByKey[h.Key] = h.ID
		s.Arm(timerHost, uint64(h.ID), h.Armed)
	}
	for _, t := range s.TaskTable.From(0) {
		s.indexTask(t, +1)
		s.indexKey(t)
		s.Arm(TimerTask, uint64(t.ID), t.Armed)
	}
	for id, l := range s.LeaseTable.From(0) {
		s.Arm(TimerLease, uint64(id), l.ArmedL)
		s.Arm(timerFence, uint64(id), l.ArmedF)
	}
	for id, a := range s.AgentTable.From(0) {
		s.agentByName[a.Name] = a.ID
		s.Arm(TimerAgent, uint64(id), a.Armed)
		s.indexAgent(ShadowOf(a), +1)
	}
	for id, ss := range s.SessionTable.From(0) {
		s.Arm(timerSession, uint64(id), ss.Armed)
	}
	s.armHold()
	s.Arm(timerBrake, 0, s.Meta.Brake.Armed)
	s.Arm(timerPause, 0, s.Meta.PauseEnd.At)
	s.Hooks.Index.Call(struct{}{})
	for _, a := range s.AgentTable.From(0) { // features may call for some
		s.Want(a)
	}
	s.meters()
	for id := range s.RoleTable.From(0) {
		r := s.RoleTable.Get(noun.RoleID(id))
		s.promise(r)
		s.reviewPause(r)
	}
}
