package fsm

import (
	"fmt"
	"math/rand/v2"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// chaos writes random logs: commands that mostly make sense, mixed with stale,
// repeated, misdirected and impossible ones. It looks at a guide state to choose,
// so the same seed over the same state machine gives the same log.
type chaos struct {
	rng      *rand.Rand
	index    uint64
	clock    noun.Time
	term     uint64
	plans    bool // tasks are expected to take some time
	climbs   bool // leaders take rungs of the ladder
	retries  bool // failed tasks are put off, and some are created for later
	circuit  bool // roles half-open
	verdicts bool // of tasks with circuit: now and then all that end are failed for good, in a run
	run      int  // words that are left of one
	demand   bool // one of the roles starts its agents on demand
	ends     bool // what humans set has an end more often, and is ended by humans less often
	world    bool // rooms, hosts, settings and servers change too
	sessions []noun.SessionID
	seq      map[noun.SessionID]uint64
	sent     []Request // numbered writes that may be repeated
	rooms    []string
}

func newChaos(seed uint64, world bool) *chaos {
	c := &chaos{rng: rand.New(rand.NewPCG(seed, 25)), term: 1, world: world, seq: map[noun.SessionID]uint64{},
		rooms: []string{"r"}}
	if world {
		c.rooms = []string{"r", "s", "t"}
	}
	return c
}

func (c *chaos) one(in int) bool { return c.rng.IntN(in) == 0 }

func pick[T any](c *chaos, list []T) (v T) {
	if len(list) > 0 {
		v = list[c.rng.IntN(len(list))]
	}
	return v
}

func chaosRoles() []noun.RoleSpec {
	return []noun.RoleSpec{
		{Name: "a", Replicas: 3, TTL: 10 * time.Second, StopGrace: time.Second / 4},
		{Name: "b", Runner: "w", Replicas: 2, TTL: 10 * time.Second, StopGrace: time.Second / 4,
			PendingLimit: 9 * time.Second, TurnLimit: 12 * time.Second},
		{Name: "c", Runner: "w", Replicas: 2, TTL: 10 * time.Second, StopGrace: time.Second / 4,
			Proof: noun.ProofAgent, Policy: noun.PolicyFast,
			AckLimit: 4 * time.Second, ProgressLimit: 6 * time.Second, AttemptLimit: 3, KillLimit: 2,
			StartLimit: 8 * time.Second},
	}
}

// opening is the entries that every random log begins with.
func (c *chaos) opening() []*Entry {
	cmds := []Command{LeaderEstablished{Server: "a"},
		PutSettings{Values: []noun.KV{{Key: "accept_limit", Value: "3s"}, {Key: "session_ttl", Value: "40s"},
			{Key: "starts_per_second", Value: "1000"}, {Key: "mail_urgent_limit", Value: "4s"},
			{Key: "mail_high_limit", Value: "5s"}, {Key: "mail_normal_limit", Value: "7s"},
			{Key: "mail_low_limit", Value: "9s"},
			{Key: "mail_expiry", Value: "40s"}, {Key: "mail_retention", Value: "20s"}}},
		ApplyRoom{Room: "r", Roles: c.plannedRoles()},
		RegisterHost{Key: "h1", Name: "h1", Boot: "1", Runners: []string{"w"}},
		RegisterHost{Key: "h2", Name: "h2", Boot: "1", Runners: []string{"w"}}}
	if !c.world {
		cmds = append(cmds, PutSettings{Values: []noun.KV{{Key: "host_ttl", Value: "24h"}}})
	}
	if c.ends && !c.retries {
		cmds = append(cmds, RaiseLevel{Level: core.LevelRetry})
	}
	if c.retries {
		failures := "0" // the naive twin knows of no half-open roles
		if c.circuit {
			failures = "3"
		}
		cmds = append(cmds, RaiseLevel{Level: core.LevelRetry},
			PutSettings{Values: []noun.KV{{Key: "circuit_failures", Value: failures},
				{Key: "circuit_window", Value: "10m"}}})
	}
	var list []*Entry
	for _, cmd := range cmds {
		list = append(list, c.entry(Request{Cmd: cmd}))
	}
	for _, id := range []string{"a", "b", "c"} {
		list[0].Requests = append(list[0].Requests, Request{Cmd: PutServer{ID: id, Version: "0"}})
	}
	return list
}

func (c *chaos) entry(reqs ...Request) *Entry {
	c.index++
	return &Entry{Index: c.index, Term: c.term, Stint: c.term, Stamp: c.clock, Wall: noun.Wall(c.index), Requests: reqs}
}

// next writes the entry that follows on the guide's state.
func (c *chaos) next(s *State) *Entry {
	switch {
	case c.one(60):
		c.clock += noun.Time(c.rng.IntN(15000)) * noun.Time(time.Millisecond)
	case c.one(2):
		c.clock += noun.Time(c.rng.IntN(900)) * noun.Time(time.Millisecond)
	}
	e := c.entry()
	if c.retries && !c.circuit && comesAgain(s, c.clock) { // alone, see twin.adopt
		return e
	}
	if c.one(3) {
		e.Beats = c.beats(s)
	}
	var words []Word
	for range c.rng.IntN(4) {
		e.Requests = append(e.Requests, c.request(s))
		if w := s.WordOf(e.Requests[len(e.Requests)-1].Cmd, 0); w.Inc != 0 && !c.one(3) {
			w.Inc = c.inc(w.Inc)
			words = append(words, w)
		}
	}
	e.Words = PackWords(nil, words)
	if c.world && c.one(100) {
		e.Stint = 0
	}
	return e
}

func (c *chaos) beats(s *State) []HostBeats {
	packs := map[noun.HostID]*HostBeats{}
	var agents []noun.AgentID
	var incs []noun.Incarnation
	var kinds []uint8
	for host := noun.HostID(0); host < 4; host++ {
		agents, incs, kinds = agents[:0], incs[:0], kinds[:0]
		for a := range s.Agents("") {
			if a.Host != host && !c.one(30) || c.one(6) {
				continue
			}
			k := uint8(BeatFence | BeatVouch)
			if host == 0 || s.Role(a.Role).Spec.Proof == noun.ProofAgent && c.one(2) {
				k = BeatLease
			}
			if c.one(20) {
				k = uint8(1 + c.rng.IntN(15))
			}
			agents, incs, kinds = append(agents, a.ID), append(incs, c.inc(a.Inc)), append(kinds, k)
		}
		b := HostBeats{Host: host, Boot: "1", Packed: PackBeats(nil, agents, incs, kinds)}
		if h := s.Host(host); h != nil {
			b.Boot = h.Boot
		}
		packs[host] = &b
	}
	var list []HostBeats
	for host := noun.HostID(0); host < 4; host++ {
		if (host == 0 || s.Host(host) != nil) && !c.one(4) && !c.mute(host) {
			list = append(list, *packs[host])
		}
	}
	return list
}

func (c *chaos) inc(i noun.Incarnation) noun.Incarnation {
	switch c.rng.IntN(16) {
	case 0:
		return max(i, 1) - 1
	case 1:
		return i + 1
	}
	return i
}

func (c *chaos) request(s *State) Request {
	if len(c.sent) > 0 && c.one(8) {
		r := c.sent[max(0, len(c.sent)-1-c.rng.IntN(90))]
		if c.one(3) {
			r.Cmd = c.command(s) // a client with a bug: the first answer counts
		}
		return r
	}
	r := Request{Cmd: c.command(s)}
	switch {
	case c.one(40) || len(c.sessions) == 0:
		c.sessions = append(c.sessions, s.Meta.NextSession)
		r.Cmd = OpenSession{Client: "c"}
	case c.one(3):
		r.Session = pick(c, c.sessions[max(0, len(c.sessions)-3):])
		c.seq[r.Session]++
		if c.one(50) {
			c.seq[r.Session] += uint64(c.rng.IntN(70))
		}
		r.Seq = c.seq[r.Session]
		c.sent = append(c.sent, r)
	}
	return r
}

// comesAgain tells that a task is put off no more at this time.
func comesAgain(s *State, now noun.Time) bool {
	for t := range s.Tasks(0) {
		if t.Delayed() && t.Retry.NotBefore <= now {
			return true
		}
	}
	return false
}

// after is for how long a task is put off, usually not at all.
func (c *chaos) after() time.Duration {
	if !c.retries || !c.one(6) {
		return 0
	}
	return time.Duration(c.rng.IntN(20_000))*time.Millisecond + 1
}

func (c *chaos) agent(s *State) *noun.Agent {
	var list []*noun.Agent
	for a := range s.Agents("") {
		list = append(list, a)
	}
	if a := pick(c, list); a != nil {
		return a
	}
	return &noun.Agent{Name: "r/nobody"}
}

func (c *chaos) speaker(a *noun.Agent) Speaker {
	sp := Speaker{Agent: a.Name, Inc: c.inc(a.Inc)}
	if a.TokenHash != "" && !c.one(20) {
		sp.TokenHash = []byte(a.TokenHash)
	} else if c.one(60) {
		sp.TokenHash = []byte("of another agent")
	}
	if c.one(60) {
		sp.Agent = "r/nobody"
	}
	return sp
}

func (c *chaos) task(s *State) noun.TaskID {
	return noun.TaskID(1 + max(0, int(s.Meta.NextTask)-1-c.rng.IntN(25)))
}

func (c *chaos) work(s *State) Work {
	a := c.agent(s)
	id := a.Task
	if id == 0 || c.one(12) {
		id = c.task(s)
	}
	w := Work{Speaker: c.speaker(a), Task: id, Attempt: 1}
	if t := s.Task(id); t != nil {
		w.Attempt = t.Attempt
		if holder := s.Agent(t.Holder); holder != nil && c.one(3) { // the last holder speaks up again
			w.Speaker = c.speaker(holder)
		}
	}
	if c.one(12) {
		w.Attempt += uint32(c.rng.IntN(3)) - 1
	}
	return w
}

func (c *chaos) command(s *State) Command {
	if c.world && c.one(12) {
		return c.worldly(s)
	}
	if c.one(25) {
		return c.intent(s)
	}
	if c.one(20) {
		return c.hostWord(s)
	}
	if c.one(12) {
		return c.mail(s)
	}
	if c.world && c.one(12) {
		return c.watchdog(s)
	}
	if c.climbs && c.one(12) {
		return c.ladder(s)
	}
	switch n := c.rng.IntN(100); {
	case n < 12:
		return CreateTask{Room: pick(c, c.rooms), Role: pick(c, []string{"a", "b", "c", "a", "b", "c", "x"}),
			Title: "t", Text: fmt.Sprint("text ", n), Priority: int32(c.rng.IntN(3)),
			Expect: c.expect(), After: c.after()}
	case n < 25:
		return c.join(s)
	case n < 38:
		cl := Claim{Speaker: c.speaker(c.agent(s))}
		if c.one(4) {
			cl.Task = c.task(s)
		}
		cl.Start = c.then(s).Start
		return cl
	case n < 62:
		return c.word(s)
	case n < 64:
		return c.declare(s)
	case n < 66:
		return Leave{Speaker: c.speaker(c.agent(s))}
	case n < 69:
		return CancelTask{Task: c.task(s), By: "x"}
	case n < 73:
		return RetryTask{Task: c.task(s), By: "x"}
	case n < 77:
		set := SetAgent{Agent: c.agent(s).Name, Stop: c.one(3) || c.ends, By: "x", Fresh: c.one(4)}
		set.For = c.lasts(s, set.Stop)
		return set
	}
	return c.process(s)
}

// lasts is for how long something that a human sets lasts, usually until somebody ends it.
func (c *chaos) lasts(s *State, set bool) time.Duration {
	switch {
	case s.Level() < core.LevelRetry || !set && !c.one(20) || set && !c.ends && !c.one(3):
		return 0
	case c.one(20):
		return pick(c, []time.Duration{-1, 1, noun.MaxFor + 1})
	}
	return time.Second + time.Duration(c.rng.IntN(12_000))*time.Millisecond + 1 // no two things at once
}

// intent is what humans say of pauses and parking; a pause soon ends.
func (c *chaos) intent(s *State) Command {
	room := pick(c, c.rooms)
	switch rm := s.Room(room); {
	case c.ends && !c.one(4):
	case s.Meta.Paused && !c.one(8):
		return SetPause{By: "x"}
	case rm != nil && rm.Paused && !c.one(8):
		return SetPause{Scope: room, By: "x"}
	}
	for a := range s.Agents("") {
		if a.Paused && c.one(2) && !c.ends {
			return SetPause{Scope: a.Name, By: "x"}
		}
	}
	switch n := c.rng.IntN(12); {
	case n < 3:
		return UnparkAgent{Agent: c.agent(s).Name, By: "x"}
	case n < 6:
		return UnquarantineTask{Task: c.task(s), By: "x"}
	case n < 10:
		return SetPause{Scope: c.agent(s).Name, Pause: true, By: "x", For: c.lasts(s, true)}
	case n == 10:
		p := SetPause{Scope: pick(c, []string{room, "nowhere"}), Pause: c.one(2), By: "x"}
		p.For = c.lasts(s, p.Pause)
		return p
	}
	p := SetPause{Pause: c.one(2), By: "x"}
	p.For = c.lasts(s, p.Pause)
	return p
}

func (c *chaos) join(s *State) Command {
	a := c.agent(s)
	switch {
	case c.one(4):
		return Join{Speaker: Speaker{Agent: pick(c, c.rooms) + "/" + pick(c, []string{"a", "b", "z"}) + ".*"}}
	case c.one(4):
		return Join{Speaker: Speaker{Agent: a.Name}}
	}
	return Join{Speaker: c.speaker(a)}
}

// word is what the holder of a task says.
func (c *chaos) word(s *State) Command {
	w := c.work(s)
	if c.run > 0 {
		c.run--
		return FailTask{Work: w, Reason: "401", Then: c.then(s)}
	}
	switch n := c.rng.IntN(12); {
	case n < 4:
		return StartTask{Work: w}
	case n < 6:
		return c.progress(w)
	case n < 9 && c.circuit && s.HalfOpenRoles() == 0 && c.one(2):
		return FailTask{Work: w, Retryable: true, Then: c.then(s)}
	case n < 9:
		return CompleteTask{Work: w, Result: fmt.Sprint("result ", n), Then: c.then(s)}
	case n < 11:
		if c.verdicts && c.one(30) {
			c.run = 150
		}
		if c.retries && s.HalfOpenRoles() == 0 {
			return FailTask{Work: w, Reason: "no", Retryable: true, After: c.after(), Then: c.then(s)}
		}
		return FailTask{Work: w, Reason: "no", Retryable: n == 9, Then: c.then(s)}
	}
	return Handoff{Work: w, Result: "r", ToRole: pick(c, []string{"a", "b", "c", "x"}), Title: "next", Then: c.then(s)}
}

// then is what is to follow the end of a task: often the next one.
func (c *chaos) then(s *State) Then {
	if s.Level() < core.LevelRetry || !c.one(2) {
		return Then{}
	}
	return Then{Next: true, Start: c.one(2)}
}

// process is what planners and hosts say of processes.
func (c *chaos) process(s *State) Command {
	a := c.agent(s)
	host, boot := a.Host, "1"
	if host == 0 || c.one(20) {
		host = noun.HostID(1 + c.rng.IntN(3))
	}
	if h := s.Host(host); h != nil {
		boot = h.Boot
	}
	switch n := c.rng.IntN(25); {
	case n == 24:
		return NoteNudge{Agent: a.Name, By: "x"}
	case n == 23:
		return ReportStuck{Host: host, Agent: a.ID, Inc: c.inc(a.Inc), Reason: pick(c, []string{"", "stuck"})}
	case n < 9:
		for id := range s.Wanting() {
			if a = s.Agent(id); c.one(2) {
				break
			}
		}
		return OrderStart{Agent: a.ID, Inc: c.inc(s.NextInc(a)), Host: noun.HostID(1 + c.rng.IntN(2))}
	case n < 15:
		var token []byte
		if c.one(4) {
			token = []byte("token")
		}
		return AcceptOrder{Host: host, Boot: boot, Agent: a.ID, Inc: c.inc(a.Inc), TokenHash: token}
	case n < 20:
		return ReportStarted{Host: host, Agent: a.ID, Inc: c.inc(a.Inc), PID: 1}
	case n == 20:
		return OrderStop{Agent: a.ID, Inc: c.inc(a.Inc), Reason: "planned"}
	}
	x := ReportExit{Host: host, Agent: a.ID, Inc: c.inc(a.Inc), Code: int32(c.rng.IntN(2))}
	if c.one(4) {
		x.Kind = pick(c, []noun.ExitKind{noun.ExitStartFailed, noun.ExitStartFailed, noun.ExitTimedOut,
			noun.ExitUsageLimit, noun.ExitOrdered})
		x.RetryAfter = time.Duration(c.rng.IntN(20)) * time.Second
	}
	return x
}
