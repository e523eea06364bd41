package hosts

import (
	"crypto/sha256"
	"math"
	"slices"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// maxRunning bounds the lives that a host lists.
const maxRunning = 16_384

func hostID(c *form.Checks, id uint32) {
	if id == 0 {
		c.Fail("host is missing; register first and use the number of the answer.")
	}
}

func agentInc(c *form.Checks, agent uint32, inc uint64) {
	if agent == 0 || inc == 0 {
		c.Fail("agent and incarnation are missing; send those of the order.")
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
	var c form.Checks
	c.Line("key", r.GetKey(), form.MaxWho)
	c.Present("key", r.GetKey(), "send the stable id of the host")
	c.Boot(r.GetBoot())
	c.NewHostName(r.GetName())
	c.Line("version", r.GetVersion(), form.MaxWho)
	c.AtMost("runners", len(r.GetRunners()), noun.MaxRoles)
	c.AtMost("running agents", len(r.GetInventory()), maxRunning)
	var warnings []string
	for _, w := range r.GetWarnings()[:min(len(r.GetWarnings()), noun.MaxWarnings)] {
		warnings = append(warnings, form.FactLine(w, noun.MaxReason))
	}
	c.Line("gossip_addr", r.GetGossipAddr(), form.MaxKVValue)
	c.AtMost("servers", len(r.GetServers()), noun.MaxHostServers)
	for _, addr := range r.GetServers() {
		c.Line("a server", addr, 255)
	}
	for _, name := range r.GetRunners() {
		c.Name("runner", name)
	}
	labels := c.KVs("labels", r.GetLabels())
	if c.Err != nil {
		return nil, c.Err
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
		agentInc(&c, run.GetAgent(), run.GetIncarnation())
		cmd.Inventory = append(cmd.Inventory, fsm.Running{Agent: noun.AgentID(run.GetAgent()),
			Inc: noun.Incarnation(run.GetIncarnation()), PID: run.GetPid()})
	}
	return cmd, c.Err
}

func leaveHostCmd(r *vigilv1.LeaveHostRequest) (fsm.Command, error) {
	var c form.Checks
	c.Present("key", r.GetKey(), "send the stable id of the host")
	c.Boot(r.GetBoot())
	return fsm.LeaveHost{Key: r.GetKey(), Boot: r.GetBoot()}, c.Err
}

func acceptOrderCmd(r *vigilv1.AcceptOrderRequest) (fsm.Command, error) {
	var c form.Checks
	hostID(&c, r.GetHost())
	c.Boot(r.GetBoot())
	agentInc(&c, r.GetAgent(), r.GetIncarnation())
	if n := len(r.GetTokenHash()); n != 0 && n != sha256.Size {
		c.Fail("token_hash has %d bytes; send the %d bytes of a sha256 sum.", n, sha256.Size)
	}
	return fsm.AcceptOrder{Host: noun.HostID(r.GetHost()), Boot: r.GetBoot(), Agent: noun.AgentID(r.GetAgent()),
		Inc: noun.Incarnation(r.GetIncarnation()), TokenHash: r.GetTokenHash()}, c.Err
}

func reportStartedCmd(r *vigilv1.ReportStartedRequest) (fsm.Command, error) {
	var c form.Checks
	hostID(&c, r.GetHost())
	agentInc(&c, r.GetAgent(), r.GetIncarnation())
	return fsm.ReportStarted{Host: noun.HostID(r.GetHost()), Agent: noun.AgentID(r.GetAgent()),
		Inc: noun.Incarnation(r.GetIncarnation()), PID: r.GetPid()}, c.Err
}

func reportExitCmd(r *vigilv1.ReportExitRequest) (fsm.Command, error) {
	var c form.Checks
	hostID(&c, r.GetHost())
	agentInc(&c, r.GetAgent(), r.GetIncarnation())
	cmd := fsm.ReportExit{Host: noun.HostID(r.GetHost()), Agent: noun.AgentID(r.GetAgent()),
		Inc: noun.Incarnation(r.GetIncarnation()), Code: r.GetCode(), Signal: form.FactLine(r.GetSignal(), form.MaxWho),
		Reason: form.FactText(r.GetReason(), noun.MaxReason), Tail: form.FactText(r.GetTail(), noun.MaxTail),
		RetryAfter: min(max(r.GetRetryAfter().AsDuration(), 0), fsm.MaxUsagePause)}
	// A host may set several of these; the first one counts, since a report of a fact is not refused.
	switch {
	case r.GetOrdered(): // first: what its host was too slow to start is not charged
		cmd.Kind = noun.ExitOrdered
	case r.GetStartFailed():
		cmd.Kind = noun.ExitStartFailed
	case r.GetUsageLimit():
		cmd.Kind = noun.ExitUsageLimit
	case r.GetTimedOut():
		cmd.Kind = noun.ExitTimedOut
	}
	return cmd, c.Err
}

// hostWord is a human's word about a host.
type hostWord interface {
	GetHost() string
	GetBy() string
	GetId() *vigilv1.WriteId
}

// whichHost validates which host is meant, and by whom.
func whichHost(c *form.Checks, r hostWord) {
	c.Line("host", r.GetHost(), form.MaxWho)
	c.Present("host", r.GetHost(), "give its name or number (`vigil host list` shows them)")
	c.Line("by", r.GetBy(), form.MaxWho)
}

func drainHostCmd(r *vigilv1.DrainHostRequest, id noun.HostID) (fsm.Command, error) {
	var c form.Checks
	whichHost(&c, r)
	deadline := c.Duration("deadline", r.GetDeadline())
	if r.GetOff() && deadline != 0 {
		c.Fail("deadline is %s with off; a drain that ends has no deadline.", deadline)
	}
	span := c.Lasts(r.GetFor(), !r.GetOff(), "a drain that ends")
	if span != 0 && deadline >= span {
		c.Fail("deadline is %s and for is %s; the deadline must come before the drain ends.", deadline, span)
	}
	return fsm.DrainHost{Host: id, Off: r.GetOff(), Deadline: deadline, By: r.GetBy(), For: span}, c.Err
}

func confirmDeadCmd(r *vigilv1.ConfirmDeadRequest, id noun.HostID) (fsm.Command, error) {
	var c form.Checks
	whichHost(&c, r)
	return fsm.ConfirmDead{Host: id, Force: r.GetForce(), By: r.GetBy()}, c.Err
}

func forgetHostCmd(r *vigilv1.ForgetHostRequest, id noun.HostID) (fsm.Command, error) {
	var c form.Checks
	whichHost(&c, r)
	return fsm.ForgetHost{Host: id, By: r.GetBy()}, c.Err
}

func reportStuckCmd(r *vigilv1.ReportStuckRequest) (fsm.Command, error) {
	var c form.Checks
	hostID(&c, r.GetHost())
	agentInc(&c, r.GetAgent(), r.GetIncarnation())
	return fsm.ReportStuck{Host: noun.HostID(r.GetHost()), Agent: noun.AgentID(r.GetAgent()),
		Inc: noun.Incarnation(r.GetIncarnation()), Reason: form.FactText(r.GetReason(), noun.MaxReason)}, c.Err
}

func reportKeptCmd(r *vigilv1.ReportKeptRequest) (fsm.Command, error) {
	var c form.Checks
	hostID(&c, r.GetHost())
	c.Boot(r.GetBoot())
	cmd := fsm.ReportKept{Host: noun.HostID(r.GetHost()), Boot: r.GetBoot(), Bytes: r.GetKept().GetBytes(),
		Removable: r.GetKept().GetRemovable()}
	if at := r.GetKept().GetOldest(); at.IsValid() {
		// Other times are no mistakes that a host could mend: its clock is off.
		cmd.Oldest = noun.Wall(max(0, min(at.GetSeconds(), maxWall))) * noun.Wall(time.Second)
	}
	return cmd, c.Err
}

// maxWall is the last second of which noun.Wall can tell.
const maxWall = math.MaxInt64 / int64(time.Second)

func reportPressureCmd(r *vigilv1.ReportPressureRequest) (fsm.Command, error) {
	var c form.Checks
	hostID(&c, r.GetHost())
	c.Boot(r.GetBoot())
	return fsm.ReportPressure{Host: noun.HostID(r.GetHost()), Boot: r.GetBoot(),
		Reason: form.FactText(r.GetReason(), noun.MaxReason)}, c.Err
}
