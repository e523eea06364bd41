package agents

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/gen/vigilv1"
)

// intentEnd is until what is wanted of an agent ends by itself; nil: it does not.
func intentEnd(g *vigilv1.Agent) *durationpb.Duration {
	switch g.GetDesired() {
	case "stopped":
		return g.GetStopEndsIn()
	case "paused":
		return g.GetPauseEndsIn()
	}
	return nil
}

// intentText says what is wanted, who said so and why.
func intentText(a *cli.App, g *vigilv1.Agent) string {
	by, at, why := g.GetIntentBy(), g.GetIntentAt(), g.GetIntentWhy()
	if g.GetPaused() && g.GetDesired() == "paused" {
		by, at, why = g.GetPauseBy(), g.GetPauseAt(), g.GetPauseWhy()
	}
	text := g.GetDesired() + a.EndsText(intentEnd(g))
	if by != "" {
		text = strings.TrimSpace(fmt.Sprintf("%s, by %s %s", text, by, a.Ago(at)))
	}
	if why != "" {
		text += ": " + why
	}
	return text
}
