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
	Servers func() []cluster.Server   // of the cluster, as the replica sees them
	led     atomic.Pointer[time.Time] // since when this server leads
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
	for _, srv := range c.Servers() {
		if !srv.Self && (srv.Contact < 0 || srv.Contact > outOfContact) {
			lost[srv.ID] = true
		}
	}
	return lost
}
