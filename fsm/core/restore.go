package core

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"vigil/fsm/noun"
)

// RestoreLeap is how far the numbers of tasks and sessions jump when a backup is
// restored into a cluster that has handed out less than the backup had: the cluster
// that went on from the backup, and is lost, may have handed out more.
const RestoreLeap = 1 << 20

// Outnumber prepares the state of a backup to take the place of another: it hands
// out no number that either has handed out. Else what a client or an agent says of
// its own task or session, from before the restore, would be taken for another's
// (laws L6 and L8). Incarnations are told apart by RaiseEpoch, events by the epoch.
// Attempts at tasks that wait go on from the greater count. What RaiseEpoch holds starts
// for is measured by both states: see await. It is called before the state is shared, on the
// one server that makes the snapshot for all.
//
// In a new cluster there is nothing to compare with; then tasks and sessions
// continue a million further on.
func (s *State) Outnumber(replaced *View) {
	m, old := &s.Meta, replaced.Meta
	leap := old.NextTask < m.NextTask || old.NextSession < m.NextSession
	m.NextRoom = max(m.NextRoom, old.NextRoom)
	m.NextRole = max(m.NextRole, old.NextRole)
	m.NextAgent = max(m.NextAgent, old.NextAgent)
	m.NextHost = max(m.NextHost, old.NextHost)
	m.NextTask = max(m.NextTask, old.NextTask)
	m.NextSession = max(m.NextSession, old.NextSession)
	if old.LastMail < m.LastMail || leap {
		m.LastMail = max(m.LastMail, old.LastMail) + RestoreLeap
	} else {
		m.LastMail = old.LastMail
	}
	m.LastDelivery = max(m.LastDelivery, old.LastDelivery)
	// whoever was told of one finds no other under its number
	if x, was := &m.Escalations, &old.Escalations; was.Last < x.Last || leap {
		x.Last, x.LastNotice = max(x.Last, was.Last)+RestoreLeap, max(x.LastNotice, was.LastNotice)+RestoreLeap
	} else {
		x.Last, x.LastNotice = was.Last, max(x.LastNotice, was.LastNotice)
	}
	if leap {
		m.NextTask += RestoreLeap
		m.NextSession += RestoreLeap
	}
	s.await(replaced)
	for id, was := range replaced.TaskTable.From(0) {
		if t := s.TaskTable.Get(id); t == nil || t.State.Held() || t.State.Terminal() || t.Attempt >= was.Attempt {
			continue
		}
		s.TaskTable.Mut(id).Attempt = was.Attempt
	}
	s.keepAudit(replaced)
	m.Diverged = nil          // all servers get this state
	m.Standbys = old.Standbys // who has a vote is no matter of the backup
	s.Hooks.Outnumbers.Call(Replaced{replaced, leap})
}

// await takes from the replaced state what the hold must cover. A life that only it knows
// freezes by itself after its own TTL, whatever the backup says of its role; and a hold of it
// that is not over covers lives of a state before. Every host that either state believes to
// be there is to say what runs on it: of two words about a host the replaced state's counts.
func (s *State) await(replaced *View) {
	m, old := &s.Meta, replaced.Meta
	m.HoldFor = max(s.longestTTL(), replaced.longestTTL(), old.HoldUntil.Sub(old.Clock))
	keys := slices.Clone(old.Unreported)
	for _, key := range m.Unreported {
		if _, known := replaced.hostByKey[key]; !known {
			keys = append(keys, key)
		}
	}
	note := func(v *View, h *noun.Host) {
		if h.InService() || v.UnprovenOn(h.ID) > 0 {
			keys = append(keys, h.Key)
		}
	}
	for _, h := range replaced.HostTable.From(0) {
		note(replaced, h)
	}
	for _, h := range s.HostTable.From(0) {
		if _, known := replaced.hostByKey[h.Key]; !known {
			note(&s.View, h)
		}
	}
	slices.Sort(keys)
	m.Unreported = slices.Compact(keys)
	for _, key := range m.Unreported {
		if _, known := s.hostByKey[key]; !known {
			s.addLost(replaced.HostByKey(key))
		}
	}
	s.awaitLives(replaced)
}

// addLost lists a host that only the replaced state knows, so that a human can say that it is dead.
func (s *State) addLost(was *noun.Host) {
	if was == nil { // of a hold before
		return
	}
	id := s.Meta.NextHost
	s.Meta.NextHost++
	h := s.HostTable.Put(id)
	h.ID, h.Key, h.Name, h.Boot, h.State = id, was.Key, was.Name, was.Boot, noun.HostLost
	h.BeatAt, h.SeenAt = s.Meta.Clock, was.SeenAt
	s.hostByKey[h.Key] = id
	s.armHost(h)
}

// longestTTL is the longest TTL of any life, and of any that may be started by a role or by
// the setting.
func (v *View) longestTTL() time.Duration {
	ttl := v.Meta.Settings.TTL
	for _, l := range v.LeaseTable.From(0) {
		ttl = max(ttl, time.Duration(l.TTL))
	}
	for _, r := range v.RoleTable.From(0) {
		ttl = max(ttl, r.Spec.TTL)
	}
	return ttl
}

// RaiseEpoch follows the restore of a backup: incarnations of the new epoch are
// greater than any that the backup does not know of, and nothing is started
// before cluster time has moved on by Hold.
type RaiseEpoch struct{ Hold time.Duration }

// Apply begins the hold. A life that the backup knows may be frozen by now, and
// a newer one run somewhere else. Its fence is confirmed only after every life that the
// replaced state has ordered was superseded or has frozen by itself, which takes no
// longer than the longest TTL of both states (law L7). What is proved in the hold outlasts
// it: see beaten.
func (c RaiseEpoch) Apply(s *State) noun.Outcome {
	s.Meta.Epoch++
	s.Hooks.Resumed.Call(struct{}{}) // what was done since the backup was made is not known
	hold := max(c.Hold, s.longestTTL(), s.Meta.HoldFor)
	s.Meta.HoldFor, s.Meta.HoldUntil = hold, s.Meta.Clock.Add(hold)
	s.armHold()
	s.awaitOwn()
	for id := range s.HostTable.From(0) {
		h := s.HostTable.Mut(id)
		if len(h.Views) > 0 { // what servers heard when the backup was made
			h.Views, h.Rev = nil, s.Meta.Index
		}
		s.withdrawAll(h, "a backup was restored: the order may have been followed before")
	}
	s.reviewAll()
	s.Event("cluster.restored", About{}, "a backup was restored; no starts for "+hold.String())
	return noun.Outcome{}
}

// held tells that a backup was restored so lately that no life is confirmed yet.
func (v *View) held() bool { return v.Meta.HoldUntil > v.Meta.Clock }

// StartsHeld tells for how long no start is ordered: for the hold, and then for as long again
// while hosts have not said what runs on them. Safe it would be before, since whoever has not
// been confirmed has frozen; but what runs there should go on there, not begin anew elsewhere.
func (v *View) StartsHeld() (left time.Duration) {
	until := v.Meta.HoldUntil
	if len(v.Meta.Unreported) > 0 {
		until = until.Add(v.Meta.HoldFor)
	}
	return max(0, until.Sub(v.Meta.Clock))
}

// armHold sets the timer of the next end of the hold, if there is one.
func (s *State) armHold() {
	row := s.holdRow()
	s.Arm(timerHold, 0, row.At())
}

// reported notes that a host has said what runs on it, or is not waited for any more.
func (s *State) reported(h *noun.Host) {
	at, waited := slices.BinarySearch(s.Meta.Unreported, h.Key)
	if !waited {
		return
	}
	s.Meta.Unreported = slices.Delete(slices.Clone(s.Meta.Unreported), at, at+1)
	if len(s.Meta.Unreported) == 0 {
		s.awaitNobody()
	}
	if len(s.Meta.Unreported) == 0 && !s.held() {
		s.reviewAll()
	}
}

// unreported tells that a host has not said what runs on it since a backup was restored.
func (v *View) unreported(h *noun.Host) bool {
	_, waited := slices.BinarySearch(v.Meta.Unreported, h.Key)
	return waited
}

// whyHeld says why no start is ordered after a restore.
func (v *View) whyHeld() Why {
	text := "no starts for a while after a restore: lives that the backup does not know freeze first"
	if n := len(v.Meta.Unreported); n > 0 && !v.held() {
		text = fmt.Sprintf("no starts after a restore before %s said what runs there (%s)",
			noun.Plural(n, "host has", "hosts have"), v.someUnreported())
	}
	return Why{"hold", text, v.StartsHeld()}
}

// someUnreported names the first hosts that have not reported.
func (v *View) someUnreported() string {
	var names []string
	for _, key := range v.Meta.Unreported[:min(len(v.Meta.Unreported), 3)] {
		if h := v.HostTable.Get(v.hostByKey[key]); h != nil {
			key = h.Name
		}
		names = append(names, key)
	}
	return strings.Join(names, ", ")
}
