package noun

import "time"

// Brake stops starts of agents whose last life was lost with its host, after many
// were lost at once: that usually is a fault of the network (law L11, incident
// I27). For one TTL none of them is started; then one a second, two, four and so
// on, until nobody waits for it or a human releases it.
type Brake struct {
	Recent []BrakeTick // losses of the last brake_window, oldest first; replaced, never changed
	Set    Time        // since when; 0: it is not set
	Hold   Time        // until then no such start
	TAT    Time        // then they are paced: theoretical arrival time of the next one
	Paced  uint32      // starts since Hold; the pace doubles with them
	Why    string      // a sentence
	Armed  Time        // when its timer is set; 0: none
}

// BrakeTick counts what was lost within one second of cluster time.
type BrakeTick struct {
	At        Time   // of the first loss
	Lives     uint32 // that were fenced before it
	Lost      uint32
	Hosts     uint32 // that were in service before it
	HostsLost uint32
}

const (
	// BrakeHosts is the least number of hosts of which more than half lost set the brake.
	BrakeHosts = 3
	// brakeBurst is how far paced starts may run ahead: the rhythm of the planner.
	brakeBurst = Time(250 * time.Millisecond)
	// brakeStep is for how many seconds each pace lasts before it doubles.
	brakeStep = 10
	// brakePace is the greatest pace, in starts a second.
	brakePace = 1024
)

// LostLast tells that the agent's last life was lost with its host.
func (a *Agent) LostLast() bool { return a.LastExit != nil && a.LastExit.Kind == ExitFenceEnded }

// Pace is the number of paced starts a second: 1 for brakeStep seconds, then 2 for
// as long, then 4.
func (b *Brake) Pace() Time {
	p := uint32(1)
	for p < brakePace && b.Paced >= brakeStep*(2*p-1) {
		p *= 2
	}
	return Time(p)
}

// Take takes one paced start, if there is one.
func (b *Brake) Take(now Time) bool {
	if b.TAT >= now+brakeBurst {
		return false
	}
	b.TAT = max(b.TAT, now) + Time(time.Second)/b.Pace()
	b.Paced++
	return true
}
