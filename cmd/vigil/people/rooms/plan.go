package rooms

import (
	"fmt"
	"strings"

	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// changePlan is what a change of rooms would do, as servers have planned it.
type changePlan struct {
	rooms            []*vigilv1.Room // as they are, each with its plan
	atWork, canceled uint32
	unasked          int // rooms that go although nobody has named them
}

func (p *changePlan) add(room *vigilv1.Room, plan *vigilv1.RoomPlan) {
	room.Plan = plan
	p.rooms = append(p.rooms, room)
	p.atWork, p.canceled = p.atWork+plan.GetAtWork(), p.canceled+plan.GetCanceled()
}

// text is the plan for people, room by room.
func (p *changePlan) text() string {
	var b strings.Builder
	for _, room := range p.rooms {
		var lines []string
		plan := room.GetPlan()
		for _, r := range plan.GetRoles() {
			if line := roleChange(r); line != "" {
				lines = append(lines, line)
			}
		}
		kind := "changes"
		switch {
		case plan.GetDeleted():
			kind = "is deleted"
		case plan.GetCreated():
			kind = "is created"
		case len(lines) == 0 && len(plan.GetChanges()) == 0:
			kind = "stays as it is"
		}
		fmt.Fprintf(&b, "room %s %s\n", room.GetName(), kind)
		for _, line := range append(plan.GetChanges(), lines...) {
			fmt.Fprintf(&b, "  %s\n", term.OneLine(line))
		}
	}
	return b.String()
}

// roleChange says what happens to a role; "" when nothing does.
func roleChange(r *vigilv1.RolePlan) string {
	var parts []string
	if r.GetKind() != "unchanged" && r.GetKind() != "changed" {
		parts = append(parts, "is "+r.GetKind())
	}
	parts = append(parts, r.GetChanges()...)
	if n := r.GetStarts(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d started", n))
	}
	if n := r.GetEnds(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d ended", n))
	}
	if n := r.GetFinishes(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d end when their task is over", n))
	}
	if n := r.GetCanceled(); n > 0 {
		parts = append(parts, term.Plural(int(n), "task")+" canceled")
	}
	if len(parts) == 0 {
		return ""
	}
	line := "role " + r.GetRole() + ": " + strings.Join(parts, ", ")
	var names []string
	for _, a := range r.GetAgents() {
		switch {
		case a.GetFinishes():
			names = append(names, fmt.Sprintf("%s finishes task %d first", a.GetAgent(), a.GetTask()))
		case a.GetTask() != 0:
			names = append(names, fmt.Sprintf("%s is at work on task %d", a.GetAgent(), a.GetTask()))
		default:
			names = append(names, a.GetAgent())
		}
	}
	if more := int(r.GetEnds()+r.GetFinishes()) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	if len(names) > 0 {
		line += " (" + strings.Join(names, ", ") + ")"
	}
	return line
}

// ofDeletion is harm of the deletion of one room, which also ends agents without a task; nobody has
// declared those beside others that stay.
func (p *changePlan) ofDeletion() string {
	if harm := p.harm(); harm != "" {
		return harm
	}
	ends := 0
	for _, room := range p.rooms {
		for _, r := range room.GetPlan().GetRoles() {
			ends += int(r.GetEnds())
		}
	}
	if ends == 0 {
		return ""
	}
	return "ends " + term.Plural(ends, "agent")
}

// harms tells whether the plan of one room, by its place, ends agents at work or cancels tasks.
func (p *changePlan) harms(i int) bool {
	plan := p.rooms[i].GetPlan()
	return plan.GetAtWork() > 0 || plan.GetCanceled() > 0
}

// harm says what the plan destroys; "" when nothing.
func (p *changePlan) harm() string {
	var parts []string
	if p.atWork > 0 {
		parts = append(parts, "ends "+term.Plural(int(p.atWork), "agent")+" at work")
	}
	if p.canceled > 0 {
		parts = append(parts, "cancels "+term.Plural(int(p.canceled), "task"))
	}
	if p.unasked > 0 {
		parts = append(parts, "deletes "+term.Plural(p.unasked, "room")+" that nobody has declared")
	}
	return strings.Join(parts, ", ")
}
