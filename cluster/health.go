package cluster

import (
	"errors"
	"fmt"

	"vigil/cluster/record"
	"vigil/fsm/noun"
)

// Ready tells why this server should get no traffic; nil when it may.
func (r *Replica) Ready() error {
	switch {
	case r.raft.Load() == nil:
		return errors.New("the server is starting")
	case r.machine.broken.Load():
		return record.ErrUnknown
	case r.diverged.Load():
		return noun.ErrDiverged
	case r.Leader().ID == "":
		return errors.New("no leader is known")
	}
	return nil
}

// Warnings are sentences for people about the health of the cluster as this
// server sees it; empty when all is well.
func (r *Replica) Warnings() []string {
	var list []string
	if r.Cluster() == "" && r.cfg.Backend == nil {
		list = append(list, "this server belongs to no cluster yet: add it on the leader")
	}
	lead := r.Leader().Self
	for _, s := range r.Servers() {
		switch {
		case s.Diverged:
			list = append(list,
				fmt.Sprintf("server %s differs from the majority: remove it, empty its data directory and add it again", s.ID))
		case lead && s.Contact < 0:
			list = append(list, fmt.Sprintf("server %s has not been heard since this server leads", s.ID))
		case lead && s.Contact > reachable:
			list = append(list, fmt.Sprintf("server %s is silent for %v", s.ID, s.Contact.Round(reachable)))
		case lead && s.Lag > 8*caughtUp:
			list = append(list, fmt.Sprintf("server %s is %d log entries behind", s.ID, s.Lag))
		}
	}
	return list
}
