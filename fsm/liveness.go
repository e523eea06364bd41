package fsm

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
	whyMute    = "silent on its stream and in gossip"
	whyStream  = "silent on its stream"
	whyGossip  = "silent in gossip"
	whyGoodbye = "its daemon said good-bye in gossip"
	whyBlocked = "gossip is blocked (UDP port?) while its beats arrive"
)

// Doubt tells why a host should get no starts, going by what the servers hear of
// it; "": no reason. Gossip is a hint: a host that only it does not hear keeps its
// agents, and once a beat has arrived since, its UDP port is the likely fault.
func (v *View) Doubt(h *noun.Host) string {
	x := h.Hearsay()
	quiet := x.Gossip == noun.HearSilent || x.Gossip == noun.HearLeft
	switch {
	case x.Stream == noun.HearSilent && quiet:
		return whyMute
	case x.Stream == noun.HearSilent:
		return whyStream
	case !quiet:
		return ""
	case x.Stream == noun.HearAlive && h.State == noun.HostSuspect && h.BeatAt.Sub(h.DoubtAt) >= SilentFor:
		return whyBlocked
	case x.Gossip == noun.HearLeft:
		return whyGoodbye
	}
	return whyGossip
}

// SinceBeat is the cluster time since the host's last beat or registration.
func (v *View) SinceBeat(h *noun.Host) time.Duration { return v.meta.Clock.Sub(h.BeatAt) }

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
		if v.fastLife(v.agents.Get(id)) {
			return true
		}
	}
	return false
}

func (v *View) fastLife(a *noun.Agent) bool {
	return a.Proc.Fenced() && v.roles.Get(a.Role).Spec.Policy == noun.PolicyFast
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
	h := s.hosts.Mut(c.Host)
	switch {
	case h == nil:
		return refuse(noun.NotFound, "there is no host number %d", c.Host)
	case !s.Surrenders(h):
		return refuse(noun.Conflict, "host %s is heard of, or has no lives of fast roles", h.Name)
	}
	out := noun.Outcome{Host: h.ID}
	s.event("host.surrendered", about{host: h.ID}, noun.Clip(c.Reason, noun.MaxReason))
	for _, id := range s.agentsOn(h.ID) {
		if s.fastLife(s.agents.Get(id)) {
			s.brakeLost()
			s.lose(id, "its host is "+whyMute+" and its role is fast")
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
		return refuse(noun.Invalid, "the server's id has %d characters, 1 to %d are allowed", len(c.Server), noun.MaxName)
	}
	for _, v := range c.Views {
		if v.Gossip > noun.HearLeft || v.Stream > noun.HearLeft {
			return refuse(noun.Invalid, "server %s reports a way of hearing host %d that this server does not know", c.Server, v.Host)
		}
	}
	if _, member := s.member(c.Server); !member {
		return refuse(noun.NotFound, "server %s is no member of the cluster, or has not announced itself yet", c.Server)
	}
	if c.All {
		listed := map[noun.HostID]bool{}
		for _, v := range c.Views {
			listed[v.Host] = true
		}
		s.dropViews(c.Server, listed)
	}
	for _, v := range c.Views {
		if h := s.hosts.Mut(v.Host); h != nil {
			s.setView(h, noun.HostView{Server: c.Server, Gossip: v.Gossip, Stream: v.Stream})
		}
	}
	return noun.Outcome{Rev: s.meta.Index}
}

// dropViews forgets what a server said of the hosts that are not to be kept.
func (s *State) dropViews(server string, keep map[noun.HostID]bool) {
	for id, h := range s.hosts.From(0) {
		if _, has := h.ViewOf(server); has && !keep[h.ID] {
			s.setView(s.hosts.Mut(id), noun.HostView{Server: server})
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
	h.Views, h.Rev = list, s.meta.Index
	s.res.Effects.Plan = true
}

// SuspectHost is the leader's doubt, or the end of it (planned).
type SuspectHost struct {
	Host    noun.HostID
	Suspect bool
	Reason  string
}

func (c SuspectHost) Apply(s *State) noun.Outcome {
	h := s.hosts.Mut(c.Host)
	why := noun.Clip(c.Reason, noun.MaxReason)
	switch {
	case h == nil:
		return refuse(noun.NotFound, "there is no host number %d", c.Host)
	case c.Suspect && (h.State == noun.HostReady || h.State == noun.HostReturning):
		s.flap(h)
		s.doubt(h, why)
	case c.Suspect && h.State == noun.HostSuspect && h.SuspectWhy != why:
		h.SuspectWhy, h.Rev = why, s.meta.Index
		s.noteHeard(h, why)
		if why == whyBlocked {
			s.event("host.gossip_blocked", about{host: h.ID}, why)
		}
	case !c.Suspect && h.State == noun.HostSuspect:
		s.trust(h, why)
	}
	return noun.Outcome{Host: h.ID, Rev: h.Rev}
}

func (s *State) doubt(h *noun.Host, why string) {
	s.noteHeard(h, why)
	h.State, h.Rev, h.SuspectWhy, h.DoubtAt, h.SteadyAt = noun.HostSuspect, s.meta.Index, why, s.meta.Clock, 0
	s.event("host.suspect", about{host: h.ID}, why)
	s.armHost(h)
	s.res.Effects.Plan = true
}

// trust puts a host back into service; one that has flapped waits.
func (s *State) trust(h *noun.Host, why string) {
	h.State, h.Rev, h.SuspectWhy, h.DoubtAt = noun.HostReady, s.meta.Index, "", 0
	s.noteHeard(h, "")
	s.res.Effects.Plan = true
	if pause := s.flapPause(h); pause > 0 {
		h.State, h.SteadyAt = noun.HostReturning, s.meta.Clock.Add(pause)
		s.armHost(h)
		s.event("host.returning", about{host: h.ID}, "no starts for "+pause.String()+": it came and went too often")
		return
	}
	s.event("host.ready", about{host: h.ID}, why)
}

// noteHeard begins a stretch in which a host is not heard (see Host.Away), at the last beat
// that was, or ends it. A host that only gossip does not hear is heard.
func (s *State) noteHeard(h *noun.Host, why string) {
	is, was := why == "" || why == whyBlocked || h.Hearsay().Stream == noun.HearAlive, len(h.Away)%2 == 0
	switch {
	case is == was:
	case is:
		h.Away = append(slices.Clone(h.Away), s.meta.Clock)
		s.rearmHeld(h)
	default:
		h.Away = append(slices.Clone(h.Away[max(0, len(h.Away)-2*noun.MaxAway+2):]), h.BeatAt)
	}
}

// rearmHeld brings the timers of tasks that are held on a host forward once it is known how
// long it was not heard: until then they were put off again and again.
func (s *State) rearmHeld(h *noun.Host) {
	hi := s.hostIdx.Get(h.ID)
	if hi == nil {
		return
	}
	for id := range hi.agents { // each has a timer of its own, so their order does not matter
		a := s.agents.Get(id)
		if t := s.tasks.Get(a.Task); t != nil && t.Armed != 0 {
			t = s.tasks.Mut(a.Task)
			s.rearm(timerTask, uint64(t.ID), &t.Armed, s.taskDue(t))
		}
	}
}

// absent is for how long of the time since then the host of an agent's process was not
// heard. Nothing that the agent did or said in it can be known, so it counts neither as
// missed reports nor as silence: a laptop that was suspended wakes up with healthy agents.
func (v *View) absent(a *noun.Agent, since noun.Time) (total time.Duration) {
	h := v.hosts.Get(a.Host)
	if h == nil || !a.Proc.Fenced() {
		return 0
	}
	for i := 0; i < len(h.Away); i += 2 {
		end := v.meta.Clock
		if i+1 < len(h.Away) {
			end = h.Away[i+1]
		}
		total += max(0, end.Sub(max(h.Away[i], since)))
	}
	return total
}

// steady ends HostReturning.
func (s *State) steady(h *noun.Host) {
	h.State, h.SteadyAt, h.Rev = noun.HostReady, 0, s.meta.Index
	s.event("host.ready", about{host: h.ID}, "steady again")
	s.res.Effects.Plan = true
}

// flap notes that a host which was in service is not any more.
func (s *State) flap(h *noun.Host) {
	h.Flaps = append(s.recentFlaps(h), s.meta.Clock)
}

// recentFlaps gives a copy.
func (v *View) recentFlaps(h *noun.Host) (list []noun.Time) {
	for _, at := range h.Flaps {
		if v.meta.Clock.Sub(at) < v.meta.Settings.FlapWindow {
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
	set, n := &v.meta.Settings, len(v.recentFlaps(h))
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
