package serve

import (
	"os"
	"slices"

	"vigil/agentd/shim"
)

// BeShim is the hidden command "shim", which agentd starts for each agent and people never do: it holds one agent
// and gives the exit code. It is told from the other commands before these are made, since a start waits for it.
// False: the arguments, without the name of the program, are of another command.
func BeShim(args []string) (code int, is bool) {
	if !slices.Equal(args, shimArgs) {
		return 0, false
	}
	return shim.Serve(os.Stdin, shim.RealClock()), true
}

// shimArgs are the arguments of a shim.
var shimArgs = []string{"shim"}
