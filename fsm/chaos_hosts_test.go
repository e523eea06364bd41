package fsm

import (
	"fmt"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// mute tells that a host is cut off; each is, for a while, and again.
func (c *chaos) mute(host noun.HostID) bool { return host != 0 && c.index/60%5 == uint64(host) }

// hostWord is what servers, planners and humans say of whole hosts. A drain or a
// pressure soon ends, so that the rest of the log has hosts to start on.
func (c *chaos) hostWord(s *State) Command {
	host := noun.HostID(1 + c.rng.IntN(3))
	if c.ends && (!c.world || c.one(3)) { // the naive twin knows nothing of hosts that are not heard
		return c.drain(s, host)
	}
	for h := range s.Hosts() {
		switch {
		case h.Drain && c.one(3):
			return DrainHost{Host: h.ID, Off: true, By: "x", For: c.lasts(s, false)}
		case h.Pressure != "" && c.one(3):
			return ReportPressure{Host: h.ID, Boot: h.Boot}
		case h.State == noun.HostSuspect && c.one(4):
			return SuspectHost{Host: h.ID, Reason: "heard again"}
		case c.mute(h.ID) && c.one(2):
			return c.cutOff(h)
		case c.one(8):
			host = h.ID
		}
	}
	boot := "1"
	if h := s.Host(host); h != nil {
		boot = h.Boot
	}
	switch n := c.rng.IntN(20); {
	case n < 6:
		return c.views(s, host)
	case n < 8:
		return SuspectHost{Host: host, Suspect: true,
			Reason: pick(c, []string{core.WhyMute, core.WhyStream, core.WhyBlocked})}
	case n < 11:
		return SurrenderHost{Host: host, Reason: "nothing is heard"}
	case n < 14:
		return c.drain(s, host)
	case n == 15 && s.Level() >= core.LevelRetry:
		return ReportKept{Host: host, Boot: boot, Bytes: pick(c, []uint64{0, 1, 9}), Removable: 1, Oldest: 7}
	case n < 16:
		return ReportPressure{Host: host, Boot: boot, Reason: pick(c, []string{"", "short", "shorter"})}
	case n < 18:
		return ConfirmDead{Host: host, Force: c.one(2), By: "x"}
	case n == 18:
		return ReleaseBrake{By: "x"}
	}
	if c.world {
		return ForgetHost{Host: host, By: "x"}
	}
	return ForgetHost{Host: 99, By: "x"}
}

// drain is a human's or a daemon's word; where drains end by themselves, few are ended by humans.
func (c *chaos) drain(s *State, host noun.HostID) Command {
	if c.ends && c.one(8) {
		return DrainHost{Host: host, Off: true, By: "x", For: c.lasts(s, false)}
	}
	d := DrainHost{Host: host, Deadline: time.Duration(c.rng.IntN(4)) * 3 * time.Second,
		By: pick(c, []string{"x", DrainBySelf})}
	if d.By == "x" {
		d.For = c.lasts(s, true)
	}
	return d
}

// cutOff is what is said of a host that is mute.
func (c *chaos) cutOff(h *noun.Host) Command {
	switch c.rng.IntN(4) {
	case 0:
		return SuspectHost{Host: h.ID, Suspect: true, Reason: core.WhyMute}
	case 1:
		return ReportViews{Server: pick(c, []string{"a", "b", "c"}),
			Views: []noun.HostView{{Host: h.ID, Gossip: noun.HearSilent, Stream: noun.HearSilent}}}
	}
	return SurrenderHost{Host: h.ID, Reason: "nothing is heard"}
}

func (c *chaos) views(s *State, host noun.HostID) Command {
	r := ReportViews{Server: pick(c, []string{"a", "b", "c"}), All: c.one(6)}
	for range c.rng.IntN(3) {
		hear := []noun.Hearing{noun.HearNothing, noun.HearAlive, noun.HearSilent, noun.HearSilent, noun.HearLeft}
		r.Views = append(r.Views, noun.HostView{Host: host, Gossip: pick(c, hear), Stream: pick(c, hear)})
		host = noun.HostID(1 + c.rng.IntN(4))
	}
	return r
}

// worldly changes what stands around tasks and agents.
func (c *chaos) worldly(s *State) Command {
	room := pick(c, c.rooms)
	switch c.rng.IntN(16) {
	case 0, 1, 2, 3:
		roles := chaosRoles()
		for i := range roles {
			roles[i].Replicas = uint32(1 + c.rng.IntN(4))
			roles[i].Start = noun.StartMode(c.rng.IntN(2))
			if c.retries {
				roles[i].Policy = noun.Policy(c.rng.IntN(3))
			}
			if c.one(5) {
				roles[i].Desired = noun.DesiredStopped
			}
		}
		if c.one(3) {
			roles = roles[c.rng.IntN(3):]
		}
		return ApplyRoom{Room: room, Roles: roles, By: "x"}
	case 4:
		return DeleteRoom{Room: room, By: "x"}
	case 5, 6, 7:
		key := pick(c, []string{"h1", "h2", "h3"})
		r := RegisterHost{Key: key, Name: key, Boot: pick(c, []string{"1", "1", "2"}),
			Runners: []string{"w", "v"}, Capacity: 6}
		for a := range s.Agents("") {
			if h := s.HostByKey(key); h != nil && a.Host == h.ID && !c.one(4) {
				r.Inventory = append(r.Inventory, Running{Agent: a.ID, Inc: a.Inc})
			}
		}
		return r
	case 8:
		return LeaveHost{Key: pick(c, []string{"h1", "h2", "h3"}), Boot: "1"}
	case 9:
		return SuspectHost{Host: noun.HostID(1 + c.rng.IntN(3)), Suspect: c.one(2)}
	case 10:
		return PutSettings{Values: []noun.KV{pick(c, []noun.KV{{Key: "events_kept", Value: "1000"},
			{Key: "tasks_kept", Value: "20"}, {Key: "tasks_kept", Value: "200"},
			{Key: "accept_limit", Value: "1s"}, {Key: "accept_limit", Value: "9s"},
			{Key: "host_ttl", Value: "8s"}, {Key: "host_ttl", Value: "30s"}, {Key: "task_retention", Value: "90s"},
			{Key: "breaker_pause", Value: "20s"}, {Key: "session_ttl", Value: "20s"},
			{Key: "declare_limit", Value: "6h"}, {Key: "declare_limit", Value: "4h"},
			{Key: "mail_high_limit", Value: "2s"}, {Key: "mail_kept", Value: "1000"},
			{Key: "mail_expiry", Value: "15s"},
			{Key: "brake_agents", Value: "2"}, {Key: "brake_agents", Value: "0"},
			{Key: "brake_share", Value: "20"}, {Key: "flap_limit", Value: "1"}, {Key: "flap_pause", Value: "5s"},
			{Key: "ttl", Value: "12s"},
			{Key: "watchdog_threshold", Value: "3s"}, {Key: "watchdog_threshold", Value: "9s"},
			{Key: "watchdog_interval", Value: "30s"}, {Key: "watchdog_enabled", Value: "true"},
			{Key: "watchdog_enabled", Value: "false"}})}}
	case 11:
		return PutServer{ID: pick(c, []string{"a", "b", "c"}), Version: fmt.Sprint(c.rng.IntN(3))}
	case 12:
		return Mark{Voters: []string{"a", "b", "c"}}
	case 13:
		var at uint64
		if n := len(s.Meta.Marks); n > 0 {
			at = s.Meta.Marks[n-1].Index
		}
		return ReportHash{Server: pick(c, []string{"a", "b", "c"}), Index: at, Hash: []byte{byte(c.rng.IntN(3))}}
	case 14:
		if c.one(4) {
			return RaiseEpoch{Hold: 5 * time.Second}
		}
		return DropServer{ID: "c"}
	}
	return pick(c, []Command{RestartAgent{Agent: c.agent(s).Name},
		SetResume{Speaker: c.speaker(c.agent(s)), Resume: "x"}, CloseSession{},
		CancelOrder{Agent: c.agent(s).ID, Inc: c.agent(s).Inc}})
}
