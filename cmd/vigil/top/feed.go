package top

import (
	"context"
	"errors"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// What one look reads at most. Of a larger fleet the agents are read that somebody has to look at, and then others by
// name; all of them are seen by room.
const (
	mostAgents = 1000
	mostInbox  = 1000
	mostPages  = 100 // of one verdict: servers look at 10,000 agents for each
)

// Pauses of the feed.
const (
	lookEvery = time.Second      // lists are read again so often at most
	lookShare = 20               // of its time at most goes into looks: one in so many parts
	againMost = 2 * time.Second  // until a lost server is asked again
	lookLimit = 10 * time.Second // for one look
)

// snapshot is what one look has read. It is never changed.
type snapshot struct {
	overview   *vigilv1.Overview
	inbox      []*vigilv1.InboxItem
	inboxMore  uint32
	agents     []*vigilv1.Agent
	agentsMore bool
	hosts      []*vigilv1.Host
}

// Messages of the feed.
type (
	newsMsg struct{ *vigilv1.News }
	lookMsg struct{ *snapshot }
	lostMsg struct{ err error } // no server answers; it goes on trying
)

// feed reads what happens, from whichever server answers.
type feed struct {
	c    *cli.Conn
	room string // "": all
}

// look reads everything that is shown.
func (f *feed) look(ctx context.Context) (*snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	s, desk := &snapshot{}, vigilv1.NewDeskClient(f.c)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		if s.overview, err = desk.GetOverview(ctx, &vigilv1.GetOverviewRequest{Room: f.room, Stale: true}); err == nil {
			s.agents, s.agentsMore, err = readAgents(ctx, f.c.Fleet, f.room, s.overview.GetVerdicts())
		}
		return err
	})
	g.Go(func() error {
		list, err := desk.ListInbox(ctx, &vigilv1.ListInboxRequest{Room: f.room, Limit: mostInbox, Stale: true})
		s.inbox, s.inboxMore = list.GetItems(), list.GetMore()
		return err
	})
	g.Go(func() (err error) {
		s.hosts, err = f.c.Hosts(ctx, true)
		return err
	})
	return s, g.Wait()
}

// readAgents reads the agents of a room, "" for all. Where there are more than one look reads, each verdict that
// somebody has to look at comes first, as far as the counts say that there are such agents.
func readAgents(
	ctx context.Context, c vigilv1.FleetClient, room string, counts map[string]uint32,
) (agents []*vigilv1.Agent, more bool, err error) {
	list, err := c.ListAgents(ctx, &vigilv1.ListAgentsRequest{Room: room, Limit: mostAgents, Stale: true})
	if err != nil || !list.GetMore() {
		return list.GetAgents(), false, err
	}
	seen := map[string]bool{}
	add := func(list []*vigilv1.Agent) {
		for _, a := range list {
			if !seen[a.GetName()] && len(agents) < mostAgents {
				seen[a.GetName()], agents = true, append(agents, a)
			}
		}
	}
	for _, verdict := range gravity {
		if counts[verdict] == 0 {
			continue
		}
		request := &vigilv1.ListAgentsRequest{Room: room, Verdicts: []string{verdict}, NotFine: true, Limit: mostAgents,
			Stale: true}
		for range mostPages {
			page, err := c.ListAgents(ctx, request)
			if err != nil {
				return nil, false, err
			}
			add(page.GetAgents())
			if request.After = page.GetNext(); !page.GetMore() || len(agents) == mostAgents {
				break
			}
		}
	}
	add(list.GetAgents())
	return agents, true, nil
}

// run sends what happens until ctx ends. It returns an error that does not pass: who may not look, a room
// that is not there.
func (f *feed) run(ctx context.Context, send func(any)) error {
	began := time.Now()
	request := &vigilv1.FollowRequest{Room: f.room}
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, againMost) {
		err := f.follow(ctx, request, func(m any) {
			pause = 100 * time.Millisecond
			send(m)
		})
		switch {
		case ctx.Err() != nil:
			return nil
		case f.c.Nobody(began):
			return err
		case errors.Is(err, io.EOF), errors.Is(err, client.ErrUnavailable), errors.Is(err, client.ErrNoLeader),
			errors.Is(err, client.ErrNotLeader), errors.Is(err, context.DeadlineExceeded):
			send(lostMsg{err})
		default:
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// follow follows one server as long as it answers, and looks again when something has changed.
func (f *feed) follow(ctx context.Context, request *vigilv1.FollowRequest, send func(any)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := vigilv1.NewDeskClient(f.c).Follow(ctx, request)
	if err != nil {
		return err
	}
	looks := make(chan struct{}, 1)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-looks:
			}
			began := time.Now()
			s, err := f.look(ctx)
			if err != nil {
				return err
			}
			took := time.Since(began)
			send(lookMsg{s})
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(max(lookEvery, lookShare*took)):
			}
		}
	})
	g.Go(func() error {
		for {
			n, err := stream.Recv()
			if err != nil {
				return err
			}
			request.After, request.Epoch = n.GetSeq(), n.GetEpoch()
			send(newsMsg{n})
			if n.GetOverview() != nil || len(n.GetEvents()) > 0 {
				select {
				case looks <- struct{}{}:
				default: // a look is due
				}
			}
		}
	})
	return g.Wait()
}
