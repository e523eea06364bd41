package hearing

import (
	"slices"
	"testing"
	"time"

	"vigil/cluster"
	"vigil/cluster/gossip"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// ear is a server's hearing of one host, with everything around it by hand.
type ear struct {
	t     *testing.T
	state *fsm.State
	h     *Hearing
	now   time.Time
	began time.Time

	here    bool         // the host's stream is here
	heardAt time.Time    // last word on it
	gossip  gossip.State // as gossip says
	reports int
}

func newEar(t *testing.T, gossipAddr string) *ear {
	e := &ear{t: t, state: fsm.New(), began: time.Unix(1000, 0)}
	e.now = e.began
	e.h = New("me", func(noun.HostID) (time.Duration, bool) { return e.now.Sub(e.heardAt), e.here },
		func(string, string) gossip.State { return e.gossip })
	for _, id := range []string{"me", "other"} {
		e.do(fsm.PutServer{ID: id})
	}
	e.do(fsm.RegisterHost{Key: "k", Name: "h", Boot: "b", GossipAddr: gossipAddr})
	return e
}

func (e *ear) do(c fsm.Command) {
	e.t.Helper()
	entry := &fsm.Entry{Index: e.state.LastIndex() + 1, Term: 1, Stint: 1,
		Stamp: noun.Time(e.now.Sub(e.began)), Requests: []fsm.Request{{Cmd: c}}}
	for _, o := range e.state.Apply(entry).Outcomes {
		if o.Code != noun.OK {
			e.t.Fatalf("%T: %v %s", c, o.Code, o.Detail)
		}
	}
}

// pass lets time go by, with a look every 250 ms and with pongs every 2 s while talks.
func (e *ear) pass(d time.Duration, talks bool) {
	e.t.Helper()
	for end := e.now.Add(d); e.now.Before(end); {
		e.now = e.now.Add(Every)
		if talks && e.now.Sub(e.heardAt) >= 2*time.Second {
			e.heardAt = e.now
		}
		e.look()
	}
}

func (e *ear) look() {
	e.t.Helper()
	if views := e.h.Listen(&e.state.View, e.now); len(views) > 0 {
		e.reports++
		e.do(fsm.ReportViews{Server: "me", Views: views})
		e.h.Reported(e.now, true)
	}
}

// want demands this server's view in the state.
func (e *ear) want(what string, g, stream noun.Hearing) {
	e.t.Helper()
	if v := e.h.reportedView(e.state.Host(1)); v.Gossip != g || v.Stream != stream {
		e.t.Errorf("%s: gossip %v, stream %v; want %v, %v", what, v.Gossip, v.Stream, g, stream)
	}
}

func TestHearingOfAStream(t *testing.T) {
	e := newEar(t, "")
	e.pass(time.Minute, false)
	e.want("never had a stream here", noun.HearNothing, noun.HearNothing)
	if e.reports != 0 {
		t.Errorf("%d reports of nothing", e.reports)
	}
	e.here = true
	e.pass(time.Minute, true)
	e.want("talks", noun.HearNothing, noun.HearAlive)
	e.pass(2*time.Second, false)
	e.want("silent for a while", noun.HearNothing, noun.HearAlive)
	e.pass(4*time.Second, false)
	e.want("silent", noun.HearNothing, noun.HearSilent)
	e.pass(time.Second, true)
	e.want("talks again", noun.HearNothing, noun.HearAlive)
	e.here = false
	e.pass(2*time.Second, false)
	e.want("its stream has just ended", noun.HearNothing, noun.HearAlive)
	e.pass(4*time.Second, false)
	e.want("its stream has ended", noun.HearNothing, noun.HearSilent)
	e.pass(time.Minute, false)
	e.want("it stays away", noun.HearNothing, noun.HearSilent)
	if e.reports > 5 {
		t.Errorf("%d reports, want one a change", e.reports)
	}
}

// A host whose stream has moved is none of this server's business any more, whoever
// hears of it first.
func TestHearingOfAStreamThatMoved(t *testing.T) {
	for name, heard := range map[string]func(*ear){
		"another server hears it": func(e *ear) {
			e.do(fsm.ReportViews{Server: "other", Views: []noun.HostView{{Host: 1, Stream: noun.HearAlive}}})
		},
		"it beats":        func(e *ear) { e.do(fsm.RegisterHost{Key: "k", Name: "h", Boot: "b"}) }, // renews its lease
		"it has left":     func(e *ear) { e.do(fsm.LeaveHost{Key: "k", Boot: "b"}) },
		"nobody hears it": nil,
	} {
		e := newEar(t, "")
		e.here = true
		e.pass(10*time.Second, true)
		e.here = false
		e.pass(4*time.Second, false)
		if heard != nil {
			heard(e)
			e.pass(10*time.Second, false)
			e.want(name, noun.HearNothing, noun.HearNothing)
			continue
		}
		e.pass(10*time.Second, false)
		e.want(name, noun.HearNothing, noun.HearSilent)
	}
}

// A beat that was on its way when the host died does not hide its death.
func TestHearingIsNotFooledByALateBeat(t *testing.T) {
	e := newEar(t, "")
	e.here = true
	e.pass(10*time.Second, true)
	e.here = false
	e.pass(500*time.Millisecond, false)
	e.do(fsm.RegisterHost{Key: "k", Name: "h", Boot: "b"}) // renews its lease
	e.pass(10*time.Second, false)
	e.want("dead", noun.HearNothing, noun.HearSilent)
}

// L10: a server that was paused does not take its own silence for that of hosts.
func TestHearingAfterAPause(t *testing.T) {
	e := newEar(t, "")
	e.here = true
	e.pass(10*time.Second, true)
	e.now = e.now.Add(time.Minute)
	e.look()
	e.pass(4*time.Second, false)
	e.want("paused for a minute", noun.HearNothing, noun.HearAlive)
	e.pass(10*time.Second, true)
	e.want("talks again", noun.HearNothing, noun.HearAlive)
	if e.reports != 1 {
		t.Errorf("%d reports, want 1", e.reports)
	}
	e.now = e.now.Add(time.Minute)
	e.pass(7*time.Second, false)
	e.want("dead since the pause", noun.HearNothing, noun.HearSilent)
}

func TestHearingInGossip(t *testing.T) {
	e := newEar(t, "127.0.0.1:1")
	e.pass(10*time.Second, false)
	e.want("not found yet", noun.HearNothing, noun.HearNothing)
	for state, want := range map[gossip.State]noun.Hearing{gossip.Alive: noun.HearAlive,
		gossip.Silent: noun.HearSilent, gossip.Left: noun.HearLeft} {
		e.gossip = state
		e.pass(5*time.Second, false)
		e.want(state.String(), want, noun.HearNothing)
		e.gossip = gossip.Unknown
		e.pass(5*time.Second, false)
		e.want("this server has started again", want, noun.HearNothing)
	}
	e.pass(hearJoin, false)
	e.want("not found at all", noun.HearSilent, noun.HearNothing)
}

func TestHearingInGossipThatIsOff(t *testing.T) {
	e := newEar(t, "")
	e.pass(time.Minute, false)
	e.want("the host has none", noun.HearNothing, noun.HearNothing)
	e = newEar(t, "127.0.0.1:1")
	e.h.gossip = nil
	e.pass(time.Minute, false)
	e.want("the server has none", noun.HearNothing, noun.HearNothing)
}

// However much a host flaps, reports are few.
func TestHearingHoldsReportsBack(t *testing.T) {
	e := newEar(t, "127.0.0.1:1")
	for range 4 * 60 * 10 {
		e.gossip = gossip.Alive + gossip.State(e.now.UnixMilli()/250%2)
		e.pass(Every, false)
	}
	t.Logf("%d reports in 10 min", e.reports)
	if e.reports > 200 {
		t.Errorf("%d reports in 10 min of flapping", e.reports)
	}
	e.gossip = gossip.Silent
	e.pass(10*time.Second, false)
	e.want("at last", noun.HearSilent, noun.HearNothing)
	e.pass(time.Minute, false)
	e.gossip = gossip.Alive
	e.pass(Every, false)
	e.want("a change after a quiet time is told at once", noun.HearAlive, noun.HearNothing)
}

func TestContacts(t *testing.T) {
	now := time.Unix(1000, 0)
	servers := []cluster.Server{{ID: "me", Self: true}, {ID: "near", Contact: time.Second},
		{ID: "far", Contact: time.Minute}, {ID: "never", Contact: -1}}
	announced := []string{"far", "ghost", "me", "near"}
	c := &Contacts{Servers: func() []cluster.Server { return servers },
		Announced: func() []string { return announced }}
	names := func(after time.Duration) (list []string) {
		for id := range c.Lost(now.Add(after)) {
			list = append(list, id)
		}
		slices.Sort(list)
		return list
	}
	if got := names(time.Hour); len(got) != 0 {
		t.Errorf("a server that does not lead: %v", got)
	}
	c.Leads(now)
	if got := names(4 * time.Second); len(got) != 0 {
		t.Errorf("a new leader: %v", got)
	}
	if got := names(6 * time.Second); !slices.Equal(got, []string{"far", "ghost", "never"}) {
		t.Errorf("out of contact: %v", got)
	}
	servers = nil
	if got := names(6 * time.Second); len(got) != 0 {
		t.Errorf("without a replication: %v", got)
	}
}
