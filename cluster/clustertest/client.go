package clustertest

import (
	"context"
	"errors"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// Await waits until cond holds, looking again every few milliseconds.
func (c *Cluster) Await(what string, cond func() bool) {
	c.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for !cond() {
		select {
		case <-tick.C:
		case <-end:
			c.t.Fatalf("waited %v in vain: %s", patience, what)
		}
	}
}

// Leader waits for a leader that can commit, and gives its number.
func (c *Cluster) Leader() int {
	c.t.Helper()
	leader := -1
	c.Await("a leader", func() bool {
		leader = c.leaderNow()
		return leader >= 0
	})
	return leader
}

func (c *Cluster) leaderNow() int {
	for i, s := range c.servers {
		rep := s.rep.Load()
		if rep == nil || !rep.Leader().Self {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		err := rep.Barrier(ctx)
		cancel()
		if err == nil {
			return i
		}
	}
	return -1
}

// Submit proposes through whoever leads, again and again with the same request,
// until there is an outcome.
func (c *Cluster) Submit(req fsm.Request) noun.Outcome {
	c.t.Helper()
	return c.submit(req, patience)
}

func (c *Cluster) submit(req fsm.Request, bound time.Duration) noun.Outcome {
	c.t.Helper()
	end := time.Now().Add(bound)
	for time.Now().Before(end) {
		for _, s := range c.servers {
			rep := s.rep.Load()
			if rep == nil || !rep.Leader().Self {
				continue
			}
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			out, err := rep.Submit(ctx, req)
			cancel()
			if err == nil {
				return out
			}
			if !errors.Is(err, noun.ErrNotLeader) && !errors.Is(err, noun.ErrUnknownOutcome) &&
				!errors.Is(err, noun.ErrStopping) && !errors.Is(err, context.DeadlineExceeded) {
				c.t.Errorf("submit %T: %v", req.Cmd, err)
				return noun.Outcome{Code: noun.Invalid, Detail: err.Error()}
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.t.Errorf("submit %T: no leader for %v", req.Cmd, bound)
	return noun.Outcome{Code: noun.Invalid, Detail: "no leader"}
}

// Client numbers its writes, so that each is done once whatever happens.
type Client struct {
	c       *Cluster
	session noun.SessionID
	seq     uint64
}

// Client opens a session.
func (c *Cluster) Client() *Client {
	c.t.Helper()
	out := c.Submit(fsm.Request{Cmd: fsm.OpenSession{Client: "test"}})
	if out.Code != noun.OK {
		c.t.Fatalf("open session: %s: %s", out.Code, out.Detail)
	}
	return &Client{c: c, session: out.Session}
}

// Next makes the next write without sending it.
func (k *Client) Next(cmd fsm.Command) fsm.Request {
	k.seq++
	return fsm.Request{Session: k.session, Seq: k.seq, Cmd: cmd}
}

// Do sends a write until it is answered.
func (k *Client) Do(cmd fsm.Command) noun.Outcome {
	k.c.t.Helper()
	return k.c.Submit(k.Next(cmd))
}

// Patient is Do for runs in which the cluster may be away for minutes: it tries
// for 5 min, as long as clients do.
func (k *Client) Patient(cmd fsm.Command) noun.Outcome {
	k.c.t.Helper()
	return k.c.submit(k.Next(cmd), 5*time.Minute)
}

// Agree waits until all running servers have applied the same entries, then
// fails the test unless their states are equal and every law holds (L12).
func (c *Cluster) Agree() {
	c.t.Helper()
	leader := c.Leader()
	var index uint64
	c.Await("servers at the same index", func() bool {
		index = 0
		for _, s := range c.servers {
			if s.rep.Load() == nil {
				continue
			}
			s.rep.Load().Read(func(st *fsm.View) {
				switch last := st.LastIndex(); {
				case last == 0: // it has not begun
					index = ^uint64(0)
				case index == 0:
					index = last
				case index != last:
					index = ^uint64(0)
				}
			})
		}
		return index != ^uint64(0)
	})
	want := c.Replica(leader).Copy()
	for i, s := range c.servers {
		if s.rep.Load() == nil {
			continue
		}
		got := s.rep.Load().Copy()
		if got.Index() == want.Index() && got.Hash() != want.Hash() {
			c.t.Errorf("L12: server %d differs from the leader at entry %d", i, got.Index())
		}
		s.rep.Load().Read(func(st *fsm.View) {
			if err := st.Check(); err != nil {
				c.t.Errorf("server %d breaks a law: %v", i, err)
			}
		})
	}
}
