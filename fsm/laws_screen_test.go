package fsm

import (
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// watched is an agent in the middle of a task, at feature level 3, whose host looks at its
// terminal. Its beats go on; it has shown progress once.
type watched struct{ *hung }

func newWatched(t *testing.T, change ...func(*noun.RoleSpec)) *watched {
	t.Helper()
	x := &watched{&hung{drive: newDrive(t)}}
	x.jump(time.Minute)
	x.h = x.host("h1", "w")
	spec := noun.RoleSpec{Name: "a", Runner: "w"}
	for _, f := range change {
		f(&spec)
	}
	x.room("r", spec)
	x.begin()
	x.beating(time.Second)
	x.must(ProgressTask{Work: Work{Speaker: x.me, Task: x.task, Attempt: 1}, Note: "on it"})
	return x
}

func (x *watched) see(kind noun.PromptKind, quiet bool) {
	x.t.Helper()
	x.must(ReportScreen{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.agent(hungName).Inc, Kind: kind, Quiet: quiet})
}

func (x *watched) reason(evidence string) (r judge.Reason) {
	v := x.s.Verdict(x.agent(hungName).ID, true)
	if at := slices.IndexFunc(v.Reasons, func(r judge.Reason) bool { return r.Evidence == evidence }); at >= 0 {
		r = v.Reasons[at]
	}
	return r
}

// prompts are the escalations about prompts.
func (d *drive) prompts() (list []*noun.Escalation) {
	for e := range d.s.Escalations(0) {
		if e.Kind == noun.EscPrompt {
			list = append(list, e)
		}
	}
	return list
}

// Incident I43: an agent that is frozen at a permission prompt for hours, without a word of
// its own, needs input within one look, is never healthy, neither nudged nor restarted, keeps
// its task and its room, and calls a human, once and then at a slow rate.
func TestI43PermissionPrompt(t *testing.T) {
	x := newWatched(t, func(r *noun.RoleSpec) {
		r.Ladder, r.ProgressLimit, r.HealthEvery, r.HealthMissed = noun.LadderRestart, 10*time.Minute, time.Minute, 3
	})
	life := x.me.Inc
	x.see(noun.PromptNone, false)
	x.see(noun.PromptPermission, false)
	if v, r := x.verdict(), x.reason("screen"); v != judge.AgentNeedsInput || !r.Bad ||
		!strings.Contains(r.Text, "permission prompt") {
		t.Fatalf("%s: %+v", v, r)
	}
	limit := x.s.Settings().Prompt.Limit
	x.beating(limit - time.Second)
	if n := len(x.prompts()); n != 0 {
		t.Fatalf("%d calls before the limit", n)
	}
	x.beating(time.Second)
	list := x.prompts()
	if len(list) != 1 || list[0].Subject != hungName || list[0].Task != x.task || list[0].Count != 1 {
		t.Fatalf("at the limit: %+v", list)
	}
	x.must(AckEscalation{Escalation: list[0].ID, By: "ann"})
	x.see(noun.PromptPermission, true)
	x.beating(10 * time.Hour)
	if v := x.verdict(); v != judge.AgentNeedsInput {
		t.Errorf("%s after ten hours", v)
	}
	list = x.prompts()
	if len(list) != 1 || list[0].Count != 1 || x.events("escalation.opened") != 1 {
		t.Errorf("a human was called %+v", list)
	}
	a := x.agent(hungName)
	if a.Inc != life || a.Task != x.task || a.Order != noun.NoOrder || x.climb().Next != noun.NoRung ||
		x.events("agent.nudged") != 0 {
		t.Errorf("%+v", a)
	}
	if q := x.s.Quiet(x.s.Room("r")); q.State != RoomExempt || !strings.Contains(q.Why, "permission prompt") {
		t.Errorf("its room is %s: %s", q.State, q.Why)
	}
	x.see(noun.PromptNone, false) // somebody has answered
	if v := x.verdict(); v != judge.AgentHealthy || x.s.Lasts(list[0]) {
		t.Errorf("%s after the answer", v)
	}
	x.beating(5 * time.Minute) // its limits run from the answer on
	if x.agent(hungName).Task != x.task {
		t.Error("its task was taken from it right after the answer")
	}
	x.must(CompleteTask{Work: Work{Speaker: x.me, Task: x.task, Attempt: 1}, Result: "done"})
}

// A task that was claimed and not begun waits as well while a prompt stands on the terminal: its holder gets its time
// from the answer on, and nobody is charged.
func TestI43PermissionPromptBeforeTheTaskIsBegun(t *testing.T) {
	for level, held := range map[uint32]bool{0: false, core.LevelRetry: true} {
		x := newWatched(t, func(r *noun.RoleSpec) { r.AckLimit = 2 * time.Minute })
		if level > 0 {
			x.must(RaiseLevel{Level: level})
		}
		x.must(CompleteTask{Work: Work{Speaker: x.me, Task: x.task, Attempt: 1}, Result: "done"})
		task := x.must(CreateTask{Room: "r", Role: "a", Title: "t"}).Task
		x.must(Claim{Speaker: x.me})
		x.see(noun.PromptPermission, false)
		x.beating(10 * time.Minute)
		if got := x.s.Task(task); (got.State == noun.TaskAcknowledged) != held || held && got.Charged != 0 {
			t.Fatalf("level %d: at the prompt the task is %s, %d charged", level, got.State, got.Charged)
		}
		if !held {
			continue
		}
		x.see(noun.PromptNone, false)
		x.beating(2*time.Minute - time.Second)
		if got := x.s.Task(task); got.State != noun.TaskAcknowledged {
			t.Errorf("right after the answer it is %s", got.State)
		}
		x.beating(2 * time.Second)
		if got := x.s.Task(task); got.State == noun.TaskAcknowledged {
			t.Errorf("its holder never begins, and it is %s", got.State)
		}
	}
}

// Incident I43, the agent that cannot report: nobody looks at its terminal, so it falls to
// "no progress" and a human is told, never "healthy".
func TestI43WithoutEyes(t *testing.T) {
	x := newWatched(t, func(r *noun.RoleSpec) { r.Ladder = noun.LadderEscalate })
	x.beating(judge.StalledAfter + time.Second)
	for _, r := range []noun.Rung{noun.RungNudge, noun.RungWake, noun.RungEscalate} {
		x.up(r)
		if v := x.verdict(); v != judge.AgentStalled {
			t.Errorf("%s on rung %s", v, r)
		}
	}
	if x.events("agent.needs_human") != 1 {
		t.Error("no human was told")
	}
}

// A human who closes the escalation about a permission prompt has answered it, or believes so. What stands there goes
// on to be the business of a human: another prompt that came up without a look in between, or the same one. So it
// calls once more when it has stood for prompt_limit since then, and since when it stands is not forgotten. Who
// acknowledges it is not called. Servers of an older level do not say so.
func TestPromptThatStandsWhenItsEscalationIsClosedCallsAgain(t *testing.T) {
	for level, want := range map[uint32]int{0: 0, core.LevelRetry: 1} {
		x := newWatched(t)
		if level > 0 {
			x.must(RaiseLevel{Level: level})
		}
		limit := x.s.Settings().Prompt.Limit
		x.see(noun.PromptPermission, true)
		x.must(Declare{Speaker: x.me, Waiting: noun.WaitingInput, For: limit / 2}) // a hook says the same
		x.beating(limit)
		e := x.prompts()[0]
		x.beating(time.Hour)
		x.must(AckEscalation{Escalation: e.ID, By: "ann"})
		x.beating(time.Hour)
		if got := x.prompts(); len(got) != 1 || got[0].State != noun.EscalationAcknowledged || got[0].Count != 1 {
			t.Fatalf("level %d: %+v for one that somebody looks after", level, got[0])
		}
		at := x.agent(hungName).Screen().At
		x.must(CloseEscalation{Escalation: e.ID, By: "ann"})
		x.must(CloseEscalation{Escalation: e.ID, By: "bob"}) // too late
		x.s = reload(t, x.s)                                 // L12
		x.beating(limit - time.Second)
		if got := x.calls(); len(got) != 0 {
			t.Fatalf("level %d: %q before the limit", level, got)
		}
		x.beating(time.Second)
		if got := x.calls(); len(got) != want || len(x.prompts()) != 1+want {
			t.Fatalf("level %d: %q at the limit", level, got)
		}
		x.beating(time.Hour)
		if got := x.calls(); len(got) != want || x.agent(hungName).Screen().At != at {
			t.Errorf("level %d: %q an hour later, %+v", level, got, x.agent(hungName).Screen())
		}
		x.see(noun.PromptNone, false)
		x.see(noun.PromptPermission, false)
		x.beating(limit - time.Second) // the next one has a limit of its own
		if got := x.prompts(); got[len(got)-1].Count != 1 {
			t.Errorf("level %d: %+v before the limit of the next prompt", level, got[len(got)-1])
		}
	}
}

// A human who closes an escalation long after its prompt puts nothing off for the next one, and none that is closed
// when the prompt is gone calls anybody.
func TestClosingTooLatePutsNothingOff(t *testing.T) {
	x := newWatched(t)
	x.must(RaiseLevel{Level: core.LevelRetry})
	limit := x.s.Settings().Prompt.Limit
	x.see(noun.PromptPermission, true)
	x.beating(limit)
	x.see(noun.PromptNone, false)
	x.beating(time.Hour)
	x.see(noun.PromptPermission, true)
	x.beating(limit - time.Minute)
	x.must(CloseEscalation{Escalation: x.prompts()[0].ID, By: "ann"})
	x.beating(time.Minute)
	if got := x.calls(); !slices.Equal(got, []string{"permission_prompt"}) {
		t.Fatalf("%q at the limit of the next prompt", got)
	}
	x.see(noun.PromptNone, false)
	for _, e := range x.prompts() {
		x.must(CloseEscalation{Escalation: e.ID, By: "ann"})
	}
	x.beating(time.Hour)
	if got := x.calls(); len(got) != 0 {
		t.Errorf("%q for a prompt that has gone", got)
	}
}

// A hook has declared the call of a tool before the prompt came up: what is seen now counts.
func TestPromptBeatsABusyDeclaration(t *testing.T) {
	x := newWatched(t)
	x.must(Declare{Speaker: x.me, Waiting: noun.WaitingTool, For: time.Hour})
	x.see(noun.PromptPermission, false)
	if v := x.verdict(); v != judge.AgentNeedsInput {
		t.Errorf("%s", v)
	}
	x.see(noun.PromptNone, false)
	if v := x.verdict(); v != judge.AgentBusy {
		t.Errorf("%s after the prompt", v)
	}
}

// A tool that asks "do you trust this folder?" before the agent could join is not replaced at
// the start limit; once it has an answer the limit runs.
func TestPromptBeforeTheJoin(t *testing.T) {
	x := newWatched(t)
	x.must(ReportExit{Host: x.h, Agent: x.agent(hungName).ID, Inc: x.me.Inc})
	x.me = x.start(hungName, x.h)
	x.see(noun.PromptPermission, false)
	x.beating(time.Hour)
	if a := x.agent(hungName); a.Inc != x.me.Inc || a.Order != noun.NoOrder ||
		x.verdict() != judge.AgentNeedsInput || len(x.prompts()) != 1 {
		t.Fatalf("%s, %+v", x.verdict(), a)
	}
	x.see(noun.PromptNone, false)
	x.beating(x.s.RoleByName("r", "a").Spec.StartLimit + time.Second)
	if x.events("agent.start_limit") != 1 {
		t.Error("it was never replaced after the answer")
	}
}

// Visibly not working: five minutes at the idle prompt with a task and without output are
// enough for a nudge; output, progress or another prompt in between is not.
func TestIdlePromptWithATask(t *testing.T) {
	limit := noun.DefaultSettings().Prompt.Idle
	for name, tt := range map[string]struct {
		do   func(x *watched)
		want judge.Kind
	}{
		"idle and quiet": {func(x *watched) { x.see(noun.PromptIdle, true); x.beating(limit + time.Second) },
			judge.AgentStalled},
		"not for long": {func(x *watched) {
			x.beating(limit)
			x.see(noun.PromptIdle,
				true)
			x.beating(limit)
		}, judge.AgentHealthy},
		"output goes on": {func(x *watched) { x.see(noun.PromptIdle, false); x.beating(limit + time.Second) },
			judge.AgentHealthy},
		"quiet alone": {func(x *watched) {
			x.see(noun.PromptNone,
				true)
			x.beating(judge.StalledAfter - time.Minute)
		}, judge.AgentHealthy},
		"quiet, no progress": {func(x *watched) {
			x.see(noun.PromptNone, true)
			x.beating(judge.StalledAfter +
				time.Second)
		}, judge.AgentStalled},
		"progress": {func(x *watched) {
			x.see(noun.PromptIdle, true)
			x.beating(limit)
			x.must(ProgressTask{Work: Work{Speaker: x.me, Task: x.task, Attempt: 1}, Note: "on it"})
			x.beating(time.Minute)
		}, judge.AgentHealthy},
		"mail": {func(x *watched) {
			x.see(noun.PromptIdle, true)
			x.beating(limit)
			x.must(SendMail{Speaker: x.me, To: "r/a", Subject: "s"})
			x.beating(time.Minute)
		}, judge.AgentHealthy},
		"declared": {func(x *watched) {
			x.see(noun.PromptIdle, true)
			x.must(Declare{Speaker: x.me, Status: noun.StatusBusy, For: time.Hour})
			x.beating(limit + time.Second)
		}, judge.AgentBusy},
		"its role allows more": {func(x *watched) {
			x.see(noun.PromptIdle, true)
			x.beating(limit + time.Second)
		}, judge.AgentStalled},
		"it went": {func(x *watched) {
			x.see(noun.PromptIdle, true)
			x.beating(limit + time.Second)
			x.see(noun.PromptNone, false)
		}, judge.AgentHealthy},
	} {
		t.Run(name, func(t *testing.T) {
			x := newWatched(t, func(r *noun.RoleSpec) {
				if name == "its role allows more" {
					r.ProgressLimit = 2 * time.Hour
				}
			})
			tt.do(x)
			if v := x.verdict(); v != tt.want {
				t.Errorf("%s, want %s: %+v", v, tt.want, x.s.Verdict(x.agent(hungName).ID, true).Reasons)
			}
		})
	}
}

// The ladder goes up with an agent at its idle prompt, although text that is typed moves its
// terminal in between: what is seen is no word of the agent, so no nudge repeats for ever.
func TestScreensEndNoEpisode(t *testing.T) {
	x := newWatched(t)
	idle := func() {
		x.see(noun.PromptIdle, true)
		x.beating(x.s.Settings().Prompt.Idle + time.Second)
	}
	idle()
	x.up(noun.RungNudge)
	x.see(noun.PromptNone, false)
	x.beating(time.Minute)
	if c := x.climb(); c.Next != noun.NoRung {
		t.Errorf("it works, and %s is next", c.Next)
	}
	for _, r := range []noun.Rung{noun.RungWake, noun.RungInterrupt, noun.RungRestart} {
		idle()
		x.up(r)
		x.see(noun.PromptNone, false)
	}
	if n := x.events("agent.nudged"); n != 1 {
		t.Errorf("%d nudges in one episode", n)
	}
}

// A permission prompt ends an episode: what came before it has its answer in it.
func TestPermissionPromptEndsAnEpisode(t *testing.T) {
	x := newWatched(t)
	x.beating(judge.StalledAfter + time.Second)
	x.up(noun.RungNudge)
	x.see(noun.PromptPermission, false)
	x.beating(time.Hour)
	x.see(noun.PromptNone, false)
	x.beating(judge.StalledAfter + time.Second)
	if c := x.climb(); c.Next != noun.RungNudge {
		t.Errorf("next is %s after %+v", c.Next, c.Ladder)
	}
}

// Out of quota is nobody's fault, and it sleeps. The words stay on the terminal when the limit is over,
// and no tool goes on by itself: so it sleeps for usage_pause, and when it has then stood there for
// idle_prompt_limit without progress it is stalled, nudged, woken, and a human is called. It is never
// restarted, which would only charge its task, and its room is left alone.
func TestUsageLimitOnTheTerminalMayBeOver(t *testing.T) {
	x := newWatched(t, func(r *noun.RoleSpec) { r.Ladder = noun.LadderRestart })
	x.must(RaiseLevel{Level: core.LevelRetry})
	set := x.s.Settings()
	life := x.me.Inc
	x.see(noun.PromptUsageLimit, false)
	x.see(noun.PromptUsageLimit, true)
	x.beating(set.UsagePause - time.Second)
	if v := x.verdict(); v != judge.AgentSleeping || x.climb().Next != noun.NoRung {
		t.Fatalf("%s, %+v before the pause is over", v, x.climb())
	}
	x.beating(time.Second)
	if v, r := x.verdict(), x.reason("screen"); v != judge.AgentDegraded || !r.Bad || x.climb().Next != noun.NoRung {
		t.Fatalf("%s, %+v, %+v at the end of the pause", v, r, x.climb())
	}
	x.beating(set.Prompt.Idle)
	if c := x.climb(); c.Next != noun.NoRung {
		t.Fatalf("%s is next before its time", c.Next)
	}
	x.beating(time.Second)
	if v := x.verdict(); v != judge.AgentStalled {
		t.Fatalf("%s after the pause and the limit of an idle prompt", v)
	}
	for _, r := range []noun.Rung{noun.RungNudge, noun.RungWake, noun.RungEscalate} {
		x.up(r)
	}
	x.beating(5 * time.Hour)
	if a := x.agent(hungName); a.Inc != life || a.Order != noun.NoOrder || a.Task != x.task ||
		x.events("agent.needs_human") != 1 || x.s.Task(x.task).Kills != 0 || len(x.prompts()) != 0 {
		t.Errorf("%+v, %d calls, task %+v", a, x.events("agent.needs_human"), x.s.Task(x.task))
	}
	if q := x.s.Quiet(x.s.Room("r")); q.State != RoomExempt || !strings.Contains(q.Why, "out of quota") {
		t.Errorf("its room is %s: %s", q.State, q.Why)
	}
	x.see(noun.PromptNone, false) // the nudge, or a human, had it go on
	x.must(ProgressTask{Work: Work{Speaker: x.me, Task: x.task, Attempt: 1}, Note: "on it"})
	if v := x.verdict(); v != judge.AgentHealthy || x.climb().Next != noun.NoRung {
		t.Errorf("%s, %+v when it goes on", v, x.climb())
	}
}

// What is printed again after a nudge is another notice: the agent sleeps once more, and is nudged
// once more when that is over, until the limit is.
func TestUsageLimitThatIsShownAgain(t *testing.T) {
	x := newWatched(t)
	x.must(RaiseLevel{Level: core.LevelRetry})
	set := x.s.Settings()
	for n := range 3 {
		x.see(noun.PromptUsageLimit, true)
		x.beating(set.UsagePause)
		if v := x.verdict(); v != judge.AgentDegraded {
			t.Fatalf("%s at the end of pause %d", v, n)
		}
		x.beating(set.Prompt.Idle + time.Second)
		x.up(noun.RungNudge)
		x.see(noun.PromptNone, false)
		x.beating(20 * time.Second)
	}
	if n := x.events("agent.nudged"); n != 3 || x.events("agent.woken")+x.events("agent.needs_human") != 0 {
		t.Errorf("%d nudges, %d inquiries, %d calls", n, x.events("agent.woken"), x.events("agent.needs_human"))
	}
}

// L12: before the feature level begins, older servers take it to sleep as long as the words stand there.
func TestL12UsageLimitBeforeItsLevel(t *testing.T) {
	x := newWatched(t, func(r *noun.RoleSpec) { r.Ladder = noun.LadderRestart })
	x.see(noun.PromptUsageLimit, true)
	x.beating(5 * time.Hour)
	if v := x.verdict(); v != judge.AgentSleeping || x.climb().Next != noun.NoRung || len(x.prompts()) != 0 {
		t.Errorf("%s, %+v, %d calls", v, x.climb(), len(x.prompts()))
	}
	if q := x.s.Quiet(x.s.Room("r")); q.State != RoomExempt || !strings.Contains(q.Why, "out of quota") {
		t.Errorf("its room is %s: %s", q.State, q.Why)
	}
}

// An error on the terminal is evidence: degraded, and stalled in its own time all the same.
func TestErrorOnTheTerminal(t *testing.T) {
	x := newWatched(t)
	x.see(noun.PromptError, false)
	if v, r := x.verdict(), x.reason("screen"); v != judge.AgentDegraded || !r.Bad {
		t.Errorf("%s: %+v", v, r)
	}
	x.beating(judge.StalledAfter + time.Second)
	if v := x.verdict(); v != judge.AgentStalled {
		t.Errorf("%s without progress", v)
	}
}

// An error stands above the prompt at which the tool waits, and hides it: quiet, it counts as that prompt, so a word
// typed there comes before the watchdog of its room cancels the task. Servers of an older level do not say so.
func TestQuietErrorOnTheTerminalCountsAsItsPrompt(t *testing.T) {
	limit := noun.DefaultSettings().Prompt.Idle
	for quiet, want := range map[bool]judge.Kind{true: judge.AgentStalled, false: judge.AgentDegraded} {
		x := newWatched(t)
		x.see(noun.PromptError, quiet)
		x.beating(limit + time.Second)
		if v := x.verdict(); v != judge.AgentDegraded {
			t.Errorf("quiet %v, before the level: %s", quiet, v)
		}
		x.must(RaiseLevel{Level: core.LevelRetry})
		if v := x.verdict(); v != want {
			t.Errorf("quiet %v: %s, want %s", quiet, v, want)
		}
		if c := x.climb(); quiet && c.Next != noun.RungNudge {
			t.Errorf("next is %s (%s), want a nudge", c.Next, c.Why)
		}
	}
}

// Text that flows over a terminal makes no stalled agent healthy, since a spinner flows for
// ever; but with it a second proof is missing, and a careful ladder asks a human instead of
// restarting. Quiet, the same agent is interrupted and restarted (incident I41).
func TestI41OutputIsNoProgress(t *testing.T) {
	for quiet, want := range map[bool]noun.Rung{false: noun.RungEscalate, true: noun.RungInterrupt} {
		x := newWatched(t)
		x.see(noun.PromptNone, quiet)
		x.beating(judge.StalledAfter + time.Second)
		x.up(noun.RungNudge)
		x.up(noun.RungWake)
		if c := x.climb(); c.Next != want {
			t.Errorf("quiet %v: next is %s (%s), want %s", quiet, c.Next, c.Why, want)
		}
		x.up(want)
	}
	x := newWatched(t, func(r *noun.RoleSpec) { r.Ladder = noun.LadderRestart }) // who wants it has it
	x.see(noun.PromptNone, false)
	x.beating(judge.StalledAfter + time.Second)
	x.up(noun.RungNudge)
	x.up(noun.RungWake)
	x.up(noun.RungInterrupt)
}

// L6: what is said of a life that is over changes nothing, and a new life begins unseen.
func TestL6ScreensOfOldLives(t *testing.T) {
	x := newWatched(t)
	id, old := x.agent(hungName).ID, x.me.Inc
	x.see(noun.PromptPermission, false)
	h2 := x.host("h2", "w")
	x.want(noun.Superseded, ReportScreen{Host: h2, Agent: id, Inc: old, Kind: noun.PromptNone})
	x.want(noun.Superseded, ReportScreen{Host: x.h, Agent: 99, Inc: old, Kind: noun.PromptNone})
	x.want(noun.Invalid, ReportScreen{Host: x.h, Agent: id, Inc: old, Kind: noun.PromptKindsPlus})
	x.want(noun.Invalid, ReportScreen{Host: x.h, Agent: id, Inc: old + 1, Kind: noun.PromptNone})
	x.must(ReportExit{Host: x.h, Agent: id, Inc: old, Code: 1})
	x.want(noun.Superseded, ReportScreen{Host: x.h, Agent: id, Inc: old, Kind: noun.PromptNone})
	if v := x.verdict(); v != judge.AgentOffline || x.agent(hungName).Screen() != nil {
		t.Errorf("%s after its end", v)
	}
	x.pass(3 * time.Second)
	x.me = x.start(hungName, x.h)
	if x.agent(hungName).Screen() != nil {
		t.Error("a new life begins with what the old one showed")
	}
	x.jump(time.Hour)
	if n := len(x.prompts()); n != 0 {
		t.Errorf("%d calls for a life that is over", n)
	}
}

// A repeated report changes nothing, and no revision either: nobody's change conflicts.
func TestScreenReportsAreIdempotent(t *testing.T) {
	x := newWatched(t)
	rev := x.agent(hungName).Rev
	x.see(noun.PromptPermission, false)
	first, n := *x.agent(hungName).Screen(), x.events("agent.prompt")
	x.beating(time.Minute)
	x.see(noun.PromptPermission, false)
	if got := *x.agent(hungName).Screen(); got != first || x.events("agent.prompt") != n ||
		x.agent(hungName).Rev != rev {
		t.Errorf("%+v became %+v", first, got)
	}
}

// L12: a state with screens is the same after a restore, and calls at the same time; a
// shorter prompt_limit counts for prompts that stand already.
func TestL12ScreensSurviveARestore(t *testing.T) {
	x := newWatched(t)
	x.must(ReportTerminals{Host: x.h, Boot: "boot1", Tool: "tmux 3.3a", Runners: []string{"w"}, Watched: []string{"w"}})
	x.see(noun.PromptPermission, false)
	x.beating(time.Minute)
	x.s = reload(t, x.s)
	x.must(PutSettings{Values: []noun.KV{{Key: "prompt_limit", Value: "90s"}}})
	x.beating(29 * time.Second)
	if n := len(x.prompts()); n != 0 {
		t.Fatalf("%d calls before the limit", n)
	}
	x.beating(time.Second)
	if n := len(x.prompts()); n != 1 {
		t.Errorf("%d calls at the limit", n)
	}
	if got := reload(t, x.s); got.Hash() != x.s.Hash() ||
		*got.AgentByName(hungName).Screen() != *x.agent(hungName).Screen() ||
		got.Host(x.h).Terminals() != "tmux 3.3a" {
		t.Errorf("loaded as %+v", got.AgentByName(hungName).Screen())
	}
}
