package core

import (
	"slices"
	"time"

	"vigil/fsm/noun"
)

// SilentFor is the silence after which a server says that it does not hear a
// host's stream any more: more than two pings. Evidence that a host is gone must
// be as old as that.
const SilentFor = 5 * time.Second

// Reasons of the leader's doubt about a host. They hold no numbers, so that a
// doubt is logged once and not at every look.
const (
	WhyMute    = "silent on its stream and in gossip"
	WhyStream  = "silent on its stream"
	WhyGossip  = "silent in gossip"
	whyGoodbye = "its daemon said good-bye in gossip"
	WhyBlocked = "gossip is blocked (UDP port?) while its beats arrive"
)

// Doubt tells why a host should get no starts, going by what the servers hear of
// it; "": no reason. Gossip is a hint: a host that only it does not hear keeps its
// agents, and once a beat has arrived since, its UDP port is the likely fault.
func (v *View) Doubt(h *noun.Host) string {
	x := h.Hearsay()
	quiet := x.Gossip == noun.HearSilent || x.Gossip == noun.HearLeft
	switch {
	case x.Stream == noun.HearSilent && quiet:
		return WhyMute
	case x.Stream == noun.HearSilent:
		return WhyStream
	case !quiet:
		return ""
	case x.Stream == noun.HearAlive && h.State == noun.HostSuspect && h.BeatAt.Sub(h.DoubtAt) >= SilentFor:
		return WhyBlocked
	case x.Gossip == noun.HearLeft:
		return whyGoodbye
	}
	return WhyGossip
}

// SinceBeat is the cluster time since the host's last beat or registration.
func (v *View) SinceBeat(h *noun.Host) time.Duration { return v.Meta.Clock.Sub(h.BeatAt) }

// Surrenders tells whether lives of fast roles on the host are to be given up now:
// nothing is heard of it in any way, not even a beat, and it has such lives.
func (v *View) Surrenders(h *noun.Host) bool {
	if h.State != noun.HostSuspect && h.State != noun.HostLost || !h.Hearsay().Gone() || v.SinceBeat(h) < SilentFor {
		return false
	}
	hi := v.hostIdx.Get(h.ID)
	if hi == nil || hi.running+hi.starting == 0 {
		return false
	}
	for id := range hi.agents { // any one will do, so their order does not matter
		if v.fastLife(v.AgentTable.Get(id)) {
			return true
		}
	}
	return false
}

func (v *View) fastLife(a *noun.Agent) bool {
	return a.Proc.Fenced() && v.RoleTable.Get(a.Role).Spec.Policy == noun.PolicyFast && !v.LeaseTable.Get(a.ID).Confirm
}

// SurrenderHost gives up the lives of fast roles on a host of which gossip and
// stream agree that it is gone (planned).
type SurrenderHost struct {
	Host   noun.HostID
	Reason string
}

// Apply gives up the lives of fast roles: a beat may still adopt them back
// while nothing newer is ordered.
func (c SurrenderHost) Apply(s *State) noun.Outcome {
	h := s.HostTable.Mut(c.Host)
	switch {
	case h == nil:
		return Refuse(noun.NotFound, "there is no host number %d", c.Host)
	case !s.Surrenders(h):
		return Refuse(noun.Conflict, "host %s is heard of, or has no lives of fast roles", h.Name)
	}
	out := noun.Outcome{Host: h.ID}
	s.Event("host.surrendered", About{Host: h.ID}, noun.Clip(c.Reason, noun.MaxReason))
	for _, id := range s.AgentsOn(h.ID) {
		if s.fastLife(s.AgentTable.Get(id)) {
			s.brakeLost()
			s.lose(id, "its host is "+WhyMute+" and its role is fast", false)
			out.Count++
		}
	}
	return out
}

// ReportViews is what a server hears of hosts, of which something has changed. All
// says that it is everything: hosts that are not in it are heard in no way.
type ReportViews struct {
	Server string
	Views  []noun.HostView
	All    bool
}

// Apply takes in what a server hears. All voids what it does not list: the
// leader says so of a server that it cannot reach itself. Only members have a say: nobody
// would ever void what a stranger has said, or one that was removed while it spoke.
func (c ReportViews) Apply(s *State) noun.Outcome {
	if c.Server == "" || len(c.Server) > noun.MaxName {
		return Refuse(noun.Invalid, "the server's id has %d characters, 1 to %d are allowed", len(c.Server),
			noun.MaxName)
	}
	for _, v := range c.Views {
		if v.Gossip > noun.HearLeft || v.Stream > noun.HearLeft {
			return Refuse(noun.Invalid,
				"server %s reports a way of hearing host %d that this server does not know", c.Server, v.Host)
		}
	}
	if _, member := s.Member(c.Server); !member {
		return Refuse(noun.NotFound, "server %s is no member of the cluster, or has not announced itself yet", c.Server)
	}
	if c.All {
		listed := map[noun.HostID]bool{}
		for _, v := range c.Views {
			listed[v.Host] = true
		}
		s.dropViews(c.Server, listed)
	}
	for _, v := range c.Views {
		if h := s.HostTable.Mut(v.Host); h != nil {
			s.setView(h, noun.HostView{Server: c.Server, Gossip: v.Gossip, Stream: v.Stream})
		}
	}
	return noun.Outcome{Rev: s.Meta.Index}
}

// dropViews forgets what a server said of the hosts that are not to be kept.
func (s *State) dropViews(server string, keep map[noun.HostID]bool) {
	for id, h := range s.HostTable.From(0) {
		if _, has := h.ViewOf(server); has && !keep[h.ID] {
			s.setView(s.HostTable.Mut(id), noun.HostView{Server: server})
		}
	}
}

// setView replaces one server's view; one that hears nothing is not kept.
func (s *State) setView(h *noun.Host, v noun.HostView) {
	at, has := h.ViewOf(v.Server)
	none := v.Gossip == noun.HearNothing && v.Stream == noun.HearNothing
	if has && h.Views[at] == v || !has && none {
		return
	}
	list := slices.Clone(h.Views)
	switch {
	case none:
		list = slices.Delete(list, at, at+1)
	case has:
		list[at] = v
	default:
		list = slices.Insert(list, at, v)
	}
	h.Views, h.Rev = list, s.Meta.Index
	s.Result.Effects.Plan = true
}

// SuspectHost is the leader's doubt, or the end of it (planned).
type SuspectHost struct {
	Host    noun.HostID
	Suspect bool
	Reason  string
}

func (c SuspectHost) Apply(s *State) noun.Outcome {
	h := s.HostTable.Mut(c.Host)
	why := noun.Clip(c.Reason, noun.MaxReason)
	switch {
	case h == nil:
		return Refuse(noun.NotFound, "there is no host number %d", c.Host)
	case c.Suspect && (h.State == noun.HostReady || h.State == noun.HostReturning):
		s.flap(h)
		s.doubt(h, why)
	case c.Suspect && h.State == noun.HostSuspect && h.SuspectWhy != why:
		h.SuspectWhy, h.Rev = why, s.Meta.Index
		s.noteHeard(h, why)
		if why == WhyBlocked {
			s.Event("host.gossip_blocked", About{Host: h.ID}, why)
		}
	case !c.Suspect && h.State == noun.HostSuspect:
		s.trust(h, why)
	}
	return noun.Outcome{Host: h.ID, Rev: h.Rev}
}

func (s *State) doubt(h *noun.Host, why string) {
	s.noteHeard(h, why)
	h.State, h.Rev, h.SuspectWhy, h.DoubtAt, h.SteadyAt = noun.HostSuspect, s.Meta.Index, why, s.Meta.Clock, 0
	s.Event("host.suspect", About{Host: h.ID}, why)
	s.armHost(h)
	s.Result.Effects.Plan = true
}

// trust puts a host back into service; one that has flapped waits.
func (s *State) trust(h *noun.Host, why string) {
	h.State, h.Rev, h.SuspectWhy, h.DoubtAt = noun.HostReady, s.Meta.Index, "", 0
	s.noteHeard(h, "")
	s.Result.Effects.Plan = true
	if pause := s.flapPause(h); pause > 0 {
		h.State, h.SteadyAt = noun.HostReturning, s.Meta.Clock.Add(pause)
		s.armHost(h)
		s.Event("host.returning", About{Host: h.ID}, "no starts for "+pause.String()+": it came and went too often")
		return
	}
	s.Event("host.ready", About{Host: h.ID}, why)
}

// Unheard is for how long nothing has been heard of a host that is suspect or lost, neither a beat
// nor anything on its stream; 0: it is heard.
func (v *View) Unheard(h *noun.Host) time.Duration {
	switch {
	case h.State == noun.HostLost:
		return max(1, v.Meta.Clock.Sub(h.BeatAt))
	case h.State != noun.HostSuspect || len(h.Away)%2 == 0:
		return 0
	}
	// Its stream says that it is there more often than its beats do, and was silent before the doubt.
	return max(1, v.Meta.Clock.Sub(max(h.BeatAt, h.DoubtAt-noun.Time(SilentFor))))
}

// noteHeard begins a stretch in which a host is not heard (see Host.Away), at the last beat
// that was, or ends it. A host that only gossip does not hear is heard.
func (s *State) noteHeard(h *noun.Host, why string) {
	is, was := why == "" || why == WhyBlocked || h.Hearsay().Stream == noun.HearAlive, len(h.Away)%2 == 0
	switch {
	case is == was:
	case is:
		h.Away = append(slices.Clone(h.Away), s.Meta.Clock)
		s.rearmHeld(h)
	default:
		h.Away = append(slices.Clone(h.Away[max(0, len(h.Away)-2*noun.MaxAway+2):]), h.BeatAt)
	}
}

// rearmHeld brings the timers of a host's agents, and of tasks that are held there, forward once it is known how
// long it was not heard: until then they were put off again and again.
func (s *State) rearmHeld(h *noun.Host) {
	hi := s.hostIdx.Get(h.ID)
	if hi == nil {
		return
	}
	for id := range hi.agents { // each has a timer of its own, so their order does not matter
		a := s.AgentTable.Get(id)
		if k := s.agentLimit(a).Kind; k == KindStart || k == KindTurn {
			a = s.AgentTable.Mut(id)
			s.Rearm(TimerAgent, uint64(id), &a.Armed, s.AgentRow(a))
		}
		if t := s.TaskTable.Get(a.Task); t != nil && t.Armed != 0 {
			t = s.TaskTable.Mut(a.Task)
			s.Rearm(TimerTask, uint64(t.ID), &t.Armed, s.taskAway(t))
		}
	}
}

// Absent is for how long of the time since then the host of an agent's process was not
// heard. Nothing that the agent did or said in it can be known, so it counts neither as
// missed reports nor as silence: a laptop that was suspended wakes up with healthy agents.
func (v *View) Absent(a *noun.Agent, since noun.Time) (total time.Duration) {
	h := v.HostTable.Get(a.Host)
	if h == nil || !a.Proc.Fenced() {
		return 0
	}
	for i := 0; i < len(h.Away); i += 2 {
		end := v.Meta.Clock
		if i+1 < len(h.Away) {
			end = h.Away[i+1]
		}
		total += max(0, end.Sub(max(h.Away[i], since)))
	}
	return total
}

// steady ends HostReturning.
func (s *State) steady(h *noun.Host) {
	h.State, h.SteadyAt, h.Rev = noun.HostReady, 0, s.Meta.Index
	s.Event("host.ready", About{Host: h.ID}, "steady again")
	s.Result.Effects.Plan = true
}

// flap notes that a host which was in service is not any more.
func (s *State) flap(h *noun.Host) {
	h.Flaps = append(s.recentFlaps(h), s.Meta.Clock)
}

// recentFlaps gives a copy.
func (v *View) recentFlaps(h *noun.Host) (list []noun.Time) {
	for _, at := range h.Flaps {
		if v.Meta.Clock.Sub(at) < v.Meta.Settings.FlapWindow {
			list = append(list, at)
		}
	}
	return list
}

// longestFlapPause bounds the doubling of flap_pause.
const longestFlapPause = 10 * time.Minute

// flapPause is how long a host that comes back gets no starts: 0 for one that has
// flapped less than flap_limit times of late, else twice as long each time.
func (v *View) flapPause(h *noun.Host) time.Duration {
	set, n := &v.Meta.Settings, len(v.recentFlaps(h))
	if set.FlapLimit == 0 || n < int(set.FlapLimit) {
		return 0
	}
	pause := set.FlapPause
	for range n - int(set.FlapLimit) {
		if pause >= longestFlapPause {
			break
		}
		pause *= 2
	}
	return min(pause, max(longestFlapPause, set.FlapPause))
}
