package traces

import (
	"context"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

const (
	// chunk is how many events or tasks one hold of the read lock looks at.
	chunk = 512
	// againFor is how long a server that does not lead keeps spans: a leader that is lost may not have sent
	// the newest ones, so the next one sends them, perhaps once more.
	againFor = 10 * time.Second
	// mostKept bounds them.
	mostKept = 4096
)

// Replica is what is followed.
type Replica interface {
	// Read has fn look at the state; it must be short.
	Read(fn func(*fsm.View))
	// Leads tells whether this server leads.
	Leads() bool
}

// Follower turns the history of one server into spans and has the leader's sent.
type Follower struct {
	replica Replica
	send    func(span)
	now     func() time.Time
	wake    chan struct{}

	courses *courses
	at      uint64 // the last event that was taken
	epoch   uint32
	begun   bool
	leads   bool
	kept    []span // while it does not lead: the newest, by their ends
}

// NewFollower makes one; cluster gives the name of the cluster and is safe for concurrent use.
func NewFollower(replica Replica, cluster func() string, to *Sender) *Follower {
	return newFollower(replica, cluster, to.take)
}

func newFollower(replica Replica, cluster func() string, send func(span)) *Follower {
	return &Follower{replica: replica, send: send, now: time.Now, wake: make(chan struct{}, 1),
		courses: newCourses(cluster)}
}

// Wake says that the state has changed. It never blocks, and any goroutine may call it.
func (f *Follower) Wake(noun.Effects) {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Run follows until ctx ends.
func (f *Follower) Run(ctx context.Context) {
	for ctx.Err() == nil {
		f.catchUp(ctx)
		select {
		case <-f.wake:
		case <-ctx.Done():
		}
	}
}

// catchUp takes all events that there are.
func (f *Follower) catchUp(ctx context.Context) {
	if f.broken() {
		f.begin(ctx)
	}
	for ctx.Err() == nil {
		f.follow(f.replica.Leads())
		spans, more := f.next(^uint64(0))
		for _, s := range spans {
			f.give(s)
		}
		if !more {
			return
		}
	}
}

// broken tells that the history does not go on from where this follower is: at first, and after a snapshot
// or a backup.
func (f *Follower) broken() (broken bool) {
	f.replica.Read(func(st *fsm.View) {
		broken = !f.begun || st.Epoch() != f.epoch || st.LastEvent() < f.at || st.OldestEvent() > f.at+1
	})
	return broken
}

// begin learns how far tasks are: from the events that are kept, and from the state for what is older. What
// ended before is not sent.
func (f *Follower) begin(ctx context.Context) {
	f.courses.tasks = map[noun.TaskID]*course{}
	last := uint64(0)
	f.replica.Read(func(st *fsm.View) {
		f.begun, f.epoch, last = true, st.Epoch(), st.LastEvent()
		f.at = max(st.OldestEvent(), 1) - 1
	})
	for more := true; more && ctx.Err() == nil; {
		_, more = f.next(last)
	}
	task := noun.TaskID(0)
	for more := true; more && ctx.Err() == nil; {
		f.replica.Read(func(st *fsm.View) {
			now, seen := noun.Wall(f.now().UnixNano()), 0
			more = false
			for t := range st.Tasks(task) {
				if seen++; seen > chunk {
					more = true
					return
				}
				task = t.ID
				f.courses.seed(st, t, now)
			}
		})
	}
}

// next takes some events, none behind last, and tells whether there are more.
func (f *Follower) next(last uint64) (spans []span, more bool) {
	f.replica.Read(func(st *fsm.View) {
		last, seen := min(last, st.LastEvent()), 0
		for e := range st.Events(f.at) {
			if seen++; seen > chunk || e.Seq > last {
				break
			}
			spans, f.at = append(spans, f.courses.take(st, e)...), e.Seq
		}
		more = f.at < last && seen > 0
	})
	return spans, more
}

// follow notes whether this server leads: one that begins to sends what its predecessor may not have sent.
func (f *Follower) follow(leads bool) {
	if leads && !f.leads {
		from := noun.Wall(f.now().Add(-againFor).UnixNano())
		for _, s := range f.kept {
			if s.end >= from {
				f.send(s)
			}
		}
		f.kept = nil
	}
	f.leads = leads
}

func (f *Follower) give(s span) {
	switch {
	case !s.of.Sampled:
	case f.leads:
		f.send(s)
	default:
		if len(f.kept) == mostKept {
			f.kept = append(f.kept[:0], f.kept[mostKept/2:]...)
		}
		f.kept = append(f.kept, s)
	}
}
