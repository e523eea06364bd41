package gossip

import (
	"net"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// State is how a member is heard.
type State uint8

// States.
const (
	Unknown State = iota // never heard, or not decided yet
	Alive
	Silent // was there, or should be, and does not answer
	Left   // said good-bye
)

var stateNames = [...]string{"unknown", "alive", "silent", "left"}

func (s State) String() string { return stateNames[s] }

// memberKey is what a member stands for: its runs share it.
type memberKey struct {
	kind     Kind
	id, boot string
}

// member is one run of a program.
type member struct {
	name string
	key  memberKey
	seen uint64 // greater in the run that came up later, as this member heard it
	addr *net.UDPAddr

	up        bool // the library takes it for alive
	left      bool // it said good-bye
	confirmed bool // it has answered by UDP since it came up
	silent    bool // it was judged so, and has not answered since
	since     time.Time
	next      time.Time // ping due
	tries     int

	// Others say that it has failed or left: until the own pings have decided, it is heard as before.
	decide time.Time
	before State
}

// table holds what the library says of members. It is called with the library's
// lock held, so nothing here blocks or calls back. Safe for concurrent use.
type table struct {
	judge bool // a server: members are pinged before they count

	doubted chan struct{} // one fits: a member is to be pinged at once

	mu      sync.Mutex
	seen    uint64 // of the run that came up last
	members map[string]*member
	runs    map[memberKey][]*member // any order
}

func newTable(judge bool) *table {
	return &table{judge: judge, doubted: make(chan struct{}, 1), members: map[string]*member{},
		runs: map[memberKey][]*member{}}
}

// NotifyAlive implements memberlist.AliveDelegate: what has no name of ours is kept
// out.
func (t *table) NotifyAlive(n *memberlist.Node) error {
	_, err := parseName(n.Name)
	return err
}

// NotifyJoin implements memberlist.EventDelegate.
func (t *table) NotifyJoin(n *memberlist.Node) {
	key, err := parseName(n.Name)
	if err != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	m := t.members[n.Name]
	if m == nil {
		m = &member{name: n.Name, key: key}
		t.members[n.Name] = m
		t.runs[key] = append(t.runs[key], m)
	}
	t.seen++
	m.seen = t.seen
	m.addr = &net.UDPAddr{IP: n.Addr, Port: int(n.Port)}
	m.up, m.confirmed, m.since, m.next, m.tries = true, false, now, now, 0
	m.left = string(n.Meta) == left
	t.prune(now)
}

// NotifyUpdate implements memberlist.EventDelegate.
func (t *table) NotifyUpdate(n *memberlist.Node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := t.members[n.Name]; m != nil {
		says := string(n.Meta) == left
		if says && !m.left {
			t.doubt(m, time.Now())
		}
		m.addr, m.left = &net.UDPAddr{IP: n.Addr, Port: int(n.Port)}, says
	}
}

// NotifyLeave implements memberlist.EventDelegate: it left, or has failed.
func (t *table) NotifyLeave(n *memberlist.Node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := t.members[n.Name]; m != nil {
		now := time.Now()
		t.doubt(m, now)
		m.up, m.confirmed, m.since = false, false, now
		m.left = string(n.Meta) == left
		m.silent = !m.left
	}
}

// doubt has a server ping a host of which it is said that it has failed or left: what another member says,
// which may lie, is a reason to look and no evidence. The caller holds mu.
func (t *table) doubt(m *member, now time.Time) {
	was := m.judged(t.judge, now)
	if !t.judge || m.key.kind != Host || was == Silent || was == Left {
		return
	}
	m.before, m.next = was, now
	if limit := now.Add(ownLimit); m.decide.Before(limit) {
		m.decide = limit
	}
	select {
	case t.doubted <- struct{}{}:
	default:
	}
}

// prune forgets members that have long been gone, and runs that newer ones have
// replaced.
func (t *table) prune(now time.Time) {
	for key, runs := range t.runs {
		last, kept := newest(runs), runs[:0]
		for _, m := range runs {
			if m.up || now.Sub(m.since) < forgetAfter && m == last {
				kept = append(kept, m)
			} else {
				delete(t.members, m.name)
			}
		}
		clear(runs[len(kept):])
		if t.runs[key] = kept; len(kept) == 0 {
			delete(t.runs, key)
		}
	}
}

// newest is the run that came up last as this member heard it. No clock of another
// machine has a say: it may have been set back between two runs.
func newest(runs []*member) *member {
	var last *member
	for _, m := range runs {
		if last == nil || m.seen > last.seen {
			last = m
		}
	}
	return last
}

// state tells how a member is heard: by its best run while one answers, else by its
// newest one.
func (t *table) state(kind Kind, id, boot string, now time.Time) State {
	t.mu.Lock()
	defer t.mu.Unlock()
	runs := t.runs[keyOf(kind, id, boot)]
	for _, m := range runs {
		if m.judged(t.judge, now) == Alive {
			return Alive
		}
	}
	if last := newest(runs); last != nil {
		return last.judged(t.judge, now)
	}
	return Unknown
}

func (m *member) judged(judge bool, now time.Time) State {
	switch {
	case now.Before(m.decide):
		return m.before
	case m.left:
		return Left
	case !m.up:
		return Silent
	case m.confirmed || !judge:
		return Alive
	case m.silent || now.Sub(m.since) >= confirmFor:
		return Silent
	}
	return Unknown
}

// unconfirmed gives copies of the members to ping now.
func (t *table) unconfirmed(now time.Time) []member {
	if !t.judge {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var due []member
	for _, m := range t.members {
		switch {
		case m.key.kind != Host || now.Before(m.next):
			continue
		case m.up && !m.confirmed && !m.left:
			m.next = now.Add(time.Hour) // until pinged
		case now.Before(m.decide):
			m.next = now.Add(confirmLook) // and not only once: packets get lost
		default:
			continue
		}
		due = append(due, *m)
	}
	return due
}

// pinged takes the outcome of a ping.
func (t *table) pinged(name string, answered bool, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.members[name]
	if m == nil {
		return
	}
	said := !m.up || m.left // that it has gone
	switch {
	case answered && said:
		m.decide, m.before, m.next = now.Add(ownKeep), Alive, now.Add(ownEvery)
		return
	case answered:
		m.confirmed, m.silent = true, false
		return
	case said:
		return
	}
	m.tries++
	m.next = now.Add(min(time.Duration(m.tries)*confirmLook, confirmFor))
}

// addresses gives those of members that are up.
func (t *table) addresses() map[string]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	up := map[string]bool{}
	for _, m := range t.members {
		if m.up {
			up[m.addr.String()] = true
		}
	}
	return up
}

// counts gives the number of members by kind and state, as this member hears them.
func (t *table) counts(now time.Time) map[Kind]map[State]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := map[Kind]map[State]int{Server: {}, Host: {}}
	for key, runs := range t.runs {
		if of := out[key.kind]; of != nil {
			of[newest(runs).judged(t.judge && key.kind == Host, now)]++
		}
	}
	return out
}
