package evidence

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/due"
	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// View gathers what is known of agents, for everybody who judges them.
type View struct{ core.Base }

// Signals gathers what is known of an agent. leader tells whether somebody leads; a
// server that answers from an old state says false.
func (v *View) Signals(id noun.AgentID, leader bool) judge.Signals {
	a := v.Agent(id)
	if a == nil {
		return judge.Signals{}
	}
	now, r, l := v.Meta.Clock, v.Role(a.Role), v.Lease(id)
	g := judge.Signals{
		Found: true, Proc: a.Proc, Managed: a.Managed, Part: a.Part, PartAge: now.Sub(max(a.Since, a.StartedAt)),
		LeaseLeft: l.Until.Sub(now), Beatless: v.Beatless(l), FenceLeft: l.Fence.Sub(now),
		StartLimit: r.Spec.StartLimit,
		Order:      a.OpenOrder(), Off: v.offReason(a), LeaderOff: !leader,
		HealthEvery: r.Spec.HealthEvery, HealthMissed: r.Spec.HealthMissed, Missed: v.MissedReports(a, &r.Spec),
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
		g.Host, g.HostName, g.Unheard = h.State, h.Name, v.Unheard(h)
		if h.State == noun.HostSuspect && h.SuspectWhy == core.WhyBlocked {
			g.Host = noun.HostReady // it beats and holds its streams: only gossip does not get through
		}
	}
	if code := v.Paused(a); code != "" {
		g.Paused = v.PausedText(a, code)
	}
	if d := a.Declared; d != nil {
		g.DeclaredLeft, g.DeclaredAge = max(0, d.Until.Sub(now)), now.Sub(d.At)
	}
	if at := a.Notes().MailAt; at != 0 {
		g.Mailed, g.MailAge = true, now.Sub(at)-v.Absent(a, at)
	}
	if u := a.Notes().Used; u != nil && u.Inc == a.Inc && u.Tool != 0 {
		g.Tooled, g.ToolAge = true, now.Sub(u.Tool)
	}
	if sc := a.Screen(); sc != nil {
		g.Prompt, g.PromptAge, g.Quiet, g.QuietAge = sc.Kind, now.Sub(sc.At)-v.Absent(a, sc.At), sc.Quiet,
			now.Sub(sc.QuietAt)
		g.IdleLimit = v.Meta.Settings.Prompt.Idle
		g.Exhausted = sc.Kind == noun.PromptUsageLimit && (sc.Excused > now || v.Level() < core.LevelRetry)
		g.Halted = sc.Kind == noun.PromptError && v.Level() >= core.LevelRetry
	}
	if v.Overseer(a) != nil {
		f := v.OverseerFacts(a)
		g.Overseer, g.PatrolAge, g.PatrolLimit = true, f.Age, f.Stale
		g.Unwakened = a.Notes().Chain.WokenAt > v.Lifesign(a)
	}
	v.workSignals(a, &g)
	return g
}

// workSignals adds what is known of its task, or of the one that it does not take.
func (v *View) workSignals(a *noun.Agent, g *judge.Signals) {
	now := v.Meta.Clock
	if t := v.Task(a.Task); t != nil {
		g.Task, g.TaskState = t.ID, t.State
		silence := v.Silence(a, max(t.ChangedAt, t.Progress))
		g.Away, g.ProgressAge = silence.Absent, silence.Ran(now)
		if p := t.Planned(); t.State.Held() {
			g.Expected, g.ExpectLeft, g.Percent = p.Due != 0, p.Due.Sub(now), p.Percent
		}
		return
	}
	if a.Part == noun.PartDisconnected {
		return
	}
	if t := v.Task(v.FirstPending(a.Role)); t != nil {
		silence := v.Silence(a, max(t.ChangedAt, a.Since, a.TaskSince))
		g.Away, g.Waiting = silence.Absent, silence.Ran(now)
	}
}

// Verdict judges an agent by everything that is known of it.
func (v *View) Verdict(id noun.AgentID, leader bool) judge.Verdict {
	g := v.Signals(id, leader)
	return judge.Judge(&g)
}

// offReason tells why nobody expects the agent to run; empty: it should.
func (v *View) offReason(a *noun.Agent) string {
	switch code := v.WhyNot(a); code {
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
func (s *View) Presence(id noun.AgentID, v *judge.Verdict) Presence {
	a := s.Agent(id)
	if a == nil {
		return Presence{Status: judge.AgentNotFound.String()}
	}
	l := s.Lease(id)
	p := Presence{Status: "online", LastSeen: lastSeen(a, l), Registered: a.StartedAt}
	if t := s.Task(a.Task); t != nil {
		p.LastSeen = max(p.LastSeen, t.Progress)
	}
	switch {
	case !a.Proc.Fenced() && a.Part == noun.PartDisconnected:
		p.Status = judge.AgentOffline.String()
		p.Offline = a.Since
		if x := a.LastExit; x != nil && x.Inc == a.Inc {
			p.Offline = max(p.Offline, x.At)
		}
	case v.Kind == judge.AgentBusy, a.Task != 0 && v.Kind != judge.AgentNeedsInput && v.Kind != judge.AgentSleeping:
		p.Status = judge.AgentBusy.String()
	case a.Part == noun.PartWaiting:
		p.Status = judge.AgentIdle.String()
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

// Spoke tells that the agent has shown progress with its task, or has declared something or
// used mail in this life: then its silence says something. An agent that holds no task loses
// none.
func (v *View) Spoke(a *noun.Agent) bool {
	t := v.TaskTable.Get(a.Task)
	return t == nil || t.Progress > t.ChangedAt || a.Declared != nil || a.Notes().MailAt != 0 || a.Patrols() > 0
}

// Lifesign is the last word of an agent that ends an episode: a new life, a task taken,
// started, ended or in progress, mail sent or acknowledged, a declaration that says
// something new or excuses a silence. A health report that repeats the last one is none,
// since what sends it need not be what works (incident I41).
func (v *View) Lifesign(a *noun.Agent) noun.Time {
	at := max(a.StartedAt, a.Since, a.Notes().MailAt)
	if d := a.Declared; d != nil {
		at = max(at, d.Since, min(d.Excused, v.Meta.Clock))
	}
	at = max(at, min(a.ScreenExcuse(), v.Meta.Clock))
	if a.Patrols() > 0 {
		at = max(at, a.Notes().Chain.PatrolAt)
	}
	if t := v.TaskTable.Get(a.Task); t != nil {
		at = max(at, t.ChangedAt, t.Progress)
	}
	return at
}

// GotOn tells that the agent has got on with work since a rung was taken.
func (v *View) GotOn(a *noun.Agent, l *noun.Ladder) bool {
	if t := v.TaskTable.Get(a.Task); t != nil && t.Progress >= l.At && t.Progress > t.ChangedAt { // the start is none
		return true
	}
	if a.Patrols() > 0 && a.Notes().Chain.PatrolAt >= l.At {
		return true
	}
	return a.Inc != l.Inc && a.Done > 0 || a.Done > l.Done
}

// Degraded tells why nothing can be typed to an agent: its host makes no terminals, or its
// runner asks for none. Empty: it can be, or nobody knows. Every automatic decision about the
// agent says it.
func (v *View) Degraded(id noun.AgentID) string {
	a := v.Agent(id)
	if a == nil {
		return ""
	}
	h := v.Host(a.Host)
	switch {
	case !a.Managed && a.Part != noun.PartDisconnected:
		return "no terminal: it was started by hand; mail only"
	case h == nil || h.Terminal == nil:
		return ""
	case h.Terminal.Tool == "":
		return strings.Replace(h.Terminals(), "no terminal: no tmux", "no terminal: no tmux on host "+h.Name, 1)
	}
	if r := v.RoleTable.Get(a.Role).Spec.Runner; !slices.Contains(h.Terminal.Runners, r) {
		return fmt.Sprintf("no terminal: its runner %s asks for none: nothing can be typed; mail and restarts only", r)
	}
	return ""
}

// Overseer gives what makes the agent an overseer; nil: it is none.
func (v *View) Overseer(a *noun.Agent) *noun.OverseerSpec {
	r := v.RoleTable.Get(a.Role)
	if r == nil || len(r.Spec.Overseer) == 0 {
		return nil
	}
	return &r.Spec.Overseer[0]
}

// OverseerFacts gathers what is known of an overseer now.
func (v *View) OverseerFacts(a *noun.Agent) judge.OverseerFacts {
	f := judge.OverseerFacts{Dead: !a.Lives() && a.Proc != noun.ProcOrdered, Fresh: v.Meta.Settings.Chain.Fresh,
		Stale: v.Meta.Settings.Chain.Stale}
	if spec := v.Overseer(a); spec != nil {
		if spec.Fresh > 0 {
			f.Fresh = spec.Fresh
		}
		if spec.Stale > 0 {
			f.Stale = spec.Stale
		}
	}
	f.Patrolled = a.Patrols() > 0
	patrol := v.Unpatrolled(a)
	f.Age = max(0, patrol.Ran(v.Meta.Clock))
	f.Mail, _ = v.ChainMail(a)
	return f
}

// Unpatrolled is the row of an overseer's silence: since its last patrol in this life, or its
// beginning. An excuse that is not over ends now, so that its next look is not put off with it.
func (v *View) Unpatrolled(a *noun.Agent) due.Row {
	from := a.StartedAt
	if a.Patrols() > 0 {
		from = max(from, a.Notes().Chain.PatrolAt)
	}
	r := v.Silence(a, from)
	r.Hold.Until = min(r.Hold.Until, v.Meta.Clock)
	return r
}

// ChainMail counts the mail that waits for the overseer, and tells since when the oldest
// does. What vigil itself has written is not counted: else one nudge would ask for the next.
func (v *View) ChainMail(a *noun.Agent) (n int, oldest noun.Time) {
	for _, m := range v.Hooks.Waiting(a) {
		if m.FromInc != 0 || m.From != noun.LaddersBy && m.From != noun.WatchedBy {
			if n++; n == 1 {
				oldest = m.SentAt
			}
		}
	}
	return n, oldest
}
