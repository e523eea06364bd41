package agentd

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/agentd/disk"
	"vigil/agentd/proc"
	"vigil/agentd/runner"
	"vigil/agentd/shim"
	"vigil/rpc/gen/vigilv1"
)

// puppets is a launcher without processes; the test is their fate.
type puppets struct {
	t       *testing.T
	started chan *puppet
	fail    error         // of Start
	hang    chan struct{} // nil, or Start waits for its end
	shows   func() (string, error)

	mu     sync.Mutex
	adopts []any                       // results of Adopt in turn: *puppet or error
	adopt  func(folder string) *puppet // nil, or what Adopt gives
	asked  chan string
}

// puppet is one process that is none.
type puppet struct {
	spec  shim.Spec
	acks  chan time.Duration
	stops chan string
	stuck chan string
	exit  chan shim.Exit
	typed chan shim.TerminalRequest // nil: it has no terminal
	shows func() (string, error)    // nil, or what is on its terminal

	act atomic.Pointer[func(shim.TerminalRequest) (string, error)] // nil, or what its terminal does
}

func (p *puppet) acts(do func(shim.TerminalRequest) (string, error)) { p.act.Store(&do) }

func newPuppet(spec shim.Spec) *puppet {
	return &puppet{spec: spec, acks: make(chan time.Duration, 1000), stops: make(chan string, 10),
		stuck: make(chan string), exit: make(chan shim.Exit, 1)}
}

func (p *puppets) Start(spec shim.Spec, lock *os.File) (process, error) {
	lock.Close()
	if p.hang != nil {
		p.asked <- spec.Folder
		<-p.hang
	}
	if p.fail != nil {
		return nil, p.fail
	}
	one := newPuppet(spec)
	one.shows = p.shows
	p.started <- one
	return one, nil
}

func (p *puppets) Adopt(folder string) (process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked <- folder
	if p.adopt != nil {
		return p.adopt(folder), nil
	}
	result := p.adopts[0]
	if len(p.adopts) > 1 {
		p.adopts = p.adopts[1:]
	}
	if err, ok := result.(error); ok {
		return nil, err
	}
	return result.(*puppet), nil
}

func (p *puppets) Keep(int, int) {}
func (p *puppets) Close()        {}

func (p *puppets) Bury(string, proc.Mark, func(string)) shim.Exit {
	return shim.Exit{Code: -1, Signal: "killed", Vanished: true}
}

func (p *puppet) Started() shim.Started            { return shim.Started{PID: 4711, Degraded: "no control group"} }
func (p *puppet) Acknowledge(sent time.Duration)   { p.acks <- sent }
func (p *puppet) Stop(_ time.Duration, why string) { p.stops <- why }
func (p *puppet) Frozen() bool                     { return false }
func (p *puppet) Terminal(_ context.Context, r shim.TerminalRequest) (string, error) {
	if act := p.act.Load(); act != nil {
		return (*act)(r)
	}
	if p.shows != nil {
		return p.shows()
	}
	if p.typed == nil {
		return "", shim.ErrNoTerminal
	}
	p.typed <- r
	return "$ " + r.Text, nil
}
func (p *puppet) Wait(stuck func(string)) shim.Exit {
	select {
	case word := <-p.stuck:
		stuck(word)
		return <-p.exit
	case exit := <-p.exit:
		return exit
	}
}

func newPuppetRig(t *testing.T, fakeClock bool, change ...func(*Config)) (*rig, *puppets) {
	p := &puppets{t: t, started: make(chan *puppet, 100), asked: make(chan string, 1000)}
	r := &rig{fake: newFake(t, time.Minute), dir: t.TempDir(), log: &lockedBuffer{}, shims: p}
	return r, p.open(t, r, fakeClock, change...)
}

// open runs the daemon of a rig.
func (p *puppets) open(t *testing.T, r *rig, fakeClock bool, change ...func(*Config)) *puppets {
	r.configure(t, fakeClock, append([]func(*Config){func(c *Config) {
		c.Runners = []runner.Runner{{Name: "sleep", Program: "sleep", User: runner.SameUser(), RunLimit: time.Hour}}
		c.ShutdownLimit = time.Millisecond
	}}, change...)...)
	return p
}

// What a shim records of an end is what the cluster hears.
func TestEndsAsTheShimTellsThem(t *testing.T) {
	for name, c := range map[string]struct {
		exit shim.Exit
		want *vigilv1.ReportExitRequest
	}{
		"clean":   {shim.Exit{Tail: "bye"}, &vigilv1.ReportExitRequest{Tail: "bye"}},
		"crash":   {shim.Exit{Code: 3}, &vigilv1.ReportExitRequest{Code: 3}},
		"signal":  {shim.Exit{Code: -1, Signal: "killed"}, &vigilv1.ReportExitRequest{Code: -1, Signal: "killed"}},
		"stopped": {shim.Exit{Ordered: true, Reason: "x"}, &vigilv1.ReportExitRequest{Ordered: true, Reason: "x"}},
		"limit": {shim.Exit{Code: 1, TimedOut: true, Reason: "run limit"},
			&vigilv1.ReportExitRequest{Code: 1, TimedOut: true, Reason: "run limit"}},
		"vanished": {shim.Exit{Code: -1, Vanished: true, Reason: "its shim was killed"},
			&vigilv1.ReportExitRequest{Code: -1, Reason: "its shim was killed"}},
		"no start": {shim.Exit{Code: -1, NotStarted: true, Reason: "no"},
			&vigilv1.ReportExitRequest{Code: -1, StartFailed: true, Reason: "no"}},
		"quota": {shim.Exit{Code: 1, UsageLimit: true, RetryAfter: time.Hour},
			&vigilv1.ReportExitRequest{Code: 1, UsageLimit: true, RetryAfter: durationpb.New(time.Hour)}},
	} {
		t.Run(name, func(t *testing.T) {
			r, p := newPuppetRig(t, false)
			r.stream.orders(t, order("start", 1, 1, "sleep"))
			next(t, p.started).exit <- c.exit
			x := next(t, r.exits)
			c.want.Host, c.want.Agent, c.want.Incarnation = 7, 1, 1
			if !proto.Equal(x, c.want) {
				t.Errorf("report %v, want %v", x, c.want)
			}
		})
	}
}

// L7: what a beat proves is passed on with the time at which it was sent, and the
// shim begins with that of the acceptance.
func TestAcknowledgedBeatsReachTheShim(t *testing.T) {
	r, p := newPuppetRig(t, true)
	o := order("start", 1, 1, "sleep")
	o.RunLimit = durationpb.New(2 * time.Hour)
	before := r.now()
	r.stream.orders(t, o)
	one := next(t, p.started)
	if at := one.spec.Acknowledged; at < before || at > r.now() || one.spec.TTL != time.Minute ||
		one.spec.OrphanLimit != 0 {
		t.Errorf("acknowledged at %s, ordered at %s; spec %+v", at, before, one.spec)
	}
	if one.spec.RunLimit != time.Hour || one.spec.Kind != "exec" || one.spec.StopGrace != 20*time.Second {
		t.Errorf("spec %+v", one.spec)
	}
	next(t, one.acks)
	before = r.now()
	var mu sync.Mutex
	var arrived []time.Duration
	r.set(func() {
		r.onBeat = func(b *vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) {
			mu.Lock()
			arrived = append(arrived, r.now())
			mu.Unlock()
			r.advance(5 * time.Second) // on its way back
			return &vigilv1.BeatResponse{}, nil
		}
	})
	r.advance(16 * time.Second)
	sent := next(t, one.acks)
	for sent < before+16*time.Second {
		sent = next(t, one.acks)
	}
	mu.Lock()
	defer mu.Unlock()
	// It is sent just before it arrives; the next one arrives 15 s after that at the earliest.
	if !slices.ContainsFunc(arrived, func(at time.Duration) bool { return at >= sent && at < sent+9*time.Second }) {
		t.Errorf("acknowledged as of %s, but what was sent arrived at %s", sent, arrived)
	}
	one.exit <- shim.Exit{}
	next(t, r.exits)
}

// A process that cannot be killed is reported, keeps its slot, and nobody vouches
// for it; its end is reported all the same.
func TestProcessThatCannotBeKilled(t *testing.T) {
	r, p := newPuppetRig(t, true)
	r.stream.orders(t, order("start", 1, 1, "sleep"))
	one := next(t, p.started)
	next(t, r.starts)
	r.stream.orders(t, order("stop", 1, 1, ""))
	if why := next(t, one.stops); why != "stopped by order" {
		t.Errorf("stopped because %q", why)
	}
	one.stuck <- "process 4711 is in an uninterruptible sleep"
	if s := next(t, r.stucks); s.GetAgent() != 1 || s.GetIncarnation() != 1 || s.GetHost() != 7 ||
		s.GetReason() != "process 4711 is in an uninterruptible sleep" {
		t.Errorf("report %v", s)
	}
	r.stream.orders(t, order("start", 1, 2, "sleep"))
	drained(r.beats)
	r.advance(16 * time.Second)
	b := next(t, r.beats)
	for len(b.GetAgents()) == 0 {
		b = next(t, r.beats)
	}
	if b.GetKinds()[0] != beatFence {
		t.Errorf("beat %v", b)
	}
	none(t, p.started, "a second life beside it")
	none(t, r.exits, "an end was reported")
	one.exit <- shim.Exit{Code: -1, Signal: "killed", Ordered: true, Reason: "stopped by order"}
	if x := next(t, r.exits); !x.GetOrdered() || x.GetIncarnation() != 1 {
		t.Errorf("exit %v", x)
	}
	two := next(t, p.started)
	two.exit <- shim.Exit{}
	next(t, r.exits)
}

// A start with a runner whose declaration is broken fails with the reason.
func TestStartWithABrokenRunner(t *testing.T) {
	r, _ := newPuppetRig(t, false, func(c *Config) {
		c.Broken = []Broken{{Runner: "typo", Why: "runners.d/typo.yaml:2:1: unknown key"}}
	})
	r.stream.orders(t, order("start", 1, 1, "typo"), order("start", 2, 1, "nowhere"))
	for range 2 {
		x := next(t, r.exits)
		want := map[uint32]string{
			1: `runner "typo" is not offered by this host: runners.d/typo.yaml:2:1: unknown key`,
			2: `runner "nowhere" is not declared`}[x.GetAgent()]
		if !x.GetStartFailed() || !strings.HasPrefix(x.GetReason(), want) {
			t.Errorf("exit %v, want %q", x, want)
		}
	}
}

// What the shim could not have is told with the next registration.
func TestWarningsOfTheShim(t *testing.T) {
	r, p := newPuppetRig(t, true, func(c *Config) { c.Warnings = []string{"from the configuration"} })
	if w := next(t, r.registers).GetWarnings(); len(w) != 1 || w[0] != "from the configuration" {
		t.Errorf("warnings %q", w)
	}
	r.stream.orders(t, order("start", 1, 1, "sleep"))
	one := next(t, p.started)
	next(t, r.starts)
	r.set(func() {
		r.onBeat = func(*vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) {
			return &vigilv1.BeatResponse{HostGone: true}, nil
		}
	})
	r.advance(16 * time.Second)
	if w := next(t, r.registers).GetWarnings(); len(w) != 2 || w[1] != "no control group" {
		t.Errorf("warnings %q", w)
	}
	r.set(func() { r.onBeat = nil })
	one.exit <- shim.Exit{}
	next(t, r.exits)
}

// A shim that does not answer is neither killed nor forgotten: it may run. It is in
// the inventory, and what it missed reaches it when it answers.
func TestShimThatDoesNotAnswerAtOnce(t *testing.T) {
	p := &puppets{t: t, started: make(chan *puppet, 100), asked: make(chan string, 1000)}
	late := newPuppet(shim.Spec{})
	p.adopts = []any{errors.New("it is just starting"), errors.New("still")} // until the host has registered
	r := &rig{fake: newFake(t, time.Minute), dir: t.TempDir(), log: &lockedBuffer{}, shims: p}
	j := disk.Journal{Dir: r.dir + "/lives"}
	_, lock, err := j.Begin(disk.Intent{Version: 1, Boot: "boot-1", Agent: 1, AgentName: "demo/r1",
		Incarnation: 1, TTL: time.Minute}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close() // the shim has it
	p.open(t, r, false)
	if i := next(t, r.registers).GetInventory(); len(i) != 1 || i[0].GetIncarnation() != 1 || i[0].GetPid() != 0 {
		t.Errorf("inventory %v", i)
	}
	p.mu.Lock()
	p.adopts = []any{late}
	p.mu.Unlock()
	r.stream.orders(t, order("stop", 1, 1, ""))
	if why := next(t, late.stops); why != "stopped by order" {
		t.Errorf("stopped because %q", why)
	}
	if sent := next(t, late.acks); sent == 0 {
		sent = next(t, late.acks)
		if sent == 0 {
			t.Error("no beat reached it")
		}
	}
	none(t, r.exits, "an end was reported")
	late.exit <- shim.Exit{Ordered: true, Reason: "stopped by order"}
	if x := next(t, r.exits); !x.GetOrdered() {
		t.Errorf("exit %v", x)
	}
}

// A shim that never answers is told once, since it holds a slot that nobody can look
// into; nobody vouches for its agent. When it answers after all, that is told too.
func TestShimThatNeverAnswers(t *testing.T) {
	p := &puppets{t: t, started: make(chan *puppet, 100), asked: make(chan string, 1000)}
	p.adopts = []any{errors.New("deaf")}
	r := &rig{fake: newFake(t, time.Minute), dir: t.TempDir(), log: &lockedBuffer{}, shims: p}
	_, lock, err := disk.Journal{Dir: r.dir + "/lives"}.Begin(disk.Intent{Version: 1, Boot: "boot-1", Agent: 1,
		AgentName: "demo/r1", Incarnation: 1, TTL: time.Minute}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close() // the shim has it
	p.open(t, r, true)
	next(t, p.asked)
	next(t, p.asked)
	none(t, r.stucks, "reported too early")
	r.advance(elusiveLimit + time.Second)
	if s := next(t, r.stucks); s.GetAgent() != 1 || s.GetIncarnation() != 1 ||
		!strings.Contains(s.GetReason(), "has not answered") {
		t.Errorf("report %v", s)
	}
	drained(r.beats)
	r.advance(16 * time.Second)
	b := next(t, r.beats)
	for len(b.GetAgents()) == 0 {
		b = next(t, r.beats)
	}
	if b.GetKinds()[0] != beatFence {
		t.Errorf("beat %v", b)
	}
	drained(p.asked)
	next(t, p.asked)
	next(t, p.asked)
	none(t, r.stucks, "reported twice")
	late := newPuppet(shim.Spec{})
	p.mu.Lock()
	p.adopts = []any{late}
	p.mu.Unlock()
	if s := next(t, r.stucks); s.GetReason() != "" {
		t.Errorf("report %v", s)
	}
	r.advance(16 * time.Second)
	for next(t, r.starts).GetPid() != 4711 {
	}
	late.exit <- shim.Exit{}
	next(t, r.exits)
}

// A start that fails names the reason, and leaves nothing in the journal.
func TestStartThatFails(t *testing.T) {
	r, p := newPuppetRig(t, false)
	p.fail = errors.New("exec format error")
	r.stream.orders(t, order("start", 1, 1, "sleep"))
	if x := next(t, r.exits); !x.GetStartFailed() || x.GetReason() != "exec format error" || x.GetOrdered() {
		t.Errorf("exit %v", x)
	}
	until(t, "the end of the folder", func() bool {
		list, err := os.ReadDir(r.dir + "/lives")
		return err == nil && len(list) == 0
	})
}
