package agentd

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"vigil/agentd/disk"
	"vigil/agentd/results"
	"vigil/rpc/client"
	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

const (
	// lookAtLeftovers is the time between two looks at what lives have left.
	lookAtLeftovers = time.Hour
	// lookWhenFull is the same while the disk is full.
	lookWhenFull = time.Minute
	// maxQuestions bounds the questions of one look.
	maxQuestions = 1000
)

// retention is the part that removes what lives that are over have left, and tells the cluster what is kept.
type retention struct {
	base
	member   *membership
	lives    *lives
	pressure *pressure
	letters  *results.Letters

	ages          ages
	due, whenFull time.Duration
	underway      bool

	kept    *vigilv1.HostKept // as last seen; nil: not yet
	told    bool
	telling bool
	again   time.Duration // after a failure not told before this
}

// look looks at what lives have left when that is due, tells the cluster what is kept, and says when to look again.
func (r *retention) look(now time.Duration) time.Duration {
	doubtful := r.ages.doubted(now, r.config.Wall(), clockSynced)
	full := r.pressure.space.reason != "" || r.pressure.inodes.reason != ""
	if !r.underway && r.member.registered && (now >= r.due || full && now >= r.whenFull) {
		r.due, r.whenFull, r.underway = now+lookAtLeftovers, now+lookWhenFull, true
		s := &sweep{site: r.site, ctx: r.ctx, letters: r.letters, here: map[string]bool{}, full: full,
			doubtful: doubtful}
		for _, l := range r.lives.all {
			s.here[l.order.GetAgentName()] = true
		}
		r.spawn(func() {
			kept := s.run()
			r.send(func() {
				r.underway = false
				if !proto.Equal(kept, r.kept) {
					r.kept, r.told = kept, false
				}
			})
		})
	}
	if r.kept != nil && !r.told && !r.telling && r.member.registered && now >= r.again {
		r.tell()
	}
	return longestNap
}

// tell reports what is kept. What cannot be delivered is told with the next look.
func (r *retention) tell() {
	kept := r.kept
	request := &vigilv1.ReportKeptRequest{Host: r.member.host, Boot: r.boot, Kept: kept}
	r.telling = true
	r.spawn(func() {
		ctx, cancel := context.WithTimeout(r.ctx, attemptLimit)
		defer cancel()
		_, err := r.host.ReportKept(ctx, request)
		r.send(func() {
			r.telling = false
			r.told = r.kept == kept && (err == nil || refused(err))
			if err != nil {
				r.again = r.config.Clock() + lookWhenFull
			}
		})
	})
}

// sweep is one look at what lives have left. It touches nothing of the keeper.
type sweep struct {
	*site
	ctx     context.Context
	letters *results.Letters
	here    map[string]bool // names of agents that run here
	full    bool            // the disk is
	// doubtful: nothing goes by its age.
	doubtful bool

	looked time.Time // when it began; not by Wall: it is compared with starts
	asked  int
	mute   bool // the cluster does not answer
	room   bool // the disk is no longer full
}

func (s *sweep) over() bool { return s.ctx.Err() != nil }

// run removes what is to go and gives what stays.
func (s *sweep) run() *vigilv1.HostKept {
	s.looked = time.Now()
	all := s.data.Leftovers(true, s.over)
	s.addLetters(all)
	for _, name := range s.accounts.Agents() {
		if all[name] == nil { // nothing is left of it but its account
			all[name] = &disk.Leftover{}
		}
	}
	var units []unit
	kept := &vigilv1.HostKept{}
	for name, left := range all { // in no order: so all have their turn, where there are more than questions
		for _, p := range left.Pieces {
			kept.Bytes += uint64(p.Bytes)
		}
		units = append(units, s.config.Keep.units(name, left, s.fateOf(name, left))...)
	}
	now := s.config.Wall()
	aged := now
	if s.doubtful {
		aged = time.Time{} // nothing is old then
	}
	units = s.config.Keep.choose(units, aged, s.short, func(u *unit, why string) bool {
		if s.over() || !s.remove(u, why) {
			return false
		}
		kept.Bytes -= uint64(u.bytes)
		return true
	})
	s.clear() // what an earlier daemon has left, too
	var oldest time.Time
	for _, u := range units { // the oldest is first
		if kept.Removable += uint64(u.bytes); oldest.IsZero() && u.bytes > 0 {
			oldest = u.used
			kept.Oldest = timestamppb.New(oldest.Truncate(time.Second))
		}
	}
	s.metrics.kept.Set(float64(kept.GetBytes()))
	s.metrics.removable.Set(float64(kept.GetRemovable()))
	s.metrics.oldest.Set(0)
	if !oldest.IsZero() {
		s.metrics.oldest.Set(now.Sub(oldest).Seconds())
	}
	return kept
}

// addLetters puts refused results with what else their agents have left.
func (s *sweep) addLetters(all map[string]*disk.Leftover) {
	of := map[uint32]*disk.Leftover{}
	for _, left := range all {
		if left.Newest.Agent != 0 {
			of[left.Newest.Agent] = left
		}
	}
	for who, pieces := range s.letters.Pieces() {
		left := of[who.Agent]
		if left == nil {
			continue // of nobody known here: their number is bounded
		}
		for _, p := range pieces {
			p.Earlier = who.Incarnation < left.Newest.Incarnation
			left.Add(p)
		}
	}
}

// fateOf asks the cluster about an agent that does not run here, unless its word changes nothing. Only a clear one
// that there is no such agent, or that a newer life was begun elsewhere, counts.
func (s *sweep) fateOf(name string, left *disk.Leftover) fate {
	keep := s.config.Keep
	if s.here[name] || s.mute || keep.Deleted == 0 && keep.Moved == 0 || s.asked >= maxQuestions || s.over() {
		return resident
	}
	s.asked++
	call, cancel := context.WithTimeout(s.ctx, attemptLimit)
	defer cancel()
	answer, err := vigilv1.NewFleetClient(s.config.Conn).GetAgent(call, &vigilv1.GetAgentRequest{Agent: name})
	a := answer.GetAgent()
	switch {
	case err != nil && client.Code(err) == code.NotFound:
		return deleted
	case err != nil:
		s.mute = call.Err() != nil // the next question would wait as long
		return resident
	case left.Newest.Agent != a.GetId() || a.GetIncarnationRaw() <= left.Newest.Incarnation,
		a.GetHost() == "" || a.GetHost() == s.config.Name, a.GetProcess() == "ordered":
		return resident
	}
	return moved
}

// short tells whether the disk lacks room still.
func (s *sweep) short() bool {
	if !s.full || s.room {
		return false
	}
	s.clear() // what was taken away so far
	room, err := s.config.Disk()
	enough := err == nil && room.Bytes >= s.config.MinFreeDisk+s.config.MinFreeDisk/4 &&
		(room.Inodes == nil || *room.Inodes >= minInodes+minInodes/4)
	s.room = err != nil || enough
	return !s.room
}

// remove removes a unit and tells whether it did.
func (s *sweep) remove(u *unit, why string) bool {
	take := func() error { return errors.Join(s.data.TakeAway(u.pieces), s.letters.Drop(u.pieces)) }
	done, err := true, error(nil)
	switch u.fate {
	case deleted:
		done, err = s.accounts.Retire(u.agent, s.looked, take)
	case moved: // its account stays: it has none but this for ever
		done, err = s.accounts.Unless(u.agent, s.looked, take)
	default:
		err = take()
	}
	if err != nil {
		s.log.Warn("what lives that are over have left cannot be removed and is tried again", "agent", u.agent, "error", err)
	}
	if !done || err != nil { // or it was started here meanwhile
		return false
	}
	s.metrics.removed.WithLabelValues(why).Add(float64(u.bytes))
	s.log.Info("removed what lives that are over have left", "agent", u.agent, "why", why, "bytes", u.bytes,
		"unused_since", u.used, "what", u.what())
	return true
}

func (s *sweep) clear() {
	if err := s.data.Clear(); err != nil {
		s.log.Warn("what lives that are over have left cannot be removed and is tried again", "error", err)
	}
}
