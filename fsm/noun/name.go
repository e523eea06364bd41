package noun

import (
	"fmt"
	"strconv"
	"strings"
)

// CheckName tells whether a room, role or runner may be called so: 1..MaxName of
// a-z, 0-9, '-' and '_', beginning with a letter or digit.
func CheckName(name string) error {
	if name == "" || len(name) > MaxName {
		return fmt.Errorf("%q has %d characters; names have 1 to %d", name, len(name), MaxName)
	}
	for i, c := range []byte(name) {
		ok := c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || i > 0 && (c == '-' || c == '_')
		if !ok {
			return fmt.Errorf("%q: character %d is %q; "+
				"names are made of a-z, 0-9, - and _ and begin with a letter or digit", name, i+1, c)
		}
	}
	return nil
}

// AgentName is room/role for the first agent of a role, room/role.2 for the second.
func AgentName(room, role string, index uint32) string {
	if index <= 1 {
		return room + "/" + role
	}
	return room + "/" + role + "." + strconv.FormatUint(uint64(index), 10)
}

// SplitAny splits "room/role.*".
func SplitAny(name string) (room, role string, any bool) {
	room, role, _ = strings.Cut(name, "/")
	role, any = strings.CutSuffix(role, ".*")
	return room, role, any
}
