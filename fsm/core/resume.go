package core

import "vigil/fsm/noun"

// SetResume registers what the next incarnation gets as VIGIL_RESUME.
type SetResume struct {
	Speaker
	Resume string
}

// Apply keeps the value for the next life. It says nothing of whether lives get on with it: tools say
// theirs again at the start of each life.
func (c SetResume) Apply(s *State) noun.Outcome {
	a, no := s.speaker(&c.Speaker)
	if a == nil {
		return no
	}
	if len(c.Resume) > noun.MaxResume {
		return Refuse(noun.Invalid, "the resume value has %d bytes, at most %d are kept", len(c.Resume), noun.MaxResume)
	}
	if a.Inc <= a.Notes().FreshAfter { // a human wants the next life to begin afresh (law L9)
		out := a.Outcome()
		out.Detail = "not kept: the next start of " + a.Name + " was ordered to be a fresh one"
		return out
	}
	if no := s.Afford(noun.ForAgents, a.Room, int64(len(c.Resume)-len(a.Resume)), 0); no.Code != noun.OK {
		return no
	}
	was := ShadowOf(a)
	a.Resume = c.Resume
	s.Settle(a, was)
	return a.Outcome()
}

// unresumedMost is how many lives in a row may fail with a resume value before it is forgotten. One
// may have failed for another reason.
const unresumedMost = 2

// judgeResume forgets a resume value with which lives do not get on: what it names may be gone, with
// the host that it was on, and the agent that could say another one never gets so far. worked tells
// that the life has shown progress with its task. Ends that are nobody's fault say nothing of it, nor
// do starts of which nothing ever ran.
func (s *State) judgeResume(a *noun.Agent, x *noun.Exit, worked bool) {
	if !s.resumed(a) { // whatever it has said is another value than those before
		a.Unresumed = 0
		return
	}
	switch {
	case worked || a.Useful():
		a.Unresumed = 0
	case !unresumed(x):
	case a.Unresumed+1 < unresumedMost:
		a.Unresumed++
	default:
		a.DropResume()
		s.Event("agent.resume_forgotten", About{Agent: a, Host: a.Host}, noun.Plural(unresumedMost, "start")+
			" in a row with its resume value failed without progress; the next one begins afresh")
	}
}

// resumed tells that the present life began with a resume value, and that there is one yet.
func (v *View) resumed(a *noun.Agent) bool {
	return v.Level() >= LevelRetry && a.Resume != "" && a.Resumed == a.Inc
}

// unresumed tells that such an end may come from the resume value.
func unresumed(x *noun.Exit) bool { return x.Kind == noun.ExitCrash || x.Kind == noun.ExitTimedOut }

// Unblamed tells that the failure of the present life is none of the task's that the agent holds, as the conversation
// with which it began may be the cause: so often that the value is forgotten and a fresh conversation gets to see the
// task, and no more, since a task may be the cause as well.
func (v *View) Unblamed(a *noun.Agent) bool {
	t := v.TaskTable.Get(a.Task)
	return t != nil && v.resumed(a) && t.Progress <= t.ChangedAt && !a.Useful() && t.Retried().Spared < unresumedMost
}

// acquit tells that a failure does not count against the task that the agent holds, and counts that.
func (s *State) acquit(a *noun.Agent) bool {
	if !s.Unblamed(a) {
		return false
	}
	if t := s.TaskTable.Mut(a.Task); !s.Shielded(t) { // else nothing counts
		t.ChangeRetry(func(r *noun.Retry) { r.Spared++ })
	}
	return true
}
