package agent

import (
	"strings"

	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// VerdictLine is the verdict with what decided it, on one line.
func VerdictLine(v *vigilv1.Verdict) string {
	text := strings.ReplaceAll(v.GetKind(), "_", " ")
	if len(v.GetReasons()) > 0 && v.GetReasons()[0].GetBad() {
		text += ": " + v.GetReasons()[0].GetText()
	}
	return text
}

// DeclarationText is what an agent said last of itself.
func DeclarationText(d *vigilv1.Declaration) string {
	if d == nil {
		return ""
	}
	text := d.GetStatus()
	if d.GetWaiting() != "none" {
		text = strings.ReplaceAll(d.GetWaiting(), "_", " ")
	}
	switch {
	case d.GetLapsed():
		text += ", lapsed"
	case d.GetLeft() != nil:
		text += " for " + term.OrZero(term.Span(d.GetLeft()))
	}
	if ago := term.Span(d.GetReported()); ago != "" {
		text += ", said " + ago + " ago"
	}
	if d.GetText() != "" {
		text += ": " + d.GetText()
	}
	return text
}
