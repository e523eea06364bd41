package core

import (
	"fmt"
	"time"

	"vigil/fsm/noun"
)

// UnservedAfter is how long a task waits before its role is called unserved: agents that
// are there, or are started for it, take a task sooner.
const UnservedAfter = 3 * time.Second

// waitLook bounds the agents of a role that an explanation looks at.
const waitLook = 64

// Unserved is a role with tasks that wait and nobody who could take one.
type Unserved struct {
	Role    noun.RoleID
	Waiting uint32        // tasks
	Since   time.Duration // that the first of them has waited
	Why     Why
}

// Unserved lists the roles of a room, or of all, that are half-open, then those with waiting tasks and
// no agent, at most so many, and says how many more there are. What a human has paused is left out.
// It visits only such roles and those with claimable tasks.
func (v *View) Unserved(room string, most int) (list []Unserved, more int) {
	only := v.Room(room)
	v.halfOpen.Scan(func(id noun.RoleID) bool {
		r, ri := v.RoleTable.Get(id), v.RoleIdx.Get(id)
		switch {
		case room != "" && (only == nil || r.Room != only.ID) || v.RolePaused(r) != "":
		case len(list) == most:
			more++
		default:
			list = append(list, Unserved{id, uint32(ri.Queued.Len() + ri.Pending.Len() + ri.Delayed.Len()),
				v.Meta.Clock.Sub(r.Half.Since), v.WhyHalfOpen(id)})
		}
		return true
	})
	v.Offered.Scan(func(id noun.RoleID) bool {
		r, ri, first := v.RoleTable.Get(id), v.RoleIdx.Get(id), v.TaskTable.Get(v.FirstPending(id))
		other := room != "" && (only == nil || r.Room != only.ID)
		if r.Half != nil || other || ri.live > 0 || ri.lives > 0 ||
			v.Meta.Clock.Sub(first.ChangedAt) < UnservedAfter || v.RolePaused(r) != "" {
			return true
		}
		if len(list) == most {
			more++
			return true
		}
		list = append(list, Unserved{id, uint32(ri.Queued.Len() + ri.Pending.Len()),
			v.Meta.Clock.Sub(first.ChangedAt), v.WhyWaits(id)})
		return true
	})
	return list, more
}

// WhyTaskWaits is WhyWaits for a task that waits.
func (v *View) WhyTaskWaits(t *noun.Task) Why {
	if !t.Delayed() {
		return v.WhyWaits(t.Role)
	}
	text := "it is put off and comes in " + inTime(v.DelayLeft(t)).String()
	if r := t.Retry; len(r.Reasons) > 0 {
		text = fmt.Sprintf("it is tried again in %s, attempt %d", inTime(v.DelayLeft(t)), t.Attempt+1)
		text += v.usedText(t) + ": " + r.Reasons[len(r.Reasons)-1].Text
	}
	return Why{"retry", text, v.DelayLeft(t)}
}

// usedText says how many of its attempts a task has used.
func (v *View) usedText(t *noun.Task) string {
	limit := v.RoleTable.Get(t.Role).Spec.AttemptLimit
	if limit == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d of %d are used)", t.Charged, limit)
}

// WhyWaits tells why nobody has taken the first waiting task of a role, or will in an
// instant; without a waiting task its code is empty. Where all that wait are put off its code is
// retry, where the role is half-open half_open.
func (v *View) WhyWaits(id noun.RoleID) Why {
	first, r := v.TaskTable.Get(v.FirstPending(id)), v.RoleTable.Get(id)
	switch {
	case first == nil && r != nil && r.Half != nil && v.roleIndex(id).Tasks[noun.TaskQueued] > 0:
		return v.WhyHalfOpen(id)
	case first == nil:
		return v.whyDelayed(id)
	}
	busy := false
	var off, gone *noun.Agent // the first that is not there, the first that ended with a task
	for _, id := range r.Agents[:min(len(r.Agents), waitLook)] {
		a := v.AgentTable.Get(id)
		switch {
		case v.Paused(a) != "":
			return Why{Code: v.Paused(a), Text: a.Name + " is " + v.PausedText(a, v.Paused(a))}
		case a.Task != 0:
			busy = true
		case a.Part != noun.PartDisconnected:
			return Why{Code: "offered", Text: fmt.Sprintf("%s is there and has not taken it yet", a.Name)}
		case off == nil:
			off = a
		}
		if gone == nil && a.EndedByHand() {
			gone = a
		}
	}
	switch {
	case busy:
		return Why{Code: "busy", Text: "every agent of " + v.RoleName(id) + " that is there is at work"}
	case off == nil:
		return Why{Code: "no_agent", Text: "no agent of " + v.RoleName(id) + " is declared"}
	case r.Spec.Runner != "" || v.StopWish(off):
		why := v.Why(off.ID)
		return Why{why.Code, off.Name + ": " + why.Text, why.Left}
	}
	text := fmt.Sprintf("no agent of %s is there, and its role names no runner: "+
		"start one with `vigil wait-for-task --agent %s`", v.RoleName(id), off.Name)
	if gone != nil {
		text += fmt.Sprintf("; %s ended %s ago with task %d: %s", gone.Name,
			v.Meta.Clock.Sub(gone.LastExit.At).Round(time.Second), gone.LastExit.Task, gone.LastExit.Reason)
	}
	return Why{Code: "no_agent", Text: text}
}
