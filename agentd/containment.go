package agentd

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"syscall"

	"vigil/agentd/proc"
	"vigil/agentd/runner"
)

// measure adds what contain finds to an offer that nobody reads yet.
func (s *site) measure(o *offer) {
	weakest, warnings := s.contain(o.Accounts())
	o.containment, o.warnings = weakest, append(o.warnings, warnings...)
}

// contain measures, once for each offer, what holds agents of each account together here: in a container with
// too few rights nothing may, and nobody would know before two lives of one agent run (law L7). What is weak
// becomes a warning of the host, which `vigil host show` and `vigil status` tell.
func (s *site) contain(accounts map[string]*syscall.Credential) (weakest proc.Containment, warnings []string) {
	for i, name := range slices.Sorted(maps.Keys(accounts)) {
		mark := proc.Mark{Host: fmt.Sprintf("%s-probe%d", s.mark, os.Getpid()), Agent: uint32(i + 1), Incarnation: 1}
		level, why := s.scans.Contain(mark, accounts[name])
		if level == proc.Sealed && name != runner.OwnAccounts {
			// The socket of a life asks for its account: one agent can speak through that of another.
			level, why = proc.Grouped, "its agents share one account, so one can act as another"
		}
		who := "agents of " + name
		switch name {
		case "":
			who = "agents of agentd's own account"
		case runner.OwnAccounts:
			who = "agents with accounts of their own"
		}
		if weakest == "" || level.Below(weakest) {
			weakest = level
		}
		s.log.Info("containment", "account", name, "containment", level, "why", why)
		if level == proc.Weak {
			warnings = append(warnings, fmt.Sprintf(
				"containment of %s is weak: what leaves its process group is neither frozen nor killed, "+
					"so two lives of one agent may overlap: %s", who, why))
		}
	}
	return weakest, warnings
}
