package fsm

import (
	"time"

	"vigil/fsm/noun"
)

// Signals gathers what is known of an agent. leader tells whether somebody leads; a
// server that answers from an old state says false.
func (v *View) Signals(id noun.AgentID, leader bool) Signals {
	a := v.Agent(id)
	if a == nil {
		return Signals{}
	}
	now, r, l := v.meta.Clock, v.Role(a.Role), v.Lease(id)
	g := Signals{
		Found: true, Proc: a.Proc, Managed: a.Managed, Part: a.Part, PartAge: now.Sub(max(a.Since, a.StartedAt)),
		LeaseLeft: l.Until.Sub(now), Beatless: v.beatless(l), FenceLeft: l.Fence.Sub(now), StartLimit: r.Spec.StartLimit,
		Order: a.OpenOrder(), Off: v.offReason(a), LeaderOff: !leader,
		HealthEvery: r.Spec.HealthEvery, HealthMissed: r.Spec.HealthMissed, Missed: v.missedReports(a, &r.Spec),
		ProgressLimit: r.Spec.ProgressLimit, PendingLimit: r.Spec.PendingLimit, Declared: a.Declared,
	}
	if a.StartedAt != 0 {
		g.ProcAge = now.Sub(a.StartedAt)
	}
	if x := a.LastExit; x != nil && x.Inc == a.Inc && !a.Proc.Fenced() {
		g.Exit, g.ProcAge = x.Sentence(), now.Sub(x.At)
		if x.Kind == noun.ExitFenceEnded {
			g.Exit = "was given up: " + x.Reason
		}
	}
	if a.Order != noun.NoOrder {
		g.OrderAge = now.Sub(a.OrderSince)
	}
	if h := v.Host(a.Host); h != nil {
		g.Host, g.HostName = h.State, h.Name
		if h.State == noun.HostSuspect && h.SuspectWhy == whyBlocked {
			g.Host = noun.HostReady // it beats and holds its streams: only gossip does not get through
		}
	}
	if code := v.paused(a); code != "" {
		g.Paused = v.pausedText(a, code)
	}
	if d := a.Declared; d != nil {
		g.DeclaredLeft, g.DeclaredAge = max(0, d.Until.Sub(now)), now.Sub(d.At)
	}
	if at := a.Notes().MailAt; at != 0 {
		g.Mailed, g.MailAge = true, now.Sub(at)-v.absent(a, at)
	}
	if sc := a.Screen(); sc != nil {
		g.Prompt, g.PromptAge, g.Quiet, g.QuietAge = sc.Kind, now.Sub(sc.At)-v.absent(a, sc.At), sc.Quiet, now.Sub(sc.QuietAt)
		g.IdleLimit = v.meta.Settings.Prompt.Idle
	}
	if v.Overseer(a) != nil {
		f := v.OverseerFacts(a)
		g.Overseer, g.PatrolAge, g.PatrolLimit = true, f.Age, f.Stale
		g.Unwakened = a.Notes().Chain.WokenAt > v.lifesign(a)
	}
	v.workSignals(a, &g)
	return g
}

// workSignals adds what is known of its task, or of the one that it does not take.
func (v *View) workSignals(a *noun.Agent, g *Signals) {
	now := v.meta.Clock
	if t := v.Task(a.Task); t != nil {
		g.Task, g.TaskState = t.ID, t.State
		last := max(t.ChangedAt, t.Progress)
		last = max(last, min(a.ExcusedUntil(), now))
		g.Away = v.absent(a, last)
		g.ProgressAge = now.Sub(last) - g.Away
		if p := t.Planned(); t.State.Held() {
			g.Expected, g.ExpectLeft, g.Percent = p.Due != 0, p.Due.Sub(now), p.Percent
		}
		return
	}
	if a.Part == noun.PartDisconnected {
		return
	}
	if t := v.Task(v.FirstPending(a.Role)); t != nil {
		since := max(t.ChangedAt, a.Since, a.TaskSince)
		since = max(since, min(a.ExcusedUntil(), now))
		g.Away = v.absent(a, since)
		g.Waiting = now.Sub(since) - g.Away
	}
}

// Verdict judges an agent by everything that is known of it.
func (v *View) Verdict(id noun.AgentID, leader bool) AgentVerdict {
	g := v.Signals(id, leader)
	return Judge(&g)
}

// offReason tells why nobody expects the agent to run; empty: it should.
func (v *View) offReason(a *noun.Agent) string {
	switch code := v.whyNot(a); code {
	case "deleting", "retired", "stopped", "paused", "room_paused", "all_paused", "no_runner", "no_task":
		return v.Why(a.ID).Text
	}
	return ""
}

// Presence is how an agent is seen from outside.
type Presence struct {
	Status     string    // online, idle, busy, offline or not_found
	LastSeen   noun.Time // of the last proof of its life; 0: none
	Registered noun.Time // start of the present or last life; 0: none
	Offline    noun.Time // since when it is offline; 0: it is not, or it never was anything else
}

// Presence tells how an agent with this verdict is seen from outside.
func (s *View) Presence(id noun.AgentID, v *AgentVerdict) Presence {
	a := s.Agent(id)
	if a == nil {
		return Presence{Status: AgentNotFound.String()}
	}
	l := s.Lease(id)
	p := Presence{Status: "online", LastSeen: lastSeen(a, l), Registered: a.StartedAt}
	if t := s.Task(a.Task); t != nil {
		p.LastSeen = max(p.LastSeen, t.Progress)
	}
	switch {
	case !a.Proc.Fenced() && a.Part == noun.PartDisconnected:
		p.Status = AgentOffline.String()
		p.Offline = a.Since
		if x := a.LastExit; x != nil && x.Inc == a.Inc {
			p.Offline = max(p.Offline, x.At)
		}
	case v.Kind == AgentBusy, a.Task != 0 && v.Kind != AgentNeedsInput && v.Kind != AgentParked:
		p.Status = AgentBusy.String()
	case a.Part == noun.PartWaiting:
		p.Status = AgentIdle.String()
	}
	return p
}

// lastSeen is the last proof of life: of a lease, of a fence, or by its own word or mail.
func lastSeen(a *noun.Agent, l *noun.Lease) noun.Time {
	seen := max(a.StartedAt, a.Since)
	for _, until := range [...]noun.Time{l.Until, l.Fence} {
		if until != 0 {
			seen = max(seen, until.Add(-time.Duration(l.TTL)))
		}
	}
	if d := a.Declared; d != nil {
		seen = max(seen, d.At)
	}
	if a.Patrols() > 0 {
		seen = max(seen, a.Notes().Chain.PatrolAt)
	}
	return max(seen, a.Notes().MailAt)
}
