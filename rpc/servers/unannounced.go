package servers

import (
	"fmt"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/form"
)

// untold is how long an escalation waits until somebody is told of it before a status warns.
const untold = 5 * time.Minute

// unannounced says that escalations wait and nobody is called: the server that leads has no notifier, as one that has
// been joined later, or none of its notifiers has got through.
func (c *Service) unannounced(st *fsm.View) []string {
	n := st.EscalationCounts().Pending
	if n == 0 {
		return nil
	}
	oldest := oldestUntold(st)
	if oldest == nil || st.Clock().Sub(oldest.Notice.At) < untold {
		return nil
	}
	leader := c.Reader.Leader()
	if leader.Self && c.Notifiers != nil && c.Notifiers() == 0 {
		return []string{fmt.Sprintf("%s: %d wait, and server %s, which leads, has no notifier, so nobody is called: give "+
			"its file the notify: of the other servers, or all of them one, and send it SIGHUP.", form.Unannounced, n,
			c.Self)}
	}
	why := "server " + leader.ID + ", which leads, has not tried: see that its file has the same notify: as those of " +
		"the other servers"
	if leader.ID == "" {
		why = "no server leads"
	} else if len(oldest.Notice.Deliveries) > 0 {
		why = fmt.Sprintf("no notifier has got through; `vigil escalation show %d` tells why", oldest.ID)
	}
	return []string{fmt.Sprintf("%s: %d wait, of escalation %d nobody has been told for %s: %s.", form.Unannounced, n,
		oldest.ID, st.Clock().Sub(oldest.Notice.At).Round(time.Minute), why)}
}

// oldestUntold is the escalation that has waited longest of those that no notifier has delivered; nil: there is none.
func oldestUntold(st *fsm.View) (oldest *noun.Escalation) {
	for _, e := range st.Notices("") { // nobody has that name: all that are pending
		told := false
		for i := range e.Notice.Deliveries {
			told = told || e.Notice.Deliveries[i].Done
		}
		if !told && (oldest == nil || e.Notice.At < oldest.Notice.At) {
			oldest = e
		}
	}
	return oldest
}
