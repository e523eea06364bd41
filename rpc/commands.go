package rpc

import (
	"google.golang.org/protobuf/proto"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/triage"
)

// This file turns requests into commands: each function validates one request and
// builds its command, and touches nothing else. Batch uses the same functions.

func applyRoomCmd(r *vigilv1.ApplyRoomRequest) (fsm.Command, error) {
	var c checks
	c.name("room", r.GetRoom())
	c.line("by", r.GetBy(), maxWho)
	c.atMost("roles", len(r.GetRoles()), noun.MaxRoles)
	cmd := fsm.ApplyRoom{Room: r.GetRoom(), By: r.GetBy(), IfRev: r.GetIfRev(), Now: r.GetNow(), Gentle: r.GetGentle()}
	if r.GetWatch() != nil {
		cmd.Watch = []noun.RoomWatch{c.roomWatch(r.GetWatch())}
	}
	if n := proto.Size(r); n > maxRoom && c.err == nil {
		c.err = fault.New(code.TooLarge,
			"The room has %d bytes, at most %d are allowed; shorten params and labels, or split it.", n, maxRoom)
	}
	seen := map[string]bool{}
	for i, spec := range r.GetRoles() {
		cmd.Roles = append(cmd.Roles, c.roleSpec(i, spec))
		if seen[spec.GetName()] {
			c.fail("role %s is declared twice; give each role its own name, and use replicas for more "+
				"agents of one.", spec.GetName())
		}
		seen[spec.GetName()] = true
		if c.err != nil {
			return nil, c.err
		}
	}
	return cmd, c.err
}

func deleteRoomCmd(r *vigilv1.DeleteRoomRequest) (fsm.Command, error) {
	var c checks
	c.name("room", r.GetRoom())
	c.line("by", r.GetBy(), maxWho)
	return fsm.DeleteRoom{Room: r.GetRoom(), By: r.GetBy(), IfRev: r.GetIfRev(), Gentle: r.GetGentle()}, c.err
}

func createTaskCmd(r *vigilv1.CreateTaskRequest) (fsm.Command, error) {
	var c checks
	c.name("room", r.GetRoom())
	c.name("role", r.GetRole())
	c.line("title", r.GetTitle(), noun.MaxTitle)
	c.text("text", r.GetText(), noun.MaxTaskText)
	c.line("by", r.GetBy(), maxWho)
	expect, after := c.expect("expect", r.GetExpect()), c.after(r.GetAfter())
	if r.GetTitle() == "" && r.GetText() == "" {
		c.fail("title and text are both missing; a task needs at least one of them.")
	}
	return fsm.CreateTask{Room: r.GetRoom(), Role: r.GetRole(), Title: r.GetTitle(), Text: r.GetText(),
		By: r.GetBy(), Priority: r.GetPriority(), Expect: expect, After: after}, c.err
}

func cancelTaskCmd(r *vigilv1.CancelTaskRequest) (fsm.Command, error) {
	var c checks
	c.task(r.GetTask())
	c.text("reason", r.GetReason(), noun.MaxReason)
	c.line("by", r.GetBy(), maxWho)
	return fsm.CancelTask{Task: noun.TaskID(r.GetTask()), IfRev: r.GetIfRev(), By: r.GetBy(),
		Reason: r.GetReason()}, c.err
}

func retryTaskCmd(r *vigilv1.RetryTaskRequest) (fsm.Command, error) {
	var c checks
	c.task(r.GetTask())
	c.line("by", r.GetBy(), maxWho)
	return fsm.RetryTask{Task: noun.TaskID(r.GetTask()), IfRev: r.GetIfRev(), By: r.GetBy()}, c.err
}

func setAgentCmd(r *vigilv1.SetAgentRequest) (fsm.Command, error) {
	var c checks
	c.agent("agent", r.GetAgent(), false)
	c.line("by", r.GetBy(), maxWho)
	c.text("reason", r.GetReason(), noun.MaxReason)
	c.present("desired", r.GetDesired(), "write running or stopped")
	if r.GetDesired() == "paused" {
		c.fail("desired is paused; a pause is no stop: use SetPause (`vigil agent pause`).")
	}
	d := c.word("desired", r.GetDesired(), desiredWords()[:2])
	stop := noun.Desired(d) == noun.DesiredStopped
	if stop && r.GetFresh() {
		c.fail("fresh goes with desired running; a stop keeps the resume value, a start may forget it.")
	}
	span := c.lasts(r.GetFor(), stop, "a stop that ends")
	return fsm.SetAgent{Agent: r.GetAgent(), Stop: stop, By: r.GetBy(), IfRev: r.GetIfRev(),
		Fresh: r.GetFresh(), Reason: r.GetReason(), For: span}, c.err
}

func noteNudgeCmd(r *vigilv1.NudgeAgentRequest) (fsm.Command, error) {
	var c checks
	c.agent("agent", r.GetAgent(), false)
	c.typed("text", r.GetText())
	c.line("by", r.GetBy(), maxWho)
	c.text("reason", r.GetReason(), noun.MaxReason)
	return fsm.NoteNudge{Agent: r.GetAgent(), By: r.GetBy(), Reason: r.GetReason()}, c.err
}

func restartAgentCmd(r *vigilv1.RestartAgentRequest) (fsm.Command, error) {
	var c checks
	c.agent("agent", r.GetAgent(), false)
	c.line("by", r.GetBy(), maxWho)
	c.text("reason", r.GetReason(), noun.MaxReason)
	return fsm.RestartAgent{Agent: r.GetAgent(), By: r.GetBy(), Fresh: r.GetFresh(), Reason: r.GetReason()}, c.err
}

func joinCmd(r *vigilv1.JoinRequest) (fsm.Command, error) {
	var c checks
	return fsm.Join{Speaker: c.speaking(r.GetSpeaker(), true)}, c.err
}

func leaveCmd(r *vigilv1.LeaveRequest) (fsm.Command, error) {
	var c checks
	s := c.speaking(r.GetSpeaker(), false)
	c.text("reason", r.GetReason(), noun.MaxReason)
	return fsm.Leave{Speaker: s, Reason: r.GetReason()}, c.err
}

func claimCmd(r *vigilv1.ClaimRequest) (fsm.Command, error) {
	var c checks
	return fsm.Claim{Speaker: c.speaking(r.GetSpeaker(), false), Task: noun.TaskID(r.GetTask())}, c.err
}

// work validates a word about a held task; limit is that of its text.
func workOf(c *checks, s *vigilv1.Speaker, task uint64, attempt uint32, field, text string, limit int) fsm.Work {
	w := fsm.Work{Speaker: c.speaking(s, false), Task: noun.TaskID(task), Attempt: attempt}
	c.task(task)
	if attempt == 0 {
		c.fail("attempt is missing; give the number that the claim answered with.")
	}
	c.text(field, text, limit)
	return w
}

func startTaskCmd(r *vigilv1.WorkRequest) (fsm.Command, error) {
	var c checks
	return fsm.StartTask{Work: workOf(&c, r.GetSpeaker(), r.GetTask(), r.GetAttempt(), "text",
		r.GetText(), noun.MaxNote)}, c.err
}

func progressTaskCmd(r *vigilv1.WorkRequest) (fsm.Command, error) {
	var c checks
	w := workOf(&c, r.GetSpeaker(), r.GetTask(), r.GetAttempt(), "text", r.GetText(), noun.MaxNote)
	cmd := fsm.ProgressTask{Work: w, Note: r.GetText(), Expect: c.expect("expect", r.GetExpect())}
	if r.Percent != nil {
		if cmd.Percent = noun.PercentOf(r.GetPercent()); r.GetPercent() > 100 {
			c.fail("percent is %d; give 0 to 100.", r.GetPercent())
		}
	}
	return cmd, c.err
}

func completeTaskCmd(r *vigilv1.CompleteTaskRequest) (fsm.Command, error) {
	var c checks
	w := workOf(&c, r.GetSpeaker(), r.GetTask(), r.GetAttempt(), "result", r.GetResult(), noun.MaxResult)
	done := fsm.CompleteTask{Work: w, Result: r.GetResult()}
	if d, why, ok := triage.Parse(done.Result); ok { // it counts where the task is a look
		return fsm.AnswerLook{CompleteTask: done, Decision: d, Reason: why}, c.err
	}
	return done, c.err
}

func failTaskCmd(r *vigilv1.WorkRequest) (fsm.Command, error) {
	var c checks
	w := workOf(&c, r.GetSpeaker(), r.GetTask(), r.GetAttempt(), "text", r.GetText(), noun.MaxReason)
	after := c.after(r.GetAfter())
	if after != 0 && !r.GetRetryable() {
		c.fail("after goes with retryable: what is not tried again needs no time for it.")
	}
	return fsm.FailTask{Work: w, Reason: r.GetText(), Retryable: r.GetRetryable(), After: after}, c.err
}

func handoffCmd(r *vigilv1.HandoffRequest) (fsm.Command, error) {
	var c checks
	w := workOf(&c, r.GetSpeaker(), r.GetTask(), r.GetAttempt(), "result", r.GetResult(), noun.MaxResult)
	c.name("to_role", r.GetToRole())
	c.line("title", r.GetTitle(), noun.MaxTitle)
	c.text("text", r.GetText(), noun.MaxTaskText)
	if r.GetTitle() == "" && r.GetText() == "" {
		c.fail("title and text are both missing; the next task needs at least one of them.")
	}
	return fsm.Handoff{Work: w, Result: r.GetResult(), ToRole: r.GetToRole(), Title: r.GetTitle(),
		Text: r.GetText(), Priority: r.GetPriority()}, c.err
}

func setResumeCmd(r *vigilv1.SetResumeRequest) (fsm.Command, error) {
	var c checks
	s := c.speaking(r.GetSpeaker(), false)
	c.text("resume", r.GetResume(), noun.MaxResume)
	return fsm.SetResume{Speaker: s, Resume: r.GetResume()}, c.err
}

func declareCmd(r *vigilv1.DeclareRequest) (fsm.Command, error) {
	var c checks
	s := c.speaking(r.GetSpeaker(), false)
	cmd := fsm.Declare{Speaker: s, Text: r.GetText(), Seq: r.GetSequence(),
		Status:  noun.DeclaredStatus(c.word("status", r.GetStatus(), noun.StatusNames())),
		Waiting: noun.Waiting(c.word("waiting", r.GetWaiting(), noun.WaitingNames())),
		For:     c.duration("for", r.GetFor())}
	c.text("text", r.GetText(), noun.MaxReason)
	return cmd, c.err
}

func openSessionCmd(r *vigilv1.OpenSessionRequest) (fsm.Command, error) {
	var c checks
	c.line("client", r.GetClient(), maxWho)
	return fsm.OpenSession{Client: r.GetClient()}, c.err
}
