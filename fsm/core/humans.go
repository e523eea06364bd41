package core

import (
	"slices"
	"strconv"
	"strings"

	"vigil/fsm/noun"
)

// escalateAgent escalates what is wrong with an agent, with the figures that count for
// the kind.
func (s *State) escalateAgent(kind noun.EscalationKind, a *noun.Agent) {
	e := noun.Escalation{Kind: kind, Subject: a.Name, Priority: noun.MailHigh, Agent: a.Name, Inc: a.Inc, Task: a.Task,
		Room: s.RoomTable.Get(a.Room).Name, Host: s.HostNameOf(a)}
	switch kind {
	case noun.EscLimitLasts:
		e.Subject = s.RoleName(a.Role)
		e.Facts = []noun.KV{{Key: "ends_in_a_row", Value: strconv.FormatUint(uint64(a.Notes().Limits), 10)},
			{Key: "paused_for", Value: max(0, a.NotBefore.Sub(s.Meta.Clock)).String()},
			{Key: "runner", Value: s.RoleTable.Get(a.Role).Spec.Runner}}
	case noun.EscStuckProcess:
		e.Priority = noun.MailUrgent
		e.Facts = []noun.KV{{Key: "pid", Value: strconv.FormatUint(uint64(a.PID), 10)}}
	case noun.EscBreaker:
		e.Facts = []noun.KV{{Key: "failures", Value: strconv.FormatUint(uint64(a.Failures), 10)},
			{Key: "paused_for", Value: max(0, a.NotBefore.Sub(s.Meta.Clock)).String()}}
		if x := a.LastExit; x != nil {
			e.Facts = append(e.Facts, noun.KV{Key: "last_exit", Value: noun.ExitNames[x.Kind]},
				noun.KV{Key: "exit_code", Value: strconv.FormatInt(int64(x.Code), 10)})
		}
	case noun.EscUnproven:
		e.Facts = []noun.KV{{Key: "life", Value: a.Inc.String()}}
	case noun.EscBrokenStart:
		e.Facts = []noun.KV{{Key: "failed_starts", Value: strconv.FormatUint(uint64(a.Notes().Faults), 10)},
			{Key: "runner", Value: s.RoleTable.Get(a.Role).Spec.Runner}}
	}
	s.Hooks.Human.Call(e)
}

func (s *State) escalateTask(t *noun.Task) {
	e := noun.Escalation{Kind: noun.EscTaskQuarantined, Subject: noun.TaskSubject(t.ID),
		Priority: noun.MailHigh, Task: t.ID,
		Room: s.RoomTable.Get(t.Room).Name, Inc: t.HolderInc,
		Facts: []noun.KV{{Key: "role", Value: s.RoleTable.Get(t.Role).Spec.Name},
			{Key: "deaths", Value: strconv.FormatUint(uint64(t.Kills), 10)},
			{Key: "attempts", Value: strconv.FormatUint(uint64(t.Attempt), 10)}}}
	if lost := t.Retried().Lost; lost > 0 {
		e.Facts = append(e.Facts, noun.KV{Key: "lost_with_host", Value: strconv.FormatUint(uint64(lost), 10)})
	}
	if a := s.AgentTable.Get(t.Holder); a != nil {
		e.Agent = a.Name
	}
	if t.Attempt == 0 { // nobody has had it
		e.Facts = []noun.KV{e.Facts[0], {Key: noun.FactHops, Value: strconv.FormatUint(uint64(t.Hops), 10)}}
	}
	s.Hooks.Human.Call(e)
}

func (s *State) escalateServer(id string) {
	s.Hooks.Human.Call(noun.Escalation{Kind: noun.EscServerDiverged, Subject: id, Priority: noun.MailUrgent,
		Facts: []noun.KV{{Key: "diverged_servers", Value: strconv.Itoa(len(s.Meta.Diverged))},
			{Key: "index", Value: strconv.FormatUint(s.Meta.Index, 10)}}})
}

func (s *State) escalateDispute(m *noun.MarkReport) {
	s.Hooks.Human.Call(noun.Escalation{Kind: noun.EscStatesDiffer, Subject: "cluster", Priority: noun.MailUrgent,
		Facts: []noun.KV{{Key: "hashes", Value: m.Text()}, {Key: "voters", Value: strconv.Itoa(len(m.Voters))},
			{Key: "index", Value: strconv.FormatUint(m.Index, 10)}}})
}

func (s *State) escalateBrake() {
	b := &s.Meta.Brake
	s.Hooks.Human.Call(noun.Escalation{Kind: noun.EscMassFailure, Subject: "cluster", Priority: noun.MailUrgent,
		Facts: []noun.KV{{Key: "why", Value: b.Why},
			{Key: "hosts_in_service", Value: strconv.FormatUint(uint64(s.hostsInService()), 10)},
			{Key: "no_starts_for", Value: max(0, b.Hold.Sub(s.Meta.Clock)).String()}}})
}

// lasts tells of each kind that the core calls a human for whether it is still so.
func (s *State) lasts() {
	ofAgent := func(lasts func(*noun.Agent) bool) func(*noun.Escalation) bool {
		return func(e *noun.Escalation) bool {
			a := s.AgentByName(e.Agent)
			return a != nil && lasts(a)
		}
	}
	h := &s.Hooks.Lasts
	h[noun.EscStuckProcess] = ofAgent(func(a *noun.Agent) bool { return a.Stuck() != "" })
	h[noun.EscUnproven] = ofAgent(func(a *noun.Agent) bool { return a.Proc == noun.ProcUnproven })
	h[noun.EscBreaker] = ofAgent((*noun.Agent).Breaker)
	h[noun.EscBrokenStart] = ofAgent(func(a *noun.Agent) bool {
		return a.Notes().StartFault != "" && a.Notes().Faults >= noun.BrokenStarts
	})
	h[noun.EscLimitLasts] = func(e *noun.Escalation) bool {
		room, role, _ := strings.Cut(e.Subject, "/")
		r := s.RoleByName(room, role)
		return r != nil && r.Vain != 0
	}
	h[noun.EscTaskQuarantined] = func(e *noun.Escalation) bool {
		t := s.TaskTable.Get(e.Task)
		return t != nil && t.State == noun.TaskQuarantined
	}
	h[noun.EscMassFailure] = func(*noun.Escalation) bool { return s.Meta.Brake.Set != 0 }
	h[noun.EscStatesDiffer] = func(*noun.Escalation) bool {
		return slices.ContainsFunc(s.Meta.Marks, func(m noun.MarkReport) bool { return s.disputed(&m) })
	}
	h[noun.EscServerDiverged] = func(e *noun.Escalation) bool { return slices.Contains(s.Meta.Diverged, e.Subject) }
}
