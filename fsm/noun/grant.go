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
	case !r.Delicate() && r.AnyContainment:
		return fmt.Errorf("containment: it is about roles with grants or policy: confirm, and this one has neither")
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

// Delicate tells whether it matters that nobody else can act as an agent of the role: it may do more than its
// own work, or must not run twice whatever happens.
func (r *RoleSpec) Delicate() bool { return len(r.Grants) > 0 || r.Policy == PolicyConfirm }

// DelicateFor says what of the role makes it Delicate.
func (r *RoleSpec) DelicateFor() string {
	if len(r.Grants) > 0 {
		return "grants"
	}
	return "policy: confirm"
}

// Holds tells whether a host keeps the agents of a role as far apart from others as it asks for.
func (h *Host) Holds(r *RoleSpec) bool {
	return !r.Delicate() || r.AnyContainment || h.Containment == Sealed
}
