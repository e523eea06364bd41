package form

import (
	"vigil/fsm/noun"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// Bindings shows what somebody may do.
func Bindings(list []noun.Binding) (out []*vigilv1.Binding) {
	for _, b := range list {
		out = append(out, &vigilv1.Binding{Role: b.Role.String(), Room: b.Room})
	}
	return out
}

// Bindings converts what somebody may do.
func (c *Checks) Bindings(field string, list []*vigilv1.Binding) (out []noun.Binding) {
	c.AtMost(field, len(list), noun.MaxBindings)
	if c.Err != nil {
		return nil
	}
	for _, b := range list {
		role, ok := noun.ParseUserRole(b.GetRole())
		if !ok {
			c.Fail("%s: role %s is none; it is viewer, reader, operator or admin.", field, fault.Quote(b.GetRole()))
		}
		out = append(out, noun.Binding{Role: role, Room: b.GetRoom()})
	}
	if err := noun.CheckBindings(out); err != nil {
		c.Fail("%s: %v.", field, err)
	}
	return out
}
