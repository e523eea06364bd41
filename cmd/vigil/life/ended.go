package life

import (
	"slices"
	"strconv"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/client"
)

// Attempt is one attempt at a task.
type Attempt struct {
	Task    uint64 `json:"task"`
	Attempt uint32 `json:"attempt"`
}

// Is tells whether it is this attempt at this task; where its number is not known, whether it is one at this task.
func (t Attempt) Is(task uint64, attempt uint32) bool {
	return t.Task == task && (t.Attempt == attempt || t.Attempt == 0)
}

// The variables by which a program finds the attempt for which `vigil task exec` runs it.
const (
	EnvTask    = "VIGIL_TASK"
	EnvAttempt = "VIGIL_ATTEMPT"
)

// RunsFor gives the attempt for which this life runs whoever gave us our environment: what is said there is about
// that one. It is zero where that is not known, and where the environment is another agent's or another life's.
func (l *Life) RunsFor(a *cli.App) (Attempt, error) {
	task := a.Getenv(EnvTask)
	own, err := OwnAgent(a)
	if task == "" || err != nil || own != l.Agent || l.Incarnation == 0 {
		return Attempt{}, nil
	}
	if life := a.Getenv("VIGIL_INCARNATION"); life != "" {
		if n, err := client.ParseIncarnation(life); err != nil || n != l.Incarnation {
			return Attempt{}, nil
		}
	}
	id, err := strconv.ParseUint(task, 10, 64)
	if err != nil || id == 0 {
		return Attempt{}, cli.Usagef("%s is %.40q, and must be the number of a task: unset it, or say --task", EnvTask, task)
	}
	attempt := a.Getenv(EnvAttempt)
	if attempt == "" {
		return Attempt{Task: id}, nil
	}
	n, err := strconv.ParseUint(attempt, 10, 32)
	if err != nil || n == 0 {
		return Attempt{}, cli.Usagef("%s is %.40q, and must be the number of an attempt: unset it, or say --task",
			EnvAttempt, attempt)
	}
	return Attempt{id, uint32(n)}, nil
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
