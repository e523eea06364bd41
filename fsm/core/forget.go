package core

import (
	"fmt"
	"time"

	"vigil/fsm/due"
	"vigil/fsm/noun"
)

// ForgetAgain is how often a host is looked at that has been silent for long enough to be
// forgotten, and may not be yet.
const ForgetAgain = time.Hour

// ForgetHost removes a lost or left host on which no life is left.
type ForgetHost struct {
	Host noun.HostID
	By   string
}

// Apply removes a host that is out of service and of which no life is left, by a
// human's word.
func (c ForgetHost) Apply(s *State) noun.Outcome {
	h := s.HostTable.Mut(c.Host)
	if h == nil {
		return Refuse(noun.NotFound, "there is no host number %d", c.Host)
	}
	if h.InService() {
		return Refuse(noun.Conflict,
			"host %s is %s: stop its agentd first, only a lost host or one that has left can be forgotten",
			h.Name, h.State)
	}
	if n := s.fencesOn(h.ID); n > 0 {
		return Refuse(noun.Conflict,
			"host %s may still run %s: wait until the fences of its agents have ended, or confirm that it is dead",
			h.Name, noun.Plural(n, "agent"))
	}
	if n := s.UnprovenOn(h.ID); n > 0 || s.awaited(h) {
		return Refuse(noun.Conflict,
			"host %s may still run agents of roles with policy confirm (%d are unproven): "+
				"say that it is dead first, with `vigil host confirm-dead %s`",
			h.Name, n, h.Name)
	}
	s.removeHost(h, "by "+Nobody(c.By))
	return noun.Outcome{Host: c.Host, Rev: s.Meta.Index}
}

// outlived tells whether a host is forgotten without anybody's word: it has been silent for
// forget_hosts, and nothing may come back with it. A life that was given up and that no newer
// one follows may be frozen there and go on when the host returns (law L10); and a human's
// drain is durable (law L9).
func (v *View) outlived(h *noun.Host) bool {
	limit := v.Meta.Settings.ForgetHosts
	if limit == 0 || h.InService() || v.SinceBeat(h) < limit || v.held() || v.heard(h) != "" || h.Drain &&
		h.DrainBy != DrainBySelf || v.awaited(h) {
		return false
	}
	for id := range v.hostIndex(h.ID).agents { // whether there is one does not depend on their order
		if a := v.AgentTable.Get(id); a.Proc.GivenUp() || !v.idle(a) {
			return false
		}
	}
	return true
}

// removeHost forgets a host of which no life is left.
func (s *State) removeHost(h *noun.Host, why string) {
	for _, id := range s.AgentsOn(h.ID) {
		a := s.AgentTable.Mut(id)
		was := ShadowOf(a)
		a.Host = 0
		s.Settle(a, was)
	}
	s.Rearm(timerHost, uint64(h.ID), &h.Armed, due.Row{})
	s.Event("host.forgotten", About{Host: h.ID}, fmt.Sprintf("%s %s", h.Name, why))
	s.reported(h)
	s.Hooks.HostGoes.Call(h)
	id := h.ID
	delete(s.hostByKey, h.Key)
	s.HostTable.Del(id)
	s.hostIdx.Del(id)
	s.Result.Effects.Plan = true
}

// rearmHosts follows a change of forget_hosts.
func (s *State) rearmHosts(c *PutSettings) {
	for _, kv := range c.Values {
		if kv.Key == "forget_hosts" {
			for h := range s.Hosts() {
				s.armHost(s.HostTable.Mut(h.ID))
			}
		}
	}
}
