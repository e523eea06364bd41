package core

import (
	"vigil/fsm/noun"
)

// Command is one change that is asked of the state.
type Command interface {
	// Apply makes the change or refuses it; who is refused has changed nothing. It is a
	// deterministic function of the state and the command.
	Apply(s *State) noun.Outcome
}

// Request is a command with what makes it safe to repeat. Session 0 means that
// the command is idempotent by itself or that the caller does not retry.
type Request struct {
	Session noun.SessionID
	Seq     uint64 // from 1, grows by one a write; 0 with Session 0
	Planned bool   // by a duty of the leader; refused when the stint is over
	Cmd     Command
	// Audit says who has made the request; none or one. It is a part of the record of the command, so
	// neither gets into the log without the other.
	Audit []AuditNote
	// Word is what the command proves as a word of an incarnation. It is no part of the
	// record: whoever seals the entry puts what is still fresh into Entry.Words.
	Word Word
}

// Entry is one log entry: what Apply reads besides the state. Order inside:
// clock, renewals, due timers, commands.
type Entry struct {
	Index uint64
	Term  uint64 // of the log entry
	// Stint is the term in which the leader sealed it. When it is not Term, the
	// stamp is ignored and planned commands are refused.
	Stint    uint64
	Stamp    noun.Time
	Wall     noun.Wall
	Beats    []HostBeats
	Requests []Request
	Words    []byte // renewals by the words among Requests, packed by PackWords
}

// Speaker identifies the incarnation that says something. TokenHash is compared
// when the incarnation was given a token.
type Speaker struct {
	Agent     string // room/role or room/role.2
	Inc       noun.Incarnation
	TokenHash []byte
}

// Work names the attempt that a word about a task belongs to.
type Work struct {
	Speaker
	Task    noun.TaskID
	Attempt uint32
}
