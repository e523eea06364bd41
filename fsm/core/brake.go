package core

import (
	"fmt"
	"slices"
	"time"

	"vigil/fsm/due"
	"vigil/fsm/noun"
)

// Braked tells whether starts of the agent are held or paced by the brake.
func (v *View) Braked(a *noun.Agent) bool { return v.Meta.Brake.Set != 0 && a.LostLast() }

// brakeHolds tells that the brake lets no start of a lost agent through yet.
func (v *View) brakeHolds() bool {
	return v.Meta.Brake.Set != 0 && v.Meta.Clock < v.Meta.Brake.Hold
}

// brakeHeld tells that the brake lets no start of the agent through yet.
func (v *View) brakeHeld(a *noun.Agent) bool { return a.LostLast() && v.brakeHolds() }

// BrakeRoom is how many starts of braked agents may be ordered now.
func (v *View) BrakeRoom() (n uint32) {
	b := v.Meta.Brake
	if b.Set == 0 || v.Meta.Clock < b.Hold {
		return 0
	}
	for b.Take(v.Meta.Clock) {
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
	set, b := &s.Meta.Settings, &s.Meta.Brake
	if set.BrakeAgents == 0 || b.Set != 0 || s.Meta.HoldUntil >= s.Meta.Clock && s.Meta.HoldUntil != 0 {
		return nil
	}
	list, now := slices.Clone(b.Recent), s.Meta.Clock
	for len(list) > 0 && now.Sub(list[0].At) >= set.BrakeWindow {
		list = list[1:]
	}
	if n := len(list); n == 0 || now.Sub(list[n-1].At) >= time.Second {
		list = append(list, noun.BrakeTick{At: now, Lives: s.procCount[noun.ProcAccepted] +
			s.procCount[noun.ProcRunning], Hosts: s.hostsInService()})
	}
	b.Recent = list
	return &list[len(list)-1]
}

// hostsInService counts the hosts that are neither lost nor have left.
func (v *View) hostsInService() (n uint32) {
	for _, h := range v.HostTable.From(0) {
		if h.InService() {
			n++
		}
	}
	return n
}

// brakeJudge sets the brake when too much was lost of what there was at the begin
// of the window.
func (s *State) brakeJudge() {
	set, b := &s.Meta.Settings, &s.Meta.Brake
	was := b.Recent[0]
	lost, hosts := uint32(0), uint32(0)
	for _, t := range b.Recent {
		lost, hosts = lost+t.Lost, hosts+t.HostsLost
	}
	switch {
	case was.Lives >= set.BrakeAgents && uint64(lost)*100 > uint64(was.Lives)*uint64(set.BrakeShare):
		s.setBrake(fmt.Sprintf("more than %d %% of %d lives were lost within %s", set.BrakeShare, was.Lives,
			set.BrakeWindow))
	case was.Hosts >= noun.BrakeHosts && uint64(hosts)*100 > uint64(was.Hosts)*uint64(set.BrakeShare):
		s.setBrake(fmt.Sprintf("more than %d %% of %d hosts were lost within %s", set.BrakeShare, was.Hosts,
			set.BrakeWindow))
	}
}

func (s *State) setBrake(why string) {
	hold := s.Meta.Clock.Add(s.Meta.Settings.TTL)
	s.Meta.Brake = noun.Brake{Set: s.Meta.Clock, Hold: hold, TAT: hold, Why: why, Armed: s.Meta.Brake.Armed}
	s.Rearm(timerBrake, 0, &s.Meta.Brake.Armed, s.brakeRow())
	s.Tally.Brakes++
	s.Event("brake.set", About{}, why+"; for "+s.Meta.Settings.TTL.String()+
		" no lost agent is started elsewhere, then they are paced; `vigil brake release` ends it")
	s.escalateBrake()
	s.reviewAll()
}

// takeBraked books a start that BrakeRoom has room for.
func (s *State) takeBraked(a *noun.Agent) {
	if s.Braked(a) {
		s.Meta.Brake.Take(s.Meta.Clock)
	}
}

// fireBrake looks at the brake: at the end of its hold, then once a TTL. It is over
// when no life is lost any more, or when nobody has taken a start for so long:
// who still waits then waits for something else.
func (s *State) fireBrake() {
	b := &s.Meta.Brake
	b.Armed = 0
	if b.Set == 0 {
		return
	}
	row := s.brakeRow()
	if row.Kind == KindPaced && (row.Due(s.Meta.Clock) || s.procCount[noun.ProcLost] == 0) {
		s.endBrake("nobody waits for it any more")
		return
	}
	s.Rearm(timerBrake, 0, &b.Armed, row)
	s.reviewAll()
}

func (s *State) endBrake(why string) {
	s.Rearm(timerBrake, 0, &s.Meta.Brake.Armed, due.Row{})
	s.Meta.Brake = noun.Brake{}
	s.Event("brake.over", About{}, why)
	s.reviewAll()
	s.Result.Effects.Plan = true
}

// ReleaseBrake ends the mass-failure brake by a human's word.
type ReleaseBrake struct{ By string }

// Apply ends the brake by a human's word (law L9).
func (c ReleaseBrake) Apply(s *State) noun.Outcome {
	if s.Meta.Brake.Set != 0 {
		s.endBrake("released by " + Nobody(c.By))
	}
	return noun.Outcome{Rev: s.Meta.Index}
}

// whyBraked explains the brake to one agent.
func (v *View) whyBraked() Why {
	b := &v.Meta.Brake
	text := "the brake is set: " + b.Why + "; `vigil brake release` ends it"
	if left := b.Hold.Sub(v.Meta.Clock); left > 0 {
		return Why{"brake", text, left}
	}
	return Why{"brake", fmt.Sprintf("%s; lost agents are started at %d a second", text, b.Pace()),
		max(0, b.TAT.Sub(v.Meta.Clock))}
}
