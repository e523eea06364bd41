package agentd

import (
	"context"
	"time"

	"vigil/agentd/disk"
	"vigil/rpc/client"
	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

const (
	// lookAtLeftovers is the time between two looks for what deleted agents have left.
	lookAtLeftovers = time.Hour
	// maxLeftovers bounds the questions of one look.
	maxLeftovers = 100
)

// retention is the part that removes what deleted agents have left.
type retention struct {
	base
	member *membership
	lives  *lives

	due      time.Duration
	underway bool
}

// look removes logs and work folders of agents that the cluster has deleted, when
// that is due, and says when to look again.
func (r *retention) look(now time.Duration) time.Duration {
	if r.config.KeepDeleted == 0 || now < r.due || r.underway || !r.member.registered {
		return longestNap
	}
	r.due, r.underway = now+lookAtLeftovers, true
	here := map[string]bool{}
	for _, l := range r.lives.all {
		here[l.order.GetAgentName()] = true
	}
	r.spawn(func() {
		r.removeLeftovers(r.ctx, here)
		r.send(func() { r.underway = false })
	})
	return longestNap
}

// removeLeftovers asks the cluster about agents of which nothing was used for long. Only a
// clear word that there is no such agent counts.
func (s *site) removeLeftovers(ctx context.Context, here map[string]bool) {
	fleet, asked, looked := vigilv1.NewFleetClient(s.config.Conn), 0, time.Now()
	all := s.data.Leftovers()
	for _, name := range s.accounts.Agents() {
		if all[name] == nil { // nothing is left of it but its account
			all[name] = &disk.Leftover{}
		}
	}
	defer func() {
		if err := s.data.Clear(); err != nil {
			s.log.Warn("what deleted agents have left cannot be removed and is tried again", "error", err)
		}
	}()
	for name, left := range all {
		if here[name] || time.Since(left.Used) < s.config.KeepDeleted {
			continue
		}
		if asked++; asked > maxLeftovers || ctx.Err() != nil {
			return
		}
		call, cancel := context.WithTimeout(ctx, attemptLimit)
		_, err := fleet.GetAgent(call, &vigilv1.GetAgentRequest{Agent: name})
		cancel()
		if err == nil || client.Code(err) != code.NotFound {
			continue
		}
		done, err := s.accounts.Retire(name, looked, func() error { return s.data.TakeAway(left.Paths) })
		if err != nil {
			s.log.Warn("what a deleted agent has left cannot be removed", "agent", name, "error", err)
		}
		if !done || err != nil { // or it was made anew, and started
			continue
		}
		s.log.Info("what a deleted agent has left was removed", "agent", name, "unused_since", left.Used)
	}
}
