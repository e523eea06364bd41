package agentd

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"vigil/agentd/proc"
)

// contain measures once, at the start, what holds agents of each account together here: in a container with
// too few rights nothing may, and nobody would know before two lives of one agent run (law L7). What is weak
// becomes a warning of the host, which `vigil host show` and `vigil status` tell.
func (k *keeper) contain() {
	accounts := k.runners.Accounts()
	for i, name := range slices.Sorted(maps.Keys(accounts)) {
		mark := proc.Mark{Host: fmt.Sprintf("%s-probe%d", k.mark, os.Getpid()), Agent: uint32(i + 1), Incarnation: 1}
		level, why := k.scans.Contain(mark, accounts[name])
		who := "agents of " + name
		if name == "" {
			who = "agents of agentd's own account"
		}
		if k.containment == "" || level.Below(k.containment) {
			k.containment = level
		}
		k.log.Info("containment", "account", name, "containment", level, "why", why)
		if level == proc.Weak {
			k.config.Warnings = append(k.config.Warnings, fmt.Sprintf(
				"containment of %s is weak: what leaves its process group is neither frozen nor killed, "+
					"so two lives of one agent may overlap: %s", who, why))
		}
	}
}
