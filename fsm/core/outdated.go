package core

import "vigil/fsm/noun"

// Outdated tells that the life of an agent was started as its role was declared before, and lives
// by that. One whose order was open when the role changed counts too: its host may have read
// either.
func (v *View) Outdated(a *noun.Agent) bool {
	r := v.RoleTable.Get(a.Role)
	return r != nil && a.Managed && (a.Proc == noun.ProcAccepted || a.Proc == noun.ProcRunning) && a.RoleRev != r.LifeRev
}

// OutdatedOf counts the agents of a role that are outdated. It reads them all.
func (v *View) OutdatedOf(r *noun.Role) (n uint32) {
	if r.LifeRev == 0 {
		return 0
	}
	for _, id := range r.Agents {
		if a := v.AgentTable.Get(id); a != nil && v.Outdated(a) {
			n++
		}
	}
	return n
}
