package rpc

import (
	"google.golang.org/protobuf/proto"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/triage"
)

// maxRoom bounds the bytes of a whole room; a log entry has 1 MiB.
const maxRoom = 512 << 10

// This file turns requests into commands: each function validates one request and
// builds its command, and touches nothing else. Batch uses the same functions.

func applyRoomCmd(r *vigilv1.ApplyRoomRequest) (fsm.Command, error) {
	var c form.Checks
	c.Name("room", r.GetRoom())
	c.Line("by", r.GetBy(), form.MaxWho)
	c.AtMost("roles", len(r.GetRoles()), noun.MaxRoles)
	cmd := fsm.ApplyRoom{Room: r.GetRoom(), By: r.GetBy(), IfRev: r.GetIfRev(), Now: r.GetNow(), Gentle: r.GetGentle()}
	if r.GetWatch() != nil {
		cmd.Watch = []noun.RoomWatch{c.RoomWatch(r.GetWatch())}
	}
	if r.GetBudget() != nil {
		cmd.Spend = []noun.SpendLimit{c.Budget("budget", r.GetBudget())}
	}
	if n := proto.Size(r); n > maxRoom && c.Err == nil {
		c.Err = fault.New(code.TooLarge,
			"The room has %d bytes, at most %d are allowed; shorten params and labels, or split it.", n, maxRoom)
	}
	seen := map[string]bool{}
	for i, spec := range r.GetRoles() {
		cmd.Roles = append(cmd.Roles, c.RoleSpec(i, spec))
		if seen[spec.GetName()] {
			c.Fail("role %s is declared twice; give each role its own name, and use replicas for more "+
				"agents of one.", spec.GetName())
		}
		seen[spec.GetName()] = true
		if c.Err != nil {
			return nil, c.Err
		}
	}
	return cmd, c.Err
}

func deleteRoomCmd(r *vigilv1.DeleteRoomRequest) (fsm.Command, error) {
	var c form.Checks
	c.Name("room", r.GetRoom())
	c.Line("by", r.GetBy(), form.MaxWho)
	return fsm.DeleteRoom{Room: r.GetRoom(), By: r.GetBy(), IfRev: r.GetIfRev(), Gentle: r.GetGentle()}, c.Err
}

func createTaskCmd(r *vigilv1.CreateTaskRequest) (fsm.Command, error) {
	var c form.Checks
	c.Name("room", r.GetRoom())
	c.Name("role", r.GetRole())
	c.Line("title", r.GetTitle(), noun.MaxTitle)
	c.Text("text", r.GetText(), noun.MaxTaskText)
	c.Line("by", r.GetBy(), form.MaxWho)
	expect, after := c.Expect("expect", r.GetExpect()), c.After(r.GetAfter())
	from, err := noun.ParseTrace(r.GetTraceparent())
	if err != nil {
		c.Fail("traceparent is not right: %v; leave it out where there is none.", err)
	}
	if r.GetTitle() == "" && r.GetText() == "" {
		c.Fail("title and text are both missing; a task needs at least one of them.")
	}
	return fsm.CreateTask{Room: r.GetRoom(), Role: r.GetRole(), Title: r.GetTitle(), Text: r.GetText(),
		By: r.GetBy(), Priority: r.GetPriority(), Expect: expect, After: after, Trace: from,
		Key: r.GetKey()}, c.Err
}

func cancelTaskCmd(r *vigilv1.CancelTaskRequest) (fsm.Command, error) {
	var c form.Checks
	c.Task(r.GetTask())
	c.Text("reason", r.GetReason(), noun.MaxReason)
	c.Line("by", r.GetBy(), form.MaxWho)
	return fsm.CancelTask{Task: noun.TaskID(r.GetTask()), IfRev: r.GetIfRev(), By: r.GetBy(),
		Reason: r.GetReason()}, c.Err
}

func retryTaskCmd(r *vigilv1.RetryTaskRequest) (fsm.Command, error) {
	var c form.Checks
	c.Task(r.GetTask())
	c.Line("by", r.GetBy(), form.MaxWho)
	return fsm.RetryTask{Task: noun.TaskID(r.GetTask()), IfRev: r.GetIfRev(), By: r.GetBy()}, c.Err
}

func setAgentCmd(r *vigilv1.SetAgentRequest) (fsm.Command, error) {
	var c form.Checks
	c.Agent("agent", r.GetAgent(), false)
	c.Line("by", r.GetBy(), form.MaxWho)
	c.Text("reason", r.GetReason(), noun.MaxReason)
	c.Present("desired", r.GetDesired(), "write running or stopped")
	if r.GetDesired() == "paused" {
		c.Fail("desired is paused; a pause is no stop: use SetPause (`vigil agent pause`).")
	}
	d := c.Word("desired", r.GetDesired(), form.DesiredWords()[:2])
	stop := noun.Desired(d) == noun.DesiredStopped
	if stop && r.GetFresh() {
		c.Fail("fresh goes with desired running; a stop keeps the resume value, a start may forget it.")
	}
	span := c.Lasts(r.GetFor(), stop, "a stop that ends")
	return fsm.SetAgent{Agent: r.GetAgent(), Stop: stop, By: r.GetBy(), IfRev: r.GetIfRev(),
		Fresh: r.GetFresh(), Reason: r.GetReason(), For: span}, c.Err
}

func restartAgentCmd(r *vigilv1.RestartAgentRequest) (fsm.Command, error) {
	var c form.Checks
	c.Agent("agent", r.GetAgent(), false)
	c.Line("by", r.GetBy(), form.MaxWho)
	c.Text("reason", r.GetReason(), noun.MaxReason)
	return fsm.RestartAgent{Agent: r.GetAgent(), By: r.GetBy(), Fresh: r.GetFresh(), Reason: r.GetReason(),
		IfRev: r.GetIfRev()}, c.Err
}

func joinCmd(r *vigilv1.JoinRequest) (fsm.Command, error) {
	var c form.Checks
	return fsm.Join{Speaker: c.Speaking(r.GetSpeaker(), true)}, c.Err
}

func leaveCmd(r *vigilv1.LeaveRequest) (fsm.Command, error) {
	var c form.Checks
	s := c.Speaking(r.GetSpeaker(), false)
	c.Text("reason", r.GetReason(), noun.MaxReason)
	return fsm.Leave{Speaker: s, Reason: r.GetReason()}, c.Err
}

func claimCmd(r *vigilv1.ClaimRequest) (fsm.Command, error) {
	var c form.Checks
	return fsm.Claim{Speaker: c.Speaking(r.GetSpeaker(), false), Task: noun.TaskID(r.GetTask()),
		Start: r.GetStart()}, c.Err
}

// work validates a word about a held task; limit is that of its text.
func workOf(c *form.Checks, s *vigilv1.Speaker, task uint64, attempt uint32, field, text string, limit int) fsm.Work {
	w := fsm.Work{Speaker: c.Speaking(s, false), Task: noun.TaskID(task), Attempt: attempt}
	c.Task(task)
	if attempt == 0 {
		c.Fail("attempt is missing; give the number that the claim answered with.")
	}
	c.Text(field, text, limit)
	return w
}

func startTaskCmd(r *vigilv1.WorkRequest) (fsm.Command, error) {
	var c form.Checks
	return fsm.StartTask{Work: workOf(&c, r.GetSpeaker(), r.GetTask(), r.GetAttempt(), "text",
		r.GetText(), noun.MaxNote)}, c.Err
}

func progressTaskCmd(r *vigilv1.WorkRequest) (fsm.Command, error) {
	var c form.Checks
	w := workOf(&c, r.GetSpeaker(), r.GetTask(), r.GetAttempt(), "text", r.GetText(), noun.MaxNote)
	cmd := fsm.ProgressTask{Work: w, Note: r.GetText(), Expect: c.Expect("expect", r.GetExpect())}
	if r.Percent != nil {
		if cmd.Percent = noun.PercentOf(r.GetPercent()); r.GetPercent() > 100 {
			c.Fail("percent is %d; give 0 to 100.", r.GetPercent())
		}
	}
	return cmd, c.Err
}

func completeTaskCmd(r *vigilv1.CompleteTaskRequest) (fsm.Command, error) {
	var c form.Checks
	w := workOf(&c, r.GetSpeaker(), r.GetTask(), r.GetAttempt(), "result", r.GetResult(), noun.MaxResult)
	done := fsm.CompleteTask{Work: w, Result: r.GetResult()}
	if d, why, ok := triage.Parse(done.Result); ok { // it counts where the task is a look
		return fsm.AnswerLook{CompleteTask: done, Decision: d, Reason: why}, c.Err
	}
	return done, c.Err
}

func failTaskCmd(r *vigilv1.WorkRequest) (fsm.Command, error) { return failCmd(r, "text") }

// failCmd calls the reason by the name of its field.
func failCmd(r *vigilv1.WorkRequest, field string) (fsm.Command, error) {
	var c form.Checks
	w := workOf(&c, r.GetSpeaker(), r.GetTask(), r.GetAttempt(), field, r.GetText(), noun.MaxReason)
	c.Text("result", r.GetResult(), noun.MaxResult)
	after := c.After(r.GetAfter())
	if after != 0 && !r.GetRetryable() {
		c.Fail("after goes with retryable: what is not tried again needs no time for it.")
	}
	return fsm.FailTask{Work: w, Reason: r.GetText(), Retryable: r.GetRetryable(), After: after,
		Result: r.GetResult()}, c.Err
}

func handoffCmd(r *vigilv1.HandoffRequest) (fsm.Command, error) {
	var c form.Checks
	w := workOf(&c, r.GetSpeaker(), r.GetTask(), r.GetAttempt(), "result", r.GetResult(), noun.MaxResult)
	c.Name("to_role", r.GetToRole())
	c.Line("title", r.GetTitle(), noun.MaxTitle)
	c.Text("text", r.GetText(), noun.MaxTaskText)
	if r.GetTitle() == "" && r.GetText() == "" {
		c.Fail("title and text are both missing; the next task needs at least one of them.")
	}
	return fsm.Handoff{Work: w, Result: r.GetResult(), ToRole: r.GetToRole(), Title: r.GetTitle(),
		Text: r.GetText(), Priority: r.GetPriority()}, c.Err
}

func setResumeCmd(r *vigilv1.SetResumeRequest) (fsm.Command, error) {
	var c form.Checks
	s := c.Speaking(r.GetSpeaker(), false)
	c.Text("resume", r.GetResume(), noun.MaxResume)
	return fsm.SetResume{Speaker: s, Resume: r.GetResume()}, c.Err
}

func declareCmd(r *vigilv1.DeclareRequest) (fsm.Command, error) {
	var c form.Checks
	s := c.Speaking(r.GetSpeaker(), false)
	cmd := fsm.Declare{Speaker: s, Text: r.GetText(), Seq: r.GetSequence(),
		Status:  noun.DeclaredStatus(c.Word("status", r.GetStatus(), noun.StatusNames())),
		Waiting: noun.Waiting(c.Word("waiting", r.GetWaiting(), noun.WaitingNames())),
		For:     c.Duration("for", r.GetFor())}
	c.Text("text", r.GetText(), noun.MaxReason)
	return cmd, c.Err
}

func openSessionCmd(r *vigilv1.OpenSessionRequest) (fsm.Command, error) {
	var c form.Checks
	c.Line("client", r.GetClient(), form.MaxWho)
	return fsm.OpenSession{Client: r.GetClient()}, c.Err
}
