package fsm

import (
	"fmt"
	"slices"
	"time"

	"vigil/fsm/noun"
)

// Braked tells whether starts of the agent are held or paced by the brake.
func (v *View) Braked(a *noun.Agent) bool { return v.meta.Brake.Set != 0 && a.LostLast() }

// brakeHolds tells that the brake lets no start of a lost agent through yet.
func (v *View) brakeHolds() bool { return v.meta.Brake.Set != 0 && v.meta.Clock < v.meta.Brake.Hold }

// brakeHeld tells that the brake lets no start of the agent through yet.
func (v *View) brakeHeld(a *noun.Agent) bool { return a.LostLast() && v.brakeHolds() }

// BrakeRoom is how many starts of braked agents may be ordered now.
func (v *View) BrakeRoom() (n uint32) {
	b := v.meta.Brake
	if b.Set == 0 || v.meta.Clock < b.Hold {
		return 0
	}
	for b.Take(v.meta.Clock) {
		n++
	}
	return n
}

// brakeLost counts a life that is about to be lost, as brakeHostLost does a host.
func (s *State) brakeLost() {
	if t := s.brakeTick(); t != nil {
		t.Lost++
		s.brakeJudge()
	}
}

func (s *State) brakeHostLost() {
	if t := s.brakeTick(); t != nil {
		t.HostsLost++
		s.brakeJudge()
	}
}

// brakeTick gives the tick of this second; nil: nothing is counted. What a backup
// believed to run is lost as a matter of course, and all starts are held then.
func (s *State) brakeTick() *noun.BrakeTick {
	set, b := &s.meta.Settings, &s.meta.Brake
	if set.BrakeAgents == 0 || b.Set != 0 || s.meta.HoldUntil >= s.meta.Clock && s.meta.HoldUntil != 0 {
		return nil
	}
	list, now := slices.Clone(b.Recent), s.meta.Clock
	for len(list) > 0 && now.Sub(list[0].At) >= set.BrakeWindow {
		list = list[1:]
	}
	if n := len(list); n == 0 || now.Sub(list[n-1].At) >= time.Second {
		list = append(list, noun.BrakeTick{At: now, Lives: s.procCount[noun.ProcAccepted] + s.procCount[noun.ProcRunning], Hosts: s.hostsInService()})
	}
	b.Recent = list
	return &list[len(list)-1]
}

// hostsInService counts the hosts that are neither lost nor have left.
func (v *View) hostsInService() (n uint32) {
	for _, h := range v.hosts.From(0) {
		if h.InService() {
			n++
		}
	}
	return n
}

// brakeJudge sets the brake when too much was lost of what there was at the begin
// of the window.
func (s *State) brakeJudge() {
	set, b := &s.meta.Settings, &s.meta.Brake
	was := b.Recent[0]
	lost, hosts := uint32(0), uint32(0)
	for _, t := range b.Recent {
		lost, hosts = lost+t.Lost, hosts+t.HostsLost
	}
	switch {
	case was.Lives >= set.BrakeAgents && uint64(lost)*100 > uint64(was.Lives)*uint64(set.BrakeShare):
		s.setBrake(fmt.Sprintf("more than %d %% of %d lives were lost within %s", set.BrakeShare, was.Lives, set.BrakeWindow))
	case was.Hosts >= noun.BrakeHosts && uint64(hosts)*100 > uint64(was.Hosts)*uint64(set.BrakeShare):
		s.setBrake(fmt.Sprintf("more than %d %% of %d hosts were lost within %s", set.BrakeShare, was.Hosts, set.BrakeWindow))
	}
}

func (s *State) setBrake(why string) {
	hold := s.meta.Clock.Add(s.meta.Settings.TTL)
	s.meta.Brake = noun.Brake{Set: s.meta.Clock, Hold: hold, TAT: hold, Why: why, Armed: s.meta.Brake.Armed}
	s.rearm(timerBrake, 0, &s.meta.Brake.Armed, hold)
	s.figures.Brakes++
	s.event("brake.set", about{}, why+"; for "+s.meta.Settings.TTL.String()+
		" no lost agent is started elsewhere, then they are paced; `vigil brake release` ends it")
	s.escalateBrake()
	s.reviewAll()
}

// takeBraked books a start that BrakeRoom has room for.
func (s *State) takeBraked(a *noun.Agent) {
	if s.Braked(a) {
		s.meta.Brake.Take(s.meta.Clock)
	}
}

// fireBrake looks at the brake: at the end of its hold, then once a TTL. It is over
// when no life is lost any more, or when nobody has taken a start for so long:
// who still waits then waits for something else.
func (s *State) fireBrake() {
	b := &s.meta.Brake
	b.Armed = 0
	if b.Set == 0 {
		return
	}
	at := b.Hold
	if b.Hold <= s.meta.Clock {
		if at = b.TAT.Add(s.meta.Settings.TTL); at <= s.meta.Clock || s.procCount[noun.ProcLost] == 0 {
			s.endBrake("nobody waits for it any more")
			return
		}
	}
	s.rearm(timerBrake, 0, &b.Armed, at)
	s.reviewAll()
}

func (s *State) endBrake(why string) {
	s.rearm(timerBrake, 0, &s.meta.Brake.Armed, 0)
	s.meta.Brake = noun.Brake{}
	s.event("brake.over", about{}, why)
	s.reviewAll()
	s.res.Effects.Plan = true
}

// ReleaseBrake ends the mass-failure brake by a human's word.
type ReleaseBrake struct{ By string }

// Apply ends the brake by a human's word (law L9).
func (c ReleaseBrake) Apply(s *State) noun.Outcome {
	if s.meta.Brake.Set != 0 {
		s.endBrake("released by " + nobody(c.By))
	}
	return noun.Outcome{Rev: s.meta.Index}
}

// whyBraked explains the brake to one agent.
func (v *View) whyBraked() Why {
	b := &v.meta.Brake
	text := "the brake is set: " + b.Why + "; `vigil brake release` ends it"
	if left := b.Hold.Sub(v.meta.Clock); left > 0 {
		return Why{"brake", text, left}
	}
	return Why{"brake", fmt.Sprintf("%s; lost agents are started at %d a second", text, b.Pace()), max(0, b.TAT.Sub(v.meta.Clock))}
}
