package sim

import (
	"fmt"
	"sync/atomic"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// part is a role and what its agents do.
type part struct {
	name  string // of the role; no other has it
	kind  string // of behaviour or of sickness
	room  string
	spec  noun.RoleSpec
	watch noun.RoomWatch
	open  int           // tasks that people keep waiting for it; 0: it gets none
	every time.Duration // between two looks whether there are enough
	play  func(*actor)
	ill   *illness // nil: healthy

	words atomic.Uint64
}

// behaviour is how healthy agents act that other watchdogs have taken for dead.
type behaviour struct {
	kind   string
	what   string // for people
	rooms  int
	agents uint32 // in each of them
	spec   noun.RoleSpec
	watch  noun.RoomWatch
	open   int // tasks in each room
	play   func(*actor)
}

const hr = time.Hour

// healthy are 200 agents.
func healthy() []behaviour {
	return []behaviour{
		{"long tool calls",
			"calls of tools of 5 min to 10 h, twenty times what is called stalled, declared for 30 min to 4 h at a time", 5, 5,
			noun.RoleSpec{ProgressLimit: 20 * m}, noun.RoomWatch{}, 40, (*actor).playTools},
		{"long tool calls, reports", "the same with a health report every minute", 2, 5,
			health("active", noun.RoleSpec{ProgressLimit: 20 * m}), noun.RoomWatch{}, 40, (*actor).playTools},
		{"slow models", "nothing is heard of them for 20 to 25 min at a time, and they do not say so", 3, 5,
			noun.RoleSpec{}, noun.RoomWatch{IdleLimit: hr}, 40, (*actor).playSlow},
		{"slow models, reports", "the same with a health report every 5 min", 2, 5,
			health("background", noun.RoleSpec{}), noun.RoomWatch{IdleLimit: 30 * m}, 40, (*actor).playSlow},
		{"humans answer late", "they ask a human and wait for 10 min to 14 h, now and then over a weekend", 2, 5,
			noun.RoleSpec{ProgressLimit: 30 * m}, noun.RoomWatch{}, 40, (*actor).playAsking},
		{"permission prompts", "their terminal asks a human, for as long, and they do not say so", 2, 5,
			noun.RoleSpec{ProgressLimit: 30 * m, Ladder: noun.LadderRestart}, noun.RoomWatch{}, 40,
			(*actor).playPrompts},
		{"parked", "they wait for a time, 20 min to two days, declared for at most 4 h at a time", 3, 5,
			noun.RoleSpec{ProgressLimit: 30 * m}, noun.RoomWatch{}, 40, (*actor).playParked},
		{"out of quota",
			"their tool is out of quota for an hour to two days: the process ends, often without knowing until when", 2, 5,
			noun.RoleSpec{}, noun.RoomWatch{IdleLimit: hr}, 40, (*actor).playQuota},
		{"idle, critical", "they wait for a task all week and report every 30 s", 1, 7,
			health("critical", noun.RoleSpec{}), noun.RoomWatch{}, 0, (*actor).playIdle},
		{"idle, active", "every minute", 1, 7, health("active", noun.RoleSpec{}), noun.RoomWatch{}, 0,
			(*actor).playIdle},
		{"idle, background", "every 5 min", 1, 7, health("background", noun.RoleSpec{}), noun.RoomWatch{},
			0, (*actor).playIdle},
		{"idle, standby", "every 15 min", 1, 7, health("standby", noun.RoleSpec{}), noun.RoomWatch{}, 0,
			(*actor).playIdle},
		{"batches", "a report every 5 min, give or take, one in ten of them lost; progress every 10 to 25 min", 4, 5,
			health("background", noun.RoleSpec{}), noun.RoomWatch{IdleLimit: 30 * m}, 40, (*actor).playBatch},
		{"tasks longer than expected", "no progress for 1 to 6 h, but mail to a colleague every 12 to 25 min", 5, 3,
			noun.RoleSpec{}, noun.RoomWatch{IdleLimit: 30 * m}, 40, (*actor).playMail},
		{"silent conversations",
			"one agent in a room with a limit of its own or none, which says something every 20 to 28 min", 12, 1,
			noun.RoleSpec{}, noun.RoomWatch{}, 8, (*actor).playQuiet},
		{"chatty conversations", "tasks of 1 to 5 min, agents started when there is one", 2, 5,
			noun.RoleSpec{Start: noun.StartOnDemand}, noun.RoomWatch{}, 10, (*actor).playChatty},
		{"laptops", "at work on machines that are suspended for up to 6 min at a time; they report every minute", 2, 5,
			health("active", noun.RoleSpec{TTL: 10 * m, Labels: laptop}), noun.RoomWatch{IdleLimit: 30 * m},
			40, (*actor).playBatch},
	}
}

var laptop, rack = []noun.KV{{Key: "site", Value: "laptop"}}, []noun.KV{{Key: "site", Value: "rack"}}

// health adds the reports of a preset to a role.
func health(preset string, spec noun.RoleSpec) noun.RoleSpec {
	for _, p := range noun.HealthPresets() {
		if p.Name == preset {
			spec.HealthEvery, spec.HealthMissed = p.Every, p.Missed
			return spec
		}
	}
	panic("no such preset: " + preset)
}

// healthyParts are the roles of all behaviours.
func healthyParts() (list []*part) {
	for n, b := range healthy() {
		for i := range b.rooms {
			p := &part{name: fmt.Sprintf("part-%d-%d", n, i), kind: b.kind, spec: b.spec, watch: b.watch,
				open: b.open, play: b.play, every: 20 * m}
			p.room = "room-" + p.name
			p.spec.Name, p.spec.Replicas, p.spec.Runner = p.name, b.agents, "ai"
			if p.spec.Labels == nil {
				p.spec.Labels = rack
			}
			switch b.kind {
			case "silent conversations":
				p.watch = noun.RoomWatch{Disabled: i%2 == 0}
				if i%2 == 1 {
					p.watch.IdleLimit = hr
				}
			case "chatty conversations":
				p.every = 2 * m
			}
			list = append(list, p)
		}
	}
	return list
}

func (a *actor) playTools() {
	if !a.take() || !a.works(a.between(2*m, 9*m), m, 5*m) {
		return
	}
	for range 1 + a.rng.IntN(3) {
		span := []time.Duration{30 * m, hr, 4 * hr}[a.rng.IntN(3)]
		if !a.through(noun.WaitingTool, a.long(5*m, 20*30*m), span) || !a.progress() ||
			!a.works(a.between(2*m, 9*m), m, 5*m) {
			return
		}
	}
	a.finish()
}

func (a *actor) playSlow() {
	if a.take() && a.works(a.between(hr, 4*hr), 20*m, 25*m) {
		a.finish()
	}
}

// needsInputFor is what `vigil declare needs-input` and the hooks in configs/agents declare.
const needsInputFor = 24 * hr

func (a *actor) playAsking() {
	if !a.take() || !a.works(a.between(5*m, 40*m), m, 8*m) {
		return
	}
	answer := a.long(10*m, 14*hr)
	if a.rng.IntN(20) == 0 {
		answer = a.between(40*hr, 64*hr)
	}
	if a.through(noun.WaitingInput, answer, needsInputFor) && a.progress() && a.works(a.between(5*m, 20*m), m, 8*m) {
		a.finish()
	}
}

func (a *actor) playParked() {
	if a.take() && a.works(a.between(5*m, 40*m), m, 8*m) &&
		a.through(noun.WaitingUntil, a.long(20*m, 48*hr), []time.Duration{30 * m, 4 * hr}[a.rng.IntN(2)]) &&
		a.progress() && a.works(a.between(5*m, 20*m), m, 8*m) {
		a.finish()
	}
}

// playQuota: the next lives find the tool out of quota, too, until it is over.
func (a *actor) playQuota() {
	c := a.w.cfg.cast
	if until := c.quota(a.l.name); time.Until(until) > 0 {
		a.rest(a.between(5*s, 40*s))
		a.exhausted(0)
		return
	}
	if !a.take() || !a.works(a.between(20*m, 2*hr), m, 8*m) {
		return
	}
	if a.rng.IntN(3) > 0 {
		a.finish()
		return
	}
	lasting := a.long(hr, 48*hr)
	c.spend(a.l.name, lasting)
	if a.rng.IntN(2) == 0 {
		lasting = 0
	}
	a.exhausted(lasting)
}

// exhausted ends the process: its tool is out of quota, it knows until when or not.
func (a *actor) exhausted(retry time.Duration) {
	a.d.mu.Lock()
	a.l.spent, a.l.retry = true, retry
	a.d.mu.Unlock()
	a.die("quota", 1, "", true)
}

func (a *actor) playIdle() {
	if a.enter() {
		a.wait()
	}
}

func (a *actor) playBatch() {
	if a.take() && a.works(a.between(hr, 4*hr), 10*m, 25*m) {
		a.finish()
	}
}

func (a *actor) playMail() {
	if !a.take() {
		return
	}
	for left := a.between(hr, 6*hr); left > 0; {
		n := a.between(12*m, 25*m)
		if left -= n; !a.rest(n) || !a.post() {
			return
		}
	}
	a.finish()
}

// post writes to a colleague, and reads and acknowledges what colleagues have written.
func (a *actor) post() bool {
	to := fmt.Sprintf("%s/%s.%d", a.part.room, a.part.name, 1+a.rng.IntN(int(a.part.spec.Replicas)))
	a.part.words.Add(1)
	if _, ok := a.say(func(s fsm.Speaker) fsm.Command {
		return fsm.SendMail{Speaker: s, To: to, Subject: "half done", Priority: noun.MailLow}
	}); !ok {
		return false
	}
	_, ok := a.say(func(s fsm.Speaker) fsm.Command { return fsm.ReadMail{Speaker: s} })
	for _, id := range a.w.unacknowledged(a.l.id) {
		if ok {
			_, ok = a.say(func(s fsm.Speaker) fsm.Command { return fsm.AckMail{Speaker: s, Mail: id} })
		}
	}
	return ok
}

func (a *actor) playQuiet() {
	if a.take() && a.works(a.between(hr, 4*hr), 20*m, 28*m) {
		a.finish()
	}
}

func (a *actor) playChatty() {
	if a.take() && a.works(a.between(m, 5*m), 30*s, 2*m) {
		a.finish()
	}
}
