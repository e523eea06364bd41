package noun

import (
	"fmt"
	"slices"
	"time"
)

// MaxAfter bounds for how long a task may be put off: when it is created, or by who gives it back.
const MaxAfter = 30 * 24 * time.Hour

// CheckAfter tells what is wrong with a delay; 0: none is wanted.
func CheckAfter(after time.Duration) error {
	if after < 0 || after > MaxAfter {
		return fmt.Errorf("after: %s is out of range, 0 to %s is allowed", after, MaxAfter)
	}
	return nil
}

// ReasonsKept is how many reasons of failed attempts a task remembers.
const ReasonsKept = 3

// MaxKeptReason bounds a remembered reason in bytes; the rest is cut.
const MaxKeptReason = 256

// Retry is what a task that is to be tried again knows of it; see Task.Retried.
type Retry struct {
	// NotBefore is the cluster time before which the task is offered to nobody; 0: it is not put
	// off. Only QUEUED tasks are; one that the conversation watchdog has canceled keeps it.
	NotBefore Time
	Row       uint32    // attempts that failed since the task was created or a human had it tried again
	Reasons   []Failure // of the last of them, oldest first, at most ReasonsKept; replaced, never changed
	// Lost is how many lives in a row were lost with their host or its daemon, or left, while they held the task
	// and had not got on with it. Such an end is nobody's fault, but one task may be the cause of all of them.
	Lost uint32
	// Spared is how many failed lives did not count, since the conversation with which they began may be the cause.
	Spared uint32
	// Limits is how many lives used tokens and ended at a limit of their tool, while they held the task, since one had
	// got on with it or such an end has counted.
	Limits uint32
	// ResultDropped is how many bytes of the task's Dropped were of its Result: what is left of that is not what was
	// said. It stands here since few tasks have it; whoever has the task tried again gets another result.
	ResultDropped uint32
}

// Failure is why an attempt failed: the words of its holder, or vigil's when it gave none.
type Failure struct {
	Attempt uint32
	Text    string // at most MaxKeptReason bytes
	At      Wall
}

// Retried is what the task knows of being tried again. It is not to be changed: see ChangeRetry.
func (t *Task) Retried() Retry {
	if t.Retry == nil {
		return Retry{}
	}
	return *t.Retry
}

// ChangeRetry changes a copy, since views keep what they see; one with nothing in it is dropped.
func (t *Task) ChangeRetry(change func(*Retry)) {
	r := t.Retried()
	if change(&r); r.NotBefore == 0 && r.Row == 0 && len(r.Reasons) == 0 && r.Lost == 0 &&
		r.Spared == 0 && r.Limits == 0 && r.ResultDropped == 0 {
		t.Retry = nil
		return
	}
	t.Retry = &r
}

// Delayed tells that the task is put off: it is QUEUED and stands in no queue.
func (t *Task) Delayed() bool {
	return t.State == TaskQueued && t.Retry != nil && t.Retry.NotBefore != 0
}

// NoteFailure remembers why the present attempt failed, and counts it.
func (t *Task) NoteFailure(text string, at Wall) {
	t.ChangeRetry(func(r *Retry) {
		r.Row++
		r.Reasons = append(slices.Clone(r.Reasons[max(0, len(r.Reasons)-ReasonsKept+1):]),
			Failure{t.Attempt, Clip(text, MaxKeptReason), at})
	})
}

// RetrySettings are those of tasks that are tried again, and of roles most of whose tasks fail.
type RetrySettings struct {
	First time.Duration // before the second attempt; doubled with each further one ...
	Most  time.Duration // ... up to this
	// A role half-opens when so many attempts fail within Window, more than half of those that
	// end, or so many in a row at any pace; at 3 tasks or more, 2 of a role of 1 or 2 agents. 0: never.
	Failures uint32
	Window   time.Duration
}

// EndingsKept is how many endings of attempts a role remembers.
const EndingsKept = 16

// Ending is the end of one attempt at a task of a role.
type Ending struct {
	At     Time
	Task   TaskID
	Ran    time.Duration // since the attempt was claimed or, later, started
	Failed bool
	Final  bool    // its holder said that the task cannot be done; it has not Failed
	Agent  AgentID // that held it; 0: none
}

// MostProbes is how many tasks of a half-open role are tried at once before it opens.
const MostProbes = 8

// HalfOpen is the state of a role most of whose tasks have failed: a few are tried, the others wait.
// It is replaced, never changed: see Role.ChangeHalf.
type HalfOpen struct {
	Since    Time
	Allowed  uint32        // probes at once: 1, 2, 4, 8
	Probes   []Probe       // the tasks that are offered or were claimed since, in that order
	Last     Probed        // the task that was offered last: the next one is another
	Next     Time          // nothing is offered before this
	Missed   uint32        // failed probes since the last one that succeeded
	Outlives time.Duration // a probe that runs longer has succeeded
	Failed   uint32        // of the last Ended attempts, when it half-opened
	Ended    uint32
	Why      string // why the last attempt failed, in vigil's words
	Armed    Time   // when its timer is set; 0: none
	Final    bool   // final failures count as failures, until a task succeeds
	Finals   uint32 // final failures of probes since the last success, counted until Final
}

// Probe is a task that a half-open role tries.
type Probe struct {
	Task    TaskID
	Claimed Time // 0: not yet
	Urged   bool // by a human, beyond what is allowed
}

// Probed is the place of a task in the queue of its role.
type Probed struct {
	Priority int32
	Task     TaskID // 0: none
}

// ChangeHalf changes a copy, since views keep what they see. The role must be half-open.
func (r *Role) ChangeHalf(change func(*HalfOpen)) {
	h := *r.Half
	h.Probes = slices.Clone(h.Probes)
	change(&h)
	r.Half = &h
}

// Probing counts the probes that are not urged by a human.
func (h *HalfOpen) Probing() (n uint32) {
	for _, p := range h.Probes {
		if !p.Urged {
			n++
		}
	}
	return n
}

// Probe finds the probe of a task; -1: it is none.
func (h *HalfOpen) Probe(id TaskID) int {
	return slices.IndexFunc(h.Probes, func(p Probe) bool { return p.Task == id })
}

// NoteEnding remembers the end of an attempt.
func (r *Role) NoteEnding(e Ending) {
	if len(r.Endings) >= EndingsKept {
		r.Endings = r.Endings[len(r.Endings)-EndingsKept+1:]
	}
	r.Endings = append(r.Endings, e) // beyond what any view can see
}
