package fsm

import (
	"slices"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// calls are the escalations about agents that wait for a human and that nobody has closed.
func (d *drive) calls() (list []string) {
	for e := range d.s.Escalations(0) {
		if (e.Kind == noun.EscPrompt || e.Kind == noun.EscNeedsInput) && e.State != noun.EscalationClosed {
			list = append(list, e.Kind.String())
		}
	}
	return list
}

// Incident I43 with hooks, which declare at once that a human is asked: that puts the call off by nothing. The prompt
// that the host sees calls a human, once, whatever was declared before or is while it stands.
func TestDeclaredPermissionPromptCallsAHuman(t *testing.T) {
	x := newWatched(t)
	x.must(RaiseLevel{Level: core.LevelRetry})
	limit := x.s.Settings().Prompt.Limit
	x.must(Declare{Speaker: x.me, Waiting: noun.WaitingInput, For: 24 * time.Hour})
	x.beating(20 * time.Second)
	x.see(noun.PromptPermission, true)
	x.beating(limit - time.Second)
	if got := x.calls(); len(got) != 0 {
		t.Fatalf("%q before the limit", got)
	}
	x.beating(time.Second)
	if got := x.calls(); !slices.Equal(got, []string{"permission_prompt"}) {
		t.Fatalf("%q at the limit", got)
	}
	x.must(Declare{Speaker: x.me, Waiting: noun.WaitingInput, For: 24 * time.Hour})
	x.beating(time.Hour)
	if list := x.prompts(); len(list) != 1 || list[0].Count != 1 || len(x.calls()) != 1 {
		t.Errorf("%q an hour later", x.calls())
	}
}

// Incident I43 without a terminal that anybody looks at: who says that it waits for a human has one called when
// prompt_limit has passed since it first said so. Saying it again puts nothing off, and it is over when the agent
// says something else.
func TestDeclaredQuestionCallsAHuman(t *testing.T) {
	x := newWatched(t)
	x.must(RaiseLevel{Level: core.LevelRetry})
	limit := x.s.Settings().Prompt.Limit
	ask := func(d time.Duration) {
		x.must(Declare{Speaker: x.me, Waiting: noun.WaitingInput, For: d, Text: "which one?"})
	}
	ask(limit) // lapses before anybody would be called
	x.beating(limit + time.Minute)
	if got := x.calls(); len(got) != 0 {
		t.Fatalf("%q for a question that has lapsed", got)
	}
	ask(24 * time.Hour)
	x.beating(limit - time.Minute)
	ask(24 * time.Hour)
	x.s = reload(t, x.s) // L12
	x.beating(59 * time.Second)
	if got := x.calls(); len(got) != 0 {
		t.Fatalf("%q before the limit", got)
	}
	x.beating(time.Second)
	if got := x.calls(); !slices.Equal(got, []string{"needs_input"}) {
		t.Fatalf("%q at the limit", got)
	}
	ask(24 * time.Hour)
	x.beating(time.Hour)
	for e := range x.s.Escalations(0) {
		if e.Count != 1 || !x.s.Lasts(e) {
			t.Errorf("an hour later: %+v", e)
		}
	}
	x.see(noun.PromptPermission, true) // what it asks is seen now, too
	x.beating(limit)
	if got := x.calls(); !slices.Equal(got, []string{"permission_prompt"}) {
		t.Errorf("%q when its prompt is seen", got)
	}
	x.see(noun.PromptNone, false)
	x.must(Declare{Speaker: x.me})
	if e := x.prompts()[0]; x.s.Lasts(e) {
		t.Errorf("%+v lasts after the answer", e)
	}
	ask(24 * time.Hour) // another question
	x.beating(limit)
	if got := x.calls(); !slices.Equal(got, []string{"needs_input"}) {
		t.Errorf("%q for the next question", got)
	}
}

// A shorter prompt_limit counts for what was asked already, and who is told to stop calls nobody.
func TestDeclaredQuestionFollowsTheSettings(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		x := newWatched(t)
		x.must(RaiseLevel{Level: core.LevelRetry})
		x.must(Declare{Speaker: x.me, Waiting: noun.WaitingInput, For: time.Hour})
		if stopped {
			x.must(SetAgent{Agent: hungName, Stop: true, By: "ann"})
		}
		x.must(PutSettings{Values: []noun.KV{{Key: "prompt_limit", Value: "90s"}}})
		x.beating(90 * time.Second)
		if got := x.calls(); len(got) != 1 && !stopped || len(got) != 0 && stopped {
			t.Errorf("stopped %v: %q", stopped, got)
		}
	}
}

// A hook has declared the prompt, and nobody takes that back when it was answered. The prompt that goes takes the
// declaration with it, so an agent that hangs then is stalled in its own time and the ladder begins. What it has said
// of something else, long before, holds.
func TestDeclarationGoesWithItsPrompt(t *testing.T) {
	for name, tt := range map[string]struct {
		before time.Duration
		then   noun.PromptKind
		level  bool
		want   judge.Kind
	}{
		"answered, and it hangs":          {20 * time.Second, noun.PromptNone, true, judge.AgentStalled},
		"back at its idle prompt":         {20 * time.Second, noun.PromptIdle, true, judge.AgentStalled},
		"declared while it stands":        {-time.Minute, noun.PromptNone, true, judge.AgentStalled},
		"declared long before":            {10 * time.Minute, noun.PromptNone, true, judge.AgentNeedsInput},
		"nobody looks any more":           {20 * time.Second, noun.PromptUnknown, true, judge.AgentNeedsInput},
		"before the feature level begins": {20 * time.Second, noun.PromptNone, false, judge.AgentNeedsInput},
	} {
		x := newWatched(t)
		if tt.level {
			x.must(RaiseLevel{Level: core.LevelRetry})
		}
		declare := func() { x.must(Declare{Speaker: x.me, Waiting: noun.WaitingInput, For: 24 * time.Hour}) }
		if tt.before > 0 {
			declare()
			x.beating(tt.before)
		}
		x.see(noun.PromptPermission, true)
		if tt.before < 0 {
			x.beating(-tt.before)
			declare()
		}
		x.beating(time.Minute)
		x.see(tt.then, true)
		x.beating(40 * time.Minute)
		if v := x.verdict(); v != tt.want {
			t.Errorf("%s: %s, want %s", name, v, tt.want)
		}
		if c := x.climb(); (c.Next == noun.RungNudge) != (tt.want == judge.AgentStalled) {
			t.Errorf("%s: next is %s (%s)", name, c.Next, c.Why)
		}
	}
}

// L12: before the feature level begins, declared needs_input calls nobody while it holds, and the prompt
// does when it has lapsed. What stands when it begins counts from when it came up.
func TestL12DeclaredNeedsInputBeforeItsLevel(t *testing.T) {
	y := newWatched(t)
	y.must(Declare{Speaker: y.me, Waiting: noun.WaitingInput, For: 24 * time.Hour})
	y.beating(time.Hour)
	y.must(RaiseLevel{Level: core.LevelRetry})
	if y.beating(time.Second); !slices.Equal(y.calls(), []string{"needs_input"}) {
		t.Errorf("%q once the level has begun", y.calls())
	}
	x := newWatched(t)
	x.must(Declare{Speaker: x.me, Waiting: noun.WaitingInput, For: time.Hour})
	x.see(noun.PromptPermission, true)
	x.beating(time.Hour - time.Second)
	if v, r := x.verdict(), x.reason("screen"); v != judge.AgentNeedsInput || r.Bad || len(x.prompts()) != 0 {
		t.Errorf("%s, %+v, %d calls", v, r, len(x.prompts()))
	}
	x.beating(2 * time.Second)
	if n := len(x.prompts()); n != 1 {
		t.Errorf("%d calls after it has lapsed", n)
	}
}
