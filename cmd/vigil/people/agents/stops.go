package agents

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// startTries bounds how often an agent is read again that changes all the time.
const startTries = 5

// startPlanned starts an agent unless somebody has stopped it again since the plan was made: that one knows more.
func startPlanned(ctx context.Context, c *cli.Conn, r *vigilv1.SetAgentRequest, was *vigilv1.Agent) (
	g *vigilv1.Agent, err error) {
	r.IfRev = was.GetRev()
	for range startTries {
		if g, err = c.Fleet.SetAgent(ctx, r); cli.ExitCode(err) != cli.ExitConflict {
			return g, err
		}
		got, no := c.Fleet.GetAgent(ctx, &vigilv1.GetAgentRequest{Agent: r.GetAgent()})
		if no != nil {
			return nil, no
		}
		now := got.GetAgent()
		if now.GetIntentBy() != was.GetIntentBy() || !now.GetIntentAt().AsTime().Equal(was.GetIntentAt().AsTime()) {
			return nil, err
		}
		r.IfRev = now.GetRev() // its life has changed, and nothing else
	}
	return g, err
}

// startsBefore tells that an agent may run before a stop of so long ends; nil: it does not end. One that only its role
// stops does so as soon as somebody applies the room.
func startsBefore(g *vigilv1.Agent, span *durationpb.Duration) bool {
	if g.GetDesired() != "stopped" || byRole(g) {
		return true
	}
	left := intentEnd(g)
	return left != nil && (span == nil || left.AsDuration() < span.AsDuration())
}

// stoppedSlot says who has stopped an agent.
type stoppedSlot struct {
	Agent string `json:"agent"`
	// By is empty where nobody has said who it was.
	By  string `json:"by"`
	Why string `json:"why"`
	At  string `json:"at,omitempty"` // RFC 3339

	at *timestamppb.Timestamp
}

func slotOf(g *vigilv1.Agent) stoppedSlot {
	slot := stoppedSlot{Agent: g.GetName(), By: g.GetIntentBy(), Why: g.GetIntentWhy(), at: g.GetIntentAt()}
	if slot.at != nil {
		slot.At = slot.at.AsTime().UTC().Format(time.RFC3339)
	}
	return slot
}

// byRole tells that an agent does not run since its role is declared as stopped.
func byRole(g *vigilv1.Agent) bool {
	return g.GetWhyCode() == "stopped" && !strings.HasPrefix(g.GetWhy(), "stopped")
}

// stoppedByWhom tells that an agent is stopped by a human, with --by by this person. A start does not help those whose
// role is declared as stopped.
func (x *several) stoppedByWhom(g *vigilv1.Agent) bool {
	return g.GetDesired() == "stopped" && !byRole(g) && (x.by == "" || g.GetIntentBy() == x.by)
}

// maxWhyShown is how much of a reason a plan shows, in characters.
const maxWhyShown = 100

// stopsText says who has stopped what a start would start, or what another stop takes over: a line for each who and
// why, those of the fewest agents first, as what somebody has stopped for a reason of its own must not drown in what
// was stopped at once.
func (x *several) stopsText() string {
	type cause struct {
		by, why string
	}
	names, since, order := map[cause][]string{}, map[cause]*timestamppb.Timestamp{}, []cause(nil)
	for _, s := range x.stops {
		c := cause{s.By, s.Why}
		if names[c] == nil {
			order = append(order, c)
		}
		names[c] = append(names[c], s.Agent)
		if at := since[c]; at == nil || s.at != nil && s.at.AsTime().Before(at.AsTime()) {
			since[c] = s.at
		}
	}
	slices.SortStableFunc(order, func(a, b cause) int { return cmp.Compare(len(names[a]), len(names[b])) })
	var text strings.Builder
	if x.verb == "stop" && len(order) > 0 {
		text.WriteString("this takes the place of shorter stops:\n")
	}
	for _, c := range order[:min(len(order), cli.PlanShown)] {
		said := "  stopped by " + term.OrWord(term.OneLine(c.by), "nobody who is named")
		if at := x.Ago(since[c]); at != "" {
			said += ", " + at
		}
		if c.why != "" {
			said += ": " + term.Cut(term.OneLine(c.why), maxWhyShown)
		}
		fmt.Fprintf(&text, "%s: %s\n", said, someNames(names[c]))
	}
	if more := len(order) - cli.PlanShown; more > 0 {
		fmt.Fprintf(&text, "  and for %s, all of them with --json\n", term.Plural(more, "more reason"))
	}
	return text.String()
}
