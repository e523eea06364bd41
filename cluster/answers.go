package cluster

import (
	"fmt"
	"slices"
	"strings"

	"vigil/cluster/wire"
)

// answerTo answers a question of a server that has proved who it is; from is empty where none does. For
// another one nobody may speak: an answer may be kept.
func (r *Replica) answerTo(from, line string) string {
	f := strings.Fields(line)
	if from != "" && len(f) > 1 && f[0] != wire.Greeting && f[1] != from {
		r.strangers.say("question", from, fmt.Errorf("server %s asks in the name of %q", from, f[1]))
		return ""
	}
	return r.Answer(line)
}

// Answer answers a question of another server that came on the port of the log, given
// as one line: a word and its operands. It is empty when the line is no question.
func (r *Replica) Answer(line string) string {
	f := strings.Fields(line)
	switch {
	case len(f) == 2 && f[0] == reachQuestion:
		return string(r.Reaches(f[1]))
	case len(f) == 2 && f[0] == seatQuestion:
		return r.entrance.answerSeat(f[1])
	case len(f) == 4 && f[0] == refusedQuestion:
		return r.agreement.answer(f[2], f[3])
	case len(f) == 2 && f[0] == figuresQuestion:
		return r.figures.answer()
	}
	return ""
}

// Outside tells whether this server still has to be taken into a cluster: it was
// opened without a log, or it was taken in without a vote yet. What it hears before
// it is a member makes no difference: a leader that knew it before may speak to it
// at once. A server that was removed is not outside, nor is a standby: each stays what a human, or the leader, made it.
func (r *Replica) Outside() bool {
	if r.fresh.Load() {
		return true
	}
	return slices.ContainsFunc(r.Servers(), func(s Server) bool { return s.Self && !s.Voter && !s.Standby })
}
