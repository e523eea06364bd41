package hosts

import (
	"slices"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// This file is about what hosts see on the terminals of their agents.

func reportScreenCmd(r *vigilv1.ReportScreenRequest) (fsm.Command, error) {
	var c form.Checks
	hostID(&c, r.GetHost())
	agentInc(&c, r.GetAgent(), r.GetIncarnation())
	kind := c.Word("prompt", r.GetPrompt(), noun.PromptNames())
	return fsm.ReportScreen{Host: noun.HostID(r.GetHost()), Agent: noun.AgentID(r.GetAgent()),
		Inc: noun.Incarnation(r.GetIncarnation()), Kind: noun.PromptKind(kind), Quiet: r.GetQuiet()}, c.Err
}

func reportTerminalsCmd(r *vigilv1.ReportTerminalsRequest) (fsm.Command, error) {
	var c form.Checks
	hostID(&c, r.GetHost())
	c.Boot(r.GetBoot())
	cmd := fsm.ReportTerminals{Host: noun.HostID(r.GetHost()), Boot: r.GetBoot(),
		Tool: form.FactLine(r.GetTool(), noun.MaxTool), Why: form.FactText(r.GetWhy(), noun.MaxReason)}
	for _, list := range []struct {
		field string
		names []string
		to    *[]string
	}{{"runners", r.GetRunners(), &cmd.Runners}, {"watched", r.GetWatched(), &cmd.Watched}} {
		c.AtMost(list.field, len(list.names), noun.MaxRoles)
		for _, name := range list.names {
			c.Name("runner", name)
		}
		names := slices.Clone(list.names)
		slices.Sort(names)
		*list.to = slices.Compact(names)
	}
	return cmd, c.Err
}
