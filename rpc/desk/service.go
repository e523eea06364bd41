package desk

import (
	"context"
	"sync"
	"time"

	"vigil/rpc/base"
	"vigil/rpc/door"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// MaxFollowers is how many streams of news one server holds.
const MaxFollowers = 1024

// defaultInbox is how many things an inbox holds when nobody says.
const defaultInbox = 200

// Service serves the calls of a desk. Its fields are set before the first call; it may be used by any number
// of goroutines.
type Service struct {
	vigilv1.UnimplementedDeskServer
	*base.Core
	Followers *door.Places

	mu    sync.Mutex
	looks map[string]*look // by room
	since time.Time        // no leader is known since then; zero: one is

	trend trend
}

// NewService makes the service of one server.
func NewService(c *base.Core, followers *door.Places) *Service {
	return &Service{Core: c, Followers: followers, looks: map[string]*look{}}
}

// GetOverview tells how the fleet is.
func (s *Service) GetOverview(ctx context.Context, r *vigilv1.GetOverviewRequest) (*vigilv1.Overview, error) {
	if err := s.room(r.GetRoom()); err != nil {
		return nil, err
	}
	seen, err := s.look(ctx, r.GetRoom(), 0)
	if err != nil {
		return nil, err
	}
	return seen.overview, nil
}

// ListInbox lists what waits for a human.
func (s *Service) ListInbox(ctx context.Context, r *vigilv1.ListInboxRequest) (*vigilv1.ListInboxResponse, error) {
	var c form.Checks
	limit := c.Page(r.GetLimit(), defaultInbox)
	if c.Err != nil {
		return nil, c.Err
	}
	if err := s.room(r.GetRoom()); err != nil {
		return nil, err
	}
	seen, err := s.look(ctx, r.GetRoom(), 0)
	if err != nil {
		return nil, err
	}
	shown := seen.inbox[:min(limit, len(seen.inbox))]
	return &vigilv1.ListInboxResponse{Items: shown, More: uint32(seen.left + len(seen.inbox) - len(shown)),
		Index: seen.overview.GetIndex()}, nil
}

// leaderless is for how long this server has known no leader.
func (s *Service) leaderless(known bool) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case known:
		s.since = time.Time{}
		return 0
	case s.since.IsZero():
		s.since = time.Now()
	}
	return max(time.Since(s.since), time.Millisecond)
}
