package duty

import (
	"vigil/fsm"
	"vigil/fsm/noun"
)

// Voids drops what servers that the leader cannot reach have said of hosts: it is
// out of date. Such a server says everything again when it is back.
func Voids(s *fsm.View, unheard map[string]bool) []fsm.Command {
	if len(unheard) == 0 {
		return nil
	}
	var out []fsm.Command
	done := map[string]bool{}
	for h := range s.Hosts() {
		for _, v := range h.Views {
			if unheard[v.Server] && !done[v.Server] {
				done[v.Server] = true
				out = append(out, fsm.ReportViews{Server: v.Server, All: true})
			}
		}
	}
	return out
}

// Suspects doubts every host in service that the servers do not hear, and trusts a
// suspect one again that they do; see fsm.State.Doubt for the rule. A doubt that
// has got another reason is said again.
func Suspects(s *fsm.View) []fsm.Command {
	var out []fsm.Command
	for h := range s.Hosts() {
		if h.State == noun.HostLost || h.State == noun.HostLeft {
			continue
		}
		suspect := h.State == noun.HostSuspect
		switch why := s.Doubt(h); {
		case why == "" && suspect && h.Hearsay().Stream != noun.HearAlive && h.BeatAt <= h.DoubtAt:
			// That nobody says anything bad any more, since what servers out of reach
			// have said was dropped, is no sign of life.
		case why == "" && suspect:
			out = append(out, fsm.SuspectHost{Host: h.ID, Reason: "heard again"})
		case why != "" && (!suspect || h.SuspectWhy != why):
			out = append(out, fsm.SuspectHost{Host: h.ID, Suspect: true, Reason: why})
		}
	}
	return out
}

// Surrenders gives up the lives of fast roles on hosts of which nothing is heard,
// so that they are started elsewhere before their fences end.
func Surrenders(s *fsm.View) []fsm.Command {
	var out []fsm.Command
	for h := range s.Hosts() {
		if s.Surrenders(h) {
			out = append(out, fsm.SurrenderHost{Host: h.ID,
				Reason: "neither stream nor gossip nor beat for " + fsm.SilentFor.String()})
		}
	}
	return out
}

// Cancels takes back the start orders of suspect hosts, so that the agents can go
// to another. An order that was accepted stays: the agent may be running (law L7).
func Cancels(s *fsm.View) []fsm.Command {
	var out []fsm.Command
	for h := range s.Hosts() {
		if h.State != noun.HostSuspect {
			continue
		}
		for _, id := range s.HostOrders(h.ID) {
			if a := s.Agent(id); a.Proc == noun.ProcOrdered {
				out = append(out, fsm.CancelOrder{Agent: id, Inc: a.Inc, Reason: "host " + h.Name + " is suspect"})
			}
		}
	}
	return out
}
