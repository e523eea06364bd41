package fsm

import (
	"fmt"
	"strconv"

	"vigil/fsm/noun"
)

// escalateAgent escalates what is wrong with an agent, with the figures that count for
// the kind.
func (s *State) escalateAgent(kind noun.EscalationKind, a *noun.Agent) {
	e := noun.Escalation{Kind: kind, Subject: a.Name, Priority: noun.MailHigh, Agent: a.Name, Inc: a.Inc, Task: a.Task,
		Room: s.rooms.Get(a.Room).Name, Host: s.hostNameOf(a)}
	switch kind {
	case noun.EscStuckProcess:
		e.Priority = noun.MailUrgent
		e.Facts = []noun.KV{{Key: "pid", Value: strconv.FormatUint(uint64(a.PID), 10)}}
	case noun.EscBreaker:
		e.Facts = []noun.KV{{Key: "failures", Value: strconv.FormatUint(uint64(a.Failures), 10)},
			{Key: "paused_for", Value: max(0, a.NotBefore.Sub(s.meta.Clock)).String()}}
		if x := a.LastExit; x != nil {
			e.Facts = append(e.Facts, noun.KV{Key: "last_exit", Value: noun.ExitNames[x.Kind]}, noun.KV{Key: "exit_code", Value: strconv.FormatInt(int64(x.Code), 10)})
		}
	case noun.EscBrokenStart:
		e.Facts = []noun.KV{{Key: "failed_starts", Value: strconv.FormatUint(uint64(a.Notes().Faults), 10)},
			{Key: "runner", Value: s.roles.Get(a.Role).Spec.Runner}}
	}
	s.hooks.Human.call(e)
}

func (s *State) escalateTask(t *noun.Task) {
	e := noun.Escalation{Kind: noun.EscTaskQuarantined, Subject: fmt.Sprintf("task %d", t.ID), Priority: noun.MailHigh, Task: t.ID,
		Room: s.rooms.Get(t.Room).Name, Inc: t.HolderInc,
		Facts: []noun.KV{{Key: "role", Value: s.roles.Get(t.Role).Spec.Name}, {Key: "deaths", Value: strconv.FormatUint(uint64(t.Kills), 10)}, {Key: "attempts", Value: strconv.FormatUint(uint64(t.Attempt), 10)}}}
	if a := s.agents.Get(t.Holder); a != nil {
		e.Agent = a.Name
	}
	s.hooks.Human.call(e)
}

func (s *State) escalateServer(id string) {
	s.hooks.Human.call(noun.Escalation{Kind: noun.EscServerDiverged, Subject: id, Priority: noun.MailUrgent,
		Facts: []noun.KV{{Key: "diverged_servers", Value: strconv.Itoa(len(s.meta.Diverged))}, {Key: "index", Value: strconv.FormatUint(s.meta.Index, 10)}}})
}

func (s *State) escalateDispute(m *noun.MarkReport) {
	s.hooks.Human.call(noun.Escalation{Kind: noun.EscStatesDiffer, Subject: "cluster", Priority: noun.MailUrgent,
		Facts: []noun.KV{{Key: "hashes", Value: m.Text()}, {Key: "voters", Value: strconv.Itoa(len(m.Voters))}, {Key: "index", Value: strconv.FormatUint(m.Index, 10)}}})
}

func (s *State) escalateBrake() {
	b := &s.meta.Brake
	s.hooks.Human.call(noun.Escalation{Kind: noun.EscMassFailure, Subject: "cluster", Priority: noun.MailUrgent,
		Facts: []noun.KV{{Key: "why", Value: b.Why}, {Key: "hosts_in_service", Value: strconv.FormatUint(uint64(s.hostsInService()), 10)},
			{Key: "no_starts_for", Value: max(0, b.Hold.Sub(s.meta.Clock)).String()}}})
}
