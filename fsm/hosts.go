package fsm

import (
	"fmt"
	"slices"
)

func (s *State) registerHost(c *RegisterHost) Outcome {
	if no := checkHost(c); no.Code != OK {
		return no
	}
	var h *Host
	if id, ok := s.hostByKey[c.Key]; ok {
		h = s.hosts.mut(uint64(id))
		if h.Boot != c.Boot {
			if left := s.fencesOn(id); left > 0 {
				return refuse(HostInUse, "host id %s (%s) was seen with another boot id and may still run %d agents: "+
					"a reboot is let in when their fences have ended; a cloned machine needs an id of its own", c.Key, h.Name, left)
			}
			s.event("host.rebooted", about{host: id}, "")
		} else if c.Taken != 0 && c.Taken < h.Taken {
			return refuse(Superseded, "host %s has registered with a newer inventory since", h.Name)
		} else if c.Taken != 0 && c.Taken == h.Taken { // a repeat; what was started since is not in it
			return Outcome{Host: h.ID, TTL: int64(s.meta.Settings.HostTTL), Rev: h.Rev}
		}
	} else {
		id := s.meta.NextHost
		s.meta.NextHost++
		h = s.hosts.put(uint64(id))
		h.ID, h.Key, h.Boot = id, c.Key, c.Boot
		s.hostByKey[c.Key] = id
		s.event("host.joined", about{host: id}, c.Name)
	}
	h.Name, h.Boot, h.Version, h.Capacity, h.Taken = c.Name, c.Boot, c.Version, c.Capacity, c.Taken
	h.Runners, h.Labels = slices.Clone(c.Runners), slices.Clone(c.Labels)
	slices.Sort(h.Runners)
	h.Rev = s.meta.Index
	s.welcome(h)
	s.takeInventory(h, c.Inventory)
	return Outcome{Host: h.ID, TTL: int64(s.meta.Settings.HostTTL), Rev: h.Rev}
}

func checkHost(c *RegisterHost) Outcome {
	switch {
	case c.Key == "" || len(c.Key) > MaxName:
		return refuse(Invalid, "the host id has %d characters, 1 to %d are allowed", len(c.Key), MaxName)
	case c.Boot == "" || len(c.Boot) > MaxName:
		return refuse(Invalid, "the boot id has %d characters, 1 to %d are allowed", len(c.Boot), MaxName)
	case c.Name == "" || len(c.Name) > 255:
		return refuse(Invalid, "the host name has %d characters, 1 to 255 are allowed", len(c.Name))
	}
	for _, r := range c.Runners {
		if err := CheckName(r); err != nil {
			return refuse(Invalid, "runner of host %s: %v", c.Name, err)
		}
	}
	return Outcome{}
}

// fencesOn counts the agents that may be running on a host.
func (s *State) fencesOn(id HostID) (n int) {
	for a := range s.hostIndexOf(id).agents {
		if s.leases.mut(uint64(a)).Fence != 0 {
			n++
		}
	}
	return n
}

// welcome makes a host ready and renews its lease.
func (s *State) welcome(h *Host) {
	if h.State != HostReady {
		s.event("host.ready", about{host: h.ID}, "was "+h.State.String())
		h.Rev = s.meta.Index
	}
	h.State, h.SeenAt = HostReady, s.now.Wall
	h.Until = s.meta.Clock.Add(s.meta.Settings.HostTTL)
	s.rearm(timerHost, uint64(h.ID), &h.Armed, h.Until)
	s.res.Effects.Plan = true
	s.res.Effects.Hosts = append(s.res.Effects.Hosts, h.ID)
}

// takeInventory buries what the host does not know of: it is the authority about
// its own processes.
func (s *State) takeInventory(h *Host, running []Running) {
	alive := map[AgentID]Incarnation{}
	for _, r := range running {
		alive[r.Agent] = r.Inc
	}
	for _, id := range s.agentsOn(h.ID) {
		a := s.agents.mut(uint64(id))
		if a.Proc.Fenced() && alive[id] != a.Inc {
			s.buried(a, Exit{Kind: ExitHostGone, Reason: "its host came back without it"})
		}
	}
}

// agentsOn lists the agents of a host in order.
func (s *State) agentsOn(id HostID) []AgentID {
	var list []AgentID
	for a := range s.hostIndexOf(id).agents {
		list = append(list, a)
	}
	slices.Sort(list)
	return list
}

func (s *State) fireHost(id HostID) {
	h := s.hosts.mut(uint64(id))
	if h == nil {
		return
	}
	h.Armed = 0
	if h.Until == 0 {
		return
	}
	if h.Until > s.meta.Clock {
		s.rearm(timerHost, uint64(id), &h.Armed, h.Until)
		return
	}
	h.Until = 0
	s.leaveAs(h, HostLost, "its lease has ended")
}

// leaveAs takes a host out of service and withdraws the orders that it has not
// accepted; what it has accepted waits for its own fence.
func (s *State) leaveAs(h *Host, state HostState, why string) {
	h.State, h.Rev = state, s.meta.Index
	s.event("host."+state.String(), about{host: h.ID}, why)
	for _, id := range s.agentsOn(h.ID) {
		a := s.agents.mut(uint64(id))
		if a.Proc == ProcOrdered {
			was := a.shadow()
			s.withdraw(a, "host "+h.Name+" is "+state.String())
			s.settle(a, was)
		}
	}
	s.res.Effects.Plan = true
}

func (s *State) leaveHost(c *LeaveHost) Outcome {
	id, ok := s.hostByKey[c.Key]
	if !ok {
		return refuse(NotFound, "there is no host with id %q", c.Key)
	}
	h := s.hosts.mut(uint64(id))
	if h.Boot != c.Boot {
		return refuse(Superseded, "host %s has registered with another boot id since", h.Name)
	}
	h.Until = 0
	s.rearm(timerHost, uint64(id), &h.Armed, 0)
	if h.State != HostLeft {
		s.leaveAs(h, HostLeft, "said good-bye")
	}
	return Outcome{Host: id}
}

func (s *State) suspectHost(c *SuspectHost) Outcome {
	h := s.hosts.mut(uint64(c.Host))
	switch {
	case h == nil:
		return refuse(NotFound, "there is no host number %d", c.Host)
	case c.Suspect && h.State == HostReady:
		h.State, h.Rev = HostSuspect, s.meta.Index
		s.event("host.suspect", about{host: h.ID}, c.Reason)
	case !c.Suspect && h.State == HostSuspect:
		h.State, h.Rev = HostReady, s.meta.Index
		s.event("host.ready", about{host: h.ID}, c.Reason)
		s.res.Effects.Plan = true
	}
	return Outcome{Host: h.ID, Rev: h.Rev}
}

// onHost finds the agent that a host speaks of.
func (s *State) onHost(host HostID, id AgentID, inc Incarnation) (*Agent, Outcome) {
	a := s.agents.mut(uint64(id))
	switch {
	case a == nil:
		return nil, refuse(Superseded, "there is no agent number %d any more; stop its incarnation %s", id, inc)
	case inc < a.Inc || inc == a.Inc && a.Host != host:
		return nil, refuse(Superseded, "incarnation %s of %s is over; stop it", inc, a.Name)
	case inc > a.Inc:
		return nil, refuse(Invalid, "incarnation %s of %s was never ordered", inc, a.Name)
	}
	return a, Outcome{}
}

func (s *State) acceptOrder(c *AcceptOrder) Outcome {
	a, no := s.onHost(c.Host, c.Agent, c.Inc)
	if a == nil {
		return no
	}
	h := s.hosts.mut(uint64(c.Host))
	if h == nil || h.Boot != c.Boot {
		return refuse(Superseded, "the order was for another boot of the host; register again")
	}
	if a.Proc == ProcAccepted && a.TokenHash == string(c.TokenHash) { // a lost answer
		out := a.outcome()
		out.TTL = s.leases.mut(uint64(a.ID)).TTL
		return out
	}
	if a.Proc != ProcOrdered {
		return refuse(Superseded, "the start order of incarnation %s of %s is no longer open; start nothing", c.Inc, a.Name)
	}
	was := a.shadow()
	a.Proc, a.TokenHash, a.StartedAt, a.Since = ProcAccepted, string(c.TokenHash), s.meta.Clock, s.meta.Clock
	l := s.grantFence(a)
	s.settle(a, was)
	out := a.outcome()
	out.TTL = l.TTL
	return out
}

func (s *State) reportStarted(c *ReportStarted) Outcome {
	a, no := s.onHost(c.Host, c.Agent, c.Inc)
	if a == nil {
		return no
	}
	if !a.Proc.Fenced() {
		return refuse(Superseded, "incarnation %s of %s has ended", c.Inc, a.Name)
	}
	was := a.shadow()
	if a.Proc == ProcAccepted {
		a.Proc, a.StartedAt = ProcRunning, s.meta.Clock
		s.figures.started(a.LastExit, s.meta.Clock)
		if a.Order == StartOrder {
			a.Order, a.OrderReason = NoOrder, ""
		}
		s.event("agent.started", about{agent: a, host: a.Host}, fmt.Sprintf("pid %d", c.PID))
	}
	a.PID = c.PID
	s.settle(a, was)
	return a.outcome()
}

func (s *State) reportExit(c *ReportExit) Outcome {
	a, no := s.onHost(c.Host, c.Agent, c.Inc)
	if a == nil {
		if no.Code == Superseded { // known, or no longer of interest: the report is done
			return Outcome{Agent: c.Agent, Inc: c.Inc}
		}
		return no
	}
	out := a.outcome()
	if a.Proc == ProcLost { // late news of a life that was given up
		return out
	}
	if !a.Proc.Fenced() {
		return out
	}
	x := Exit{Kind: c.Kind, Code: c.Code, Signal: c.Signal, Reason: clip(c.Reason, MaxReason), Tail: clip(c.Tail, MaxTail)}
	switch {
	case c.Kind == ExitStartFailed || c.Kind == ExitOrdered:
	case a.Order == StopOrder:
		x.Kind = ExitOrdered
		x.Reason = a.OrderReason
	case c.Code == 0 && c.Signal == "" && a.Task == 0:
		x.Kind = ExitClean
	default:
		x.Kind = ExitCrash
	}
	s.buried(a, x)
	return out
}
