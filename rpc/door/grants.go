package door

import (
	"slices"

	"vigil/fsm"
	"vigil/rpc/code"
	"vigil/rpc/door/who"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// granted tells whether the role of an agent was granted what the agent asks for, beyond its own work. What
// lives say it says as itself only, whatever the grant. The principal has the rights from then on.
func (g *guard) granted(p *who.Principal, permit *code.Permit, req any) bool {
	if permit.Role == code.NoRole || permit.Role > code.Operator || g.readsOn(p.Name, p.Life) != nil {
		return false
	}
	p.Rights = g.grantsOf(p.Life.Agent)
	if len(p.Rights) == 0 {
		return false
	}
	if permit.Life {
		rooms := slices.DeleteFunc(roomsOf(g.reader, req), func(room string) bool { return room == roomIn(p.Life.Agent) })
		return g.ownLife(p.Life, req) == nil && !slices.ContainsFunc(rooms, func(room string) bool {
			return !p.May(permit.Role, room)
		})
	}
	return g.allowPerson(p, permit, req) == nil
}

// grantsOf gives the rights that the role of an agent was granted.
func (g *guard) grantsOf(agent string) (rights []who.Right) {
	g.reader.Read(func(st *fsm.View) {
		a := st.AgentByName(agent)
		if a == nil {
			return
		}
		if r := st.Role(a.Role); r != nil {
			for _, b := range r.Spec.Grants {
				rights = append(rights, who.Right{Role: code.Role(b.Role), Room: b.Room})
			}
		}
	})
	return rights
}

// mayGrant is nil when whoever declares a room holds all that the room's roles are granted: what an agent
// does, somebody has told it to.
func mayGrant(p *who.Principal, req any) error {
	r, ok := req.(*vigilv1.ApplyRoomRequest)
	if !ok {
		return nil
	}
	for _, role := range r.GetRoles() {
		for _, b := range role.GetGrants() {
			if need, _ := code.ParseRole(b.GetRole()); !p.May(max(need, code.Viewer), b.GetRoom()) {
				return fault.New(code.Denied, "%s may not grant role %s what it is not itself: %s in room %s.", p,
					fault.Quote(role.GetName()), fault.Quote(b.GetRole()), fault.Quote(b.GetRoom()))
			}
		}
	}
	return nil
}
