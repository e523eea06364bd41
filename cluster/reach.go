package cluster

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"vigil/fsm"
)

const (
	reachLook = 500 * time.Millisecond // how often a leader looks whether it is heard
	// the silence after which it asks, and after which a server counts as unreached
	unheardAfter = 2 * time.Second
	officeLeast  = 10 * time.Second // a leader gives its office away at most so often
	recordBound  = time.Second      // for writing down why
)

// reachability judges whether anybody reaches the API of a leader.
type reachability struct {
	*node
	reach atomic.Pointer[Reach] // nil: not known; others may ask before Run
}

// SetReach tells the replica what its server's API knows. It is called before Run;
// without it nobody judges whether this server is reached.
func (r *reachability) SetReach(reach Reach) { r.reach.Store(&reach) }

// Reaches answers a leader that asks whether this server reaches its API.
func (r *reachability) Reaches(id string) ReachWord {
	p := r.reach.Load()
	if p == nil {
		return ReachUnknown
	}
	at := (*p).Reached(id)
	switch {
	case at.IsZero():
		return ReachUnknown
	case time.Since(at) < unheardAfter:
		return ReachGood
	case time.Since((*p).Heard()) < unheardAfter:
		return ReachLostHeard
	}
	return ReachLost
}

// reachedAt is when the API of that server last answered this one; zero: it was not tried.
func (r *reachability) reachedAt(id string) time.Time {
	if p := r.reach.Load(); p != nil {
		return (*p).Reached(id)
	}
	return time.Time{}
}

// watchReach looks, as long as this server leads, whether anybody reaches its API.
// When nobody does, beats cannot arrive: cluster time stands still, and the office
// goes to a server that is reached. The others are asked over the port of the log,
// which must work, or this server would not lead.
func (r *reachability) watchReach(st *stint) {
	if r.reach.Load() == nil {
		return
	}
	since := time.Now() // of the stint, or of the last try to end it
	opened := since
	tick := time.NewTicker(reachLook)
	defer tick.Stop()
	for {
		select {
		case <-st.ctx.Done():
			return
		case <-tick.C:
		}
		silent, to := r.unreached(opened)
		st.clock.hold(silent > 0)
		if to == "" || time.Since(since) < officeLeast {
			continue
		}
		since = time.Now()
		r.leaveOffice(st.ctx, to, silent)
	}
}

// unreached tells for how long nobody has reached this leader's API, 0 when somebody
// does or nobody knows, and which of the other servers is reached instead, if any.
func (r *reachability) unreached(opened time.Time) (silent time.Duration, to string) {
	heard := (*r.reach.Load()).Heard()
	if heard.Before(opened) {
		heard = opened
	}
	silent = time.Since(heard)
	if silent < unheardAfter {
		return 0, ""
	}
	lost, lag := false, uint64(0)
	for s, word := range r.askAllReach() {
		switch word {
		case ReachGood:
			return 0, ""
		case ReachLostHeard:
			if to == "" || s.Lag < lag {
				to, lag = s.ID, s.Lag
			}
		case ReachLost:
		default:
			continue
		}
		lost = true
	}
	if !lost {
		return 0, ""
	}
	return silent, to
}

// askAllReach asks the voters that this leader is in contact with.
func (r *reachability) askAllReach() map[Server]ReachWord {
	var mu sync.Mutex
	var wg sync.WaitGroup
	words := map[Server]ReachWord{}
	for _, s := range r.Servers() {
		if s.Self || !s.Voter || s.Contact < 0 || s.Contact > reachable {
			continue
		}
		wg.Go(func() {
			word := r.askReach(s.ID, s.RaftAddr)
			mu.Lock()
			words[s] = word
			mu.Unlock()
		})
	}
	wg.Wait()
	return words
}

func (r *reachability) askReach(id, addr string) ReachWord {
	if r.port == nil {
		if r.cfg.Backend.Ask == nil {
			return ReachUnknown
		}
		return r.cfg.Backend.Ask(addr, r.cfg.ID)
	}
	word, err := r.port.Ask(id, addr, reachQuestion+" "+r.cfg.ID)
	if err != nil {
		return ReachUnknown
	}
	return ReachWord(word)
}

// leaveOffice writes down why, and hands leadership over.
func (r *reachability) leaveOffice(ctx context.Context, to string, silent time.Duration) {
	r.log.Warn("nobody reaches the API of this leader: it hands leadership over", "silent", silent, "to", to)
	short, cancel := context.WithTimeout(ctx, recordBound)
	defer cancel()
	_, err := r.batch.submit(short, fsm.Request{Planned: true,
		Cmd: fsm.LeaderUnreached{Server: r.cfg.ID, To: to, Silent: silent}})
	if err == nil {
		err = r.transfer(ctx, to)
	}
	if err != nil && ctx.Err() == nil {
		r.log.Warn("leadership not handed over", "to", to, "error", err)
	}
}
