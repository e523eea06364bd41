package fsm

import "time"

// mute tells that a host is cut off; each is, for a while, and again.
func (c *chaos) mute(host HostID) bool { return host != 0 && c.index/60%5 == uint64(host) }

// hostWord is what servers, planners and humans say of whole hosts. A drain or a
// pressure soon ends, so that the rest of the log has hosts to start on.
func (c *chaos) hostWord(s *State) Command {
	host := HostID(1 + c.rng.IntN(3))
	for h := range s.Hosts() {
		switch {
		case h.Drain && c.one(3):
			return DrainHost{Host: h.ID, Off: true, By: "x"}
		case h.Pressure != "" && c.one(3):
			return ReportPressure{Host: h.ID, Boot: h.Boot}
		case h.State == HostSuspect && c.one(4):
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
		return SuspectHost{Host: host, Suspect: true, Reason: pick(c, []string{whyMute, whyStream, whyBlocked})}
	case n < 11:
		return SurrenderHost{Host: host, Reason: "nothing is heard"}
	case n < 14:
		return DrainHost{Host: host, Deadline: time.Duration(c.rng.IntN(4)) * 3 * time.Second, By: pick(c, []string{"x", DrainBySelf})}
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

// cutOff is what is said of a host that is mute.
func (c *chaos) cutOff(h *Host) Command {
	switch c.rng.IntN(4) {
	case 0:
		return SuspectHost{Host: h.ID, Suspect: true, Reason: whyMute}
	case 1:
		return ReportViews{Server: pick(c, []string{"a", "b", "c"}), Views: []HostView{{Host: h.ID, Gossip: HearSilent, Stream: HearSilent}}}
	}
	return SurrenderHost{Host: h.ID, Reason: "nothing is heard"}
}

func (c *chaos) views(s *State, host HostID) Command {
	r := ReportViews{Server: pick(c, []string{"a", "b", "c"}), All: c.one(6)}
	for range c.rng.IntN(3) {
		hear := []Hearing{HearNothing, HearAlive, HearSilent, HearSilent, HearLeft}
		r.Views = append(r.Views, HostView{Host: host, Gossip: pick(c, hear), Stream: pick(c, hear)})
		host = HostID(1 + c.rng.IntN(4))
	}
	return r
}
