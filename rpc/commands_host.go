package rpc

import (
	"crypto/sha256"
	"slices"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// boot asks for the two identities of a host's words.
func (c *checks) boot(boot string) {
	c.line("boot", boot, maxWho)
	c.present("boot", boot, "send the boot id of the machine")
}

func (c *checks) hostID(id uint32) {
	if id == 0 {
		c.fail("host is missing; register first and use the number of the answer.")
	}
}

func (c *checks) agentInc(agent uint32, inc uint64) {
	if agent == 0 || inc == 0 {
		c.fail("agent and incarnation are missing; send those of the order.")
	}
}

// containment takes a host's word for what holds processes together; an unknown one, as of a newer
// host, counts as none: facts of hosts are not refused for their words.
func containment(word string) string {
	switch word {
	case "sealed", "group", "weak":
		return word
	}
	return ""
}

func registerHostCmd(r *vigilv1.RegisterRequest) (fsm.Command, error) {
	var c checks
	c.line("key", r.GetKey(), maxWho)
	c.present("key", r.GetKey(), "send the stable id of the host")
	c.boot(r.GetBoot())
	c.newHostName(r.GetName())
	c.line("version", r.GetVersion(), maxWho)
	c.atMost("runners", len(r.GetRunners()), noun.MaxRoles)
	c.atMost("running agents", len(r.GetInventory()), maxRunning)
	var warnings []string
	for _, w := range r.GetWarnings()[:min(len(r.GetWarnings()), noun.MaxWarnings)] {
		warnings = append(warnings, factLine(w, noun.MaxReason))
	}
	c.line("gossip_addr", r.GetGossipAddr(), maxKVValue)
	c.atMost("servers", len(r.GetServers()), noun.MaxHostServers)
	for _, addr := range r.GetServers() {
		c.line("a server", addr, 255)
	}
	for _, name := range r.GetRunners() {
		c.name("runner", name)
	}
	labels := c.kvs("labels", r.GetLabels())
	if c.err != nil {
		return nil, c.err
	}
	runners := slices.Clone(r.GetRunners())
	slices.Sort(runners)
	cmd := fsm.RegisterHost{Key: r.GetKey(), Name: r.GetName(), Boot: r.GetBoot(), Version: r.GetVersion(),
		Runners: slices.Compact(runners), Labels: labels, Capacity: r.GetCapacity(), Taken: r.GetTaken(),
		Warnings: warnings, GossipAddr: r.GetGossipAddr(),
		Servers: slices.Clone(r.GetServers()), Containment: containment(r.GetContainment())}
	if cmd.Name == "" {
		cmd.Name = "unnamed" // never its key, which is a secret
	}
	for _, run := range r.GetInventory() {
		c.agentInc(run.GetAgent(), run.GetIncarnation())
		cmd.Inventory = append(cmd.Inventory, fsm.Running{Agent: noun.AgentID(run.GetAgent()),
			Inc: noun.Incarnation(run.GetIncarnation()), PID: run.GetPid()})
	}
	return cmd, c.err
}

func leaveHostCmd(r *vigilv1.LeaveHostRequest) (fsm.Command, error) {
	var c checks
	c.present("key", r.GetKey(), "send the stable id of the host")
	c.boot(r.GetBoot())
	return fsm.LeaveHost{Key: r.GetKey(), Boot: r.GetBoot()}, c.err
}

func acceptOrderCmd(r *vigilv1.AcceptOrderRequest) (fsm.Command, error) {
	var c checks
	c.hostID(r.GetHost())
	c.boot(r.GetBoot())
	c.agentInc(r.GetAgent(), r.GetIncarnation())
	if n := len(r.GetTokenHash()); n != 0 && n != sha256.Size {
		c.fail("token_hash has %d bytes; send the %d bytes of a sha256 sum.", n, sha256.Size)
	}
	return fsm.AcceptOrder{Host: noun.HostID(r.GetHost()), Boot: r.GetBoot(), Agent: noun.AgentID(r.GetAgent()),
		Inc: noun.Incarnation(r.GetIncarnation()), TokenHash: r.GetTokenHash()}, c.err
}

func reportStartedCmd(r *vigilv1.ReportStartedRequest) (fsm.Command, error) {
	var c checks
	c.hostID(r.GetHost())
	c.agentInc(r.GetAgent(), r.GetIncarnation())
	return fsm.ReportStarted{Host: noun.HostID(r.GetHost()), Agent: noun.AgentID(r.GetAgent()),
		Inc: noun.Incarnation(r.GetIncarnation()), PID: r.GetPid()}, c.err
}

func reportExitCmd(r *vigilv1.ReportExitRequest) (fsm.Command, error) {
	var c checks
	c.hostID(r.GetHost())
	c.agentInc(r.GetAgent(), r.GetIncarnation())
	cmd := fsm.ReportExit{Host: noun.HostID(r.GetHost()), Agent: noun.AgentID(r.GetAgent()),
		Inc: noun.Incarnation(r.GetIncarnation()), Code: r.GetCode(), Signal: factLine(r.GetSignal(), maxWho),
		Reason: factText(r.GetReason(), noun.MaxReason), Tail: factText(r.GetTail(), noun.MaxTail),
		RetryAfter: min(max(r.GetRetryAfter().AsDuration(), 0), fsm.MaxUsagePause)}
	// A host may set several of these; the first one counts, since a report of a fact is not refused.
	switch {
	case r.GetStartFailed():
		cmd.Kind = noun.ExitStartFailed
	case r.GetOrdered():
		cmd.Kind = noun.ExitOrdered
	case r.GetUsageLimit():
		cmd.Kind = noun.ExitUsageLimit
	case r.GetTimedOut():
		cmd.Kind = noun.ExitTimedOut
	}
	return cmd, c.err
}

func announceServerCmd(r *vigilv1.AnnounceServerRequest) (fsm.Command, error) {
	var c checks
	c.name("id", r.GetId())
	c.line("api_addr", r.GetApiAddr(), maxKVValue)
	c.line("raft_addr", r.GetRaftAddr(), maxKVValue)
	c.line("version", r.GetVersion(), maxWho)
	c.line("gossip_addr", r.GetGossipAddr(), maxKVValue)
	return fsm.PutServer{ID: r.GetId(), APIAddr: r.GetApiAddr(), RaftAddr: r.GetRaftAddr(),
		Version: r.GetVersion(), Features: r.GetFeatures(), GossipAddr: r.GetGossipAddr()}, c.err
}

func putSettingsCmd(r *vigilv1.PutSettingsRequest) (fsm.Command, error) {
	var c checks
	c.line("by", r.GetBy(), maxWho)
	if len(r.GetValues()) == 0 {
		c.fail("values are missing; name at least one setting (`vigil settings show` lists them).")
	}
	return fsm.PutSettings{Values: c.kvs("values", r.GetValues()), By: r.GetBy()}, c.err
}

func reportHashCmd(r *vigilv1.ReportHashRequest) (fsm.Command, error) {
	var c checks
	c.name("server", r.GetServer())
	if n := len(r.GetHash()); n != sha256.Size {
		c.fail("hash has %d bytes; send the %d bytes of a sha256 sum.", n, sha256.Size)
	}
	return fsm.ReportHash{Server: r.GetServer(), Index: r.GetIndex(), Hash: r.GetHash()}, c.err
}
