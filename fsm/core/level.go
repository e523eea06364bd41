package core

import (
	"fmt"
	"slices"

	"vigil/fsm/noun"
)

// A cluster that is upgraded server by server has servers of two versions for a while. What
// a newer version adds to the log or to dumps belongs to a feature level, and nothing of a
// level is written before one record, RaiseLevel, has begun it: the leader writes it as soon
// as every member of the cluster has announced that it reads the level. It never goes back.
// Commands of the level come after it (see Level), and so may whatever the state machine does
// by itself at that level (see Image.Level). A server that meets a level which it does not
// read stops with its data untouched.

// Baseline is the feature level at which every state begins.
const Baseline = 1

// LevelRetry is the feature level at which failed tasks are put off, roles half-open, and what humans
// set can have an end.
const LevelRetry = 2

// Newest is the highest feature level that this version reads.
const Newest = LevelRetry

// MaxLevel bounds the level that a record may name.
const MaxLevel = 1 << 16

// RaiseLevel begins a feature level above the present one, for good. By the leader.
type RaiseLevel struct{ Level uint32 }

// Level is the feature level that must have begun before the command may be written; for
// RaiseLevel itself the one that all members must read.
func Level(c Command) uint32 {
	switch c := c.(type) {
	case RaiseLevel:
		return c.Level
	case CreateTask:
		return LevelWhen(c.After != 0 || c.Trace != "" || c.Key != "", LevelRetry)
	case FailTask:
		return LevelWhen(c.After != 0 || c.Then != Then{} || c.Result != "", LevelRetry)
	case CompleteTask:
		return LevelWhen(c.Then != Then{}, LevelRetry)
	case Handoff:
		return LevelWhen(c.Then != Then{}, LevelRetry)
	case Claim:
		return LevelWhen(c.Start, LevelRetry)
	case SetAgent:
		return LevelWhen(c.For != 0, LevelRetry)
	case RestartAgent:
		return LevelWhen(c.IfRev != 0, LevelRetry)
	case UnparkAgent:
		return LevelWhen(c.IfRev != 0, LevelRetry)
	case NoteNudge:
		return LevelWhen(c.IfRev != 0, LevelRetry)
	case SetPause:
		return LevelWhen(c.For != 0, LevelRetry)
	case DrainHost:
		return LevelWhen(c.For != 0, LevelRetry)
	case PutServer:
		return LevelWhen(c.Zone != "", LevelRetry)
	case PutSettings:
		put := Put(c.Values)
		return LevelWhen(put.Any("retry_") || put.Any("circuit_") || put.Any("watchdog_untaken") ||
			put.Any("mail_wakes") || put.Any("replace_servers") || put.Any("budget_trust") ||
			put.Any("handoff_limit"), LevelRetry)
	case ApplyRoom:
		return LevelWhen(slices.ContainsFunc(c.Roles, func(r noun.RoleSpec) bool {
			return r.RetryFirst != 0 || r.RetryMost != 0 || r.Policy == noun.PolicyConfirm ||
				len(r.Grants) > 0 || r.AnyContainment || r.Spend() != noun.SpendLimit{} ||
				r.SpendEach() != noun.SpendLimit{}
		}) || slices.ContainsFunc(c.Spend, func(l noun.SpendLimit) bool { return l != noun.SpendLimit{} }) ||
			slices.ContainsFunc(c.Watch, func(w noun.RoomWatch) bool { return w.Untaken != 0 }), LevelRetry)
	case interface{ NeedsLevel() uint32 }: // of a watchdog
		return c.NeedsLevel()
	}
	return Baseline
}

// LevelOf is Level of the command of a request, and of what it says beside.
func LevelOf(r *Request) uint32 {
	return max(Level(r.Cmd), LevelWhen(len(r.Audit) > 0, LevelRetry))
}

// LevelWhen is the level that a command needs: this one when it has something that came with it,
// else the baseline.
func LevelWhen(has bool, level uint32) uint32 {
	if has {
		return level
	}
	return Baseline
}

// Level is the feature level that has begun.
func (v *View) Level() uint32 { return v.Meta.Level }

// Apply begins a feature level. It is refused where it does not raise.
func (c RaiseLevel) Apply(s *State) noun.Outcome {
	switch {
	case c.Level > MaxLevel:
		return Refuse(noun.Invalid, "level %d is out of range, at most %d is allowed", c.Level, MaxLevel)
	case c.Level <= s.Meta.Level:
		return Refuse(noun.Conflict, "the cluster is at feature level %d already", s.Meta.Level)
	}
	s.recountSpare(func() { s.Meta.Level = c.Level })
	s.keepQuarantined()
	s.keepProofs()
	for id := range s.RoleTable.From(0) { // what is urgent overtakes from now on
		s.reviewGrowth(s.RoleTable.Get(noun.RoleID(id)))
	}
	s.Hooks.LevelRaised.Call(c.Level)
	s.Event("cluster.level_raised", About{},
		fmt.Sprintf("every server reads feature level %d: what came with it begins", c.Level))
	return noun.Outcome{}
}
