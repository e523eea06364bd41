package duty

import (
	"time"

	"vigil/fsm"
)

// SilentFor is the silence on its stream that makes a host suspect: more than two
// pings.
const SilentFor = 5 * time.Second

// Suspects doubts every ready host that has been silent for SilentFor, and trusts
// a suspect one again that has been heard since. The map gives, for hosts whose
// stream is (or was last) held by this server, how long each has said nothing; a
// host that is not in it holds its stream elsewhere: it is never doubted from here,
// and trusted again when it has just sent a beat.
func Suspects(s *fsm.State, silence map[fsm.HostID]time.Duration) []fsm.Command {
	var out []fsm.Command
	for h := range s.Hosts() {
		silent, here := silence[h.ID]
		switch {
		case h.State == fsm.HostReady && here && silent >= SilentFor:
			out = append(out, fsm.SuspectHost{Host: h.ID, Suspect: true, Reason: "silent on its stream for more than " + SilentFor.String()})
		case h.State != fsm.HostSuspect:
		case here && silent < SilentFor:
			out = append(out, fsm.SuspectHost{Host: h.ID, Reason: "heard on its stream again"})
		case !here && sinceBeat(s, h) < SilentFor:
			out = append(out, fsm.SuspectHost{Host: h.ID, Reason: "it beats, its stream is on another server"})
		}
	}
	return out
}

// sinceBeat is the cluster time since the host's lease was last renewed.
func sinceBeat(s *fsm.State, h *fsm.Host) time.Duration {
	return s.Settings().HostTTL - h.Until.Sub(s.Clock())
}

// Cancels takes back the start orders of suspect hosts, so that the agents can go
// to another. An order that was accepted stays: the agent may be running (law L7).
func Cancels(s *fsm.State) []fsm.Command {
	var out []fsm.Command
	for h := range s.Hosts() {
		if h.State != fsm.HostSuspect {
			continue
		}
		for _, id := range s.HostOrders(h.ID) {
			if a := s.Agent(id); a.Proc == fsm.ProcOrdered {
				out = append(out, fsm.CancelOrder{Agent: id, Inc: a.Inc, Reason: "host " + h.Name + " is suspect"})
			}
		}
	}
	return out
}
