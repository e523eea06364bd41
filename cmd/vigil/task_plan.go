package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/gen/vigilv1"
)

// expectFlag reads how long a task, or the rest of it, is expected to take.
type expectFlag struct{ span time.Duration }

func (f *expectFlag) add(cmd *cobra.Command, about string) {
	cmd.Flags().DurationVar(&f.span, "expect", 0, about)
}

// read gives nil when nothing was said.
func (f *expectFlag) read(cmd *cobra.Command) (*durationpb.Duration, error) {
	if !cmd.Flags().Changed("expect") {
		return nil, nil
	}
	if f.span < minExpect || f.span > maxExpect {
		return nil, usagef("flag --expect: %s is not possible, give 1s to 720h", f.span)
	}
	return durationpb.New(f.span), nil
}

// What the cluster takes.
const (
	minExpect = time.Second
	maxExpect = 30 * 24 * time.Hour
)

// planned tells that something is known of when a task should be done, or how far it is.
func planned(t *vigilv1.Task) bool {
	return t.GetExpect() != nil || t.GetExpectLeft() != nil || t.Percent != nil
}

// expectText says when a task should be done; "" when nothing is said.
func expectText(t *vigilv1.Task) string {
	text := ""
	if d := span(t.GetExpect()); d != "" {
		text = d + " after the claim"
	}
	if t.GetExpectLeft() != nil {
		text = expectShort(t)
		if d := span(t.GetExpect()); d != "" {
			text += " (" + d + " after the claim was said first)"
		}
	}
	if n := t.GetExtended(); n > 0 {
		text += fmt.Sprintf(", put off %d times after it had passed", n)
	}
	return text
}

// expectShort is expectText for a table.
func expectShort(t *vigilv1.Task) string {
	switch left := t.GetExpectLeft(); {
	case left == nil && taskEnded(t.GetState()):
		return ""
	case left == nil:
		return span(t.GetExpect())
	case left.AsDuration() < 0:
		return short(-left.AsDuration()) + " ago"
	default:
		return "in " + short(left.AsDuration())
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
	return short(d.AsDuration()) + " ago"
}
