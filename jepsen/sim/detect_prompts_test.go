package sim

import (
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// What agents show on their terminals, as their hosts tell it. A host knows a prompt two looks
// after it came up, and tells it 10 s after its last word about the agent at the earliest.

// seen is how long a host takes to know and tell a prompt at most; what a call takes comes on top.
const seen = 30 * s

// quietAfter is the host's setting.
const quietAfter = 5 * m

// shows has the host tell what stands on the terminal, until the cluster has heard it.
func (a *actor) shows(kind noun.PromptKind, quiet bool) bool {
	k := &client{w: a.w, from: a.d.h.n}
	for a.rest(a.between(10*s, seen)) {
		a.d.mu.Lock()
		host := a.d.id
		a.d.mu.Unlock()
		out, err := k.do(a.ctx, fsm.ReportScreen{Host: host, Agent: a.l.id, Inc: a.l.inc, Kind: kind,
			Quiet: quiet}, a.gate)
		if err == nil {
			return out.Code == noun.OK
		}
	}
	return false
}

// playPrompts: the tool asks a human in the terminal, and nobody says so. Incidents I36, I43.
func (a *actor) playPrompts() {
	if !a.take() || !a.shows(noun.PromptNone, false) || !a.works(a.between(5*m, 40*m), m, 8*m) {
		return
	}
	answer := a.long(10*m, 14*hr)
	if a.rng.IntN(20) == 0 {
		answer = a.between(40*hr, 64*hr)
	}
	if a.shows(noun.PromptPermission, false) && a.rest(quietAfter) && a.shows(noun.PromptPermission, true) &&
		a.rest(answer) &&
		a.shows(noun.PromptNone, false) && a.progress() && a.works(a.between(5*m, 20*m), m, 8*m) {
		a.finish()
	}
}

// promptIllnesses are those that a terminal shows.
func promptIllnesses() []illness {
	off := noun.RoomWatch{Disabled: true}
	return []illness{
		{kind: "sits at a permission prompt", what: "says nothing of it (incident I43)",
			spec: noun.RoleSpec{Ladder: noun.LadderRestart}, play: (*actor).sickPrompt, watch: off, open: 30,
			bound: "3 `look_every` + 15 s", found: []string{"agent.prompt"}, due: fixed(seen), look: fixed(reported),
			decided: "escalation.opened", ends: "`prompt_limit` + 1 s",
			after: func(set *noun.Settings, _ *noun.RoleSpec) time.Duration { return set.Prompt.Limit }, human: true},
		{kind: "goes back to its idle prompt", what: "with a task in its hands", spec: noun.RoleSpec{},
			play: (*actor).sickPromptIdle, watch: off, open: 30,
			bound: "max(`idle_prompt_limit`, `quiet_after`) + 45 s + `ladder_interval`",
			found: []string{"agent.nudged"}, look: ladderLook,
			due: func(set *noun.Settings, _ *noun.RoleSpec) time.Duration {
				return max(set.Prompt.Idle, quietAfter) + seen + reported
			},
			decided: "agent.restarted_stuck", ends: restartBound, after: restarts, looks: 3},
		{kind: "hangs, its spinner goes on", what: "new text comes for ever (incident I41)",
			spec: noun.RoleSpec{}, play: (*actor).sickSpinner, watch: off, open: 30,
			bound: stalledBound, found: []string{"agent.nudged"}, due: stalledDue, look: ladderLook,
			decided: "agent.needs_human", ends: callBound, after: calls, looks: 2, human: true},
	}
}

func (a *actor) sickPrompt() {
	if a.shows(noun.PromptNone, false) && a.well() {
		a.w.cfg.cast.lookout.fell(a.l.name, a.part)
		a.shows(noun.PromptPermission, false)
		<-a.ctx.Done()
	}
}

func (a *actor) sickPromptIdle() {
	if !a.shows(noun.PromptNone, false) || !a.well() {
		return
	}
	a.w.cfg.cast.lookout.fell(a.l.name, a.part)
	began := time.Now()
	if a.shows(noun.PromptIdle, false) && a.rest(quietAfter-time.Since(began)) {
		a.shows(noun.PromptIdle, true)
	}
	<-a.ctx.Done()
}

func (a *actor) sickSpinner() {
	if a.shows(noun.PromptNone, false) && a.well() {
		a.stuck()
	}
}
