package fsm

// restoreLeap is how far the numbers of tasks and sessions jump when a backup is
// restored into a cluster that has handed out less than the backup had: the cluster
// that went on from the backup, and is lost, may have handed out more.
const restoreLeap = 1 << 20

// Outnumber prepares the state of a backup to take the place of another: it hands
// out no number that either has handed out. Else what a client or an agent says of
// its own task or session, from before the restore, would be taken for another's
// (laws L6 and L8). Incarnations are told apart by RaiseEpoch, events by the epoch.
// Attempts at tasks that wait go on from the greater count. It is called before the
// state is shared, on the one server that makes the snapshot for all.
//
// In a new cluster there is nothing to compare with; then tasks and sessions
// continue a million further on.
func (s *State) Outnumber(replaced *State) {
	m, old := &s.meta, &replaced.meta
	leap := old.NextTask < m.NextTask || old.NextSession < m.NextSession
	m.NextRoom = max(m.NextRoom, old.NextRoom)
	m.NextRole = max(m.NextRole, old.NextRole)
	m.NextAgent = max(m.NextAgent, old.NextAgent)
	m.NextHost = max(m.NextHost, old.NextHost)
	m.NextTask = max(m.NextTask, old.NextTask)
	m.NextSession = max(m.NextSession, old.NextSession)
	if old.LastMail < m.LastMail || leap {
		m.LastMail = max(m.LastMail, old.LastMail) + restoreLeap
	} else {
		m.LastMail = old.LastMail
	}
	m.LastDelivery = max(m.LastDelivery, old.LastDelivery)
	if x, was := &m.Escalations, &old.Escalations; was.Last < x.Last || leap { // whoever was told of one finds no other under its number
		x.Last, x.LastNotice = max(x.Last, was.Last)+restoreLeap, max(x.LastNotice, was.LastNotice)+restoreLeap
	} else {
		x.Last, x.LastNotice = was.Last, max(x.LastNotice, was.LastNotice)
	}
	if leap {
		m.NextTask += restoreLeap
		m.NextSession += restoreLeap
	}
	for id, was := range replaced.tasks.from(0) {
		if t := s.tasks.get(id); t == nil || t.State.Held() || t.State.Terminal() || t.Attempt >= was.Attempt {
			continue
		}
		s.tasks.mut(id).Attempt = was.Attempt
	}
}
