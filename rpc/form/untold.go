package form

import (
	"fmt"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

const (
	// untoldAfter is how old a life must be that has told of nothing: tools tell some seconds late, and hosts, too.
	untoldAfter = 5 * time.Minute
	// untoldLooked is how many agents of a role are looked at: all of them have one runner.
	untoldLooked = 8
)

// spendUnit is what budgets count in.
type spendUnit struct {
	limited func(noun.SpendLimit) bool
	told    func(noun.Usage) bool
	in      string // the budget
	of      string // what is not told
}

var spendUnits = [...]spendUnit{
	{func(l noun.SpendLimit) bool { return l.MicroUSD > 0 }, func(u noun.Usage) bool { return u.MicroUSD > 0 },
		"US dollars", "cost"},
	{func(l noun.SpendLimit) bool { return l.Tokens > 0 }, func(u noun.Usage) bool { return u.Tokens() > 0 },
		"tokens", "tokens"},
}

// UntoldBudgets are sentences about the budgets of a role that cannot bite: its agents complete tasks, and none of
// them tells of what the budget is in. Which tools tell of what is known by what they tell, and by nothing else.
func UntoldBudgets(st *fsm.View, r *noun.Role) (out []string) {
	if r.Retired {
		return nil
	}
	limits := [...]noun.SpendLimit{r.Spec.Spend(), r.Spec.SpendEach(), st.RoomByID(r.Room).Spend}
	for _, unit := range spendUnits {
		limited := false
		for _, l := range limits {
			limited = limited || unit.limited(l)
		}
		if !limited || r.Spent != nil && unit.told(r.Spent.Day.Sum(st.Clock())) {
			continue
		}
		if a := untold(st, r, unit); a != nil {
			out = append(out, fmt.Sprintf("The budget in %s that holds for role %s cannot bite: none of its agents has told "+
				"of %s. %s has completed %s in life %s, with runner %s; some tools tell of tokens alone, and some of nothing.",
				unit.in, st.RoleName(r.ID), unit.of, a.Name, noun.Plural(a.Done, "task"), IncName(a.Inc), runnerName(r)))
		}
	}
	return out
}

// untold gives an agent with a life that has completed a task and told of nothing, where none has told of anything.
func untold(st *fsm.View, r *noun.Role, unit spendUnit) (found *noun.Agent) {
	for _, id := range r.Agents[:min(len(r.Agents), untoldLooked)] {
		a := st.Agent(id)
		if u := a.Notes().Used; u != nil && (unit.told(u.Life) || unit.told(u.Day.Sum(st.Clock()))) {
			return nil
		}
		if found == nil && a.Done > 0 && st.Clock().Sub(a.StartedAt) >= untoldAfter {
			found = a
		}
	}
	return found
}

func runnerName(r *noun.Role) string {
	if r.Spec.Runner == "" {
		return "none (it was begun by hand)"
	}
	return r.Spec.Runner
}
