package fsm

import (
	"fmt"
	"strconv"
	"time"

	"vigil/fsm/noun"
)

// EscalationKindNames are the words for kinds, by number; the first is empty.
func EscalationKindNames() (names []string) {
	for _, w := range noun.EscalationKinds {
		names = append(names, w.Name)
	}
	return names
}

// Lasts tells whether what an escalation is about is still so. A human closes it in any case.
func (v *View) Lasts(e *noun.Escalation) bool {
	switch a := v.AgentByName(e.Agent); e.Kind {
	case noun.EscStuckProcess:
		return a != nil && a.Stuck() != ""
	case noun.EscBreaker:
		return a != nil && a.Breaker()
	case noun.EscBrokenStart:
		return a != nil && a.Notes().StartFault != "" && a.Notes().Faults >= noun.BrokenStarts
	case noun.EscAgentStuck:
		return a != nil && v.Climb(a.ID).Rung == noun.RungEscalate
	case noun.EscPrompt:
		return a != nil && a.Shows(noun.PromptPermission)
	case noun.EscOverseerDown:
		return a != nil && v.Overseer(a) != nil && !a.Lives() && v.chainOff(a) == ""
	case noun.EscMailUnanswered:
		if a == nil {
			return false
		}
		if box := v.mailboxes.Get(a.ID); box != nil {
			for _, id := range box.open {
				if v.mails.Get(id).Escalated {
					return true
				}
			}
		}
		return false
	case noun.EscTaskQuarantined:
		t := v.tasks.Get(e.Task)
		return t != nil && t.State == noun.TaskQuarantined
	case noun.EscMassFailure:
		return v.meta.Brake.Set != 0
	case noun.EscRoomCanceled:
		rm := v.Room(e.Room)
		return rm != nil && rm.Canceled != nil
	case noun.EscStatesDiffer:
		for i := range v.meta.Marks {
			if v.disputed(&v.meta.Marks[i]) {
				return true
			}
		}
	case noun.EscServerDiverged:
		for _, id := range v.meta.Diverged {
			if id == e.Subject {
				return true
			}
		}
	}
	return false
}

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
	s.escalate(e)
}

// escalateStuck calls a human for an agent with which the ladder is at its end.
func (s *State) escalateStuck(a *noun.Agent, l *noun.Ladder, verdict VerdictKind) {
	s.escalate(noun.Escalation{Kind: noun.EscAgentStuck, Subject: a.Name, Priority: noun.MailHigh, Agent: a.Name, Inc: a.Inc, Task: a.Task,
		Room: s.rooms.Get(a.Room).Name, Host: s.hostNameOf(a),
		Facts: []noun.KV{{Key: "verdict", Value: verdict.String()}, {Key: "asked_for", Value: s.since(l.Began).String()}, {Key: "restarts", Value: strconv.FormatUint(uint64(l.Restarts), 10)}}})
}

// escalateOverseer calls a human for an overseer that does not start; why is the code of
// the reason.
func (s *State) escalateOverseer(a *noun.Agent, why string) {
	s.escalate(noun.Escalation{Kind: noun.EscOverseerDown, Subject: a.Name, Priority: noun.MailHigh, Agent: a.Name, Inc: a.Inc,
		Room: s.rooms.Get(a.Room).Name, Host: s.hostNameOf(a), Facts: []noun.KV{{Key: "start_waits_for", Value: why}}})
}

func (s *State) escalateTask(t *noun.Task) {
	e := noun.Escalation{Kind: noun.EscTaskQuarantined, Subject: fmt.Sprintf("task %d", t.ID), Priority: noun.MailHigh, Task: t.ID,
		Room: s.rooms.Get(t.Room).Name, Inc: t.HolderInc,
		Facts: []noun.KV{{Key: "role", Value: s.roles.Get(t.Role).Spec.Name}, {Key: "deaths", Value: strconv.FormatUint(uint64(t.Kills), 10)}, {Key: "attempts", Value: strconv.FormatUint(uint64(t.Attempt), 10)}}}
	if a := s.agents.Get(t.Holder); a != nil {
		e.Agent = a.Name
	}
	s.escalate(e)
}

// escalateMail leaves out what the ladder has asked: it calls a human by itself, once, and
// an agent that works again without an answer needs none.
func (s *State) escalateMail(m *noun.Mail) {
	a := s.agents.Get(m.To)
	if a == nil || m.From == noun.LaddersBy && m.FromInc == 0 {
		return
	}
	s.escalate(noun.Escalation{Kind: noun.EscMailUnanswered, Subject: a.Name, Priority: m.Priority, Agent: a.Name, Inc: a.Inc, Task: a.Task,
		Room: s.rooms.Get(a.Room).Name, Host: s.hostNameOf(a),
		Facts: []noun.KV{{Key: "mail", Value: strconv.FormatUint(uint64(m.ID), 10)}, {Key: "mail_from", Value: m.From}, {Key: "mail_state", Value: m.State.String()},
			{Key: "waits_for", Value: s.meta.Clock.Sub(m.SentAt).Round(time.Second).String()}}})
}

func (s *State) escalateBrake() {
	b := &s.meta.Brake
	s.escalate(noun.Escalation{Kind: noun.EscMassFailure, Subject: "cluster", Priority: noun.MailUrgent,
		Facts: []noun.KV{{Key: "why", Value: b.Why}, {Key: "hosts_in_service", Value: strconv.FormatUint(uint64(s.hostsInService()), 10)},
			{Key: "no_starts_for", Value: max(0, b.Hold.Sub(s.meta.Clock)).String()}}})
}

func (s *State) escalateRoom(x *noun.Cancellation) {
	s.escalate(noun.Escalation{Kind: noun.EscRoomCanceled, Subject: x.Room, Priority: noun.MailLow, Room: x.Room,
		Facts: []noun.KV{{Key: "reason", Value: x.Reason}, {Key: "tasks", Value: strconv.FormatUint(uint64(x.Tasks), 10)}, {Key: "silent_for", Value: x.Silent.Round(time.Second).String()}}})
}

func (s *State) escalateServer(id string) {
	s.escalate(noun.Escalation{Kind: noun.EscServerDiverged, Subject: id, Priority: noun.MailUrgent,
		Facts: []noun.KV{{Key: "diverged_servers", Value: strconv.Itoa(len(s.meta.Diverged))}, {Key: "index", Value: strconv.FormatUint(s.meta.Index, 10)}}})
}

func (s *State) escalateDispute(m *noun.MarkReport) {
	s.escalate(noun.Escalation{Kind: noun.EscStatesDiffer, Subject: "cluster", Priority: noun.MailUrgent,
		Facts: []noun.KV{{Key: "hashes", Value: m.Text()}, {Key: "voters", Value: strconv.Itoa(len(m.Voters))}, {Key: "index", Value: strconv.FormatUint(m.Index, 10)}}})
}
