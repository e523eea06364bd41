package form

import (
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// Wall converts a wall time; 0 is absent.
func Wall(w noun.Wall) *timestamppb.Timestamp {
	if w == 0 {
		return nil
	}
	return timestamppb.New(time.Unix(0, int64(w)))
}

// since is how long ago a cluster time was; 0 is absent.
func since(now, t noun.Time) *durationpb.Duration {
	if t == 0 {
		return nil
	}
	return durationpb.New(now.Sub(t))
}

// Until is how far away a cluster time is; 0 is absent, the past is zero.
func Until(now, t noun.Time) *durationpb.Duration {
	if t == 0 {
		return nil
	}
	return durationpb.New(max(0, t.Sub(now)))
}

// Lasting converts a duration; 0 is absent.
func Lasting(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}

// IncName is how people write an incarnation; 0 is empty.
func IncName(i noun.Incarnation) string {
	if i == 0 {
		return ""
	}
	return i.String()
}

func sortedKVs(m map[string]string) []noun.KV {
	out := make([]noun.KV, 0, len(m))
	for k, v := range m {
		out = append(out, noun.KV{Key: k, Value: v})
	}
	slices.SortFunc(out, func(a, b noun.KV) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// KVMap gives the map of pairs; nil when there are none.
func KVMap(kvs []noun.KV) map[string]string {
	if len(kvs) == 0 {
		return nil
	}
	m := make(map[string]string, len(kvs))
	for _, kv := range kvs {
		m[kv.Key] = kv.Value
	}
	return m
}

// Speaker converts who speaks; the token is hashed here and goes no further.
func Speaker(s *vigilv1.Speaker) fsm.Speaker {
	return fsm.Speaker{Agent: s.GetAgent(), Inc: noun.Incarnation(s.GetIncarnation()),
		TokenHash: TokenHash(s.GetToken())}
}

// HostName is the name of a host; empty when there is none.
func HostName(st *fsm.View, id noun.HostID) string {
	if h := st.Host(id); h != nil {
		return h.Name
	}
	return ""
}

// AgentName is the name of an agent; empty when there is none.
func AgentName(st *fsm.View, id noun.AgentID) string {
	if a := st.Agent(id); a != nil {
		return a.Name
	}
	return ""
}

// Task copies a task; its text only when withText is set. Called under the
// read lock, as are all functions here that take a State.
func Task(st *fsm.View, t *noun.Task, withText bool) *vigilv1.Task {
	out := &vigilv1.Task{
		Id: uint64(t.ID), State: vigilv1.TaskState(t.State), Priority: t.Priority, Title: t.Title,
		CreatedBy: t.Creator, Key: t.Key, Parent: uint64(t.Parent), Next: uint64(t.Next),
		Hops: t.Hops, Attempt: t.Attempt, Kills: t.Kills,
		HolderIncarnation: IncName(t.HolderInc), Note: t.Note, CreatedAt: Wall(t.CreatedAt),
		InState: durationpb.New(st.Clock().Sub(t.ChangedAt)), Rev: t.Rev,
	}
	if t.Used != nil {
		out.Usage = usage(*t.Used)
	}
	if r := st.RoomByID(t.Room); r != nil {
		out.Room = r.Name
	}
	if r := st.Role(t.Role); r != nil {
		out.Role = r.Spec.Name
	}
	if t.Holder != 0 {
		out.Holder = AgentName(st, t.Holder)
	}
	convertPlan(st, t, out)
	retry := t.Retried()
	out.Dropped, out.TextGone, out.ResultDropped = t.Dropped, t.TextGone, uint64(retry.ResultDropped)
	out.Failures, out.Charged, out.AgainIn = retry.Row, t.Charged, Lasting(st.DelayLeft(t))
	if !withText {
		return out
	}
	out.Text, out.Result = t.Text, t.Result
	if t.State == noun.TaskQueued || t.State == noun.TaskPending {
		why := st.WhyTaskWaits(t)
		out.Why, out.WhyCode = why.Text, why.Code
	}
	for _, f := range retry.Reasons {
		out.Failed = append(out.Failed, &vigilv1.FailedAttempt{Attempt: f.Attempt, Reason: f.Text, At: Wall(f.At)})
	}
	for _, l := range t.Late {
		out.LateResults = append(out.LateResults, &vigilv1.LateResult{Attempt: l.Attempt,
			Incarnation: IncName(l.Inc), Result: l.Result, At: Wall(l.At)})
	}
	return out
}

// convertPlan tells what is expected of a task and how far it is.
func convertPlan(st *fsm.View, t *noun.Task, out *vigilv1.Task) {
	p, now := t.Planned(), st.Clock()
	out.Expect, out.Extended = Lasting(st.Expectation(t)), p.Extended
	if percent, ok := p.Percent.Said(); ok {
		out.Percent = &percent
	}
	a := st.Agent(t.Holder)
	if !t.State.Held() || a == nil || a.Task != t.ID {
		return
	}
	out.Assigned = durationpb.New(now.Sub(a.TaskSince))
	if t.State == noun.TaskInProgress {
		out.Progressed = durationpb.New(now.Sub(max(t.Progress, t.ChangedAt)))
	}
	if p.Due != 0 {
		out.ExpectLeft = durationpb.New(p.Due.Sub(now))
		// for people: nothing is decided by wall time
		out.ExpectedCompletion = timestamppb.New(time.Now().Add(p.Due.Sub(now)))
	}
}

// Summary is how a list shows a task: without text and results.
func Summary(st *fsm.View, t *noun.Task) *vigilv1.Task { return Task(st, t, false) }

// Event copies an event.
func Event(e *noun.Event) *vigilv1.Event {
	return &vigilv1.Event{Seq: e.Seq, Index: e.Index, At: Wall(e.Wall), Kind: e.Kind, Room: e.Room,
		Agent: e.Agent, Incarnation: IncName(e.Inc), Task: uint64(e.Task), Attempt: e.Attempt,
		Host: e.Host, Text: e.Text}
}

// Host copies a host with what runs on it.
func Host(st *fsm.View, h *noun.Host) *vigilv1.Host {
	load := st.HostLoad(h.ID)
	out := &vigilv1.Host{
		Id: uint32(h.ID), Name: h.Name, State: h.Status().String(),
		Runners: slices.Clone(h.Runners), Labels: KVMap(h.Labels), Capacity: capacity(st, h),
		Running: load.Running, Starting: load.Starting, Version: h.Version,
		LeaseLeft: Until(st.Clock(), h.Until), SeenAt: Wall(h.SeenAt), Heard: since(st.Clock(), h.BeatAt), Rev: h.Rev,
		Drain: h.Drain, Pressure: h.Pressure, Warnings: slices.Clone(h.Warnings), GossipAddr: h.GossipAddr,
		Terminals: h.Terminals(), Servers: slices.Clone(h.Servers), Containment: h.Containment,
		Unproven: uint32(st.UnprovenOn(h.ID)),
	}
	if h.Kept != (noun.HostKept{}) {
		out.Kept = &vigilv1.HostKept{Bytes: h.Kept.Bytes, Removable: h.Kept.Removable, Oldest: Wall(h.Kept.Oldest)}
	}
	out.DrainEndsIn = Until(st.Clock(), h.DrainEnd.At)
	if h.Drain {
		out.DrainBy, out.DrainAt, out.DrainLeft = h.DrainBy, Wall(h.DrainAt), Until(st.Clock(), h.DrainUntil)
	}
	if h.State == noun.HostSuspect {
		out.SuspectWhy = h.SuspectWhy
	}
	if h.State == noun.HostReturning {
		out.SteadyIn = Until(st.Clock(), h.SteadyAt)
	}
	for _, v := range h.Views {
		out.Views = append(out.Views, &vigilv1.HostView{Server: v.Server, Gossip: v.Gossip.String(),
			Stream: v.Stream.String()})
	}
	return out
}

func capacity(st *fsm.View, h *noun.Host) uint32 {
	if h.Capacity == 0 {
		return st.Settings().DefaultCapacity
	}
	return h.Capacity
}

// Exit copies how a life has ended; nil: none has.
func Exit(st *fsm.View, x *noun.Exit) *vigilv1.Exit {
	if x == nil || x.Kind == noun.ExitNone {
		return nil
	}
	return &vigilv1.Exit{Incarnation: IncName(x.Inc), At: Wall(x.Wall), Ago: since(st.Clock(), x.At),
		Kind: x.Kind.String(), Code: x.Code, Signal: x.Signal, Reason: x.Reason, Tail: x.Tail,
		Task: uint64(x.Task), Host: HostName(st, x.Host)}
}

// Agent copies an agent with its leases and the reason for its state.
func Agent(st *fsm.View, a *noun.Agent) *vigilv1.Agent {
	now, notes := st.Clock(), a.Notes()
	why := st.Why(a.ID)
	out := &vigilv1.Agent{
		Name: a.Name, Id: uint32(a.ID), Incarnation: IncName(a.Inc), IncarnationRaw: uint64(a.Inc),
		Process: a.Proc.String(), Participant: a.Part.String(), Host: HostName(st, a.Host), Pid: a.PID,
		Task: uint64(a.Task), Desired: desiredOf(st, a), IntentBy: a.IntentBy, IntentAt: Wall(a.IntentAt),
		Order: a.OpenOrder().String(), OrderReason: a.OrderReason,
		Failures: a.Failures, Parked: a.Waits(), LastExit: Exit(st, a.LastExit), Managed: a.Managed,
		Done: a.Done, Why: why.Text, WhyCode: why.Code, Rev: a.Rev, Retired: a.Retired,
		Usage:     AgentUsage(st, a),
		IntentWhy: notes.IntentWhy, Stuck: notes.Stuck, StartFault: notes.StartFault,
		ResumeBytes: uint32(len(a.Resume)), Outdated: st.Outdated(a),
	}
	out.Declaration = Declaration(now, a.Declared)
	out.Screen, out.Typist, out.Degraded = Screen(now, a), Typist(now, a), st.Degraded(a.ID)
	if a.Paused {
		out.Paused, out.PauseBy, out.PauseWhy, out.PauseAt = true, notes.PauseBy, notes.PauseWhy, Wall(notes.PauseAt)
	}
	ends := a.Ends()
	out.StopEndsIn, out.PauseEndsIn = Until(now, ends.Stop.At), Until(now, ends.Pause.At)
	if out.Parked {
		out.ParkedWhy = notes.ParkedWhy
	}
	if why.Left > 0 {
		out.WhyLeft = Lasting(why.Left)
	}
	out.Room, out.Role, _ = strings.Cut(a.Name, "/")
	out.Role, _, _ = strings.Cut(out.Role, ".")
	if a.OpenOrder() != noun.NoOrder {
		out.OrderOpen = since(now, a.OrderSince)
	}
	if a.NotBefore > now {
		out.NotBefore = Until(now, a.NotBefore)
	}
	if a.Proc == noun.ProcRunning || a.Part != noun.PartDisconnected {
		out.Up = since(now, a.StartedAt)
	}
	if l := st.Lease(a.ID); l != nil {
		out.LeaseLeft, out.FenceLeft = Until(now, l.Until), Until(now, l.Fence)
	}
	return out
}

// desiredOf tells what humans want of an agent: a stop beats a pause, its own word
// the role's.
func desiredOf(st *fsm.View, a *noun.Agent) string {
	r := st.Role(a.Role)
	switch {
	case a.Stopped || r == nil || r.Spec.Desired == noun.DesiredStopped:
		return desiredName(noun.DesiredStopped)
	case a.Paused:
		return "paused"
	}
	return desiredName(r.Spec.Desired)
}

// Room copies a room with its roles.
func Room(st *fsm.View, r *noun.Room) *vigilv1.Room {
	out := &vigilv1.Room{Name: r.Name, Deleting: r.Deleting, CreatedAt: Wall(r.CreatedAt),
		ChangedBy: r.ChangedBy, Rev: r.Rev, Unfinished: uint32(st.Unfinished(r))}
	if r.Paused {
		out.Paused, out.PauseBy, out.PauseWhy, out.PauseAt = true, r.PauseBy, r.PauseWhy, Wall(r.PauseAt)
		out.PauseEndsIn = Until(st.Clock(), r.PauseEnd.At)
	}
	for _, id := range r.Roles {
		if role := st.Role(id); role != nil {
			out.Roles = append(out.Roles, Role(st, role))
		}
	}
	watchedRoom(st, r, out)
	return out
}

// Role copies a role with the counts of its agents and tasks.
func Role(st *fsm.View, r *noun.Role) *vigilv1.Role {
	stats := st.RoleStats(r.ID)
	out := &vigilv1.Role{Spec: RoleSpec(&r.Spec), Retired: r.Retired, Agents: stats.Agents,
		AgentsLive: stats.Live, Rev: r.Rev, Tasks: map[string]uint32{}, Delayed: uint32(st.Delayed(r.ID)),
		HalfOpen: st.WhyHalfOpen(r.ID).Text}
	for s := noun.TaskQueued; s <= noun.TaskQuarantined; s++ {
		if n := stats.Tasks[s]; n > 0 {
			out.Tasks[s.String()] = n
		}
	}
	return out
}

// Cancellation copies what the conversation watchdog canceled in a room.
func Cancellation(x *noun.Cancellation) *vigilv1.Cancellation {
	return &vigilv1.Cancellation{Room: x.Room, At: Wall(x.Wall), ActiveAt: Wall(x.ActiveAt), Silent: Lasting(x.Silent),
		Reason: x.Reason, Tasks: x.Tasks, Roles: x.Roles, Hosts: x.Hosts}
}

// watchedRoom adds what the conversation watchdog knows of a room.
func watchedRoom(st *fsm.View, r *noun.Room, out *vigilv1.Room) {
	if r.Watch != (noun.RoomWatch{}) {
		out.Watch = &vigilv1.RoomWatch{IdleLimit: Lasting(r.Watch.IdleLimit),
			Deadline: Lasting(r.Watch.Deadline), Disabled: r.Watch.Disabled, Untaken: r.Watch.Untaken.String()}
	}
	if r.Canceled != nil {
		out.Canceled = Cancellation(r.Canceled)
		out.Canceled.Resumed = r.ResumedWork()
	}
	q, now := st.Quiet(r), st.Clock()
	out.Quiet = &vigilv1.RoomQuiet{State: string(q.State), Why: q.Why, ActiveAt: Wall(r.ActiveAt),
		Limit: Lasting(q.Limit)}
	if q.State == fsm.RoomUnwatched {
		return
	}
	out.Quiet.Silent = durationpb.New(now.Sub(q.Active))
	if q.DueAt != 0 {
		out.Quiet.DueIn, out.Quiet.Reason = durationpb.New(max(0, q.DueAt.Sub(now))), q.Reason
	}
	if q.State == fsm.RoomStalling {
		out.Quiet.CancelIn = durationpb.New(max(0, q.CancelAt.Sub(now)))
	}
}

// Screen tells what is seen of an agent; absent: nobody looks.
func Screen(now noun.Time, a *noun.Agent) *vigilv1.ScreenState {
	sc := a.Screen()
	if sc == nil || sc.Kind == noun.PromptUnknown {
		return nil
	}
	return &vigilv1.ScreenState{Prompt: sc.Kind.String(), Shown: durationpb.New(now.Sub(sc.At)),
		Quiet: sc.Quiet, QuietFor: durationpb.New(now.Sub(sc.QuietAt))}
}

// Typist copies who types at the agent's terminal; nil: nobody.
func Typist(now noun.Time, a *noun.Agent) *vigilv1.Typist {
	t := a.Typist()
	if t == nil {
		return nil
	}
	return &vigilv1.Typist{By: t.By, Since: durationpb.New(now.Sub(t.At)), Left: durationpb.New(t.Until.Sub(now)),
		Grant: t.Grant}
}

// Declaration copies what an agent has said of itself; nil: nothing.
func Declaration(now noun.Time, d *noun.Declaration) *vigilv1.Declaration {
	if d == nil {
		return nil
	}
	return &vigilv1.Declaration{Status: d.Status.String(), Waiting: d.Waiting.String(), Text: d.Text, Sequence: d.Seq,
		Left: DeclaredLeft(now, d), Reported: durationpb.New(now.Sub(d.At)), Said: durationpb.New(now.Sub(d.Since)),
		Lapsed: d.Until != 0 && d.Until <= now}
}

// DeclaredLeft is how long a declaration still holds; absent: it has no end, or lapsed.
func DeclaredLeft(now noun.Time, d *noun.Declaration) *durationpb.Duration {
	if !d.Holds(now) {
		return nil
	}
	return durationpb.New(d.Until.Sub(now))
}

// TokenHash is what the cluster knows of a token; nil when there is none.
func TokenHash(token string) []byte {
	if token == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// AgentAnswer answers with the agent as it is after the write.
func AgentAnswer(name string) func(*fsm.View, *noun.Outcome) *vigilv1.Agent {
	return func(st *fsm.View, out *noun.Outcome) *vigilv1.Agent {
		if a := st.AgentByName(name); a != nil {
			return Agent(st, a)
		}
		return &vigilv1.Agent{Name: name, Rev: out.Rev}
	}
}
