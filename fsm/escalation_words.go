package fsm

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// escalationWords say for people what an escalation of a kind is about, what vigil has
// done, and what a human can do. {agent}, {task}, {host}, {room}, {mail} and {server}
// stand for names; a command whose name is not known is left out.
type escalationWords struct {
	name, reason, done string
	commands           []string
}

var escalationKinds = [escalationKindsPlus]escalationWords{
	EscStuckProcess: {"stuck_process", "a process of the agent cannot be ended, not even by SIGKILL",
		"its slot stays taken and no newer life is started anywhere until it is gone",
		[]string{"vigil agent explain {agent}", "vigil host explain {host}", "vigil host drain {host}"}},
	EscBreaker: {"breaker_open", "the agent has failed so often that its restarts are paused",
		"it is started once after the pause, to try; its tasks wait for another agent of the role",
		[]string{"vigil agent explain {agent}", "vigil agent logs {agent}", "vigil agent unpark {agent}", "vigil agent stop {agent}"}},
	EscBrokenStart: {"broken_start", "nothing of the agent can be started, several times in a row",
		"it is tried again at growing distances, on another host where there is one",
		[]string{"vigil agent explain {agent}", "vigil host explain {host}", "vigil agent stop {agent}"}},
	EscTaskQuarantined: {"task_quarantined", "several lives of agents died, or had to be ended, while they held the task",
		"nobody gets the task any more",
		[]string{"vigil task show {task}", "vigil task unquarantine {task}", "vigil task cancel {task}"}},
	EscMailUnanswered: {"mail_unacknowledged", "urgent or high mail to the agent is without an acknowledgement after its limit",
		"the mail is kept for the agent, which was reminded when the priority is high",
		[]string{"vigil mail show {mail}", "vigil agent explain {agent}", "vigil nudge {agent}", "vigil agent restart {agent}"}},
	EscMassFailure: {"mass_failure", "so many agents or hosts were lost at once that the network may be at fault",
		"the brake is set: agents of lost hosts are not started elsewhere at first, then slowly",
		[]string{"vigil status", "vigil host list", "vigil brake release"}},
	EscRoomCanceled: {"room_canceled", "nothing was done or said in the room for too long",
		"its tasks are canceled and who held them was stopped; nothing of it is lost",
		[]string{"vigil room show {room}", "vigil room reopen {room}", "vigil room watchdog {room} --idle-limit 2h"}},
	EscServerDiverged: {"server_diverged", "the state of a server differs from the majority's",
		"it serves nothing until its data is rebuilt",
		[]string{"vigil server list", "vigil server remove {server}"}},
	EscAgentStuck: {"agent_stuck", "the agent lives, does not get on and does not answer",
		"it was nudged and asked, and interrupted and restarted where that is allowed; it keeps its task",
		[]string{"vigil agent explain {agent}", "vigil agent logs {agent}", "vigil nudge {agent}", "vigil agent restart {agent}", "vigil agent stop {agent}"}},
	EscPrompt: {"permission_prompt", "a permission prompt stands on the agent's terminal, and it works no more until somebody answers",
		"nothing: it is neither nudged nor restarted, and it keeps its task",
		[]string{"vigil agent screen {agent}", "vigil agent attach {agent}", "vigil agent explain {agent}", "vigil agent restart {agent}", "vigil agent stop {agent}"}},
	EscOverseerDown: {"overseer_down", "the overseer does not run, and its start waits",
		"it is started as soon as what it waits for allows; meanwhile nobody watches what it watches",
		[]string{"vigil agent explain {agent}", "vigil triage status {agent}", "vigil triage run {agent}"}},
	EscStatesDiffer: {"states_differ", "the states of servers differ, and no majority says which one is right",
		"nothing: all of them serve on, and what they answer may not agree",
		[]string{"vigil server list", "vigil status", "vigil snapshot save before.snap"}},
}

// String is the name of the kind.
func (k EscalationKind) String() string { return escalationKinds[k].name }

// EscalationKindNames are the words for kinds, by number; the first is empty.
func EscalationKindNames() (names []string) {
	for _, w := range escalationKinds {
		names = append(names, w.name)
	}
	return names
}

// Reason says in fixed words what has happened.
func (e *Escalation) Reason() string { return escalationKinds[e.Kind].reason }

// Done says in fixed words what vigil has done about it.
func (e *Escalation) Done() string { return escalationKinds[e.Kind].done }

// Commands are what a human can do, those first that only look.
func (e *Escalation) Commands() (list []string) {
	values := map[string]string{"{agent}": e.Agent, "{host}": e.Host, "{room}": e.Room}
	if e.Task != 0 {
		values["{task}"] = strconv.FormatUint(uint64(e.Task), 10)
	}
	for _, kv := range e.Facts {
		if kv.Key == "mail" {
			values["{mail}"] = kv.Value
		}
	}
	if e.Kind == EscServerDiverged {
		values["{server}"] = e.Subject
	}
	for _, c := range escalationKinds[e.Kind].commands {
		if at := strings.IndexByte(c, '{'); at >= 0 {
			name := c[at : strings.IndexByte(c, '}')+1]
			if values[name] == "" {
				continue
			}
			c = strings.ReplaceAll(c, name, values[name])
		}
		list = append(list, c)
	}
	if e.State == EscalationOpen {
		list = append(list, fmt.Sprintf("vigil escalation ack %d", e.ID))
	}
	return append(list, fmt.Sprintf("vigil escalation close %d", e.ID))
}

// Lasts tells whether what an escalation is about is still so. A human closes it in any case.
func (v *View) Lasts(e *Escalation) bool {
	switch a := v.AgentByName(e.Agent); e.Kind {
	case EscStuckProcess:
		return a != nil && a.stuck() != ""
	case EscBreaker:
		return a != nil && a.breaker()
	case EscBrokenStart:
		return a != nil && a.Notes().StartFault != "" && a.Notes().Faults >= brokenStarts
	case EscAgentStuck:
		return a != nil && v.Climb(a.ID).Rung == RungEscalate
	case EscPrompt:
		return a != nil && a.shows(PromptPermission)
	case EscOverseerDown:
		return a != nil && v.Overseer(a) != nil && !a.on() && v.chainOff(a) == ""
	case EscMailUnanswered:
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
	case EscTaskQuarantined:
		t := v.tasks.Get(e.Task)
		return t != nil && t.State == TaskQuarantined
	case EscMassFailure:
		return v.meta.Brake.Set != 0
	case EscRoomCanceled:
		rm := v.Room(e.Room)
		return rm != nil && rm.Canceled != nil
	case EscStatesDiffer:
		for i := range v.meta.Marks {
			if v.disputed(&v.meta.Marks[i]) {
				return true
			}
		}
	case EscServerDiverged:
		for _, id := range v.meta.Diverged {
			if id == e.Subject {
				return true
			}
		}
	}
	return false
}

// breaker tells that the agent's restarts are paused for its failures.
func (a *Agent) breaker() bool { return a.Parked && a.Notes().ParkedWhy == "" }

// escalateAgent escalates what is wrong with an agent, with the figures that count for
// the kind.
func (s *State) escalateAgent(kind EscalationKind, a *Agent) {
	e := Escalation{Kind: kind, Subject: a.Name, Priority: MailHigh, Agent: a.Name, Inc: a.Inc, Task: a.Task,
		Room: s.rooms.Get(a.Room).Name, Host: s.hostNameOf(a)}
	switch kind {
	case EscStuckProcess:
		e.Priority = MailUrgent
		e.Facts = []KV{{"pid", strconv.FormatUint(uint64(a.PID), 10)}}
	case EscBreaker:
		e.Facts = []KV{{"failures", strconv.FormatUint(uint64(a.Failures), 10)},
			{"paused_for", max(0, a.NotBefore.Sub(s.meta.Clock)).String()}}
		if x := a.LastExit; x != nil {
			e.Facts = append(e.Facts, KV{"last_exit", exitNames[x.Kind]}, KV{"exit_code", strconv.FormatInt(int64(x.Code), 10)})
		}
	case EscBrokenStart:
		e.Facts = []KV{{"failed_starts", strconv.FormatUint(uint64(a.Notes().Faults), 10)},
			{"runner", s.roles.Get(a.Role).Spec.Runner}}
	}
	s.escalate(e)
}

// escalateStuck calls a human for an agent with which the ladder is at its end.
func (s *State) escalateStuck(a *Agent, l *Ladder, verdict VerdictKind) {
	s.escalate(Escalation{Kind: EscAgentStuck, Subject: a.Name, Priority: MailHigh, Agent: a.Name, Inc: a.Inc, Task: a.Task,
		Room: s.rooms.Get(a.Room).Name, Host: s.hostNameOf(a),
		Facts: []KV{{"verdict", verdict.String()}, {"asked_for", s.since(l.Began).String()}, {"restarts", strconv.FormatUint(uint64(l.Restarts), 10)}}})
}

// escalateOverseer calls a human for an overseer that does not start; why is the code of
// the reason.
func (s *State) escalateOverseer(a *Agent, why string) {
	s.escalate(Escalation{Kind: EscOverseerDown, Subject: a.Name, Priority: MailHigh, Agent: a.Name, Inc: a.Inc,
		Room: s.rooms.Get(a.Room).Name, Host: s.hostNameOf(a), Facts: []KV{{"start_waits_for", why}}})
}

func (s *State) escalateTask(t *Task) {
	e := Escalation{Kind: EscTaskQuarantined, Subject: fmt.Sprintf("task %d", t.ID), Priority: MailHigh, Task: t.ID,
		Room: s.rooms.Get(t.Room).Name, Inc: t.HolderInc,
		Facts: []KV{{"role", s.roles.Get(t.Role).Spec.Name}, {"deaths", strconv.FormatUint(uint64(t.Kills), 10)}, {"attempts", strconv.FormatUint(uint64(t.Attempt), 10)}}}
	if a := s.agents.Get(t.Holder); a != nil {
		e.Agent = a.Name
	}
	s.escalate(e)
}

// escalateMail leaves out what the ladder has asked: it calls a human by itself, once, and
// an agent that works again without an answer needs none.
func (s *State) escalateMail(m *Mail) {
	a := s.agents.Get(m.To)
	if a == nil || m.From == LaddersBy && m.FromInc == 0 {
		return
	}
	s.escalate(Escalation{Kind: EscMailUnanswered, Subject: a.Name, Priority: m.Priority, Agent: a.Name, Inc: a.Inc, Task: a.Task,
		Room: s.rooms.Get(a.Room).Name, Host: s.hostNameOf(a),
		Facts: []KV{{"mail", strconv.FormatUint(uint64(m.ID), 10)}, {"mail_from", m.From}, {"mail_state", m.State.String()},
			{"waits_for", s.meta.Clock.Sub(m.SentAt).Round(time.Second).String()}}})
}

func (s *State) escalateBrake() {
	b := &s.meta.Brake
	s.escalate(Escalation{Kind: EscMassFailure, Subject: "cluster", Priority: MailUrgent,
		Facts: []KV{{"why", b.Why}, {"hosts_in_service", strconv.FormatUint(uint64(s.hostsInService()), 10)},
			{"no_starts_for", max(0, b.Hold.Sub(s.meta.Clock)).String()}}})
}

func (s *State) escalateRoom(x *Cancellation) {
	s.escalate(Escalation{Kind: EscRoomCanceled, Subject: x.Room, Priority: MailLow, Room: x.Room,
		Facts: []KV{{"reason", x.Reason}, {"tasks", strconv.FormatUint(uint64(x.Tasks), 10)}, {"silent_for", x.Silent.Round(time.Second).String()}}})
}

func (s *State) escalateServer(id string) {
	s.escalate(Escalation{Kind: EscServerDiverged, Subject: id, Priority: MailUrgent,
		Facts: []KV{{"diverged_servers", strconv.Itoa(len(s.meta.Diverged))}, {"index", strconv.FormatUint(s.meta.Index, 10)}}})
}

func (s *State) escalateDispute(m *MarkReport) {
	s.escalate(Escalation{Kind: EscStatesDiffer, Subject: "cluster", Priority: MailUrgent,
		Facts: []KV{{"hashes", m.text()}, {"voters", strconv.Itoa(len(m.Voters))}, {"index", strconv.FormatUint(m.Index, 10)}}})
}
