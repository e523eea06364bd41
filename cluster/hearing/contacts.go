package hearing

import (
	"sync/atomic"
	"time"

	"vigil/cluster"
)

// outOfContact is the silence after which what a server hears does not count.
const outOfContact = 5 * time.Second

// Contacts tells a leader which servers it cannot reach. Safe for concurrent use.
type Contacts struct {
	Servers func() []cluster.Server // of the cluster, as the replica sees them
	// Announced gives the ids of the servers that the state knows. One that is no member is out of contact: nobody
	// waits for its word, and what it has said does not count.
	Announced func() []string
	led       atomic.Pointer[time.Time] // since when this server leads
}

// Leads begins a stint: what was heard in an earlier one means nothing.
func (c *Contacts) Leads(now time.Time) { c.led.Store(&now) }

// Lost names the servers that are out of contact. A new leader gives everybody time
// to answer.
func (c *Contacts) Lost(now time.Time) map[string]bool {
	lost := map[string]bool{}
	if led := c.led.Load(); led == nil || now.Sub(*led) < outOfContact {
		return lost
	}
	announced := c.Announced() // first: who is announced is a member already
	members := c.Servers()
	if len(members) == 0 { // the replication has ended
		return lost
	}
	for _, id := range announced {
		lost[id] = true
	}
	for _, srv := range members {
		if delete(lost, srv.ID); !srv.Self && (srv.Contact < 0 || srv.Contact > outOfContact) {
			lost[srv.ID] = true
		}
	}
	return lost
}
