package core

import (
	"fmt"
	"slices"
	"time"

	"vigil/fsm/due"
	"vigil/fsm/noun"
)

// Check tests what the core has to show.
func (v *View) Check(c *Checker) {
	for _, a := range v.AgentTable.From(0) {
		c.agent(v, a)
	}
	roles := map[noun.RoleID]*RoleStats{}
	pending := map[noun.RoleID]int{}
	for _, t := range v.TaskTable.From(0) {
		c.task(v, t)
		if roles[t.Role] == nil {
			roles[t.Role] = &RoleStats{}
		}
		roles[t.Role].Tasks[t.State]++
		if t.State == noun.TaskPending {
			pending[t.Role]++
		}
	}
	for id, r := range v.RoleTable.From(0) {
		c.role(v, r, roles[noun.RoleID(id)], pending[noun.RoleID(id)])
	}
	c.counts(v)
	for _, h := range v.HostTable.From(0) {
		c.host(v, h)
	}
	for _, rm := range v.RoomTable.From(0) {
		c.room(v, rm)
	}
	c.end(v, "everything", v.Meta.PauseEnd, v.Meta.Paused)
	c.own(v, timerPause, 0, v.Meta.PauseEnd)
	c.ledger(v)
	c.That(v.Meta.LastAudit-v.Meta.PastAudit == uint64(v.AuditTable.Len()) && v.AuditTable.Len() <= noun.MaxAudit,
		"L11: the audit has %d entries, of numbers %d to %d", v.AuditTable.Len(), v.Meta.PastAudit+1, v.Meta.LastAudit)
	for seq, a := range v.AuditTable.From(0) {
		c.That(a.Seq == seq && seq > v.Meta.PastAudit && seq <= v.Meta.LastAudit, "audit %d is kept as %d", a.Seq, seq)
	}
	for _, ss := range v.SessionTable.From(0) {
		c.That(ss.Armed != 0, "L11: session %d has no timer", ss.ID) // session_ttl may have been shortened since
	}
	c.That(v.Meta.Brake.Set == 0 || v.Meta.Brake.Armed != 0, "L11: the brake is set without a timer")
}

// Checker gathers what is wrong.
type Checker struct{ Errs []error }

func (c *Checker) That(ok bool, format string, args ...any) {
	if !ok && len(c.Errs) < 20 {
		c.Errs = append(c.Errs, fmt.Errorf(format, args...))
	}
}

// Armed tests that an object is looked at when its row is due: that its timer is not set later. A
// row whose time has come may be looked at with the next entry.
func (c *Checker) Armed(v *View, law string, row due.Row, armed noun.Time) {
	at := row.At()
	if at == 0 || armed != 0 && armed <= max(at, v.Meta.Clock) {
		return
	}
	timer := "no timer is set for it"
	if armed != 0 {
		timer = fmt.Sprintf("its timer is set for %s", time.Duration(armed))
	}
	c.That(false, "%s: %s: %q is due at %s of cluster time, and %s; what makes a deadline begin or come "+
		"earlier calls Rearm", law, row.Of, row.Kind.Name, time.Duration(at), timer)
}

func (c *Checker) agent(s *View, a *noun.Agent) {
	l := s.LeaseTable.Get(a.ID)
	c.That(l != nil, "agent %s has no lease record", a.Name)
	if l == nil {
		return
	}
	c.That(a.Part == noun.PartDisconnected || l.Until != 0, "L1: %s is %s without a lease", a.Name, a.Part)
	c.That(a.Part != noun.PartDisconnected || l.Until == 0, "L2: %s is DISCONNECTED with a lease", a.Name)
	c.That(a.Part != noun.PartDisconnected || a.Task == 0, "L2: %s is DISCONNECTED and holds task %d", a.Name, a.Task)
	c.Armed(s, "L2", s.leaseRow(a.ID, l), l.ArmedL)
	c.Armed(s, "L7", s.fenceRow(a.ID, l), l.ArmedF)
	c.That((l.Fence != 0) == a.Proc.Fenced(), "L7: %s is %s with its fence at %d", a.Name, a.Proc, l.Fence)
	c.That(a.Proc != noun.ProcUnproven || l.Confirm && s.HostTable.Get(a.Host) != nil && a.Order == noun.NoOrder,
		"L7: %s is unproven on host %d, with order %s and confirm=%v", a.Name, a.Host, a.Order, l.Confirm)
	c.That(l.Inc != 0 || a.Part == noun.PartDisconnected && !a.Proc.Fenced() && a.StartedAt == 0,
		"L6: %s has not lived, and is %s, its process %s", a.Name, a.Part, a.Proc)
	c.That(a.Inc == l.Inc || a.Inc.N() == 0 || l.Inc == 0, "L6: %s is at incarnation %s, its lease at %s",
		a.Name, a.Inc, l.Inc)
	c.That(a.Order != noun.StartOrder || a.Proc == noun.ProcOrdered || a.Proc == noun.ProcAccepted,
		"L4: %s is %s with an open start order", a.Name, a.Proc)
	c.That(a.Order != noun.StopOrder || a.Proc.Fenced(), "L4: %s is %s with an open stop order", a.Name, a.Proc)
	r := s.RoleTable.Get(a.Role)
	unretired := a.ID < r.Before()
	_, withdrawing := s.withdrawing.Get(a.Role)
	c.That(!a.Proc.Fenced() || !s.StopWish(a) || a.Order == noun.StopOrder ||
		unretired, "L9: %s is not wanted, runs, and has no stop order", a.Name)
	c.That(a.Proc != noun.ProcOrdered || !s.StopWish(a) && s.Paused(a) == "" || unretired ||
		withdrawing, "L9: %s is not wanted or paused, and a start of it is open", a.Name)
	c.That(!a.Overdue || a.Order == noun.StopOrder, "L11: %s is over a limit without a stop order", a.Name)
	c.That(!a.Surplus || a.Task != 0 && !a.Retired, "L9: %s is to finish a task, and holds %d (retired: %v)",
		a.Name, a.Task, a.Retired)
	c.That(a.Notes().ParkedWhy == "" || a.Parked, "L11: %s is not parked, for %q", a.Name, a.Notes().ParkedWhy)
	c.That(a.Noted == nil || *a.Noted != noun.Notes{}, "%s has notes without anything in them", a.Name)
	c.That(!a.TaskTaken() || a.Task == 0 && a.Part != noun.PartWaiting,
		"L6: the task of %s was taken, and it is %s with task %d", a.Name, a.Part, a.Task)
	c.end(s, "the stop of "+a.Name, a.Ends().Stop, a.Stopped)
	c.end(s, "the pause of "+a.Name, a.Ends().Pause, a.Paused)
	if d := a.Declared; d != nil {
		c.That(d.Since <= d.At && d.At <= s.Meta.Clock, "%s declared something at %d, first at %d", a.Name,
			d.At, d.Since)
		c.That(d.Until <= d.Excused, "L10: %s is excused until %d, its declaration holds until %d", a.Name,
			d.Excused, d.Until)
	}
	atWork := s.AtWork.Has(a.ID)
	c.That(atWork == (a.Task != 0), "L3: %s holds task %d, in the index of agents at work: %v", a.Name, a.Task, atWork)
	if a.Task != 0 {
		t := s.TaskTable.Get(a.Task)
		c.That(t != nil && t.State.Held() && t.Holder == a.ID && t.HolderInc == a.Inc,
			"L8: %s holds task %d, which does not know it", a.Name, a.Task)
	}
	wanted := s.Wants(a)
	c.That(wanted == (s.WhyNot(a) == "") || s.Behind(), "L3: %s wanted=%v but %q", a.Name, wanted, s.WhyNot(a))
	if !unretired {
		called := s.roleIndex(a.Role).isCalled(a.ID)
		c.That(called == (s.ready(a) && s.called(a)) || s.Behind(), "L3: %s is called for: %v, in the index: %v", a.Name,
			s.called(a), called)
		row := s.AgentRow(a)
		if h := s.HostTable.Get(a.Host); h != nil && len(h.Away) == 2*noun.MaxAway &&
			(row.Kind == KindStart || row.Kind == KindTurn) {
			row.Put.Until = max(row.Put.Until, a.Armed) // what it has forgotten may have moved the timer
		}
		c.Armed(s, "L3", row, a.Armed)
	}
	c.That(s.agentByName[a.Name] == a.ID, "%s is not in the index of names", a.Name)
}

// end tests that what a human has set, of this name, may have an end, and that it is not over.
func (c *Checker) end(s *View, name string, e noun.End, set bool) {
	c.That(e.At == 0 || set, "L9: the end of %s is at %d, and nothing is set that could end", name, e.At)
	c.That(!e.Over(s.Meta.Clock) || s.Behind(), "L9: what was set of %s until %d goes on", name, e.At)
	c.That(e.For == 0 && e.At == 0 || e.For >= noun.MinFor && e.For <= noun.MaxFor, "L9: %s has an end after %s",
		name, e.For)
}

// own tests the timer of an end that has its own.
func (c *Checker) own(s *View, kind timerKind, id uint64, e noun.End) {
	_, armed := s.Timers.Get(TimerAt(e.At, kind, id))
	c.That(armed == (e.At != 0), "L9: an end at %d has a timer: %v", e.At, armed)
}

func (c *Checker) room(s *View, rm *noun.Room) {
	c.end(s, "room "+rm.Name, rm.PauseEnd, rm.Paused && !rm.Deleting)
	c.own(s, timerRoom, uint64(rm.ID), rm.PauseEnd)
}

func (c *Checker) host(s *View, h *noun.Host) {
	c.Armed(s, "L3", s.hostRow(h), h.Armed)
	c.That((h.State == noun.HostLost || h.State == noun.HostLeft) == (h.Until == 0),
		"host %s is %s with its lease at %d", h.Name, h.State, h.Until)
	c.That((h.State == noun.HostReturning) == (h.SteadyAt != 0), "host %s is %s and steady at %d", h.Name,
		h.State, h.SteadyAt)
	c.That(h.State == noun.HostSuspect || h.DoubtAt == 0 &&
		h.SuspectWhy == "", "host %s is %s and in doubt since %d", h.Name, h.State, h.DoubtAt)
	c.end(s, "host "+h.Name, h.DrainEnd, h.Drain)
	c.That(h.DrainEnd.At == 0 || h.DrainUntil < h.DrainEnd.At,
		"L9: the drain of host %s ends at %d, its deadline is %d", h.Name, h.DrainEnd.At, h.DrainUntil)
	inService := h.InService()
	hi := s.hostIdx.Get(h.ID)
	if hi == nil {
		return // no agent was ever there
	}
	for id := range hi.agents {
		a := s.AgentTable.Get(id)
		c.That(a.Host == h.ID, "the index of host %s lists %s, which is on host %d", h.Name, a.Name, a.Host)
		c.That(a.Proc != noun.ProcOrdered || inService && !h.Drain && h.Pressure == "",
			"L9: a start of %s waits for host %s, which is %s", a.Name, h.Name, h.Status())
		c.That(!a.Proc.Fenced() || !h.Drain || a.Task != 0 && (!s.drainOver(h) || s.Behind()) ||
			a.Order == noun.StopOrder,
			"L9: %s runs on host %s, which is drained, and has no stop order", a.Name, h.Name)
	}
}

func (c *Checker) task(s *View, t *noun.Task) {
	if t.State.Held() {
		a := s.AgentTable.Get(t.Holder)
		c.That(a != nil && a.Task == t.ID && a.Inc == t.HolderInc,
			"L8: task %d is %s, its holder does not know it", t.ID, t.State)
	}
	c.That(t.State >= noun.TaskQueued && t.State <= noun.TaskQuarantined, "task %d has state %d", t.ID, t.State)
	row := s.taskAway(t)
	if h := s.HostTable.Get(s.hostHolding(t)); h != nil && len(h.Away) == 2*noun.MaxAway {
		row.Put.Until = max(row.Put.Until, t.Armed) // what it has forgotten may have moved the timer
	}
	c.That(t.State == noun.TaskQueued || t.State == noun.TaskCanceled || t.Retried().NotBefore == 0,
		"task %d is %s and put off until %d", t.ID, t.State, t.Retried().NotBefore)
	a := s.AgentTable.Get(t.Holder)
	unseen := a != nil && a.Task == t.ID && a.ID < s.RoleTable.Get(a.Role).Before() // a new limit may end earlier
	// of a pending one the limit may have been shortened since, and it is said once
	if (t.State.Held() || t.Delayed()) && !unseen {
		c.Armed(s, "L3", row, t.Armed)
	}
	c.That(t.Attempt > 0 || !t.State.Held(), "task %d is %s without an attempt", t.ID, t.State)
	c.That(t.Key == "" || s.taskByKey[taskKey{t.Room, t.Key}] == t.ID, "task %d is not found by its key", t.ID)
}

func (c *Checker) role(s *View, r *noun.Role, st *RoleStats, pending int) {
	if st == nil {
		st = &RoleStats{}
	}
	ri := s.RoleIdx.Get(r.ID)
	if c.That(ri != nil, "role %s has no index", r.Spec.Name); ri == nil {
		return
	}
	c.That(ri.Tasks == st.Tasks, "role %s counts %v tasks by state, there are %v", r.Spec.Name, ri.Tasks, st.Tasks)
	c.That(ri.Pending.Len() == pending, "role %s has %d claimable tasks in its index, there are %d", r.Spec.Name,
		ri.Pending.Len(), pending)
	_, offered := s.Offered.Get(r.ID)
	c.That(offered == (pending > 0), "L3: role %s has %d claimable tasks, in the index of those roles: %v",
		r.Spec.Name, pending, offered)
	c.That(ri.Queued.Len()+ri.Delayed.Len() == int(ri.Tasks[noun.TaskQueued]),
		"role %s has %d queued tasks and %d that are put off in its indexes, there are %d",
		r.Spec.Name, ri.Queued.Len(), ri.Delayed.Len(), ri.Tasks[noun.TaskQueued])
	c.halfOpen(s, r, ri)
	_, growing := s.growing.Get(r.ID)
	c.That(growing == s.grows(r), "role %s is among those that grow: %v, want %v", r.Spec.Name, growing, s.grows(r))
	_, visiting := s.visiting.Get(r.ID)
	c.That(visiting == (r.Below != 0), "role %s is among those with agents to visit: %v, it is at %d",
		r.Spec.Name, visiting, r.Below)
	c.That(slices.Equal(ri.missing, s.missing(r)), "role %s lacks %d replicas, %d are known", r.Spec.Name,
		len(s.missing(r)), len(ri.missing))
	c.That(r.Half != nil || ri.Queued.Len() == 0 || growing || r.Below != 0 || r.Retired ||
		s.RoomTable.Get(r.Room).Sweep.Cancels() ||
		pending >= int(r.Spec.Replicas), "L3: role %s has %d queued tasks but only %d of %d PENDING",
		r.Spec.Name, ri.Queued.Len(), pending, r.Spec.Replicas)
	c.That(growing || r.Below != 0 || r.Retired || !s.disordered(r, ri),
		"L3: role %s offers tasks of a lower priority than those of its %d queued ones", r.Spec.Name, ri.Queued.Len())
	c.That(s.roleByName[roleKey{r.Room, r.Spec.Name}] == r.ID, "role %s is not in the index of names", r.Spec.Name)
	live, paused, lives, off, spare := uint32(0), uint32(0), uint32(0), uint32(0), uint32(0)
	on := map[noun.HostID]uint32{}
	for _, id := range r.Agents {
		a := s.AgentTable.Get(id)
		if a.Part != noun.PartDisconnected {
			live++
		}
		if a.Paused {
			paused++
		}
		if s.atHand(ShadowOf(a)) {
			spare++
		}
		if a.Proc == noun.ProcOrdered || a.Proc.Fenced() {
			lives++
			on[a.Host]++
		}
		if a.Stopped || a.Retired {
			off++
		}
	}
	c.That(spare == ri.spare, "role %s counts %d agents that are free for tasks, there are %d", r.Spec.Name, ri.spare,
		spare)
	c.That(paused == ri.paused, "role %s counts %d paused agents, there are %d", r.Spec.Name, ri.paused, paused)
	c.That(lives == ri.lives &&
		off == ri.off, "role %s counts %d lives and %d agents that are off, there are %d and %d",
		r.Spec.Name, ri.lives, ri.off, lives, off)
	c.That(len(on) == len(ri.on), "role %s counts lives on %d hosts, there are %d", r.Spec.Name, len(ri.on), len(on))
	for h, n := range on {
		c.That(ri.on[h] == n, "role %s counts %d lives on host %d, there are %d", r.Spec.Name, ri.on[h], h, n)
	}
	c.That(live == ri.live, "role %s counts %d live agents, there are %d", r.Spec.Name, ri.live, live)
}

// halfOpen tests that the probes of a half-open role are the tasks that it offers and those that
// were claimed since, no more than it may try, and that it goes on.
func (c *Checker) halfOpen(s *View, r *noun.Role, ri *roleIndex) {
	c.That(len(r.Endings) <= noun.EndingsKept, "L11: role %s remembers %d endings", r.Spec.Name, len(r.Endings))
	h := r.Half
	_, listed := s.halfOpen.Get(r.ID)
	if c.That(listed == (h != nil), "L3: role %s is half-open: %v, among those roles: %v", r.Spec.Name,
		h != nil, listed); h == nil {
		return
	}
	name, offered := r.Spec.Name, 0
	for _, p := range h.Probes {
		t := s.TaskTable.Get(p.Task)
		if t != nil && t.State == noun.TaskPending {
			offered++
		}
		c.That(t != nil && t.Role == r.ID && (p.Claimed == 0 && t.State == noun.TaskPending || p.Claimed != 0 &&
			t.State.Held()),
			"L3: role %s tries task %d since %d, which is %+v", name, p.Task, p.Claimed, t)
	}
	c.That(offered == ri.Pending.Len(), "L11: role %s is half-open and offers %d tasks, of which it tries %d",
		name, ri.Pending.Len(), offered)
	c.That(ri.Queued.Len() == 0 || h.Probing() >= h.Allowed || h.Next > s.Meta.Clock || s.Behind() ||
		s.grows(r) || r.Below != 0 || r.Retired,
		"L3: role %s is half-open, tries %d of %d tasks, and %d wait", name, h.Probing(), h.Allowed, ri.Queued.Len())
	c.Armed(s, "L3", s.roleRow(r), h.Armed)
}

func (c *Checker) counts(s *View) {
	for _, h := range s.HostTable.From(0) {
		var run, start uint32
		for _, a := range s.AgentTable.From(0) {
			if a.Host == h.ID && a.Proc == noun.ProcRunning {
				run++
			}
			if a.Host == h.ID && (a.Proc == noun.ProcOrdered || a.Proc == noun.ProcAccepted) {
				start++
			}
		}
		c.That(s.HostLoad(h.ID) == HostLoad{run, start},
			"host %s counts %v, there are %d running and %d starting", h.Name, s.HostLoad(h.ID), run, start)
	}
	c.That(s.Meta.NextEvent-s.Meta.FirstEvent == uint64(s.EventTable.Len()), "%d events are kept, %d are counted",
		s.EventTable.Len(), s.Meta.NextEvent-s.Meta.FirstEvent)
	parked := uint32(0)
	for _, a := range s.AgentTable.From(0) {
		if a.Waits() && !a.Stopped {
			parked++
		}
	}
	c.That(parked == s.parked, "%d agents are parked, %d are counted", parked, s.parked)
	done := uint64(0)
	for _, t := range s.TaskTable.From(0) {
		if t.State.Terminal() {
			done++
		}
	}
	c.That(done == s.Meta.TasksDone, "%d tasks are finished, %d are counted", done, s.Meta.TasksDone)
}
