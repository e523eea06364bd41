package hosts

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// whyText gives the reason for a host's state in short; "" when it simply works.
func whyText(h *vigilv1.Host) string {
	var parts []string
	if h.GetDrain() {
		drained := "drained by " + term.OrWord(h.GetDrainBy(), "somebody")
		if d := term.Span(h.GetDrainEndsIn()); d != "" {
			drained += " for another " + d
		}
		parts = append(parts, drained)
	}
	if h.GetSuspectWhy() != "" {
		parts = append(parts, h.GetSuspectWhy())
	}
	if h.GetState() == "returning" || h.GetSteadyIn() != nil {
		parts = append(parts, "was away too often; starts again in "+term.OrZero(term.Span(h.GetSteadyIn())))
	}
	if h.GetPressure() != "" {
		parts = append(parts, h.GetPressure())
	}
	return strings.Join(parts, "; ")
}

// heardText is how long ago the host's last beat was, in cluster time.
func heardText(a *cli.App, h *vigilv1.Host) string {
	switch d := h.GetHeard(); {
	case d == nil:
		return a.Ago(h.GetSeenAt())
	case d.AsDuration() < time.Second:
		return "just now"
	default:
		return term.Short(d.AsDuration()) + " ago"
	}
}

func labelText(labels map[string]string) string {
	var parts []string
	for k, v := range labels {
		parts = append(parts, k+"="+v)
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

func loadText(h *vigilv1.Host) string {
	return fmt.Sprintf("%d running, %d starting, capacity %d", h.GetRunning(), h.GetStarting(), h.GetCapacity())
}

// drainLine says who drains the host and until when.
func drainLine(a *cli.App, h *vigilv1.Host) string {
	if !h.GetDrain() {
		return ""
	}
	text := strings.TrimSpace(fmt.Sprintf("by %s %s", term.OrWord(h.GetDrainBy(), "somebody"), a.Ago(h.GetDrainAt())))
	if n := h.GetRunning() + h.GetStarting(); n > 0 {
		text += ", " + term.Plural(n, "agent") + " left"
	}
	if d := term.Span(h.GetDrainLeft()); d != "" {
		text += ", all are stopped in " + d
	} else if h.GetDrainLeft() == nil {
		text += ", without a deadline"
	}
	if h.GetDrainEndsIn() != nil {
		text += ";" + a.EndsText(h.GetDrainEndsIn())
	}
	return text
}

// keptLine says what agents have left on the disk of a host; "": its agentd has not said.
func keptLine(a *cli.App, h *vigilv1.Host) string {
	k := h.GetKept()
	if k == nil {
		return ""
	}
	text := term.BytesText(int64(min(k.GetBytes(), math.MaxInt64))) + " of agents"
	if k.GetOldest() != nil {
		text += ", " + term.BytesText(int64(min(k.GetRemovable(), math.MaxInt64))) +
			" of it of lives that are over, the oldest used " + a.Ago(k.GetOldest())
	}
	return text
}

// containmentLine says what holds the processes of an agent together on a host.
func containmentLine(h *vigilv1.Host) string {
	switch h.GetContainment() {
	case "sealed":
		return "sealed: nothing leaves the control group of its agent, and no agent shares an account"
	case "group":
		return "group: agents share an account, or what leaves the group of its agent is found by its mark only"
	case "weak":
		return "weak: what leaves its process group is neither frozen nor killed"
	}
	return ""
}

// printWarningsOf prints what people should know of a host, a line each.
func printWarningsOf(a *cli.App, h *vigilv1.Host) error {
	for _, w := range h.GetWarnings() {
		if err := a.Printf("%s %s\n", a.Screen.Paint("33", "warning:"), term.OneLine(w)); err != nil {
			return err
		}
	}
	return nil
}
