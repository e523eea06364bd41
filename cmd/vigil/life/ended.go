package life

import (
	"slices"

	"vigil/cmd/vigil/cli"
)

// Attempt is one attempt at a task.
type Attempt struct {
	Task    uint64 `json:"task"`
	Attempt uint32 `json:"attempt"`
}

// maxEnded is how many attempts are remembered. Who asks for one asks soon: the script that has claimed a task, when
// the tool that it has run for it has ended.
const maxEnded = 64

// NoteEnded notes that this life has said its last word about an attempt, and that it counts. The cluster does not
// tell that of all: an attempt that its agent gave back looks like one that was taken away.
func (l *Life) NoteEnded(task uint64, attempt uint32) {
	t := Attempt{task, attempt}
	l.Ended = slices.DeleteFunc(l.Ended, func(other Attempt) bool { return other == t })
	l.Ended = append(l.Ended, t)
	l.Ended = l.Ended[max(0, len(l.Ended)-maxEnded):]
}

// HasEnded tells whether a process of this life has noted that of the attempt; 0: of any at the task.
func HasEnded(a *cli.App, l *Life, task uint64, attempt uint32) bool {
	kept := KeptOf(a, l)
	return kept != nil && slices.ContainsFunc(kept.Ended, func(t Attempt) bool {
		return t.Task == task && (attempt == 0 || t.Attempt == attempt)
	})
}

// same tells whether both are the same life of the same agent.
func (l *Life) same(other *Life) bool {
	return l.Agent == other.Agent && l.Incarnation == other.Incarnation
}
