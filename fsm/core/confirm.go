package core

import (
	"fmt"
	"strings"

	"vigil/fsm/noun"
)

// Policy confirm: another life of an agent begins only when the last one is proven dead, by the
// word of its host or of a human. The end of the fence recovers its task and makes it unproven
// (noun.ProcUnproven) instead of lost. What lifts that stands here and nowhere else; no timer does.

// confirmed tells that no time may end the doubt about the agent's life: it began under the policy
// confirm, or that is the policy now. So a change of the policy frees no life that is in doubt.
func (v *View) confirmed(a *noun.Agent) bool {
	return v.LeaseTable.Get(a.ID).Confirm || v.RoleTable.Get(a.Role).Spec.Policy == noun.PolicyConfirm
}

// doubtLife keeps an agent whose fence has ended from another life. A human is told, once.
func (s *State) doubtLife(a *noun.Agent) {
	s.LeaseTable.Mut(a.ID).Confirm = true
	a.Proc = noun.ProcUnproven
	s.escalateAgent(noun.EscUnproven, a)
}

// prove ends the doubt about a life. With an exit somebody has seen its end; without one a human
// has given his word.
func (s *State) prove(a *noun.Agent, x *noun.Exit, why string) {
	was := ShadowOf(a)
	a.Proc = noun.ProcLost
	if x != nil {
		x.Inc, x.At, x.Wall, x.Host = a.Inc, s.Meta.Clock, s.Entry.Wall, a.Host
		a.Proc, a.LastExit, a.PID, a.Declared = noun.ProcNone, x, 0, nil
	}
	s.Event("agent.proven_dead", About{Agent: a, Host: a.Host}, why)
	s.proven(a)
	s.Settle(a, was)
}

// proven closes what was asked of a human.
func (s *State) proven(a *noun.Agent) {
	s.Hooks.Over.Call(noun.Escalation{Kind: noun.EscUnproven, Subject: a.Name})
}

// UnprovenOn counts the lives of a host of which nobody has said that they are over.
func (v *View) UnprovenOn(id noun.HostID) (n int) {
	for a := range v.hostIndex(id).agents {
		if v.AgentTable.Get(a).Proc == noun.ProcUnproven {
			n++
		}
	}
	return n
}

// awaits tells that starts of a role wait without a limit of time for the hosts that have not said
// what runs on them since a backup was restored: they may run lives that it does not know.
func (v *View) awaits(r *noun.Role) bool {
	return len(v.Meta.Unreported) > 0 && (r.Awaits || r.Spec.Policy == noun.PolicyConfirm)
}

// awaited tells that starts of some role wait for this very host, see awaits.
func (v *View) awaited(h *noun.Host) bool {
	if !v.unreported(h) {
		return false
	}
	for _, r := range v.RoleTable.From(0) {
		if v.awaits(r) {
			return true
		}
	}
	return false
}

// awaitLives notes of which roles lives may run that the backup does not know, by the policies of
// the state that it replaces and of its lives.
func (s *State) awaitLives(replaced *View) {
	note := func(r *noun.Role) {
		own := s.RoleByName(replaced.RoomTable.Get(r.Room).Name, r.Spec.Name)
		if own != nil && !own.Awaits {
			s.RoleTable.Mut(own.ID).Awaits = true
		}
	}
	for _, r := range replaced.RoleTable.From(0) {
		if r.Awaits || r.Spec.Policy == noun.PolicyConfirm {
			note(r)
		}
	}
	for id, l := range replaced.LeaseTable.From(0) {
		if a := replaced.AgentTable.Get(id); l.Confirm && (a.Proc.Fenced() || a.Proc == noun.ProcUnproven) {
			note(replaced.RoleTable.Get(a.Role))
		}
	}
}

// awaitOwn does the same by what the state itself declares: a role that is declared otherwise
// later in the hold goes on waiting.
func (s *State) awaitOwn() {
	if len(s.Meta.Unreported) == 0 {
		return
	}
	for id, r := range s.RoleTable.From(0) {
		if !r.Awaits && r.Spec.Policy == noun.PolicyConfirm {
			s.RoleTable.Mut(noun.RoleID(id)).Awaits = true
		}
	}
}

// awaitNobody ends that once all hosts have reported.
func (s *State) awaitNobody() {
	for id, r := range s.RoleTable.From(0) {
		if r.Awaits {
			s.RoleTable.Mut(noun.RoleID(id)).Awaits = false
		}
	}
}

// unprovenText says what lifts the doubt, "" when there is none.
func (v *View) unprovenText(a *noun.Agent) string {
	if a.Proc != noun.ProcUnproven {
		return ""
	}
	host := v.hostName(a.Host)
	return fmt.Sprintf("its life %s on host %s is unproven: the host fell silent, and nobody has said that it is over; "+
		"that lasts until the host reports, or `vigil host confirm-dead %s`", a.Inc, host, host)
}

// whyAwaits says for whom starts of a role wait.
func (v *View) whyAwaits() Why {
	var commands []string
	for _, key := range v.Meta.Unreported[:min(len(v.Meta.Unreported), hostsNamed)] {
		if h := v.HostTable.Get(v.hostByKey[key]); h != nil {
			commands = append(commands, "`vigil host confirm-dead "+h.Name+"`")
		}
	}
	text := fmt.Sprintf("policy confirm: no starts after a restore "+
		"before each host has said what runs on it; missing: %d (%s)",
		len(v.Meta.Unreported), v.someUnreported())
	if len(commands) > 0 {
		text += "; of one that is off: " + strings.Join(commands, ", ")
	}
	return Why{Code: "unreported", Text: text}
}
