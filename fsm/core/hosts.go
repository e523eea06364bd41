package core

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"vigil/fsm/noun"
)

// RegisterHost introduces a host or brings it back. What the state believes to
// run there under the same boot and Inventory does not list is gone.
type RegisterHost struct {
	Key, Name, Boot, Version string
	Runners                  []string
	Labels                   []noun.KV
	Capacity                 uint32
	Inventory                []Running
	// Taken is when the inventory was taken, in nanoseconds of the host's own clock
	// since Boot; 0: unknown. What arrives late must not bury what was started since.
	Taken      uint64
	Warnings   []string // for people, at most MaxWarnings of MaxReason bytes
	GossipAddr string
	Servers    []string // API addresses that it knows, at most MaxHostServers
	// Containment is what holds an agent's processes together there: sealed, group or weak; empty: unknown.
	Containment string
}

func (c RegisterHost) Apply(s *State) noun.Outcome {
	if no := checkHost(&c); no.Code != noun.OK {
		return no
	}
	var h *noun.Host
	if id, ok := s.hostByKey[c.Key]; ok {
		h = s.HostTable.Mut(id)
		if h.Boot != c.Boot {
			if left := s.fencesOn(id); left > 0 {
				return Refuse(noun.HostInUse,
					"host id %s (%s) was seen with another boot id and may still run %s: "+
						"a reboot is let in when their fences have ended; a cloned machine needs an id of its own",
					c.Key, h.Name, noun.Plural(left, "agent"))
			}
			if s.talks(h) {
				return Refuse(noun.HostInUse,
					"host id %s (%s) was seen with another boot id, and that boot is heard still: "+
						"a reboot is let in when it has been silent for %s; a cloned machine needs an id of its own",
					c.Key, h.Name, SilentFor)
			}
			s.Event("host.rebooted", About{Host: id}, "")
			h.Views, h.Rev = nil, s.Meta.Index // they are about the other boot
		} else if c.Taken != 0 && c.Taken < h.Taken {
			return Refuse(noun.Superseded, "host %s has registered with a newer inventory since", h.Name)
		} else if c.Taken != 0 && c.Taken == h.Taken { // a repeat; what was started since is not in it
			return noun.Outcome{Host: h.ID, TTL: int64(s.Meta.Settings.HostTTL), Rev: h.Rev}
		}
	} else {
		if no := s.mayAddHost(&c); no.Code != noun.OK {
			return no
		}
		id := s.Meta.NextHost
		s.Meta.NextHost++
		h = s.HostTable.Put(id)
		h.ID, h.Key, h.Boot = id, c.Key, c.Boot
		s.hostByKey[c.Key] = id
		s.Event("host.joined", About{Host: id}, c.Name)
	}
	if h.Version != c.Version {
		h.Terminal = nil // an older one would never say
	}
	h.Name, h.Boot, h.Version, h.Capacity, h.Taken = c.Name, c.Boot, c.Version, c.Capacity, c.Taken
	h.Runners, h.Labels = slices.Clone(c.Runners), slices.Clone(c.Labels)
	slices.Sort(h.Runners)
	h.Warnings, h.GossipAddr = clipAll(c.Warnings), c.GossipAddr
	s.knows(h, c.Servers)
	h.Containment = noun.Clip(c.Containment, noun.MaxContainment)
	h.Rev, h.Pressure = s.Meta.Index, "" // its agentd says so again if it must
	if h.DrainBy == DrainBySelf {
		s.undrain(h, "by the agentd that was started since")
	}
	s.welcome(h)
	s.takeInventory(h, c.Inventory)
	s.reported(h)
	return noun.Outcome{Host: h.ID, TTL: int64(s.Meta.Settings.HostTTL), Rev: h.Rev}
}

// talks tells that the boot of a host that is registered goes on, so that another one is a clone: two machines with one
// identity would take the registration from each other for ever. One that has just registered, or beaten, may not be
// heard on its stream yet.
func (v *View) talks(h *noun.Host) bool {
	if !v.retries() || !h.InService() {
		return false
	}
	stream := h.Hearsay().Stream
	return stream == noun.HearAlive || stream == noun.HearNothing && v.SinceBeat(h) < SilentFor
}

// knows notes which servers a host knows. That they are others than before is an event: a host that
// knows none of the servers of now is lost to them.
func (s *State) knows(h *noun.Host, servers []string) {
	sorted := func(list []string) []string { return slices.Sorted(slices.Values(list)) }
	if len(h.Servers) > 0 && !slices.Equal(sorted(h.Servers), sorted(servers)) {
		s.Event("host.servers", About{Host: h.ID}, noun.Clip("knows "+strings.Join(servers, ", "), noun.MaxReason))
	}
	h.Servers = slices.Clone(servers)
}

// MaxHostName bounds the name of a host, in bytes.
const MaxHostName = 128

// CheckHostName tells what is wrong with the name of a host. People copy it within commands into
// their shell, so it holds nothing that a shell reads, and is no flag.
func CheckHostName(name string) error {
	if name == "" || len(name) > MaxHostName {
		return fmt.Errorf("has %d characters: use 1 to %d", len(name), MaxHostName)
	}
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && (i == 0 || r != '.' && r != '_' && r != '-') {
			return fmt.Errorf("%q cannot be used: write letters of a-z and A-Z, digits, '.', '_' and '-', "+
				"beginning with a letter or digit", name)
		}
	}
	return nil
}

func checkHost(c *RegisterHost) noun.Outcome {
	switch {
	case c.Key == "" || len(c.Key) > noun.MaxName:
		return Refuse(noun.Invalid, "the host id has %d characters, 1 to %d are allowed", len(c.Key), noun.MaxName)
	case c.Boot == "" || len(c.Boot) > noun.MaxName:
		return Refuse(noun.Invalid, "the boot id has %d characters, 1 to %d are allowed", len(c.Boot), noun.MaxName)
	case len(c.GossipAddr) > 255:
		return Refuse(noun.Invalid, "the gossip address of host %s has %d characters, at most 255 are allowed",
			c.Name, len(c.GossipAddr))
	}
	if err := CheckHostName(c.Name); err != nil {
		return Refuse(noun.Invalid, "the host's name %v", err)
	}
	if len(c.Servers) > noun.MaxHostServers ||
		slices.ContainsFunc(c.Servers, func(addr string) bool { return len(addr) > 255 }) {
		return Refuse(noun.Invalid, "host %s names more than %d servers, or one with more than 255 characters",
			c.Name, noun.MaxHostServers)
	}
	for _, r := range c.Runners {
		if err := noun.CheckName(r); err != nil {
			return Refuse(noun.Invalid, "runner of host %s: %v", c.Name, err)
		}
	}
	return noun.Outcome{}
}

// fencesOn counts the agents that may be running on a host.
func (v *View) fencesOn(id noun.HostID) (n int) {
	for a := range v.hostIndex(id).agents {
		if v.LeaseTable.Get(a).Fence != 0 {
			n++
		}
	}
	return n
}

// clipAll keeps what people can read.
func clipAll(warnings []string) (out []string) {
	for _, w := range warnings[:min(len(warnings), noun.MaxWarnings)] {
		out = append(out, noun.Clip(w, noun.MaxReason))
	}
	return out
}

// welcome renews the lease of a host and puts it back into service, as suspect
// while the servers do not hear it yet.
func (s *State) welcome(h *noun.Host) {
	h.SeenAt = s.Entry.Wall
	h.Until, h.BeatAt = s.Meta.Clock.Add(s.Meta.Settings.HostTTL), s.Meta.Clock
	if h.State != noun.HostReady && h.State != noun.HostReturning {
		switch why := s.Doubt(h); {
		case why == "":
			s.trust(h, "was "+h.State.String())
		case h.State != noun.HostSuspect:
			s.doubt(h, why)
		}
	}
	s.armHost(h)
	s.Result.Effects.Plan = true
	s.Result.Effects.Hosts = append(s.Result.Effects.Hosts, h.ID)
}

// takeInventory buries what the host does not know of: it is the authority about
// its own processes.
func (s *State) takeInventory(h *noun.Host, running []Running) {
	alive := map[noun.AgentID]noun.Incarnation{}
	for _, r := range running {
		alive[r.Agent] = r.Inc
	}
	for _, id := range s.AgentsOn(h.ID) {
		a := s.AgentTable.Mut(id)
		x := noun.Exit{Kind: noun.ExitHostGone, Reason: "its host came back without it"}
		switch {
		case alive[id] == a.Inc:
		case a.Proc.Fenced():
			s.buried(a, x)
		case a.Proc == noun.ProcUnproven:
			s.prove(a, &x, x.Reason)
		}
	}
}

// AgentsOn lists the agents of a host in order.
func (v *View) AgentsOn(id noun.HostID) []noun.AgentID {
	var list []noun.AgentID
	for a := range v.hostIndex(id).agents {
		list = append(list, a)
	}
	slices.Sort(list)
	return list
}

func (s *State) fireHost(id noun.HostID) {
	h := s.HostTable.Mut(id)
	if h == nil {
		return
	}
	h.Armed = 0
	if h.Until != 0 && h.Until <= s.Meta.Clock {
		h.Until = 0
		if h.State != noun.HostSuspect { // one outage is one flap
			s.flap(h)
		}
		s.brakeHostLost()
		s.leaveAs(h, noun.HostLost, "its lease has ended")
	}
	if h.State == noun.HostReturning && h.SteadyAt <= s.Meta.Clock {
		s.steady(h)
	}
	if h.Drain && s.drainOver(h) {
		s.clearHost(h)
	}
	s.endDrain(h)
	if h.State == noun.HostSuspect { // its last beat may be old enough now; see Surrenders
		s.Result.Effects.Plan = true
	}
	if s.outlived(h) {
		s.removeHost(h, "was silent for "+s.SinceBeat(h).Round(time.Second).String())
		return
	}
	s.armHost(h)
}

func (s *State) armHost(h *noun.Host) {
	s.Rearm(timerHost, uint64(h.ID), &h.Armed, s.hostRow(h))
}

// leaveAs takes a host out of service and withdraws the orders that it has not
// accepted; what it has accepted waits for its own fence.
func (s *State) leaveAs(h *noun.Host, state noun.HostState, why string) {
	if state == noun.HostLost {
		s.noteHeard(h, WhyMute)
	}
	h.State, h.Rev = state, s.Meta.Index
	h.SuspectWhy, h.DoubtAt, h.SteadyAt = "", 0, 0
	s.Event("host."+state.String(), About{Host: h.ID}, why)
	s.withdrawAll(h, "host "+h.Name+" "+out(state))
	s.Result.Effects.Plan = true
}

// LeaveHost is a host's good-bye; what it ran must have been reported before.
type LeaveHost struct{ Key, Boot string }

func (c LeaveHost) Apply(s *State) noun.Outcome {
	id, ok := s.hostByKey[c.Key]
	if !ok {
		return Refuse(noun.NotFound, "there is no host with id %q", c.Key)
	}
	h := s.HostTable.Mut(id)
	if h.Boot != c.Boot {
		return Refuse(noun.Superseded, "host %s has registered with another boot id since", h.Name)
	}
	h.Until, h.Flaps, h.Views, h.Pressure = 0, nil, nil, ""
	if h.State != noun.HostLeft {
		s.leaveAs(h, noun.HostLeft, "said good-bye")
		s.reported(h)
	}
	if h.DrainBy == DrainBySelf { // what it was for is done
		s.undrain(h, "by the good-bye of its agentd")
	}
	s.armHost(h)
	return noun.Outcome{Host: id}
}

// out says of a host that it is out of service.
func out(state noun.HostState) string {
	if state == noun.HostLeft {
		return "has left"
	}
	return "is " + state.String()
}

// Running is one line of a host's inventory.
type Running struct {
	Agent noun.AgentID
	Inc   noun.Incarnation
	PID   uint32
}
