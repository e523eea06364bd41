package desk

import (
	"time"

	"google.golang.org/grpc"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

const (
	newsPulse   = time.Second            // between signs of life
	newsGather  = 200 * time.Millisecond // so long events gather before they are sent
	newsEvents  = 200                    // of one News
	eventsAhead = 20_000                 // looked at for one News; more are left out
)

// follower is one stream of news.
type follower struct {
	*Service
	r     *vigilv1.FollowRequest
	sees  func(room string) bool // nil: all rooms
	at    uint64                 // the newest event that was looked at
	epoch uint32
	shown *vigilv1.Overview // that was sent last
}

// Follow sends what happens, and how things are whenever that changes, until its caller leaves.
func (s *Service) Follow(r *vigilv1.FollowRequest, out grpc.ServerStreamingServer[vigilv1.News]) error {
	if err := s.room(r.GetRoom()); err != nil {
		return err
	}
	if !s.Followers.Take() {
		return s.Followers.Full("followers")
	}
	defer s.Followers.Give()
	f := &follower{Service: s, r: r, sees: s.Door.Sees(out.Context()), at: r.GetAfter(), epoch: r.GetEpoch()}
	ctx, pulse := out.Context(), time.NewTicker(newsPulse)
	defer pulse.Stop()
	for {
		grown := s.Park.History.Beyond()
		n := f.news()
		seen, err := s.look(ctx, r.GetRoom(), newsPulse-newsGather)
		if err != nil {
			return err
		}
		if seen.overview != f.shown {
			f.shown, n.Overview = seen.overview, seen.overview
		}
		if err := out.Send(n); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.Door.Stopping():
			return fault.New(code.Unavailable, "This server is stopping; follow another one after event %d.", f.at)
		case <-pulse.C:
			continue
		case <-grown:
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(newsGather):
		}
	}
}

// news gathers the events since the last time.
func (f *follower) news() *vigilv1.News {
	leader := f.Reader.Leader().ID
	n := &vigilv1.News{Server: f.Self, Leader: leader, Leaderless: form.Lasting(f.leaderless(leader != ""))}
	var fresh []noun.Event
	f.Reader.Read(func(st *fsm.View) {
		n.Index, n.Epoch, n.Clock = st.LastIndex(), st.Epoch(), form.Lasting(time.Duration(st.Clock()))
		last := st.LastEvent()
		switch {
		case f.at == 0: // from now on
			f.at = last
		case f.epoch != st.Epoch(), f.at+1 < st.OldestEvent():
			f.at, n.Reset_ = last, true
		}
		f.epoch = st.Epoch()
		if f.at >= last {
			return // nothing new, or this server is behind another one that was followed before
		}
		if last-f.at > eventsAhead {
			n.LeftOut = last - f.at - eventsAhead
			f.at = last - eventsAhead
		}
		for e := range st.Events(f.at) {
			f.at = e.Seq
			if f.r.GetRoom() != "" && e.Room != f.r.GetRoom() || f.sees != nil && !f.sees(e.Room) {
				continue
			}
			if fresh = append(fresh, *e); len(fresh) >= 2*newsEvents {
				fresh = append(fresh[:0], fresh[newsEvents:]...)
				n.LeftOut += newsEvents
			}
		}
	})
	if more := len(fresh) - newsEvents; more > 0 {
		fresh = fresh[more:]
		n.LeftOut += uint64(more)
	}
	for i := range fresh {
		n.Events = append(n.Events, form.Event(&fresh[i]))
	}
	n.Seq = f.at
	return n
}
