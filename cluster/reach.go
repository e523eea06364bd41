package cluster

import (
	"context"
	"sync"
	"time"

	"vigil/fsm"
)

// FeatureLevel is what this version reads: of the log, of dumps, and of questions on the port
// of the log. A server announces it; see Replica.Level and fsm.RaiseLevel.
const FeatureLevel = fsm.NewestLevel

// Reach is what a server's API knows of who reaches whom. Safe for concurrent use.
type Reach interface {
	// Heard is when somebody else's call last came in; zero: never.
	Heard() time.Time
	// Reached is when the API of that server last answered this server. One that was
	// tried and has never answered counts as if it had when this server was started;
	// zero: it was not tried.
	Reached(id string) time.Time
}

// ReachWord is what a server answers when a leader asks who reaches its API.
type ReachWord string

// The answers.
const (
	ReachUnknown   ReachWord = "unknown"   // it has not tried, or there is no answer
	ReachGood      ReachWord = "reached"   // it reached it just now
	ReachLost      ReachWord = "unreached" // it does not, or does no more
	ReachLostHeard ReachWord = "heard"     // the same, and others reach the server that answers
)

const (
	reachLook    = 500 * time.Millisecond // how often a leader looks whether it is heard
	unheardAfter = 2 * time.Second        // the silence after which it asks, and after which a server counts as unreached
	officeLeast  = 10 * time.Second       // a leader gives its office away at most so often
	recordBound  = time.Second            // for writing down why
)

// SetReach tells the replica what its server's API knows. It is called before Run;
// without it nobody judges whether this server is reached.
func (r *Replica) SetReach(reach Reach) { r.reach.Store(&reach) }

// Level is the feature level that every member of the cluster reads, as far as it is known:
// one that has not announced itself may read the baseline only. It decides which level may
// begin, never about what has begun.
func (r *Replica) Level() uint32 {
	level := r.cfg.Features
	for _, s := range r.Servers() {
		level = min(level, max(s.Features, fsm.Baseline))
	}
	return level
}

// Reaches answers a leader that asks whether this server reaches its API.
func (r *Replica) Reaches(id string) ReachWord {
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

// watchReach looks, as long as this server leads, whether anybody reaches its API.
// When nobody does, beats cannot arrive: cluster time stands still, and the office
// goes to a server that is reached. The others are asked over the port of the log,
// which must work, or this server would not lead.
func (r *Replica) watchReach(st *stint) {
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
func (r *Replica) unreached(opened time.Time) (silent time.Duration, to string) {
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
func (r *Replica) askAllReach() map[Server]ReachWord {
	var mu sync.Mutex
	var wg sync.WaitGroup
	words := map[Server]ReachWord{}
	for _, s := range r.Servers() {
		if s.Self || !s.Voter || s.Contact < 0 || s.Contact > reachable {
			continue
		}
		wg.Go(func() {
			word := r.askReach(s.RaftAddr)
			mu.Lock()
			words[s] = word
			mu.Unlock()
		})
	}
	wg.Wait()
	return words
}

func (r *Replica) askReach(addr string) ReachWord {
	if b := r.cfg.Backend; b != nil {
		if b.Ask == nil {
			return ReachUnknown
		}
		return b.Ask(addr, r.cfg.ID)
	}
	word, err := ask(addr, reachQuestion+" "+r.cfg.ID)
	if err != nil {
		return ReachUnknown
	}
	return ReachWord(word)
}

// leaveOffice writes down why, and hands leadership over.
func (r *Replica) leaveOffice(ctx context.Context, to string, silent time.Duration) {
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
