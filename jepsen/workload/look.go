package workload

import (
	"context"
	"time"

	"vigil/jepsen/history"
	"vigil/rpc/gen/vigilv1"
)

// lookEvery is how often agents of hosts are looked at.
const lookEvery = 200 * time.Millisecond

// look records the agents of a room until ctx ends. A look that fails is left out.
func (s *Set) look(ctx context.Context, room string) {
	for pause(ctx, lookEvery) {
		sent := history.Now()
		call, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
		list, err := s.whole.fleet.ListAgents(call, &vigilv1.ListAgentsRequest{Room: room, Limit: 1000})
		cancel()
		if err != nil {
			continue
		}
		at := history.Now()
		for _, a := range list.GetAgents() {
			s.cfg.Record.Look(history.Look{Sent: sent, At: at, Agent: a.GetName(), Incarnation: a.GetIncarnationRaw(),
				Process: a.GetProcess(), Participant: a.GetParticipant(), Host: a.GetHost(), Task: a.GetTask(),
				Desired: desired(a), Why: a.GetWhyCode()})
		}
	}
}

// desired is what a human wants of an agent itself: a pause of its room is not in it.
func desired(a *vigilv1.Agent) string {
	if a.GetPaused() && a.GetDesired() != "stopped" {
		return "paused"
	}
	return a.GetDesired()
}
