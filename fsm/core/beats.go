package core

import (
	"encoding/binary"
	"iter"

	"vigil/fsm/noun"
)

// Kinds of beats, added up: the agent's own lease, its supervisor's word for it,
// and the fence of its incarnation. BeatStranger is added by the server that takes
// the beat in: the token it came with is not that of its incarnation (incident I103).
const (
	BeatLease = 1 << iota
	BeatVouch
	BeatFence
	BeatStranger
)

// PackBeats appends beats to dst: for each the difference of its agent to the one
// before (zig-zag), its incarnation, and its kinds. Sorted agents take some three
// bytes a beat. The slices have equal lengths.
func PackBeats(dst []byte, agents []noun.AgentID, incs []noun.Incarnation, kinds []uint8) []byte {
	last := int64(0)
	for i, a := range agents {
		dst, last = appendBeat(dst, last, Beat{a, incs[i], kinds[i]}), int64(a)
	}
	return dst
}

// appendBeat packs one beat; last is the agent of the one before, 0 for the first.
func appendBeat(dst []byte, last int64, b Beat) []byte {
	dst = binary.AppendVarint(dst, int64(b.Agent)-last)
	dst = binary.AppendUvarint(dst, uint64(b.Inc))
	return append(dst, b.Kinds)
}

// Beat is one unpacked beat.
type Beat struct {
	Agent noun.AgentID
	Inc   noun.Incarnation
	Kinds uint8
}

// UnpackBeats yields the beats that PackBeats packed and stops at the first byte
// that it cannot read; ValidBeats tells whether there is one.
func UnpackBeats(p []byte) iter.Seq[Beat] {
	return func(yield func(Beat) bool) {
		last := int64(0)
		for len(p) > 0 {
			var b Beat
			var ok bool
			if b, p, ok = nextBeat(p, &last); !ok || !yield(b) {
				return
			}
		}
	}
}

// ValidBeats counts the beats in p and tells whether all of it can be read.
func ValidBeats(p []byte) (n int, ok bool) {
	last := int64(0)
	for len(p) > 0 {
		if _, p, ok = nextBeat(p, &last); !ok {
			return n, false
		}
		n++
	}
	return n, true
}

func nextBeat(p []byte, last *int64) (Beat, []byte, bool) {
	d, n := binary.Varint(p)
	if n <= 0 {
		return Beat{}, nil, false
	}
	p = p[n:]
	inc, n := binary.Uvarint(p)
	if n <= 0 || len(p) == n {
		return Beat{}, nil, false
	}
	*last += d
	if *last <= 0 || *last > 1<<32-1 {
		return Beat{}, nil, false
	}
	return Beat{noun.AgentID(*last), noun.Incarnation(inc), p[n]}, p[n+1:], true
}

// renew applies the beats of one host. They touch no timer, wake nobody and
// write no event (but about a wrong identity); what is not simply current is answered.
func (s *State) renew(b *HostBeats) noun.BeatAnswer {
	var ans noun.BeatAnswer
	now := s.Meta.Clock
	if b.Host != 0 {
		h := s.HostTable.Mut(b.Host)
		if h == nil || h.Boot != b.Boot || h.State == noun.HostLeft {
			ans.HostGone = true
			return ans
		}
		if h.State == noun.HostLost {
			s.welcome(h)
		}
		h.Until, h.BeatAt = now.Add(s.Meta.Settings.HostTTL), now
		s.reported(h) // its beats are of all that runs there
		s.armHost(h)  // earlier only after host_ttl was shortened, or in doubt
	}
	s.Tally.Beats++
	last := int64(0)
	for p, ok := b.Packed, true; len(p) > 0; {
		var beat Beat
		if beat, p, ok = nextBeat(p, &last); !ok {
			break
		}
		l := s.LeaseTable.Mut(beat.Agent)
		if l == nil || l.Inc != beat.Inc || !s.mayRenew(b.Host, beat) || !s.prolong(l, beat.Kinds, now) {
			s.exception(&ans, b.Host, beat)
			continue
		}
		if beat.Kinds&BeatFence != 0 && s.held() { // it counts, but nobody may go on because of it
			ans.Exceptions = append(ans.Exceptions, noun.BeatException{Agent: beat.Agent, Inc: beat.Inc,
				Verdict: noun.VerdictHeld})
			continue
		}
		ans.Renewed++
	}
	s.use(b)
	return ans
}

// mayRenew tells whether the sender may renew what the beat is about: an agent by
// itself its own lease, a host whatever lives on it.
func (v *View) mayRenew(host noun.HostID, beat Beat) bool {
	switch {
	case beat.Kinds&BeatStranger != 0:
		return false
	case host == 0 && beat.Kinds == BeatLease:
		return true
	}
	return v.AgentTable.Get(beat.Agent).Host == host
}

// prolong renews what the beat is about and has not ended; false when something
// it is about has. The end of one of the two leases never takes the other along.
func (s *State) prolong(l *noun.Lease, kinds uint8, now noun.Time) bool {
	ok := true
	switch {
	case kinds&BeatLease != 0 && l.Until <= now:
		ok = false
	case kinds&BeatLease != 0, kinds&BeatVouch != 0 && l.Vouch && l.Until > now:
		s.Tally.margin(l.Until - now)
		l.Until, l.Beat, l.Beatless = s.beaten(l), now, false
	}
	if kinds&BeatFence != 0 {
		if l.Fence <= now {
			return false
		}
		l.Fence = s.beaten(l)
	}
	return ok
}

// beaten is when a lease or fence ends that is proved now: after one TTL. In the hold
// after a restore the agent freezes soon and cannot prove anything before the first
// beat that is confirmed: then one TTL after the hold (law L10).
func (v *View) beaten(l *noun.Lease) noun.Time {
	return max(v.Meta.Clock, v.Meta.HoldUntil) + noun.Time(l.TTL)
}

// exception answers a beat that is not simply current (late words never revive).
func (s *State) exception(ans *noun.BeatAnswer, host noun.HostID, beat Beat) {
	v := s.verdict(host, beat)
	if v == noun.VerdictAdopt {
		a := s.AgentTable.Mut(beat.Agent)
		was := ShadowOf(a)
		if a.Proc == noun.ProcUnproven {
			s.proven(a)
		}
		a.Proc, a.Since = noun.ProcRunning, s.Meta.Clock
		s.grantFence(a)
		what := "its host is back and nothing newer was ordered"
		if s.retake(a) {
			what += "; it has its task again"
		}
		s.Event("agent.adopted", About{Agent: a, Task: a.Task, Host: a.Host}, what)
		s.Settle(a, was)
	}
	if v == noun.VerdictAdopt && s.held() {
		v = noun.VerdictHeld
	}
	if v == noun.VerdictSuperseded {
		s.Tally.Superseded++
	}
	if v == noun.VerdictCurrent {
		ans.Renewed++
		return
	}
	ans.Exceptions = append(ans.Exceptions, noun.BeatException{Agent: beat.Agent, Inc: beat.Inc, Verdict: v})
}

func (s *State) verdict(host noun.HostID, beat Beat) noun.Verdict {
	a := s.AgentTable.Mut(beat.Agent)
	switch {
	case a == nil:
		return noun.VerdictUnknown
	case beat.Inc != a.Inc || s.unborn(a):
		return noun.VerdictSuperseded
	case a.Host != host && (host != 0 || beat.Kinds&(BeatVouch|BeatFence) != 0):
		return noun.VerdictSuperseded
	case host == 0 && beat.Kinds == BeatLease && s.MayReturn(a): // it is heard before its host
		return noun.VerdictRejoin
	case beat.Kinds&BeatFence == 0 && a.Managed && !a.Proc.Fenced():
		return noun.VerdictSuperseded
	case beat.Kinds&BeatStranger != 0:
		s.noteWrongIdentity(a, "incarnation "+beat.Inc.String()+" was presented in a beat with a token that is not its own")
		return noun.VerdictDenied
	case beat.Kinds&BeatFence == 0:
		return noun.VerdictRejoin
	case s.MayReturn(a):
		return noun.VerdictAdopt
	case a.Proc.Fenced(): // its fence has ended at this very instant; the timer decides
		return noun.VerdictRejoin
	}
	return noun.VerdictSuperseded
}

// MayReturn tells that the agent's newest life was given up for the silence of its
// host, and may go on when it is heard of: nothing newer was ordered, and nobody
// wants it to end (law L10).
func (v *View) MayReturn(a *noun.Agent) bool { return a.Proc.GivenUp() && !v.StopWish(a) }

// HostBeats are the renewals of one host (Host 0: of an agent started by hand).
// They are packed by PackBeats; a beat is answered by an exception or by silence.
type HostBeats struct {
	Host   noun.HostID
	Boot   string
	Packed []byte
	// Usage is what lives of the host have used, where that has changed. Only from LevelRetry on.
	Usage []Used
}
