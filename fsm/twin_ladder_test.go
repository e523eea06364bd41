package fsm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/judge"
	"vigil/fsm/noun"
)

// ladder is what leaders say of stuck agents; plans are often stale, doubled or wrong.
func (c *chaos) ladder(s *State) Command {
	if s.Meta.Settings.Ladder.Nudge > time.Minute {
		return PutSettings{Values: []noun.KV{{Key: "ladder_nudge", Value: "1s"},
			{Key: "ladder_wake", Value: "1500ms"}, {Key: "ladder_interrupt", Value: "1s"},
			{Key: "ladder_restart", Value: "1s"}, {Key: "ladder_cooldown", Value: "2s"},
			{Key: "ladder_per_pass", Value: "3"}}}
	}
	if r := s.RoleByName("r", "b"); r != nil && r.Spec.PendingLimit > time.Second && c.one(3) {
		roles := chaosRoles()
		for i := range roles {
			roles[i].PendingLimit, roles[i].TurnLimit, roles[i].Replicas = time.Second, 0, 4
			roles[i].KillLimit = 1 // so that what the ladder ends shows
			if c.plans {           // so that tasks get stuck, too, after they should have been done
				roles[i].HealthEvery, roles[i].HealthMissed, roles[i].Expect = time.Second, 1, time.Second
				roles[i].ProgressLimit, roles[i].AckLimit = 0, 0
			}
		}
		return ApplyRoom{Room: "r", Roles: roles, By: "x"}
	}
	if reply := c.reply(s); reply != nil && c.one(2) {
		return reply
	}
	a := c.agent(s)
	var stuck []noun.AgentID
	for id := range s.MayBeStuck(0) {
		stuck = append(stuck, id)
	}
	for _, id := range s.MayBeDeaf(DeafPlace{}) {
		stuck = append(stuck, id)
	}
	for _, id := range stuck {
		if at := s.Climb(id); at.Next != noun.NoRung && at.Due <= s.Meta.Clock && !c.one(4) {
			a = s.Agent(id)
			break
		}
	}
	at := s.Climb(a.ID)
	switch c.rng.IntN(16) {
	case 0:
		return NoteRung{Agent: a.ID, Inc: c.inc(a.Inc), Rung: noun.Rung(c.rng.IntN(7)), Reason: "no terminal"}
	case 1:
		return StepLadder{Agent: a.ID, Inc: c.inc(a.Inc), Rung: noun.Rung(c.rng.IntN(7)), Seen: at.Seen}
	case 2:
		return StepLadder{Agent: a.ID, Inc: a.Inc, Rung: at.Next, Seen: at.Seen - 1}
	}
	return StepLadder{Agent: a.ID, Inc: c.inc(a.Inc), Rung: at.Next, Seen: at.Seen}
}

// nurse starts an agent that is wanted and has it join, as a host that works would, and
// beats for all hosts: among commands that are mostly wrong few lives last.
func (c *chaos) nurse(s *State) {
	do := func(cmd Command) {
		s.Apply(c.entry(Request{Cmd: cmd}))
	}
	for h := range s.Hosts() {
		var agents []noun.AgentID
		var incs []noun.Incarnation
		var kinds []uint8
		for a := range s.Agents("") {
			if a.Host == h.ID && a.Proc.Fenced() {
				agents, incs, kinds = append(agents, a.ID), append(incs, a.Inc),
					append(kinds, BeatFence|BeatVouch|BeatLease)
			}
		}
		e := c.entry()
		e.Beats = []HostBeats{{Host: h.ID, Boot: h.Boot, Packed: PackBeats(nil, agents, incs, kinds)}}
		s.Apply(e)
	}
	c.employ(s, do)
	for id := range s.Wanting() {
		a, inc := s.Agent(id), s.NextInc(s.Agent(id))
		for h := range s.Hosts() {
			if s.Misfit(h, a) == "" {
				do(OrderStart{Agent: id, Inc: inc, Host: h.ID})
				do(AcceptOrder{Host: h.ID, Boot: h.Boot, Agent: id, Inc: inc})
				do(ReportStarted{Host: h.ID, Agent: id, Inc: inc, PID: 1})
				do(Join{Speaker: Speaker{Agent: a.Name, Inc: inc}})
				return
			}
		}
	}
}

// climber is the ladder of one agent as the twin knows it.
type climber struct {
	inc             noun.Incarnation
	rung            noun.Rung
	at              noun.Time
	restarts, calls int  // of this episode
	barren          int  // restarts in a row without work in between
	episodes        int  // in a row that a word of the life has ended, and no work; counted from LevelRetry on
	held            bool // a human was told since it is paused
}

// talked is how many of its episodes a word has ended, when the present one is over.
func (x *climber) talked() int {
	if x.held {
		return max(x.episodes, 1) - 1
	}
	return x.episodes
}

// words is what a word of an agent changes; wordsOf takes it without comparing any times.
type words struct {
	inc                                                  noun.Incarnation
	since, started, mail, said, until, changed, progress noun.Time
	task                                                 noun.TaskID
	asks                                                 bool // a prompt on its terminal explains its silence
}

func wordsOf(s *State, a *noun.Agent) (w words) {
	w = words{inc: a.Inc, since: a.Since, started: a.StartedAt, mail: a.Notes().MailAt}
	if d := a.Declared; d != nil {
		w.said, w.until = d.Since, d.Until
	}
	w.asks = a.Shows(noun.PromptPermission)
	if t := s.Task(a.Task); t != nil {
		w.task, w.changed, w.progress = t.ID, t.ChangedAt, t.Progress
	}
	return w
}

// ladderTwin notices words as they are spoken and keeps the rungs that were taken.
type ladderTwin struct {
	climbers map[noun.AgentID]*climber
	words    map[noun.AgentID]words
	heard    map[noun.AgentID]noun.Time
	ended    map[noun.TaskID]uint32 // lives that the ladder has ended with the task, since it was last forgiven
	limited  map[noun.AgentID]limited
}

// limited is a usage limit on a terminal: since when, and how long it explains a silence.
type limited struct{ at, end noun.Time }

// wait notes usage limits on terminals, which explain a silence for a while each.
func (w *ladderTwin) wait(s *State, a *noun.Agent) {
	now := s.Clock()
	if was := w.limited[a.ID]; was.end != 0 { // also of one that has gone since the last look
		w.heard[a.ID] = max(w.heard[a.ID], min(now, was.end))
	}
	switch {
	case !a.Shows(noun.PromptUsageLimit):
		delete(w.limited, a.ID)
	case w.limited[a.ID].at != a.Screen().At:
		span := noun.NeedsInputLimit
		if s.Level() >= core.LevelRetry {
			span = s.Settings().UsagePause
		}
		w.limited[a.ID] = limited{a.Screen().At, a.Screen().At.Add(span)}
		w.heard[a.ID] = now
	}
}

// blames tells whether a restart counts against the task that the agent holds, at once and
// once, and whether what became of tasks since is what that demands (N29).
func (w *ladderTwin) blames(s *State, p *StepLadder, held *noun.Task) string {
	if held == nil || p.Rung != noun.RungRestart {
		return ""
	}
	a, deaths := s.Agent(p.Agent), held.Kills+1
	if s.Level() >= core.LevelRetry && a.Proc.Fenced() && a.Resume != "" && a.Resumed == a.Inc && !a.Useful() &&
		held.Progress <= held.ChangedAt && held.Retried().Spared < 2 { // its conversation may be the cause
		deaths--
	} else {
		w.ended[held.ID]++
	}
	now, spec := s.Task(held.ID), s.Role(held.Role).Spec
	quarantined := now.State == noun.TaskQuarantined
	switch over := now.Holder != held.Holder || !now.State.Held(); {
	case now.Kills != deaths:
		return fmt.Sprintf("%d deaths, there were %d", now.Kills, held.Kills)
	case over && quarantined != (now.Kills >= spec.KillLimit || now.Charged >= spec.AttemptLimit):
		return fmt.Sprintf("%s after %d deaths and %d faults", now.State, now.Kills, now.Charged)
	}
	return ""
}

// judged looks at what became of the tasks that lives have hung with, and counts those that
// are quarantined.
func (w *ladderTwin) judged(t *testing.T, s *State, seed, index uint64) (quarantined int) {
	t.Helper()
	for id, ended := range w.ended {
		switch k := s.Task(id); {
		case k == nil || k.Kills == 0: // forgotten, or forgiven by a human
			delete(w.ended, id)
		case k.Kills < ended:
			t.Fatalf("seed %d, entry %d: task %d counts %d deaths, the ladder has ended %d lives with it",
				seed, index, id, k.Kills, ended)
		case k.State == noun.TaskFailed && strings.Contains(k.Result, "attempt limit"):
			t.Fatalf("seed %d, entry %d: task %d is FAILED and nobody is called: %s", seed, index, id, k.Result)
		case k.State == noun.TaskQuarantined:
			quarantined++
		}
	}
	return quarantined
}

func (w *ladderTwin) listen(s *State) {
	for a := range s.Agents("") {
		now, was := wordsOf(s, a), w.words[a.ID]
		w.words[a.ID] = now
		if now.task == 0 { // that a task is taken from it is no word of the agent
			was.task, was.changed, was.progress = 0, 0, 0
		}
		if now != was || now.asks {
			w.heard[a.ID] = s.Meta.Clock
		}
		w.wait(s, a)
	}
}

// next is the rung that the laws demand for an agent, and when; NoRung: none.
func (w *ladderTwin) next(s *State, a *noun.Agent) (noun.Rung, noun.Time) {
	g, set, spec := s.Signals(a.ID, true), s.Settings().Ladder, s.Role(a.Role).Spec
	kind := judge.Judge(&g).Kind
	if !set.Enabled || kind != judge.AgentDeaf && kind != judge.AgentStalled && kind != judge.AgentUnresponsive {
		return noun.NoRung, 0
	}
	paused := g.Paused != ""
	if paused && (a.Task == 0 || s.Level() < core.LevelRetry) || g.Off != "" ||
		s.Meta.HoldUntil > s.Meta.Clock || s.Meta.Brake.Set != 0 ||
		spec.Ladder == noun.LadderOff {
		return noun.NoRung, 0
	}
	x := w.climbers[a.ID]
	over, worked := w.over(s, a)
	switch {
	case x == nil:
		return noun.RungNudge, s.Meta.Clock
	case over:
		switch {
		case a.Order == noun.StopOrder:
			return noun.NoRung, 0
		case x.talked() == noun.MaxLadderEpisodes-1 && !worked:
			return noun.RungEscalate, x.at.Add(set.Cooldown)
		}
		return noun.RungNudge, x.at.Add(set.Cooldown)
	case a.Order == noun.StopOrder && x.restarts == 0:
		return noun.NoRung, 0
	}
	t := s.Task(a.Task)
	mute := t != nil && t.Progress <= t.ChangedAt && a.Declared == nil && a.Notes().MailAt == 0
	human := spec.Ladder == noun.LadderEscalate || paused || spec.Ladder == noun.LadderCareful && mute || x.barren >= 3 ||
		g.HealthEvery > 0 && g.Declared != nil && g.Missed < max(g.HealthMissed, 1) ||
		a.Managed && spec.Runner == "" || !a.Proc.Fenced() && a.Task == 0 ||
		spec.Ladder == noun.LadderCareful && a.Task != 0 && (!a.Managed || spec.Proof == noun.ProofAgent) &&
			kind == judge.AgentStalled ||
		spec.Ladder == noun.LadderCareful && g.Prompt == noun.PromptNone && !g.Quiet || g.Prompt == noun.PromptUsageLimit
	switch x.rung {
	case noun.RungNudge:
		return noun.RungWake, x.at.Add(set.Nudge)
	case noun.RungWake:
		if human {
			return noun.RungEscalate, x.at.Add(set.Wake)
		}
		return noun.RungInterrupt, x.at.Add(set.Wake)
	case noun.RungInterrupt:
		if human {
			return noun.RungEscalate, x.at.Add(set.Interrupt)
		}
		return noun.RungRestart, x.at.Add(set.Interrupt)
	case noun.RungRestart:
		return noun.RungEscalate, x.at.Add(set.Restart)
	}
	return noun.NoRung, 0
}

// over tells that the agent has ended its episode, and whether by work or by another task.
func (w *ladderTwin) over(s *State, a *noun.Agent) (over, worked bool) {
	x, l := w.climbers[a.ID], a.Notes().Ladder
	if x == nil || l == nil {
		return true, false
	}
	worked = s.GotOn(a, l) || a.Task != 0 && a.TaskSince > l.At || x.inc != a.Inc ||
		min(a.ScreenExcuse(), s.Clock()) >= l.At
	if x.held && s.Paused(a) == "" {
		return true, worked
	}
	told := x.rung == noun.RungEscalate && x.episodes >= noun.MaxLadderEpisodes
	return x.inc != a.Inc || w.heard[a.ID] >= x.at && (!told || worked), worked
}

// took notes an accepted rung and tells whether the laws about an episode hold.
func (w *ladderTwin) took(s *State, p *StepLadder, worked, words bool) bool {
	x := w.climbers[p.Agent]
	if x == nil {
		x = &climber{}
		w.climbers[p.Agent] = x
	}
	if p.Rung == noun.RungNudge || words {
		barren, episodes := x.barren, x.talked()
		if worked {
			barren = 0
		}
		if !words {
			episodes = 0
		}
		if s.Level() >= core.LevelRetry {
			episodes++
		}
		*x = climber{barren: barren, episodes: episodes}
	}
	x.inc, x.rung, x.at = p.Inc, p.Rung, s.Meta.Clock
	x.held = p.Rung == noun.RungEscalate && !words && s.Level() >= core.LevelRetry && s.Paused(s.Agent(p.Agent)) != ""
	switch p.Rung {
	case noun.RungRestart:
		x.restarts++
		x.barren++
	case noun.RungEscalate:
		x.calls++
	}
	return x.restarts <= 1 && x.calls <= 1
}

// The naive twin of the ladder agrees with every decision: which rung, when, for which
// life, and how many in the cluster within a look.
func TestTwinOfTheLadderAgrees(t *testing.T) {
	var taken [noun.RungEscalate + 1]int
	refused, extended, poisoned, limits, talked, paused := 0, 0, 0, 0, 0, 0
	for _, seed := range seeds(t, 14) {
		c, eyes, s := newChaos(seed, true), newChaos(seed+100, true), New()
		c.plans = seed%2 == 1
		c.climbs = true
		for _, e := range c.opening() {
			s.Apply(e)
		}
		w := &ladderTwin{map[noun.AgentID]*climber{}, map[noun.AgentID]words{}, map[noun.AgentID]noun.Time{},
			map[noun.TaskID]uint32{}, map[noun.AgentID]limited{}}
		if seed%3 == 0 { // usage limits on terminals that may be over
			s.Apply(c.entry(Request{Cmd: RaiseLevel{Level: core.LevelRetry}}, Request{Cmd: PutSettings{
				Values: []noun.KV{{Key: "circuit_failures", Value: "0"}, {Key: "usage_pause", Value: "1s"},
					{Key: "idle_prompt_limit", Value: "1s"}}}}))
		}
		if seed%3 == 1 { // agents that talk, and pauses
			s.Apply(c.entry(Request{Cmd: RaiseLevel{Level: core.LevelRetry}}, Request{Cmd: PutSettings{
				Values: []noun.KV{{Key: "circuit_failures", Value: "0"}}}}))
		}
		var window []noun.Time
		for range 3000 {
			c.nurse(s)
			w.listen(s)
			if eyes.one(40) {
				s.Apply(c.entry(Request{Cmd: eyes.screen(s)}))
				w.listen(s)
			}
			if seed%3 == 0 && eyes.one(30) {
				a := eyes.agent(s)
				s.Apply(c.entry(Request{Cmd: ReportScreen{Host: a.Host, Agent: a.ID, Inc: a.Inc,
					Kind: noun.PromptUsageLimit, Quiet: true}}))
				w.listen(s)
			}
			if seed%3 == 1 && eyes.one(20) {
				s.Apply(c.entry(Request{Cmd: SetPause{Scope: eyes.agent(s).Name, Pause: eyes.one(2), By: "x"}}))
				w.listen(s)
			}
			e := c.next(s)
			s.Apply(&Entry{Index: e.Index, Term: e.Term, Stint: e.Stint, Stamp: e.Stamp, Wall: e.Wall, Beats: e.Beats})
			w.listen(s)
			for _, r := range e.Requests { // what each command did is seen one by one
				c.index++
				one := &Entry{Index: c.index, Term: e.Term, Stint: e.Stint, Stamp: e.Stamp, Wall: e.Wall,
					Requests: []Request{r}}
				p, ok := r.Cmd.(StepLadder)
				if !ok && !c.one(3) { // quieter, so that silences last
					continue
				}
				if !ok {
					extended += w.extends(t, s, one)
					w.listen(s)
					poisoned = max(poisoned, w.judged(t, s, seed, one.Index))
					continue
				}
				one.Requests[0] = Request{Cmd: p}
				want, worked, words, held := false, false, false, (*noun.Task)(nil)
				if a := s.Agent(p.Agent); a != nil {
					if k := s.Task(a.Task); k != nil {
						before := *k
						held = &before
					}
					rung, due := w.next(s, a)
					seen := noun.Time(0)
					if x := w.climbers[a.ID]; x != nil {
						seen = x.at
					}
					want = rung != noun.NoRung && rung == p.Rung && due <= s.Meta.Clock && p.Inc == a.Inc &&
						p.Seen == seen
					worked = a.Notes().Ladder != nil && s.GotOn(a, a.Notes().Ladder)
					over, moved := w.over(s, a)
					words = over && !moved && w.climbers[a.ID] != nil
				}
				for len(window) > 0 && window[0] < s.Meta.Clock.Add(-s.Meta.Settings.Ladder.Interval) {
					window = window[1:]
				}
				most := int(s.Settings().Ladder.PerPass)
				switch out := s.Apply(one).Outcomes[0]; {
				case (out.Code == noun.OK) != want && (want && len(window) < most || !want):
					t.Fatalf("seed %d, entry %d: %+v is answered %s (%s), the twin says %v", seed, one.Index,
						p, out.Code, out.Detail, want)
				case out.Code == noun.OK:
					taken[p.Rung]++
					if s.Agent(p.Agent).Shows(noun.PromptUsageLimit) {
						limits++
					}
					if words && p.Rung == noun.RungEscalate {
						talked++
					}
					if s.Paused(s.Agent(p.Agent)) != "" {
						paused++
					}
					if window = append(window, s.Meta.Clock); !w.took(s, &p, worked, words) || len(window) > 2*most {
						t.Fatalf("seed %d, entry %d: %+v, %d rungs within %s", seed, one.Index,
							*w.climbers[p.Agent], len(window), s.Meta.Settings.Ladder.Interval)
					}
					if a := s.Agent(p.Agent); seed%3 == 1 && p.Rung == noun.RungNudge {
						var then Command = SetPause{Scope: a.Name, Pause: true, By: "x"}
						if !eyes.one(2) { // who says a word, and no more
							then = SendMail{Speaker: Speaker{Agent: a.Name, Inc: a.Inc}, To: a.Name, Subject: "I go on"}
						}
						s.Apply(c.entry(Request{Cmd: then}))
						w.listen(s)
					}
					if wrong := w.blames(s, &p, held); wrong != "" {
						t.Fatalf("seed %d, entry %d: %+v: %s", seed, one.Index, p, wrong)
					}
				default:
					refused++
				}
				w.listen(s)
				poisoned = max(poisoned, w.judged(t, s, seed, one.Index))
				if err := s.Check(); err != nil {
					t.Fatalf("seed %d, entry %d, %+v: %v", seed, one.Index, r, err)
				}
			}
		}
	}
	for r := noun.RungNudge; r <= noun.RungEscalate && *seedFlag == 0; r++ {
		if taken[r] == 0 {
			t.Errorf("no rung %s was taken: the log exercises nothing", r)
		}
	}
	if extended == 0 && *seedFlag == 0 {
		t.Error("no answer has extended what was expected: the log exercises nothing")
	}
	if poisoned == 0 && *seedFlag == 0 {
		t.Error("no task was quarantined that lives have hung with: the log exercises nothing")
	}
	if limits == 0 && *seedFlag == 0 {
		t.Error("no rung was taken with an agent at a usage limit: the log exercises nothing")
	}
	if (talked == 0 || paused == 0) && *seedFlag == 0 {
		t.Error("nobody only talks, or nobody hangs under a pause: the log exercises nothing")
	}
	t.Logf("%v taken, %d refused, %d answers extended what was expected, "+
		"%d tasks quarantined at once, %d at a usage limit, %d who only talk, %d under a pause", taken, refused, extended,
		poisoned, limits, talked, paused)
}
