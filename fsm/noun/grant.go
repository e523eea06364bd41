package noun

import "fmt"

// MaxGrants bounds the grants of a role.
const MaxGrants = 16

// Sealed is the containment of hosts that keep the processes of each agent apart from all others.
const Sealed = "sealed"

// CheckGrants tells what is wrong with what the agents of a role may do beyond their own work. No agent
// is an admin: whoever talks it into something would own the cluster.
func CheckGrants(r *RoleSpec) error {
	switch {
	case len(r.Grants) == 0 && r.GrantsAnywhere:
		return fmt.Errorf("containment: it is about the grants of a role, and this one has none")
	case len(r.Grants) == 0:
		return nil
	case len(r.Grants) > MaxGrants:
		return fmt.Errorf("grants: there are %d, at most %d are allowed", len(r.Grants), MaxGrants)
	}
	for _, g := range r.Grants {
		if g.Role >= Admin {
			return fmt.Errorf("grants: an agent can be viewer, reader or operator of a room, not admin")
		}
	}
	if err := CheckBindings(r.Grants); err != nil {
		return fmt.Errorf("grants: %w", err)
	}
	return nil
}

// Holds tells whether a host keeps the agents of a role as far apart from others as it asks for.
func (h *Host) Holds(r *RoleSpec) bool {
	return len(r.Grants) == 0 || r.GrantsAnywhere || h.Containment == Sealed
}
