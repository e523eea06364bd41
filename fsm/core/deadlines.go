package core

import (
	"time"

	"vigil/fsm/due"
	"vigil/fsm/noun"
)

// The rows of deadlines of the core: of agents, tasks, hosts, sessions and the cluster. Each object
// has one timer, armed by its earliest row.

// Kinds of the core's deadlines.
var (
	KindLease   = &due.Kind{Name: "lease", Then: "it is DISCONNECTED, and its task is taken back"}
	KindFence   = &due.Kind{Name: "fence", Then: "its life counts as lost, and another host may start the next one"}
	KindAccept  = &due.Kind{Name: "accept limit", Then: "the start order is withdrawn, and another host is looked for"}
	KindStart   = &due.Kind{Name: "start limit", Then: "its life is ended and replaced, since it has not joined"}
	KindTurn    = &due.Kind{Name: "turn limit", Then: "its life is ended, or by hand its hold on the task"}
	KindHealthy = &due.Kind{Name: "healthy again", Then: "its failures are forgotten"}
	KindBackOff = &due.Kind{Name: "back-off", Then: "it may be started again"}
	KindParked  = &due.Kind{Name: "parked", Then: "one trial is started"}

	KindPending = &due.Kind{Name: "pending limit", Then: "an event says that nobody has claimed it"}
	KindAck     = &due.Kind{Name: "acknowledgement limit",
		Then: "it is taken back from its holder, which has not started it"}
	KindProgress = &due.Kind{Name: "progress limit", Then: "it is taken back from its holder, which shows no progress"}
	KindRetry    = &due.Kind{Name: "wait", Then: "it joins the queue of its role, and may be tried again"}
	KindProbe    = &due.Kind{Name: "next probe", Then: "the next task of the half-open role is tried"}
	KindOutlives = &due.Kind{Name: "long probe",
		Then: "the attempt counts as a success, and more tasks are let through"}
	KindExpected = &due.Kind{Name: "expected completion",
		Then: "nothing by itself; its holder's silence counts from now on"}

	KindHostLease = &due.Kind{Name: "host lease",
		Then: "the host is lost; its agents wait for the ends of their fences"}
	KindReturn    = &due.Kind{Name: "return", Then: "the host gets starts again"}
	KindDrain     = &due.Kind{Name: "drain", Then: "what still runs there is stopped"}
	KindForget    = &due.Kind{Name: "removal", Then: "the host is forgotten, unless a life may come back with it"}
	KindSuspicion = &due.Kind{Name: "suspicion", Then: "lives of fast roles there may be given up"}

	KindSession = &due.Kind{Name: "session", Then: "its answers are forgotten"}
	KindHold    = &due.Kind{Name: "hold", Then: "starts are ordered again, once all hosts have reported"}
	KindReports = &due.Kind{Name: "reports of hosts", Then: "starts are ordered again, whatever has not been reported"}
	KindBrake   = &due.Kind{Name: "brake", Then: "lost agents are started elsewhere, one after the other"}
	KindPaced   = &due.Kind{Name: "end of the brake",
		Then: "lost agents are started as they come, unless one was started meanwhile"}
)

// Silence is the row of an agent's silence since then. What it has explained, and the time in
// which its host was not heard, do not count. What it is silent about is for its caller.
func (v *View) Silence(a *noun.Agent, from noun.Time) due.Row {
	r := due.Row{From: from, Hold: excuse(a)}
	r.Absent = v.Absent(a, r.Since(v.Meta.Clock))
	return r
}

func (v *View) leaseRow(id noun.AgentID, l *noun.Lease) due.Row {
	return v.proved(KindLease, id, l, l.Until)
}

func (v *View) fenceRow(id noun.AgentID, l *noun.Lease) due.Row {
	return v.proved(KindFence, id, l, l.Fence)
}

// proved is the row of a lease or a fence with this end, which is one TTL after its last proof.
func (v *View) proved(k *due.Kind, id noun.AgentID, l *noun.Lease, end noun.Time) due.Row {
	if end == 0 {
		return due.Row{}
	}
	ttl := time.Duration(l.TTL)
	r := due.Row{Kind: k, Of: due.OfAgent(id), From: end.Add(-ttl), Span: ttl}
	if r.From == v.Meta.HoldUntil {
		r.Hold = due.Hold{Until: r.From, Why: whyRestored}
	}
	return r
}

// agentLimit is the row of the next limit of an agent.
func (v *View) agentLimit(a *noun.Agent) due.Row {
	set, of := &v.Meta.Settings, due.OfAgent(a.ID)
	switch {
	case a.Proc == noun.ProcOrdered:
		return due.Row{Kind: KindAccept, Of: of, From: a.OrderSince, Span: set.AcceptLimit}
	case a.Task != 0 && a.Order != noun.StopOrder:
		if limit := v.RoleTable.Get(a.Role).Spec.TurnLimit; limit > 0 {
			return v.agentAway(a, due.Row{Kind: KindTurn, Of: of, From: a.TaskSince, Span: limit})
		}
	case a.Part == noun.PartDisconnected && (a.Proc == noun.ProcRunning && a.Order == noun.NoOrder ||
		a.Proc == noun.ProcAccepted && a.Order != noun.StopOrder):
		return v.agentAway(a, due.Row{Kind: KindStart, Of: of, From: max(a.StartedAt, a.Since),
			Span: v.RoleTable.Get(a.Role).Spec.StartLimit, Hold: v.outsideExcuse(a)})
	case a.Proc == noun.ProcRunning && a.Order == noun.NoOrder && a.Useful() && (a.Failures > 0 || a.Parked):
		return due.Row{Kind: KindHealthy, Of: of, From: a.StartedAt, Span: set.HealthyAfter}
	case !a.Proc.Fenced() && a.NotBefore > v.Meta.Clock:
		return waitRow(a)
	}
	return due.Row{}
}

// agentAway puts off the row of a limit whose end ends a life by as long as its host was not heard since the clock
// began: whether the agent has done in that time what is expected of it is not known.
func (v *View) agentAway(a *noun.Agent, r due.Row) due.Row {
	if v.retries() {
		r.Absent, r.Put = v.Absent(a, r.Since(v.Meta.Clock)), v.unheard(a)
	}
	return r
}

// unheard puts off what would be done about an agent whose host is not heard now. For how long that lasts is not known.
func (v *View) unheard(a *noun.Agent) due.Hold {
	if h := v.HostTable.Get(a.Host); h != nil && a.Proc.Fenced() && len(h.Away)%2 == 1 {
		return due.Hold{Until: v.Meta.Clock.Add(SilentFor), Why: whyUnheard}
	}
	return due.Hold{}
}

// waitRow is the row of a back-off, a breaker or a usage limit.
func waitRow(a *noun.Agent) due.Row {
	k, from := KindBackOff, a.NotBefore
	if a.Parked {
		k = KindParked
	}
	if a.LastExit != nil {
		from = a.LastExit.At
	}
	return due.Until(k, due.OfAgent(a.ID), from, a.NotBefore)
}

// AgentRow is the row for which an agent must be looked at again, those of features included.
func (v *View) AgentRow(a *noun.Agent) due.Row {
	r := due.Sooner(v.agentLimit(a), intentRow(a))
	for _, of := range v.Hooks.AgentDue {
		r = due.Sooner(r, of(a))
	}
	return r
}

// TaskRow is the row for which a task must be looked at again. Timers are armed by it as it is:
// how long its holder's host was not heard (see taskAway) may be more by then, and a timer that
// fires early is set again.
func (v *View) TaskRow(t *noun.Task) due.Row {
	spec, r := &v.RoleTable.Get(t.Role).Spec, due.Row{Of: due.OfTask(t.ID), From: t.ChangedAt}
	switch {
	case t.Delayed():
		return due.Until(KindRetry, r.Of, t.ChangedAt, t.Retry.NotBefore)
	case t.State == noun.TaskPending:
		r.Kind, r.Span = KindPending, spec.PendingLimit
	case t.State == noun.TaskAcknowledged:
		r.Kind, r.Span = KindAck, spec.AckLimit
		if a := v.holder(t); a != nil && v.Level() >= LevelRetry {
			r.Hold = excuse(a) // a prompt on its terminal, or a human there, for instance
		}
	case t.State == noun.TaskInProgress && spec.ProgressLimit > 0:
		r.Kind, r.Span, r.From = KindProgress, spec.ProgressLimit, max(t.ChangedAt, t.Progress)
		if a := v.holder(t); a != nil {
			r.Hold = excuse(a)
		}
	}
	return r
}

// taskAway is TaskRow, later by as long as the holder's host was not heard since its clock began.
// While it is not heard nothing is taken from its agents but by the ends of their leases.
func (v *View) taskAway(t *noun.Task) due.Row {
	r, a := v.TaskRow(t), v.holder(t)
	if r.Kind == nil || !t.State.Held() || a == nil {
		return r
	}
	r.Absent, r.Put = v.Absent(a, r.Since(v.Meta.Clock)), v.unheard(a)
	return r
}

// holder is the agent that holds a task; nil: nobody does.
func (v *View) holder(t *noun.Task) *noun.Agent {
	if a := v.AgentTable.Get(t.Holder); a != nil && a.Task == t.ID {
		return a
	}
	return nil
}

// hostRows are all rows of a host, in no order.
func (v *View) hostRows(h *noun.Host) (rows [6]due.Row) {
	of := due.OfHost(h.ID)
	if h.Until != 0 {
		rows[0] = due.Until(KindHostLease, of, h.BeatAt, h.Until)
	}
	if h.SteadyAt != 0 {
		rows[1] = due.Until(KindReturn, of, h.SteadyAt, h.SteadyAt)
	}
	if h.DrainUntil != 0 && !v.drainOver(h) {
		rows[2] = due.Until(KindDrain, of, h.DrainUntil, h.DrainUntil)
	}
	if limit := v.Meta.Settings.ForgetHosts; limit != 0 && !h.InService() {
		rows[3] = due.Row{Kind: KindForget, Of: of, From: h.BeatAt, Span: limit}
		if late := v.Meta.Clock.Sub(rows[3].At()); late >= 0 {
			rows[3].Put = due.Hold{Until: rows[3].At().Add(ForgetAgain * (late/ForgetAgain + 1)), Why: whyComeBack}
		}
	}
	if h.State == noun.HostSuspect && h.BeatAt.Add(SilentFor) > v.Meta.Clock {
		rows[4] = due.Row{Kind: KindSuspicion, Of: of, From: h.BeatAt, Span: SilentFor}
	}
	rows[5] = drainEndRow(h)
	return rows
}

// hostRow is the row for which a host must be looked at again.
func (v *View) hostRow(h *noun.Host) (r due.Row) {
	for _, x := range v.hostRows(h) {
		r = due.Sooner(r, x)
	}
	return r
}

func (v *View) sessionRow(ss *noun.Session) due.Row {
	return due.Row{Kind: KindSession, Of: due.OfSession(ss.ID), From: ss.Used, Span: v.Meta.Settings.SessionTTL}
}

// holdRow is the row of the next end of the hold after a restore.
func (v *View) holdRow() due.Row {
	end := v.Meta.HoldUntil
	switch {
	case v.held():
		return due.Until(KindHold, due.Of{}, end.Add(-v.Meta.HoldFor), end)
	case v.StartsHeld() > 0:
		return due.Row{Kind: KindReports, From: end, Span: v.Meta.HoldFor}
	}
	return due.Row{}
}

// brakeRow is the row for which the brake must be looked at.
func (v *View) brakeRow() due.Row {
	switch b := &v.Meta.Brake; {
	case b.Set == 0:
		return due.Row{}
	case b.Hold > v.Meta.Clock:
		return due.Until(KindBrake, due.Of{}, b.Set, b.Hold)
	default:
		return due.Row{Kind: KindPaced, From: b.TAT, Span: v.Meta.Settings.TTL}
	}
}

// MaxDeadlines is how many rows AgentDeadlines and RoomDeadlines give at most.
const MaxDeadlines = 100

// AgentDeadlines lists what is due of an agent, its task, its mail and its host, the earliest
// first, at most MaxDeadlines, and counts how many more there are.
func (v *View) AgentDeadlines(id noun.AgentID) (rows []due.Row, more int) {
	l := due.List{Max: MaxDeadlines}
	a := v.AgentTable.Get(id)
	if a == nil {
		return nil, 0
	}
	v.agentRows(a, &l)
	for _, add := range v.Hooks.AgentRows {
		add(a, &l)
	}
	if h := v.HostTable.Get(a.Host); h != nil && a.Lives() {
		for _, r := range v.hostRows(h) {
			l.Add(r)
		}
	}
	l.Add(roomEndRow(v.RoomTable.Get(a.Room)))
	v.clusterRows(a, &l)
	return l.Sort(), l.More
}

// RoomDeadlines lists what is due of a room, its tasks and its agents, like AgentDeadlines but
// without what supervision has of each agent.
func (v *View) RoomDeadlines(id noun.RoomID) (rows []due.Row, more int) {
	l := due.List{Max: MaxDeadlines}
	rm := v.RoomTable.Get(id)
	if rm == nil {
		return nil, 0
	}
	for _, add := range v.Hooks.RoomRows {
		add(rm, &l)
	}
	l.Add(roomEndRow(rm))
	l.Add(v.allEndRow())
	for _, role := range rm.Roles {
		ri := v.roleIndex(role)
		if ri.Pending.Len() > 0 {
			ri.Pending.Scan(func(q Queued) bool {
				v.taskRows(v.TaskTable.Get(q.Id), &l)
				return true
			})
		}
		if ri.Delayed.Len() > 0 {
			ri.Delayed.Scan(func(q DelayedTask) bool {
				v.taskRows(v.TaskTable.Get(q.Id), &l)
				return true
			})
		}
		for _, r := range v.roleRows(v.RoleTable.Get(role)) {
			l.Add(r)
		}
		for _, agent := range v.RoleTable.Get(role).Agents {
			if a := v.AgentTable.Get(agent); a != nil {
				v.agentRows(a, &l)
			}
		}
	}
	return l.Sort(), l.More
}

// agentRows adds what is due of an agent and of the task that it holds.
func (v *View) agentRows(a *noun.Agent, l *due.List) {
	x := v.LeaseTable.Get(a.ID)
	l.Add(v.leaseRow(a.ID, x))
	l.Add(v.fenceRow(a.ID, x))
	l.Add(v.agentLimit(a))
	l.Add(stopEndRow(a))
	l.Add(pauseEndRow(a))
	for _, of := range v.Hooks.AgentDue {
		l.Add(of(a))
	}
	if t := v.TaskTable.Get(a.Task); t != nil {
		v.taskRows(t, l)
	}
}

// taskRows adds what is due of a task. That nobody has claimed it is said once.
func (v *View) taskRows(t *noun.Task, l *due.List) {
	if r := v.taskAway(t); t.State != noun.TaskPending || t.Armed != 0 {
		l.Add(r)
	}
	if end := t.Planned().Due; end != 0 && t.State.Held() {
		l.Add(due.Until(KindExpected, due.OfTask(t.ID), t.ChangedAt, end))
	}
}

// roleRows are all rows of a half-open role, in no order.
func (v *View) roleRows(r *noun.Role) (rows []due.Row) {
	if r.Half == nil {
		return nil
	}
	if r.Half.Next > v.Meta.Clock {
		rows = append(rows, due.Until(KindProbe, due.OfRole(r.ID), r.Half.Since, r.Half.Next))
	}
	for _, p := range r.Half.Probes {
		if p.Claimed != 0 {
			rows = append(rows, due.Row{Kind: KindOutlives, Of: due.OfTask(p.Task), From: p.Claimed,
				Span: r.Half.Outlives})
		}
	}
	return rows
}

// roleRow is when a half-open role must be looked at again.
func (v *View) roleRow(r *noun.Role) (first due.Row) {
	for _, row := range v.roleRows(r) {
		first = due.Sooner(first, row)
	}
	return first
}

// clusterRows adds what of the cluster keeps an agent from a start, or from tasks.
func (v *View) clusterRows(a *noun.Agent, l *due.List) {
	l.Add(v.allEndRow())
	if a.Lives() {
		return
	}
	l.Add(v.holdRow())
	if v.Braked(a) {
		l.Add(v.brakeRow())
	}
}

// NameOf names what a row is of: an agent, a host, a room or a role by its name, else by its number.
func (v *View) NameOf(of due.Of) string {
	if a := v.AgentTable.Get(of.Agent()); a != nil {
		return "agent " + a.Name
	}
	if h := v.HostTable.Get(of.Host()); h != nil {
		return "host " + h.Name
	}
	if rm := v.RoomTable.Get(of.Room()); rm != nil {
		return "room " + rm.Name
	}
	if r := v.RoleTable.Get(of.Role()); r != nil {
		return "role " + v.RoleName(r.ID)
	}
	return of.String()
}
