package hearing

import (
	"maps"
	"time"

	"vigil/cluster/gossip"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// How a server listens. Every is how often Listen is called.
const (
	Every = 250 * time.Millisecond // changes within it are one report
	// hearPaused is a gap between two looks after which this server was paused, not
	// the hosts: silence counts only from there.
	hearPaused = time.Second
	// hearBeats is how long after a host's last word on its stream a beat from before
	// its death may still reach the state: two pings and the way.
	hearBeats = 4 * time.Second
	// hearJoin is how long a host that gossips may take to be found by a server that
	// has just started, or by all when it registers.
	hearJoin = 15 * time.Second
	// A report takes at most hearMost hosts, and reports that follow each other are
	// held back longer and longer.
	hearMost    = 1000
	hearBackoff = 4 * time.Second
)

// Hearing makes this server's view of every host from the order streams that it
// holds or held and from gossip. It is compared with what the state holds as this
// server's view, so nothing needs to be remembered of what was reported. One
// goroutine uses it.
type Hearing struct {
	self   string
	stream func(noun.HostID) (silent time.Duration, here bool)
	gossip func(key, boot string) gossip.State // nil: this server does not gossip

	looked  time.Time // when this server last listened
	resumed time.Time // since when it does so without a gap
	streams map[noun.HostID]lastWord
	awaited map[noun.HostID]awaited

	next  time.Time // of the next report
	pause time.Duration
}

// lastWord is what was last heard of a host on a stream here.
type lastWord struct {
	at   time.Time
	till noun.Time // end of its lease as far as its beats from before that reached the state
}

// awaited is a host that says that it gossips, and was never heard.
type awaited struct {
	since time.Time
	boot  string
}

// New makes the hearing of the server self. Stream gives how long a host has been silent on its stream,
// and whether that is here.
func New(self string, stream func(noun.HostID) (time.Duration, bool),
	gossip func(key, boot string) gossip.State) *Hearing {
	return &Hearing{self: self, stream: stream, gossip: gossip, streams: map[noun.HostID]lastWord{},
		awaited: map[noun.HostID]awaited{}}
}

// Listen gives this server's views that differ from those in the state and may be
// reported now.
func (h *Hearing) Listen(st *fsm.View, now time.Time) (views []noun.HostView) {
	if now.Sub(h.looked) > hearPaused {
		h.resumed = now
	}
	h.looked = now
	for host := range st.Hosts() {
		had := h.reportedView(host)
		v := noun.HostView{Server: h.self, Host: host.ID, Stream: h.hearStream(host, now),
			Gossip: h.hearGossip(host, had.Gossip, now)}
		if v.Stream != had.Stream || v.Gossip != had.Gossip {
			views = append(views, v)
		}
	}
	maps.DeleteFunc(h.streams, func(id noun.HostID, _ lastWord) bool { return st.Host(id) == nil })
	maps.DeleteFunc(h.awaited, func(id noun.HostID, _ awaited) bool { return st.Host(id) == nil })
	switch {
	case len(views) == 0:
		h.pause = max(h.pause-Every/2, 0)
	case now.Before(h.next):
		return nil
	}
	return views[:min(len(views), hearMost)]
}

// Reported holds back the next report, longer after each and after one that failed.
func (h *Hearing) Reported(now time.Time, ok bool) {
	if h.pause = max(2*h.pause, Every/2); !ok {
		h.pause = max(h.pause, time.Second)
	}
	h.pause = min(h.pause, hearBackoff)
	h.next = now.Add(h.pause)
}

// reportedView is this server's view in the state.
func (h *Hearing) reportedView(host *noun.Host) noun.HostView {
	for _, v := range host.Views {
		if v.Server == h.self {
			return v
		}
	}
	return noun.HostView{}
}

// hearStream: a stream that has closed is not yet silence, and a host that is heard
// elsewhere is none of this server's business any more.
func (h *Hearing) hearStream(host *noun.Host, now time.Time) noun.Hearing {
	last, known := h.streams[host.ID]
	silent, here := h.stream(host.ID)
	if here {
		if at := now.Add(-silent); at.After(last.at) {
			last.at = at
		}
	} else if !known {
		return noun.HearNothing
	}
	if now.Sub(last.at) < hearBeats {
		last.till = host.Until
	}
	if !here && (host.State == noun.HostLeft || host.Until > last.till || h.heardElsewhere(host)) {
		delete(h.streams, host.ID)
		return noun.HearNothing
	}
	h.streams[host.ID] = last
	if now.Sub(last.at) >= fsm.SilentFor && now.Sub(h.resumed) >= fsm.SilentFor {
		return noun.HearSilent
	}
	return noun.HearAlive
}

// heardElsewhere tells whether another server says that it hears the host's stream.
func (h *Hearing) heardElsewhere(host *noun.Host) bool {
	for _, v := range host.Views {
		if v.Server != h.self && v.Stream == noun.HearAlive {
			return true
		}
	}
	return false
}

// hearGossip: a host that says that it gossips and is not found is silent, like one
// that was heard before; usually its port is blocked.
func (h *Hearing) hearGossip(host *noun.Host, had noun.Hearing, now time.Time) noun.Hearing {
	if h.gossip == nil {
		return noun.HearNothing
	}
	state := h.gossip(host.Key, host.Boot)
	if state != gossip.Unknown {
		delete(h.awaited, host.ID)
	}
	switch state {
	case gossip.Alive:
		return noun.HearAlive
	case gossip.Silent:
		return noun.HearSilent
	case gossip.Left:
		return noun.HearLeft
	}
	if host.GossipAddr == "" || host.State == noun.HostLeft {
		return noun.HearNothing
	}
	u, waits := h.awaited[host.ID]
	if !waits || u.boot != host.Boot || u.since.Before(h.resumed) {
		u = awaited{now, host.Boot}
		h.awaited[host.ID] = u
	}
	if now.Sub(u.since) >= hearJoin {
		return noun.HearSilent
	}
	return had
}
