package duty

import (
	"vigil/fsm"
	"vigil/fsm/noun"
)

// planHosts looks at one host after the other: what servers out of reach have said of it is
// dropped, it is doubted or trusted, and what waits for it is taken back.
func planHosts(s *fsm.View, l look, unheard map[string]bool) (p plan) {
	voided := map[string]bool{}
	p.next = l.from
	for h := range s.Hosts() {
		if uint64(h.ID) <= l.from.id {
			continue
		}
		if p.visited == l.visits || len(p.orders) >= l.orders {
			p.more = true
			return p
		}
		p.visited++
		p.next = Place{id: uint64(h.ID)}
		orders := voids(h, unheard, voided)
		orders = append(orders, suspects(s, h)...)
		orders = append(orders, cancels(s, h)...)
		orders = append(orders, surrenders(s, h)...)
		for _, c := range orders {
			p.orders = append(p.orders, Order{c, h.Name})
		}
	}
	p.next = Place{}
	return p
}

// voids drops what servers that the leader cannot reach have said of hosts: it is
// out of date. Such a server says everything again when it is back. Done are those of which
// that is ordered already.
func voids(h *noun.Host, unheard, done map[string]bool) (out []fsm.Command) {
	for _, v := range h.Views {
		if unheard[v.Server] && !done[v.Server] {
			done[v.Server] = true
			out = append(out, fsm.ReportViews{Server: v.Server, All: true})
		}
	}
	return out
}

// suspects doubts a host in service that the servers do not hear, and trusts a
// suspect one again that they do; see fsm.View.Doubt for the rule. A doubt that
// has got another reason is said again.
func suspects(s *fsm.View, h *noun.Host) []fsm.Command {
	if h.State == noun.HostLost || h.State == noun.HostLeft {
		return nil
	}
	suspect := h.State == noun.HostSuspect
	switch why := s.Doubt(h); {
	case why == "" && suspect && h.Hearsay().Stream != noun.HearAlive && h.BeatAt <= h.DoubtAt:
		// That nobody says anything bad any more, since what servers out of reach
		// have said was dropped, is no sign of life.
	case why == "" && suspect:
		return []fsm.Command{fsm.SuspectHost{Host: h.ID, Reason: "heard again"}}
	case why != "" && (!suspect || h.SuspectWhy != why):
		return []fsm.Command{fsm.SuspectHost{Host: h.ID, Suspect: true, Reason: why}}
	}
	return nil
}

// surrenders gives up the lives of fast roles on a host of which nothing is heard,
// so that they are started elsewhere before their fences end.
func surrenders(s *fsm.View, h *noun.Host) []fsm.Command {
	if !s.Surrenders(h) {
		return nil
	}
	return []fsm.Command{fsm.SurrenderHost{Host: h.ID,
		Reason: "neither stream nor gossip nor beat for " + fsm.SilentFor.String()}}
}

// cancels takes back the start orders of a suspect host, so that the agents can go
// to another. An order that was accepted stays: the agent may be running (law L7).
func cancels(s *fsm.View, h *noun.Host) (out []fsm.Command) {
	if h.State != noun.HostSuspect {
		return nil
	}
	for _, id := range s.HostOrders(h.ID) {
		if a := s.Agent(id); a.Proc == noun.ProcOrdered {
			out = append(out, fsm.CancelOrder{Agent: id, Inc: a.Inc, Reason: "host " + h.Name + " is suspect"})
		}
	}
	return out
}
