package conf

import (
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// grantFile gives the agents of a role one of the roles of people in some rooms.
type grantFile struct {
	Role  textValue   `yaml:"role"`
	Rooms []textValue `yaml:"rooms"`
}

// checkGrants tells what is wrong with grants, with its place where there is one.
func (d *document) checkGrants(list []grantFile) error {
	for i := range list {
		g := &list[i]
		switch {
		case g.Role.text == "":
			return placed(d.file, d.text, start(d.body), "a grant has no role: write, for instance, "+
				"grants: [{role: reader, rooms: [web]}]")
		case len(g.Rooms) == 0:
			return placed(d.file, d.text, g.Role.at, "the grant names no room: write rooms: [web], or rooms: [\"*\"] for all")
		}
		if err := d.word(g.Role, "viewer", "reader", "operator"); err != nil {
			return err
		}
		for _, room := range g.Rooms {
			if room.text == noun.Everywhere {
				continue
			}
			if err := d.name("room", room, d.body); err != nil {
				return err
			}
		}
	}
	return nil
}

func grants(list []grantFile) (out []*vigilv1.Binding) {
	for _, g := range list {
		for _, room := range g.Rooms {
			out = append(out, &vigilv1.Binding{Role: g.Role.text, Room: room.text})
		}
	}
	return out
}
