package servers

import (
	"context"
	"slices"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

const (
	// followLimit bounds how long a removal waits for hosts that do not know who stays. It is
	// several beats of every host; one that needs longer is not waited for, and status warns of it.
	followLimit = 10 * time.Second
	followLook  = 50 * time.Millisecond
)

// knowsOf counts the addresses that a host has said it knows.
func knowsOf(h *noun.Host, addrs []string) (n int) {
	for _, addr := range addrs {
		if slices.Contains(h.Servers, addr) {
			n++
		}
	}
	return n
}

// awaitFollowers waits until every host that is in service knows a majority of the voters that
// are left without the server. Servers can be replaced one by one faster than hosts beat: a host
// that was told of none of the new ones would find nobody, and its agents would freeze (L10).
// The wait is bounded by followLimit and ctx; a removal goes on after it in any case.
func (c *Service) awaitFollowers(ctx context.Context, without string) error {
	limit := time.NewTimer(followLimit)
	defer limit.Stop()
	tick := time.NewTicker(followLook)
	defer tick.Stop()
	for {
		servers, err := c.servers(ctx)
		if err != nil {
			return err
		}
		if c.followed(servers, without) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fault.Of(ctx.Err())
		case <-limit.C:
			return nil
		case <-tick.C:
		}
	}
}

// followed tells whether no host in service would be lost without the server.
func (c *Service) followed(servers []*vigilv1.Server, without string) bool {
	voters, addrs := 0, []string(nil)
	for _, s := range servers {
		if !s.GetVoter() || s.GetId() == without {
			continue
		}
		voters++
		if s.GetApiAddr() != "" {
			addrs = append(addrs, s.GetApiAddr())
		}
	}
	followed := true
	c.Reader.Read(func(st *fsm.View) {
		for h := range st.Hosts() {
			reached := h.State == noun.HostReady || h.State == noun.HostReturning
			if reached && voters > 0 && len(h.Servers) > 0 && 2*knowsOf(h, addrs) <= voters {
				followed = false
				return
			}
		}
	})
	return followed
}
