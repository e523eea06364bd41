package fsm

import (
	"errors"
	"fmt"

	"vigil/fsm/noun"
)

// Check tests every law that a single state can show, and that the indexes say
// what the tables say. It walks everything and is meant for tests and for
// inspecting snapshots. The error joins everything that is wrong.
func (v *View) Check() error {
	var c checker
	for _, a := range v.agents.From(0) {
		c.agent(v, a)
	}
	roles := map[noun.RoleID]*RoleStats{}
	pending := map[noun.RoleID]int{}
	for _, t := range v.tasks.From(0) {
		c.task(v, t)
		if roles[t.Role] == nil {
			roles[t.Role] = &RoleStats{}
		}
		roles[t.Role].Tasks[t.State]++
		if t.State == noun.TaskPending {
			pending[t.Role]++
		}
	}
	for id, r := range v.roles.From(0) {
		c.role(v, r, roles[noun.RoleID(id)], pending[noun.RoleID(id)])
	}
	c.counts(v)
	c.rooms(v)
	for _, h := range v.hosts.From(0) {
		c.host(v, h)
	}
	c.mail(v)
	c.escalations(v)
	c.ledger(v)
	c.that(v.meta.Brake.Set == 0 || v.meta.Brake.Armed != 0, "L11: the brake is set without a timer")
	return errors.Join(c.errs...)
}

type checker struct{ errs []error }

func (c *checker) that(ok bool, format string, args ...any) {
	if !ok && len(c.errs) < 20 {
		c.errs = append(c.errs, fmt.Errorf(format, args...))
	}
}

func (c *checker) agent(s *View, a *noun.Agent) {
	l := s.leases.Get(a.ID)
	c.that(l != nil, "agent %s has no lease record", a.Name)
	if l == nil {
		return
	}
	c.that(a.Part == noun.PartDisconnected || l.Until != 0, "L1: %s is %s without a lease", a.Name, a.Part)
	c.that(a.Part != noun.PartDisconnected || l.Until == 0, "L2: %s is DISCONNECTED with a lease", a.Name)
	c.that(a.Part != noun.PartDisconnected || a.Task == 0, "L2: %s is DISCONNECTED and holds task %d", a.Name, a.Task)
	c.that(l.Until == 0 || l.ArmedL != 0 && l.ArmedL <= l.Until, "L2: the lease of %s ends at %d, its timer is at %d", a.Name, l.Until, l.ArmedL)
	c.that(l.Fence == 0 || l.ArmedF != 0 && l.ArmedF <= l.Fence, "L7: the fence of %s ends at %d, its timer is at %d", a.Name, l.Fence, l.ArmedF)
	c.that((l.Fence != 0) == a.Proc.Fenced(), "L7: %s is %s with its fence at %d", a.Name, a.Proc, l.Fence)
	c.that(l.Inc != 0 || a.Part == noun.PartDisconnected && !a.Proc.Fenced() && a.StartedAt == 0, "L6: %s has not lived, and is %s, its process %s", a.Name, a.Part, a.Proc)
	c.that(a.Inc == l.Inc || a.Inc.N() == 0 || l.Inc == 0, "L6: %s is at incarnation %s, its lease at %s", a.Name, a.Inc, l.Inc)
	c.that(a.Order != noun.StartOrder || a.Proc == noun.ProcOrdered || a.Proc == noun.ProcAccepted, "L4: %s is %s with an open start order", a.Name, a.Proc)
	c.that(a.Order != noun.StopOrder || a.Proc.Fenced(), "L4: %s is %s with an open stop order", a.Name, a.Proc)
	unretired := a.ID < s.roles.Get(a.Role).Below
	c.that(!a.Proc.Fenced() || !s.stopWish(a) || a.Order == noun.StopOrder || unretired, "L9: %s is not wanted, runs, and has no stop order", a.Name)
	c.that(a.Proc != noun.ProcOrdered || !s.stopWish(a) && s.paused(a) == "" || unretired, "L9: %s is not wanted or paused, and a start of it is open", a.Name)
	c.that(!a.Overdue || a.Order == noun.StopOrder, "L11: %s is over a limit without a stop order", a.Name)
	c.that(!a.Surplus || a.Task != 0 && !a.Retired, "L9: %s is to finish a task, and holds %d (retired: %v)", a.Name, a.Task, a.Retired)
	c.that(a.Notes().ParkedWhy == "" || a.Parked, "L11: %s is not parked, for %q", a.Name, a.Notes().ParkedWhy)
	c.that(a.Noted == nil || *a.Noted != noun.Notes{}, "%s has notes without anything in them", a.Name)
	if d := a.Declared; d != nil {
		c.that(d.Since <= d.At && d.At <= s.meta.Clock, "%s declared something at %d, first at %d", a.Name, d.At, d.Since)
		c.that(d.Until <= d.Excused, "L10: %s is excused until %d, its declaration holds until %d", a.Name, d.Excused, d.Until)
	}
	if l := a.Notes().Ladder; l != nil {
		c.that(l.Rung > noun.NoRung && l.Rung <= noun.RungEscalate && l.Began <= l.At && l.At <= s.meta.Clock && l.Steps > 0 && uint32(l.Rung) >= l.Steps && l.Restarts <= noun.MaxLadderRestarts,
			"L11: the ladder of %s is at %+v", a.Name, *l)
		c.that(l.Inc <= a.Inc, "L6: the ladder of %s is for incarnation %s, it is at %s", a.Name, l.Inc, a.Inc)
	}
	c.overseer(s, a)
	atWork := s.atWork.has(a.ID)
	c.that(atWork == (a.Task != 0), "L3: %s holds task %d, in the index of agents at work: %v", a.Name, a.Task, atWork)
	if a.Task != 0 {
		t := s.tasks.Get(a.Task)
		c.that(t != nil && t.State.Held() && t.Holder == a.ID && t.HolderInc == a.Inc, "L8: %s holds task %d, which does not know it", a.Name, a.Task)
	}
	wanted := s.wants(a)
	c.that(wanted == (s.whyNot(a) == "") || s.behind(), "L3: %s wanted=%v but %q", a.Name, wanted, s.whyNot(a))
	at := s.agentDeadline(a)
	c.that(at == 0 || a.Armed != 0 && a.Armed <= max(at, s.meta.Clock), "L3: %s must be looked at by %d, its timer is at %d", a.Name, at, a.Armed)
	c.that(s.agentByName[a.Name] == a.ID, "%s is not in the index of names", a.Name)
}

func (c *checker) host(s *View, h *noun.Host) {
	at := s.hostDeadline(h)
	c.that(at == 0 || h.Armed != 0 && h.Armed <= max(at, s.meta.Clock), "L3: host %s must be looked at by %d, its timer is at %d", h.Name, at, h.Armed)
	c.that((h.State == noun.HostLost || h.State == noun.HostLeft) == (h.Until == 0), "host %s is %s with its lease at %d", h.Name, h.State, h.Until)
	c.that((h.State == noun.HostReturning) == (h.SteadyAt != 0), "host %s is %s and steady at %d", h.Name, h.State, h.SteadyAt)
	c.that(h.State == noun.HostSuspect || h.DoubtAt == 0 && h.SuspectWhy == "", "host %s is %s and in doubt since %d", h.Name, h.State, h.DoubtAt)
	inService := h.InService()
	hi := s.hostIdx.Get(h.ID)
	if hi == nil {
		return // no agent was ever there
	}
	for id := range hi.agents {
		a := s.agents.Get(id)
		c.that(a.Host == h.ID, "the index of host %s lists %s, which is on host %d", h.Name, a.Name, a.Host)
		c.that(a.Proc != noun.ProcOrdered || inService && !h.Drain && h.Pressure == "",
			"L9: a start of %s waits for host %s, which is %s", a.Name, h.Name, h.Status())
		c.that(!a.Proc.Fenced() || !h.Drain || a.Task != 0 && (!s.drainOver(h) || s.behind()) || a.Order == noun.StopOrder,
			"L9: %s runs on host %s, which is drained, and has no stop order", a.Name, h.Name)
	}
}

func (c *checker) task(s *View, t *noun.Task) {
	if t.State.Held() {
		a := s.agents.Get(t.Holder)
		c.that(a != nil && a.Task == t.ID && a.Inc == t.HolderInc, "L8: task %d is %s, its holder does not know it", t.ID, t.State)
	}
	c.that(t.State >= noun.TaskQueued && t.State <= noun.TaskQuarantined, "task %d has state %d", t.ID, t.State)
	at := s.taskDue(t)
	if h := s.hosts.Get(s.hostHolding(t)); h != nil && len(h.Away) == 2*noun.MaxAway {
		at = max(at, t.Armed) // what it has forgotten may have moved the timer
	}
	c.that(t.State != noun.TaskInProgress || at == 0 || t.Armed != 0 && t.Armed <= max(at, s.meta.Clock), "L3: task %d must be looked at by %d, its timer is at %d", t.ID, at, t.Armed)
	c.that(t.Attempt > 0 || !t.State.Held(), "task %d is %s without an attempt", t.ID, t.State)
}

func (c *checker) role(s *View, r *noun.Role, st *RoleStats, pending int) {
	if st == nil {
		st = &RoleStats{}
	}
	ri := s.roleIdx.Get(r.ID)
	if c.that(ri != nil, "role %s has no index", r.Spec.Name); ri == nil {
		return
	}
	c.that(ri.tasks == st.Tasks, "role %s counts %v tasks by state, there are %v", r.Spec.Name, ri.tasks, st.Tasks)
	c.that(ri.pending.len() == pending, "role %s has %d claimable tasks in its index, there are %d", r.Spec.Name, ri.pending.len(), pending)
	_, offered := s.offered.Get(r.ID)
	c.that(offered == (pending > 0), "L3: role %s has %d claimable tasks, in the index of those roles: %v", r.Spec.Name, pending, offered)
	c.that(ri.queued.len() == int(ri.tasks[noun.TaskQueued]), "role %s has %d queued tasks in its index, there are %d", r.Spec.Name, ri.queued.len(), ri.tasks[noun.TaskQueued])
	c.that(ri.queued.len() == 0 || pending >= int(r.Spec.Replicas), "L3: role %s has %d queued tasks but only %d of %d PENDING",
		r.Spec.Name, ri.queued.len(), pending, r.Spec.Replicas)
	c.that(ri.demand == (ri.tasks[noun.TaskPending] > ri.spare), "L3: role %s has demand=%v with %d claimable tasks and %d spare agents",
		r.Spec.Name, ri.demand, ri.tasks[noun.TaskPending], ri.spare)
	c.that(s.roleByName[roleKey{r.Room, r.Spec.Name}] == r.ID, "role %s is not in the index of names", r.Spec.Name)
	live, paused, lives, off := uint32(0), uint32(0), uint32(0), uint32(0)
	on := map[noun.HostID]uint32{}
	for _, id := range r.Agents {
		a := s.agents.Get(id)
		if a.Part != noun.PartDisconnected {
			live++
		}
		if a.Paused {
			paused++
		}
		if a.Proc == noun.ProcOrdered || a.Proc.Fenced() {
			lives++
			on[a.Host]++
		}
		if a.Stopped || a.Retired {
			off++
		}
	}
	c.that(paused == ri.paused, "role %s counts %d paused agents, there are %d", r.Spec.Name, ri.paused, paused)
	c.that(lives == ri.lives && off == ri.off, "role %s counts %d lives and %d agents that are off, there are %d and %d",
		r.Spec.Name, ri.lives, ri.off, lives, off)
	c.that(len(on) == len(ri.on), "role %s counts lives on %d hosts, there are %d", r.Spec.Name, len(ri.on), len(on))
	for h, n := range on {
		c.that(ri.on[h] == n, "role %s counts %d lives on host %d, there are %d", r.Spec.Name, ri.on[h], h, n)
	}
	c.that(live == ri.live, "role %s counts %d live agents, there are %d", r.Spec.Name, ri.live, live)
}

func (c *checker) counts(s *View) {
	for _, h := range s.hosts.From(0) {
		var run, start uint32
		for _, a := range s.agents.From(0) {
			if a.Host == h.ID && a.Proc == noun.ProcRunning {
				run++
			}
			if a.Host == h.ID && (a.Proc == noun.ProcOrdered || a.Proc == noun.ProcAccepted) {
				start++
			}
		}
		c.that(s.HostLoad(h.ID) == HostLoad{run, start}, "host %s counts %v, there are %d running and %d starting", h.Name, s.HostLoad(h.ID), run, start)
	}
	c.that(s.meta.NextEvent-s.meta.FirstEvent == uint64(s.events.Len()), "%d events are kept, %d are counted", s.events.Len(), s.meta.NextEvent-s.meta.FirstEvent)
	parked := uint32(0)
	for _, a := range s.agents.From(0) {
		if a.Waits() && !a.Stopped {
			parked++
		}
	}
	c.that(parked == s.parked, "%d agents are parked, %d are counted", parked, s.parked)
	done := uint64(0)
	for _, t := range s.tasks.From(0) {
		if t.State.Terminal() {
			done++
		}
	}
	c.that(done == s.meta.TasksDone, "%d tasks are finished, %d are counted", done, s.meta.TasksDone)
}
