package escalation

import (
	"vigil/fsm/noun"
)

// EscalationKindNames are the words for kinds, by number; the first is empty.
func EscalationKindNames() (names []string) {
	for _, w := range noun.EscalationKinds {
		names = append(names, w.Name)
	}
	return names
}

// Lasts tells whether what an escalation is about is still so. A human closes it in any case.
func (v *View) Lasts(e *noun.Escalation) bool {
	lasts := v.Hooks.Lasts[e.Kind]
	return lasts != nil && lasts(e)
}
