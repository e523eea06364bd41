package tasks

import (
	"fmt"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// planned tells that something is known of when a task should be done, or how far it is.
func planned(t *vigilv1.Task) bool {
	return t.GetExpect() != nil || t.GetExpectLeft() != nil || t.Percent != nil
}

// expectText says when a task should be done; "" when nothing is said.
func expectText(t *vigilv1.Task) string {
	text := ""
	if d := term.Span(t.GetExpect()); d != "" {
		text = d + " after the claim"
	}
	if t.GetExpectLeft() != nil {
		text = expectShort(t)
		if d := term.Span(t.GetExpect()); d != "" {
			text += " (" + d + " after the claim was said first)"
		}
	}
	if n := t.GetExtended(); n > 0 {
		text += ", put off " + term.Times(n) + " after it had passed"
	}
	return text
}

// expectShort is expectText for a table.
func expectShort(t *vigilv1.Task) string {
	switch left := t.GetExpectLeft(); {
	case left == nil && term.TaskEnded(t.GetState()):
		return ""
	case left == nil:
		return term.Span(t.GetExpect())
	case left.AsDuration() < 0:
		return term.Short(-left.AsDuration()) + " ago"
	default:
		return "in " + term.Short(left.AsDuration())
	}
}

// percentText is how far the last attempt is by its agent's word.
func percentText(t *vigilv1.Task) string {
	if t.Percent == nil {
		return ""
	}
	return fmt.Sprintf("%d%%", t.GetPercent())
}

// agoText is how long ago something was; "" when it never was.
func agoText(d *durationpb.Duration) string {
	if d == nil {
		return ""
	}
	return term.Short(d.AsDuration()) + " ago"
}

// Line says on one line how a task is; "" when there is none.
func Line(t *vigilv1.Task) string {
	if t == nil {
		return ""
	}
	plan := ""
	if percent := percentText(t); percent != "" {
		plan += ", " + percent + " done"
	}
	if t.GetExpectLeft() != nil {
		plan += ", expected " + expectShort(t)
	}
	return fmt.Sprintf("%d %s, attempt %d%s: %s", t.GetId(), t.GetState(), t.GetAttempt(), plan, t.GetTitle())
}
