package noun

import "slices"

// TaskState is the state of a task; see the chart in the package comment.
type TaskState uint8

// Task states. The numbers are written to disk.
const (
	TaskQueued TaskState = iota + 1
	TaskPending
	TaskAcknowledged
	TaskInProgress
	TaskCompleted
	TaskFailed
	TaskCanceled
	TaskQuarantined
)

var taskStateNames = [...]string{"", "QUEUED", "PENDING", "ACKNOWLEDGED", "IN_PROGRESS",
	"COMPLETED", "FAILED", "CANCELED", "QUARANTINED"}

func (s TaskState) String() string {
	if int(s) < len(taskStateNames) {
		return taskStateNames[s]
	}
	return "UNKNOWN"
}

// Terminal tells whether the state is an end: only RetryTask leaves it.
func (s TaskState) Terminal() bool { return s >= TaskCompleted }

// Held tells whether an incarnation holds the task.
func (s TaskState) Held() bool { return s == TaskAcknowledged || s == TaskInProgress }

// Task is a unit of work addressed to a role. Checked by Checker.task of package core:
//
//  1. One that is held is the Task of its Holder, whose incarnation is HolderInc (law L8).
//  2. One that is held has an attempt of at least 1.
//  3. The timer of one that is held is not set later than its row (Checker.Armed, law L3).
//  4. TextGone leaves no Text (Checker.ledger).
type Task struct {
	ID       TaskID
	Room     RoomID
	Role     RoleID
	State    TaskState
	Priority int32 // higher first
	Title    string
	Text     string // at most MaxTaskText bytes; never logged
	Creator  string
	Parent   TaskID // the task whose hand-off created this one
	Next     TaskID // the task that its own hand-off created

	Attempt   uint32      // number of the last claim; the fencing token of its work
	Holder    AgentID     // of the last attempt, held or not
	HolderInc Incarnation // of the last attempt
	Kills     uint32      // incarnations that died by themselves, or that the ladder ended, while they held it
	Charged   uint32      // attempts that ended by a fault of the task or its holder
	Note      string      // last progress note
	Result    string      // of the completion, failure or cancellation
	Late      []LateResult

	CreatedAt  Wall
	ChangedAt  Time // cluster time of the last change of state
	FinishedAt Time // cluster time of the terminal state
	FinishSeq  uint64
	Progress   Time // cluster time of the last sign of progress
	Armed      Time // when its timer is set; 0: none
	Rev        uint64

	Plan *Plan  // what is expected of it; nil: nothing; replaced, never changed
	Past []Held // the attempts before the last one, oldest first, at most PastKept; replaced, never changed

	// Dropped is how many bytes of its texts were dropped or cut for want of space; TextGone
	// tells that Text was among them. See relief.
	Dropped  uint64
	TextGone bool
	// Stuck tells that one of Kills was ended by the ladder: the task is never FAILED by its
	// attempt limit, which calls nobody, but QUARANTINED.
	Stuck bool

	Retry *Retry // of being tried again; nil: nothing; replaced, never changed
	Trace Trace  // of whoever created it, or handed it over; empty: it begins one of its own
	Key   string // by which whoever created it finds it again, one of its room; empty: none
	// Used is what was used for it, as far as hosts have told; nil: nothing; replaced, never changed. See LifeUsage.Task.
	Used *Usage
	// Swept: the conversation watchdog has canceled it, with so many others that it took several entries.
	Swept bool
	// Hops is how often in a row the work was handed on until it was this task; a human's word sets it to 0.
	Hops uint32
}

// Held says who had an attempt.
type Held struct {
	Attempt uint32
	Agent   AgentID
	Inc     Incarnation
}

// PastKept is how many attempts before the last one a task remembers. As many late results
// are kept.
const PastKept = 3

// Pass makes an incarnation the holder of the last attempt, 0: nobody, and remembers who
// held it.
func (t *Task) Pass(to AgentID, inc Incarnation) {
	if t.Holder != 0 {
		t.Past = append(slices.Clone(t.Past[max(0, len(t.Past)-PastKept+1):]), Held{t.Attempt, t.Holder, t.HolderInc})
	}
	t.Holder, t.HolderInc = to, inc
}

// WasOf tells that the attempt was one of the incarnation.
func (t *Task) WasOf(h Held) bool {
	return h == Held{t.Attempt, t.Holder, t.HolderInc} || slices.Contains(t.Past, h)
}

// LateResult is a result that came too late to count, or with the failure of its attempt. It is kept for people.
type LateResult struct {
	Attempt uint32
	Inc     Incarnation
	Result  string
	At      Wall
}

// Droppable is what would be saved if a task lost its texts; its title stays.
func (t *Task) Droppable() (n int) {
	n = len(t.Text) + len(t.Note) + len(t.Result)
	for i := range t.Late {
		n += len(t.Late[i].Result) + costLate
	}
	return n
}
