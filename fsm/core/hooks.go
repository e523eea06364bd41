package core

import (
	"fmt"
	"slices"
	"strings"

	"vigil/fsm/due"
	"vigil/fsm/noun"
)

// Hooks are where features of supervision hang: mail, escalations, silent rooms, the ladder, the
// watchdog chain, screens. A feature looks at the core and changes it by the core's own means; the
// core names none of them. It tells what has happened by the hooks, at the end of the change and in
// the order of the features, and asks for what it cannot do itself. Whoever is called may change the
// state; what a command answers never depends on it.
//
// They are called at once and not from a queue: a feature sees the state as it was when the thing
// happened, and nothing waits between two commands that a snapshot would have to hold.
type Hooks struct {
	AgentSpoke   Hook[*noun.Agent] // an agent says a word; what it says is not noted yet
	AgentChanged Hook[*noun.Agent] // a change of an agent has ended, see Settle
	AgentExcused Hook[*noun.Agent] // something else explains the agent's silence than before, or nothing
	AgentGoes    Hook[*noun.Agent] // the agent is about to be removed
	TaskMoved    Hook[TaskMove]
	TaskGoes     Hook[*noun.Task]  // the task is about to be removed
	RoleGoes     Hook[*noun.Role]  // the role is no longer declared
	RoomTouched  Hook[noun.RoomID] // something was done or said in the room
	RoomResumed  Hook[noun.RoomID] // what excused its silence is over: that is counted from now
	RoomUnpaused Hook[*noun.Room]  // its pause is over, by a word or by its end
	RoomChanged  Hook[*noun.Room]  // what humans want of the room has changed
	RoomOpened   Hook[noun.RoomID] // it has open tasks now and had none before, or the reverse
	RoomGoes     Hook[noun.RoomID] // the room is about to be removed
	HostGoes     Hook[*noun.Host]  // the host is about to be forgotten
	ServerGoes   Hook[string]      // the server of this id was removed from the cluster
	SettingsPut  Hook[Put]
	LevelRaised  Hook[uint32]   // a feature level has begun
	Resumed      Hook[struct{}] // time has passed of which the state knows nothing, or all was paused
	Settled      Hook[struct{}] // a command, or all that was due, is done with

	// AgentDue gives the row for which a feature must look at an agent again; AgentFires is called
	// when the timer of an agent fires.
	AgentDue   []func(*noun.Agent) due.Row
	AgentFires Hook[*noun.Agent]
	// AgentRows and RoomRows add what else a feature has of an agent or a room to a list for people.
	AgentRows []func(*noun.Agent, *due.List)
	RoomRows  []func(*noun.Room, *due.List)
	// Timers are called with what a feature's timer is of.
	Timers [timerKinds]func(id uint64)

	// Calls tell whether a feature calls for an agent on demand that does not run (see State.Want,
	// which is to be called when that changes): no reason against a start gives way to it.
	Calls []func(*noun.Agent) bool

	// Used is called for what a host tells of the usage of a life of its own.
	Used Hook[Used]
	// RoleBarred and AgentBarred tell whether a feature keeps a role, or one agent, from starts and new
	// tasks; that it changes is told to State.Bar. BarredText says why, for people.
	RoleBarred  []func(*noun.Role) bool
	AgentBarred []func(*noun.Agent) bool
	BarredText  func(*noun.Agent) string
	BarredRow   func(*noun.Agent) due.Row

	// WorkOff goes on with what was ordered for many things, as far as State.StepsLeft allows; Unworked tells
	// whether something is left, for later entries.
	WorkOff  Hook[struct{}]
	Unworked []func() bool

	// Outnumbers is called with the state that a backup takes the place of, see Outnumber.
	Outnumbers Hook[Replaced]

	// Reset makes the features' indexes empty, Index builds them anew from the tables.
	Reset, Index Hook[struct{}]

	Human  Hook[noun.Escalation] // calls a human; the caller fills in all but numbers and times
	Over   Hook[noun.Escalation] // what an escalation of this kind and subject is about is over
	Closed Hook[noun.Escalation] // a human says that nothing is left to decide about it
	// Called tells whether an escalation of this kind and subject is there and not closed.
	Called func(noun.EscalationKind, string) bool
	Mail   func(Letter) noun.Outcome      // writes to an agent, or says why it is not possible
	Unread func(*noun.Agent) []*noun.Mail // what waits for an agent, oldest first
	// MailChanged: something else waits for the agent than before.
	MailChanged Hook[noun.AgentID]
	Recall      Hook[noun.MailID] // closes a mail that needs no answer any more
	// Lasts tells whether what an escalation is about is still so.
	Lasts [noun.EscalationKindsPlus]func(*noun.Escalation) bool
	// Relief finds what may go from the purse of a feature, see State.relief.
	Relief [noun.Purses]func(room noun.RoomID, bytes int64, rows int) Relief

	parts []any
}

// Base embeds the View of the core once more, for the views of features. A feature that writes embeds
// *State and its own view; what both have would be ambiguous in Go if the view did not have it one
// level deeper. So it is the state's.
type Base struct{ *View }

// Attach makes a feature known, for its commands, and gives the hooks to hang it on.
func Attach(s *State, feature any) *Hooks {
	s.Hooks.parts = append(s.Hooks.parts, feature)
	return s.Hooks
}

// Part is the feature of this type, for its commands.
func Part[T any](s *State) T {
	for _, p := range s.Hooks.parts {
		if t, ok := p.(T); ok {
			return t
		}
	}
	panic(fmt.Sprintf("fsm: the state has no %T", *new(T)))
}

// Hook is what is called when one thing happens, in order.
type Hook[T any] []func(T)

// Add appends to what is called.
func (h *Hook[T]) Add(f func(T)) { *h = append(*h, f) }

func (h Hook[T]) Call(x T) {
	for _, f := range h {
		f(x)
	}
}

// TaskMove says from which state a task has come into the one that it has; 0: it is new.
type TaskMove struct {
	*noun.Task
	From noun.TaskState
}

// Put is the names of settings that were put.
type Put []noun.KV

// Any tells whether one of them begins with this.
func (p Put) Any(prefix string) bool {
	return slices.ContainsFunc(p, func(kv noun.KV) bool { return strings.HasPrefix(kv.Key, prefix) })
}

// Replaced is a state that a backup takes the place of. Lost tells that numbers may have been handed out
// that neither of the two knows of.
type Replaced struct {
	*View
	Lost bool
}

// Letter is a mail to one agent. Who speaks is an agent; an empty one is vigil itself.
type Letter struct {
	Speaker
	To            *noun.Agent
	From          string // noun.LaddersBy or noun.WatchedBy, of vigil itself
	Kind          string
	Priority      noun.MailPriority
	Subject, Body string
}

// Write sends a mail.
func (h *Hooks) Write(l Letter) noun.Outcome {
	if h.Mail == nil {
		return Refuse(noun.Conflict, "nobody keeps mail")
	}
	return h.Mail(l)
}

// called tells whether an escalation of this kind and subject is there and not closed.
func (h *Hooks) called(kind noun.EscalationKind, subject string) bool {
	return h.Called != nil && h.Called(kind, subject)
}

// Waiting is what waits for an agent.
func (h *Hooks) Waiting(a *noun.Agent) []*noun.Mail {
	if h.Unread == nil {
		return nil
	}
	return h.Unread(a)
}
