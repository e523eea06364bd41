package cluster

import (
	"cmp"
	"context"
	"slices"
	"time"

	"vigil/fsm"
)

// The leader looks after the votes: what it does by itself a human could undo with one command, never costs a
// majority, and never deletes anything. A voter that nobody has heard for long gives its vote to a standby and
// becomes one itself, so whoever comes back is the next standby. See docs/decisions/cluster.md.

const (
	seatLook  = time.Second
	heardFor  = 3 * time.Second  // without a sign of life for longer than this a server is silent
	stableFor = 10 * time.Second // a standby is heard and up to date for so long before it may get a vote by itself
	moveLimit = 30 * time.Second // of one move
)

// seat is what the leader knows of a member when it looks after the votes.
type seat struct {
	id, zone      string
	voter, leader bool
	silent        time.Duration // in this stint; 0: it is heard
	ready         bool          // a standby that could have a vote
}

// move is one change of votes. Either id may be empty.
type move struct {
	give, take string // the server that gets a vote, and then the one that loses its own
	why        string
}

// planSeats gives the next change of votes, if there is one. It is a function of what is known alone. limit is the
// silence after which a vote is given to another server, above 0.
func planSeats(seats []seat, limit time.Duration) (move, bool) {
	seats = slices.SortedFunc(slices.Values(seats), func(a, b seat) int { return cmp.Compare(a.id, b.id) })
	voters, silent := 0, 0
	var lost *seat
	zones := map[string]int{} // of voters, but the lost one
	for i := range seats {
		s := &seats[i]
		if !s.voter {
			continue
		}
		voters++
		if s.silent > 0 {
			silent++
		}
		if lost == nil && !s.leader && s.silent >= limit {
			lost = s
			continue
		}
		zones[s.zone]++
	}
	if lost != nil {
		return replaceLost(seats, lost, voters, zones)
	}
	if silent > 0 {
		return move{}, false
	}
	return spread(seats, zones)
}

// replaceLost gives the vote of a lost server to a standby: to one of its own zone, or else of a zone in which
// nobody has a vote. Without a standby it loses its vote when that makes the number of votes odd: it has been
// replaced by hand then, and an even number stands no more losses than one less.
func replaceLost(seats []seat, lost *seat, voters int, zones map[string]int) (move, bool) {
	best, rank := "", 3
	for _, s := range seats {
		if !s.ready {
			continue
		}
		r := 2
		switch {
		case s.zone == lost.zone && zones[s.zone] == 0:
			r = 0
		case zones[s.zone] == 0:
			r = 1
		}
		if r < rank {
			best, rank = s.id, r
		}
	}
	silence := "nobody has heard server " + lost.id + " for " + lost.silent.Round(time.Second).String()
	switch {
	case best != "":
		return move{give: best, take: lost.id, why: silence}, true
	case voters > 3 && voters%2 == 0:
		return move{take: lost.id, why: silence}, true
	}
	return move{}, false
}

// spread moves a vote out of a zone that has several into one that has none. The leader keeps its own.
func spread(seats []seat, zones map[string]int) (move, bool) {
	to := slices.IndexFunc(seats, func(s seat) bool { return s.ready && s.zone != "" && zones[s.zone] == 0 })
	from := slices.IndexFunc(seats, func(s seat) bool { return s.voter && !s.leader && s.zone != "" && zones[s.zone] > 1 })
	if to < 0 || from < 0 {
		return move{}, false
	}
	return move{give: seats[to].id, take: seats[from].id,
		why: "zone " + seats[from].zone + " has several votes, and zone " + seats[to].zone + " none"}, true
}

// observed is since when the leader has seen members as they are, in its stint.
type observed struct {
	silent map[string]time.Time
	steady map[string]time.Time // heard and up to date
}

// keepSeats looks after the votes as long as this server leads.
func (m *members) keepSeats(st *stint) {
	look := time.NewTicker(seatLook)
	defer look.Stop()
	seen := observed{silent: map[string]time.Time{}, steady: map[string]time.Time{}}
	for {
		select {
		case <-st.ctx.Done():
			return
		case <-look.C:
		}
		limit := time.Duration(0)
		m.Read(func(s *fsm.View) { limit = s.Settings().ReplaceServers })
		seats := seen.look(m.Servers(), m.levelBegun(), time.Now())
		if limit == 0 || m.levelBegun() < (fsm.SetStandby{}).NeedsLevel() {
			continue
		}
		if mv, due := planSeats(seats, limit); due {
			short, cancel := context.WithTimeout(st.ctx, moveLimit)
			if err := m.carryOut(short, mv); err != nil && st.ctx.Err() == nil {
				m.log.Warn("a vote is not moved yet", "to", mv.give, "from", mv.take, "why", mv.why, "error", err)
			}
			cancel()
		}
	}
}

// look notes how the members are now.
func (o *observed) look(list []Server, level uint32, now time.Time) []seat {
	note := func(since map[string]time.Time, id string, is bool) time.Duration {
		if !is {
			delete(since, id)
			return 0
		}
		if since[id].IsZero() {
			since[id] = now
		}
		return now.Sub(since[id])
	}
	seats := make([]seat, 0, len(list))
	members := map[string]bool{}
	for _, s := range list {
		members[s.ID] = true
		heard := s.Self || s.Contact >= 0 && s.Contact < heardFor
		steady := note(o.steady, s.ID, heard && s.Lag <= caughtUp && !s.Diverged && s.Features >= level)
		silent := note(o.silent, s.ID, !heard)
		if !heard {
			silent = max(silent, 1)
		}
		seats = append(seats, seat{id: s.ID, zone: s.Zone, voter: s.Voter, leader: s.Self, silent: silent,
			ready: s.Standby && steady >= stableFor})
	}
	for _, since := range []map[string]time.Time{o.silent, o.steady} {
		for id := range since {
			if !members[id] {
				delete(since, id)
			}
		}
	}
	return seats
}

// carryOut gives the vote first: at no time are there fewer voters that answer than before.
func (m *members) carryOut(ctx context.Context, mv move) error {
	if mv.give != "" {
		if err := m.promote(ctx, mv.give, mv.why); err != nil {
			return err
		}
	}
	if mv.take == "" {
		return nil
	}
	return m.demote(ctx, mv.take, mv.why, false)
}
