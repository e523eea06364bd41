package usage

import (
	"fmt"
	"strings"

	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// budgetText says how a budget stands.
func budgetText(u *vigilv1.UsageState) string {
	b := u.GetBudget()
	if b == nil {
		return ""
	}
	var parts []string
	if b.GetTokens() > 0 {
		d := u.GetDay()
		used := d.GetInputTokens() + d.GetOutputTokens()
		parts = append(parts, share(used, b.GetTokens())+" of "+count(b.GetTokens())+" tokens")
	}
	if b.GetMicroUsd() > 0 {
		parts = append(parts, share(u.GetDay().GetMicroUsd(), b.GetMicroUsd())+" of "+dollars(b.GetMicroUsd())+" USD")
	}
	text := strings.Join(parts, ", ")
	switch {
	case u.GetLiftedFor() != nil:
		text += "; lifted for " + term.Short(u.GetLiftedFor().AsDuration()) + " by " + term.Tidy(u.GetLiftedBy())
	case u.GetStage() == "out":
		text += "; used up: nothing new is started or claimed"
	case u.GetStage() == "warned":
		text += "; nearly used up"
	}
	return text
}

// Line says what an agent has used; empty: it has told of nothing.
func Line(u *vigilv1.UsageState) string {
	if u == nil {
		return ""
	}
	text := fmt.Sprintf("life %s: %s; 24 h: %s", u.GetIncarnation(), Text(u.GetLife()), Text(u.GetDay()))
	if b := budgetText(u); b != "" {
		text += "; " + b
	}
	if n := u.GetClamped(); n > 0 {
		text += "; " + term.Plural(n, "report was", "reports were") + " more than can be"
	}
	return text
}

// Text says what was used; empty: nothing was told.
func Text(u *vigilv1.Usage) string {
	if u == nil {
		return ""
	}
	return fmt.Sprintf("%s tokens in, %s out, %s from cache, %s USD, %s", count(u.GetInputTokens()),
		count(u.GetOutputTokens()), count(u.GetCacheTokens()), dollars(u.GetMicroUsd()),
		term.Plural(u.GetTools(), "use of tools", "uses of tools"))
}

// count writes a number in four digits or less, as budgets are written.
func count(n uint64) string {
	for _, unit := range []struct {
		of   uint64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if n >= unit.of*10 {
			return fmt.Sprintf("%d%s", n/unit.of, unit.name)
		}
		if n >= unit.of {
			return fmt.Sprintf("%d.%d%s", n/unit.of, n%unit.of*10/unit.of, unit.name)
		}
	}
	return fmt.Sprint(n)
}

func dollars(micro uint64) string { return fmt.Sprintf("%d.%02d", micro/1e6, micro%1e6/1e4) }

func share(used, of uint64) string { return fmt.Sprintf("%d %%", int(float64(used)*100/float64(of))) }
