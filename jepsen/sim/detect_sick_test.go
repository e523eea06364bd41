package sim

import (
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// illness is one way to be stuck or dead, how it is found and how it ends.
type illness struct {
	kind  string
	what  string // for people
	bound string // the formula, in words of settings
	spec  noun.RoleSpec
	watch noun.RoomWatch
	open  int
	play  func(*actor)
	role  func(*cast, *part) // does it from outside, for as long as the run lasts; nil: nobody

	found []string // events, any of which means that it was found
	due   span     // from the beginning to when it may be found
	look  span     // between two looks of who finds it
	anew  bool     // each leader collects what shows it from its own beginning

	decided string // the event that ends it; empty: found is all
	ends    string // the formula of what follows the finding
	after   span   // from the finding to the end
	looks   int    // of who decides it
	human   bool   // nothing follows before a human acts
}

type span = func(*noun.Settings, *noun.RoleSpec) time.Duration

func fixed(d time.Duration) span {
	return func(*noun.Settings, *noun.RoleSpec) time.Duration { return d }
}

// Looks. A timer of the state is noticed within a second (law L2).
var (
	ladderLook = func(set *noun.Settings, _ *noun.RoleSpec) time.Duration { return set.Ladder.Interval }
	watchLook  = func(set *noun.Settings, _ *noun.RoleSpec) time.Duration { return set.Watchdog.Interval }
	timerLook  = fixed(time.Second)
	beatLook   = fixed(time.Second + attemptLimit)
)

// Limits.
var (
	stalledDue = func(_ *noun.Settings, r *noun.RoleSpec) time.Duration { return max(r.ProgressLimit, 30*m) }
	deafDue    = func(_ *noun.Settings, r *noun.RoleSpec) time.Duration { return r.PendingLimit }
	reportsDue = func(_ *noun.Settings, r *noun.RoleSpec) time.Duration {
		return r.HealthEvery * time.Duration(r.HealthMissed)
	}
	ttlDue   = func(_ *noun.Settings, r *noun.RoleSpec) time.Duration { return r.TTL }
	restarts = func(set *noun.Settings, _ *noun.RoleSpec) time.Duration {
		return set.Ladder.Nudge + set.Ladder.Wake + set.Ladder.Interrupt
	}
	calls = func(set *noun.Settings, _ *noun.RoleSpec) time.Duration { return set.Ladder.Nudge + set.Ladder.Wake }
)

// reported is how long a report of a host takes at most here, where calls hang and are lost.
const reported = 15 * s

const (
	stalledBound = "max(`progress_limit`, 30 min) + `ladder_interval`"
	restartBound = "`ladder_nudge` + `ladder_wake` + `ladder_interrupt` + 3 `ladder_interval`"
	callBound    = "`ladder_nudge` + `ladder_wake` + 2 `ladder_interval`"
)

var doomed, torn, quick = []noun.KV{{Key: "site", Value: "doomed"}}, []noun.KV{{Key: "site", Value: "torn"}},
	[]noun.KV{{Key: "site", Value: "quick"}}

// illnesses are all that are tried.
func illnesses() []illness {
	restarted, human := "agent.restarted_stuck", "agent.needs_human"
	nudged, ended := []string{"agent.nudged"}, []string{"agent.lease_ended"}
	off := noun.RoomWatch{Disabled: true}
	return []illness{
		{kind: "hangs at work", what: "has shown progress, then never again", spec: noun.RoleSpec{},
			play: (*actor).sickStalled, watch: off, open: 30,
			bound: stalledBound, found: nudged, due: stalledDue, look: ladderLook, decided: restarted,
			ends: restartBound, after: restarts, looks: 3},
		{kind: "hangs at work, long limit", what: "the same where nobody expects progress for 45 min",
			spec: noun.RoleSpec{ProgressLimit: 45 * m}, play: (*actor).sickStalled, watch: off, open: 30,
			bound: "`progress_limit`: the task is taken back", found: []string{"task.recovered", "task.failed"},
			due: stalledDue, look: timerLook,
			decided: "agent.start_limit", ends: "`ttl` + `start_limit`: nobody vouches for it any more",
			after: func(_ *noun.Settings, r *noun.RoleSpec) time.Duration { return r.TTL + r.StartLimit }},
		{kind: "never says a word", what: "takes a task, starts it, and nothing is ever heard of it",
			spec: noun.RoleSpec{}, play: (*actor).sickMute, watch: off, open: 30,
			bound: stalledBound, found: nudged, due: stalledDue, look: ladderLook, decided: human,
			ends: callBound, after: calls, looks: 2, human: true},
		{kind: "never says a word, `ladder: restart`", what: "the same where the role says so",
			spec: noun.RoleSpec{Ladder: noun.LadderRestart}, play: (*actor).sickMute, watch: off, open: 30,
			bound: stalledBound, found: nudged, due: stalledDue, look: ladderLook, decided: restarted,
			ends: restartBound, after: restarts, looks: 3},
		{kind: "hangs, `ladder: escalate`", what: "hangs at work where only humans may act",
			spec: noun.RoleSpec{Ladder: noun.LadderEscalate}, play: (*actor).sickStalled, watch: off, open: 30,
			bound: stalledBound, found: nudged, due: stalledDue, look: ladderLook, decided: human,
			ends: callBound, after: calls, looks: 2, human: true},
		{kind: "reports and never works", what: "a side-car goes on to report its health (incident I41)",
			spec: health("active", noun.RoleSpec{}), play: (*actor).sickStalled, watch: off, open: 30,
			bound: stalledBound, found: nudged, due: stalledDue, look: ladderLook, decided: human,
			ends: callBound, after: calls, looks: 2, human: true},
		{kind: "reports and progress stop", what: "its process lives and is vouched for",
			spec: health("active", noun.RoleSpec{}), play: (*actor).sickUnresponsive, watch: off, open: 30,
			bound: "`health.every` x `health.missed` + `ladder_interval`", found: nudged, due: reportsDue,
			look: ladderLook, decided: restarted, ends: restartBound, after: restarts, looks: 3},
		{kind: "deaf", what: "beats and takes no task, with tasks waiting", spec: noun.RoleSpec{},
			play: (*actor).sickDeaf, watch: off, open: 30,
			bound: "`pending_limit` + `ladder_interval`", found: nudged, due: deafDue, look: ladderLook,
			decided: restarted, ends: restartBound, after: restarts, looks: 3},
		{kind: "hangs in a tool beyond its end", what: "has declared in_tool for 10 to 30 min",
			spec: noun.RoleSpec{}, play: (*actor).sickTool, watch: off, open: 30,
			bound: "end of the declaration + 30 min + `ladder_interval`", found: nudged, due: stalledDue,
			look: ladderLook, decided: restarted, ends: restartBound, after: restarts, looks: 3},
		{kind: "a question without an answer", what: "has declared needs_input for an hour, and nobody answered",
			spec: noun.RoleSpec{}, play: (*actor).sickAsking, watch: off, open: 30,
			bound: "end of the declaration + 30 min + `ladder_interval`", found: nudged, due: stalledDue,
			look: ladderLook, decided: restarted, ends: restartBound, after: restarts, looks: 3},
		{kind: "stops beating at work", what: "beats by itself (`proof: agent`) and hangs with a task",
			spec: noun.RoleSpec{Proof: noun.ProofAgent}, play: (*actor).sickBeats, watch: off, open: 30,
			bound: "`ttl` + 1 s; 5 s more here for a beat on its way", found: ended, due: ttlDue, look: beatLook,
			decided: "agent.start_limit", ends: "`start_limit` + 1 s",
			after: func(_ *noun.Settings, r *noun.RoleSpec) time.Duration { return r.StartLimit }},
		{kind: "claims and never starts", what: "takes a task and hangs before it says that it works on it",
			spec: noun.RoleSpec{}, play: (*actor).sickClaim, watch: off, open: 30,
			bound: "`ack_limit` + 1 s", found: []string{"task.recovered", "task.failed"},
			due: func(_ *noun.Settings, r *noun.RoleSpec) time.Duration { return r.AckLimit }, look: timerLook},
		{kind: "never joins", what: "its process runs and never comes into its room", spec: noun.RoleSpec{},
			play: (*actor).sickStart, watch: off, open: 30,
			bound: "`start_limit` + 1 s", found: []string{"agent.start_limit"},
			due: func(_ *noun.Settings, r *noun.RoleSpec) time.Duration { return r.StartLimit }, look: timerLook},
		{kind: "works for too long", what: "gets on with a task for longer than a turn may last",
			spec: noun.RoleSpec{TurnLimit: 40 * m}, play: (*actor).sickTurn, watch: off, open: 30,
			bound: "`turn_limit` + 1 s", found: []string{"agent.turn_limit"},
			due: func(_ *noun.Settings, r *noun.RoleSpec) time.Duration { return r.TurnLimit }, look: timerLook},
		{kind: "crashes", what: "its process ends with code 1", spec: noun.RoleSpec{}, play: (*actor).sickCrash,
			watch: off, open: 30,
			bound: "at once; 15 s here, where calls hang and are lost", found: []string{"agent.exited"},
			due: fixed(reported), look: fixed(0),
			decided: "agent.started", ends: "the pause after its last failures (2 s) + 15 s",
			after: fixed(2*s + reported)},
		{kind: "ignores TERM", what: "a human restarts it, and it does not end", spec: noun.RoleSpec{},
			play: (*actor).sickTraps, role: (*cast).restarting, watch: off, open: 30,
			bound: "`stop_grace` + 15 s: it is killed", found: []string{"agent.exited"},
			due: func(_ *noun.Settings, r *noun.RoleSpec) time.Duration { return r.StopGrace }, look: fixed(reported)},
		{kind: "host dies, fenced", what: "nothing of the machine is heard again for 10 min",
			spec: noun.RoleSpec{Labels: doomed}, play: (*actor).playBatch, role: (*cast).killing, watch: off, open: 30,
			bound: "`ttl` + 1 s; 5 s more here for a beat on its way", found: []string{"agent.fence_ended"},
			due: ttlDue, look: beatLook, decided: "agent.started", ends: "15 s: started on another host",
			after: fixed(reported)},
		{kind: "host is cut off, fenced", what: "for 6 min; its agents freeze by themselves",
			spec: noun.RoleSpec{Labels: torn}, play: (*actor).playBatch, role: (*cast).tearing, watch: off, open: 30,
			bound: "`ttl` + 1 s; 5 s more here for a beat on its way", found: []string{"agent.fence_ended"},
			due: ttlDue, look: beatLook, decided: "agent.started", ends: "15 s: started on another host",
			after: fixed(reported)},
		{kind: "host dies, fast", what: "the role does not wait for the fence", spec: noun.RoleSpec{Labels: quick,
			Policy: noun.PolicyFast}, play: (*actor).playBatch, role: (*cast).killing, watch: off, open: 30,
			bound: "5 s of silence + 2 looks of the servers at 1 s, 15 s here",
			found: []string{"agent.fence_ended"}, due: fixed(fsm.SilentFor), look: fixed(10 * s), anew: true,
			decided: "agent.started", ends: "15 s: started on another host", after: fixed(reported)},
		{kind: "urgent mail unanswered", what: "nobody acknowledges it",
			spec: health("background", noun.RoleSpec{}), play: (*actor).playBatch, role: mailing(noun.MailUrgent),
			watch: off, open: 30,
			bound: "`mail_urgent_limit` + 1 s", found: []string{"mail.escalated"},
			due:  func(set *noun.Settings, _ *noun.RoleSpec) time.Duration { return set.MailUrgentLimit },
			look: timerLook},
		{kind: "high mail unanswered", what: "reminded, then escalated",
			spec: health("background", noun.RoleSpec{}), play: (*actor).playBatch, role: mailing(noun.MailHigh),
			watch: off, open: 30,
			bound: "`mail_high_limit` + 1 s", found: []string{"mail.reminder"},
			due: func(set *noun.Settings, _ *noun.RoleSpec) time.Duration { return set.MailHighLimit }, look: timerLook,
			decided: "mail.escalated", ends: "`mail_high_limit` + 1 s",
			after: func(set *noun.Settings, _ *noun.RoleSpec) time.Duration { return set.MailHighLimit }},
		{kind: "normal mail unanswered", what: "reminded", spec: health("background", noun.RoleSpec{}),
			play: (*actor).playBatch, role: mailing(noun.MailNormal), watch: off, open: 30,
			bound: "`mail_normal_limit` + 1 s", found: []string{"mail.reminder"},
			due:  func(set *noun.Settings, _ *noun.RoleSpec) time.Duration { return set.MailNormalLimit },
			look: timerLook},
		{kind: "room falls silent", what: "its tasks wait and nobody works", spec: noun.RoleSpec{Runner: "none"},
			role: (*cast).reopening, open: 5, watch: noun.RoomWatch{Untaken: noun.UntakenCancel},
			bound: "`watchdog_threshold` + `watchdog_interval`", found: []string{"room.stalling"}, look: watchLook,
			due:     func(set *noun.Settings, _ *noun.RoleSpec) time.Duration { return set.Watchdog.Threshold },
			decided: "room.canceled", ends: "`watchdog_grace`", after: func(set *noun.Settings,
				_ *noun.RoleSpec) time.Duration {
				return set.Watchdog.Grace
			}, human: true},
		{kind: "room passes its deadline", what: "it is active for longer than it may",
			spec: noun.RoleSpec{Runner: "none"}, role: (*cast).reopening, open: 5,
			watch: noun.RoomWatch{IdleLimit: 8 * hr, Deadline: 40 * m},
			bound: "`deadline` + `watchdog_interval`", found: []string{"room.stalling"}, due: fixed(40 * m),
			look:    watchLook,
			decided: "room.canceled", ends: "`watchdog_grace`", after: func(set *noun.Settings,
				_ *noun.RoleSpec) time.Duration {
				return set.Watchdog.Grace
			}, human: true},
	}
}

// well is a stretch of good health, longer than the ladder's cool-down.
func (a *actor) well() bool {
	return a.take() && a.works(a.between(12*m, 20*m), m, 5*m)
}

// stuck begins the illness, and is there until the process ends.
func (a *actor) stuck() {
	a.w.cfg.cast.lookout.fell(a.l.name, a.part)
	<-a.ctx.Done()
}

func (a *actor) sickStalled() {
	if a.well() {
		a.stuck()
	}
}

// sickMute: the task before goes well, or the ladder would soon call a human instead.
func (a *actor) sickMute() {
	if !a.well() {
		return
	}
	a.finish()
	for a.ctx.Err() == nil {
		if a.take() {
			a.stuck()
		}
	}
}

func (a *actor) sickUnresponsive() {
	if !a.well() {
		return
	}
	a.silence()
	a.report(0)
	a.stuck()
}

func (a *actor) sickDeaf() {
	if !a.well() {
		return
	}
	a.finish()
	for !a.enter() {
		if a.ctx.Err() != nil {
			return
		}
	}
	a.stuck()
}

func (a *actor) sickTool() {
	if a.well() {
		a.beyond(noun.WaitingTool, a.between(10*m, 30*m))
	}
}

// beyond is stuck in something that it has declared. The illness begins when that lapses.
func (a *actor) beyond(waits noun.Waiting, lasting time.Duration) {
	if a.declare(noun.StatusHealthy, waits, lasting) {
		a.w.cfg.cast.lookout.fellAt(a.l.name, a.part, a.w.clock().Add(lasting))
		<-a.ctx.Done()
	}
}

func (a *actor) sickAsking() {
	if a.well() {
		a.beyond(noun.WaitingInput, time.Hour)
	}
}

func (a *actor) sickBeats() {
	if !a.well() {
		return
	}
	a.mu.Lock()
	a.hung = true
	a.mu.Unlock()
	a.proves(false, 0)
	a.stuck()
}

func (a *actor) sickClaim() {
	if !a.well() {
		return
	}
	a.finish()
	for a.ctx.Err() == nil {
		if a.claim() {
			a.stuck()
		}
	}
}

// sickStart: every other life is well for a while.
func (a *actor) sickStart() {
	if uint64(a.l.inc)%2 == 0 {
		a.stuck()
		return
	}
	if a.well() {
		a.finish()
		a.die("crash", 1, "", true)
	}
}

func (a *actor) sickTurn() {
	if a.claim() {
		a.w.cfg.cast.lookout.fell(a.l.name, a.part)
		if a.word(func(w fsm.Work) fsm.Command { return fsm.StartTask{Work: w} }) {
			a.works(2*hr, m, 5*m)
		}
	}
}

func (a *actor) sickCrash() {
	if !a.well() {
		return
	}
	a.finish()
	a.w.cfg.cast.lookout.fell(a.l.name, a.part)
	a.die("crash", 1, "", true)
}

func (a *actor) sickTraps() {
	a.mu.Lock()
	a.traps = true
	a.mu.Unlock()
	if a.take() && a.works(4*hr, 5*m, 20*m) {
		a.finish()
	}
}
