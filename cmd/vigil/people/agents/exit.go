package agents

import (
	"fmt"
	"strings"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// explainTail is how many of the last lines of output fit the screen.
const explainTail = 6

// exitText is the last death on one line.
func exitText(a *cli.App, x *vigilv1.Exit) string {
	if x == nil || x.GetKind() == "" || x.GetKind() == "none" {
		return ""
	}
	text := strings.ReplaceAll(x.GetKind(), "_", " ")
	switch {
	case x.GetSignal() != "":
		text += ", signal " + x.GetSignal()
	case x.GetKind() == "clean" || x.GetKind() == "crash" || x.GetKind() == "ordered" || x.GetKind() == "usage_limit":
		text += fmt.Sprintf(", code %d", x.GetCode())
	}
	when := a.Ago(x.GetAt())
	if when == "" {
		when = term.Span(x.GetAgo()) + " ago"
	}
	text += ", " + when + ", life " + x.GetIncarnation()
	if x.GetHost() != "" {
		text += " on " + x.GetHost()
	}
	if x.GetTask() != 0 {
		text += fmt.Sprintf(", held task %d", x.GetTask())
	}
	if x.GetReason() != "" {
		text += ": " + x.GetReason()
	}
	return text
}

func printExit(a *cli.App, x *vigilv1.Exit) error {
	text := exitText(a, x)
	if text == "" {
		return a.Pairs("last death", "none")
	}
	if err := a.Printf("\n%s %s\n", a.Screen.Bold("last death"), term.OneLine(text)); err != nil {
		return err
	}
	tail := strings.TrimRight(x.GetTail(), "\n")
	if tail == "" {
		return nil
	}
	lines := strings.Split(tail, "\n")
	for _, line := range lines[max(0, len(lines)-explainTail):] {
		line = term.Safe(strings.TrimRight(line, "\r"))
		if a.Screen.Width > 0 {
			line = term.Cut(line, max(a.Screen.Width-4, 8))
		}
		if err := a.Printf("  | %s\n", line); err != nil {
			return err
		}
	}
	return nil
}
