package noun

import (
	"slices"
	"strings"
)

// HostState is what the cluster believes of a worker machine.
type HostState uint8

// Host states. The numbers are written to disk.
const (
	HostReady   HostState = iota
	HostSuspect           // silent on its stream or in gossip: no new starts
	HostLost              // its lease has ended
	HostLeft              // said good-bye
	// HostReturning is back after it was lost or suspect too often: its agents go
	// on, it gets no new starts until SteadyAt.
	HostReturning
	HostDraining // never stored: Status gives it for a host that a human drains
)

var hostNames = [...]string{"ready", "suspect", "lost", "left", "returning", "draining"}

func (s HostState) String() string { return hostNames[s] }

// Host is a worker machine that runs agentd. Checked by Checker.host of package core:
//
//  1. Until is 0 exactly when it is lost or has left.
//  2. SteadyAt is set exactly while it is returning, DoubtAt only while it is suspect.
//  3. Its timer is not set later than its earliest row (Checker.Armed, law L3).
//  4. A start waits only for a host in service, without drain and pressure (law L9).
//  5. What runs on a drained host holds a task, or has a stop order (law L9).
//  6. DrainEnd is set only while it is drained, comes after DrainUntil, and is not over, unless timers
//     are due that the next entry fires (law L9).
type Host struct {
	ID       HostID
	Key      string // stable id from the host's own file
	Name     string // for people
	Boot     string // boot id of the machine, changes at every boot
	State    HostState
	Runners  []string // sorted
	Labels   []KV
	Capacity uint32 // agents; 0: DefaultCapacity
	Version  string
	Until    Time // end of the host's lease
	Armed    Time
	SeenAt   Wall
	Rev      uint64
	Taken    uint64 // of the newest inventory of Boot; 0: unknown

	// Drain is a human's wish (law L9): no starts, and what runs is stopped when it
	// holds no task, at DrainUntil (0: never) in any case.
	Drain      bool
	DrainBy    string
	DrainAt    Wall
	DrainUntil Time

	SuspectWhy string
	SteadyAt   Time   // end of HostReturning; 0: it is steady
	Flaps      []Time // when it became suspect or lost, of the last FlapWindow; replaced, never changed
	// Views are what the servers hear of it, sorted by server; replaced, never changed.
	Views      []HostView
	Pressure   string   // why it takes no starts at the moment; empty: it does
	Warnings   []string // what its agentd found at start-up, for people
	GossipAddr string   // empty: it does not gossip
	DoubtAt    Time     // since when it is suspect; 0: it is not
	BeatAt     Time     // of its last beat or registration

	// Away are the last stretches in which it was not heard, from and to alternately, at
	// most MaxAway of them; the last one has no end while it lasts. Replaced, never changed. See View.Absent.
	Away []Time

	// Terminal is what it can do about terminals; nil: its agentd has not said. Replaced,
	// never changed.
	Terminal *HostTerminal
	// Servers are the API addresses that it would look for the cluster at; empty: it has not
	// said. Replaced, never changed.
	Servers []string
	// Containment is what holds the processes of an agent together there, as its agentd
	// measured: sealed, group or weak; empty: it has not said.
	Containment string

	DrainEnd End // of Drain

	Kept HostKept // zero: its agentd has not said
}

// HostKept is what agents have in the data directory of a host, in bytes.
type HostKept struct {
	Bytes     uint64 // all of it
	Removable uint64 // of lives that are over: goes by age, by size or for a full disk
	Oldest    Wall   // when the oldest of that was used last, by the host's clock; 0: nothing may go
}

// MaxContainment bounds the word for what holds processes together, in bytes.
const MaxContainment = 16

// MaxHostServers bounds the addresses that a host names, each of 255 bytes.
const MaxHostServers = 32

// MaxAway is how many stretches of silence a host keeps.
const MaxAway = 16

// Status is the state as people see it.
func (h *Host) Status() HostState {
	if h.Drain && (h.State == HostReady || h.State == HostReturning) {
		return HostDraining
	}
	return h.State
}

// InService tells that the host is neither lost nor gone.
func (h *Host) InService() bool { return h.State != HostLost && h.State != HostLeft }

// HostView is what one server hears of one host.
type HostView struct {
	Server string
	Host   HostID // only in ReportViews
	Gossip Hearing
	Stream Hearing
}

// Hearing is how a server hears a host in one way.
type Hearing uint8

// Hearings. The numbers are written to disk.
const (
	HearNothing Hearing = iota // never heard, or the way is not used
	HearAlive
	HearSilent // was heard, and is not any more
	HearLeft   // said good-bye
)

var hearingNames = [...]string{"none", "alive", "silent", "left"}

func (h Hearing) String() string { return hearingNames[h] }

// Hearsay sums up what the servers hear of a host, one answer for each way.
type Hearsay struct {
	Stream Hearing // alive when any server hears it, else silent when any did
	Gossip Hearing // of a majority of the servers that gossip with it; none: nobody does
}

// Hearsay sums up the views.
func (h *Host) Hearsay() (x Hearsay) {
	var gossiping, silent, left int
	for _, v := range h.Views {
		switch {
		case v.Stream == HearAlive:
			x.Stream = HearAlive
		case v.Stream != HearNothing && x.Stream == HearNothing:
			x.Stream = HearSilent
		}
		switch v.Gossip {
		case HearNothing:
			continue
		case HearSilent:
			silent++
		case HearLeft:
			left++
		}
		gossiping++
	}
	switch {
	case gossiping == 0:
	case 2*silent > gossiping:
		x.Gossip = HearSilent
	case 2*(silent+left) > gossiping:
		x.Gossip = HearLeft
	default:
		x.Gossip = HearAlive
	}
	return x
}

// Gone tells that stream and gossip agree that nothing is heard of the host. A
// daemon that said good-bye in gossip may have left its agents running: not gone.
func (x Hearsay) Gone() bool {
	switch x.Gossip {
	case HearSilent:
		return x.Stream != HearAlive
	case HearNothing:
		return x.Stream == HearSilent
	}
	return false
}

func (h *Host) ViewOf(server string) (int, bool) {
	return slices.BinarySearchFunc(h.Views, server,
		func(v HostView, id string) int { return strings.Compare(v.Server, id) })
}
