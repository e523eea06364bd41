package agentd

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"vigil/agentd/runner"
	"vigil/rpc/gen/vigilv1"
)

// L4, L6: an order that is no longer open starts nothing.
func TestRefusedAcceptForksNothing(t *testing.T) {
	r := newRig(t, time.Minute, false)
	r.set(func() { r.onAccept = func(*vigilv1.AcceptOrderRequest) error { return no("superseded") } })
	r.stream.orders(t, order("start", 1, 1, "wait"))
	next(t, r.accepts)
	until(t, "the refusal", func() bool { return strings.Contains(r.log.String(), "nothing was started") })
	r.set(func() { r.onAccept = nil })
	// The next life is the first process there is.
	a := r.start(t, "wait", 1, 2)
	none(t, r.agents, "an agent was forked for a refused order")
	a.conn.Write([]byte("hello\n"))
	a.expect(t, "heard hello")
	none(t, r.exits, "a report about a life that never was")
}

// L4: an order that comes again and again starts one process.
func TestRepeatedOrdersStartOnce(t *testing.T) {
	r := newRig(t, time.Minute, false)
	o := order("start", 1, 1, "wait")
	r.stream.orders(t, o, o)
	r.stream.orders(t, o)
	next(t, r.agents).expect(t, "up")
	next(t, r.starts)
	for range 20 {
		r.stream.orders(t, o)
	}
	r.stream.settle(t)
	stop := order("stop", 1, 1, "wait")
	r.stream.orders(t, stop, stop)
	exit := next(t, r.exits)
	if exit.GetReason() != "stopped by order" {
		t.Errorf("exit %v", exit)
	}
	// The list may be old: it still holds the start.
	r.stream.orders(t, o)
	r.stream.orders(t, stop)
	r.stream.settle(t)
	r.start(t, "wait", 2, 1)
	none(t, r.agents, "a second process")
	none(t, r.exits, "a second exit report")
	if n := len(r.accepts); n != 2 {
		t.Errorf("%d acceptances, want 2", n)
	}
}

// A lost answer to an acceptance is asked for again with the same token.
func TestLostAcceptAnswerIsAskedForAgain(t *testing.T) {
	r := newRig(t, time.Minute, false)
	tries := 0
	r.set(func() {
		r.onAccept = func(*vigilv1.AcceptOrderRequest) error {
			if tries++; tries < 3 {
				return no("unavailable")
			}
			return nil
		}
	})
	r.start(t, "wait", 1, 1)
	first, second, third := next(t, r.accepts), next(t, r.accepts), next(t, r.accepts)
	if string(first.TokenHash) != string(second.TokenHash) || string(first.TokenHash) != string(third.TokenHash) {
		t.Error("another attempt had another token")
	}
	none(t, r.agents, "a second process")
}

// The acceptance counts as a beat from when it was first sent: an answer that comes
// late must be followed by an acknowledged beat before anything is forked (L7).
func TestLateAcceptWaitsForBeat(t *testing.T) {
	r := newRig(t, time.Minute, true)
	next(t, r.beats)
	r.set(func() {
		r.onAccept = func(*vigilv1.AcceptOrderRequest) error { r.advance(50 * time.Second); return nil }
		r.onBeat = func(b *vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) { return nil, no("unavailable") }
	})
	r.stream.orders(t, order("start", 1, 1, "wait"))
	for len(next(t, r.beats).GetAgents()) == 0 {
		r.advance(time.Second)
	}
	none(t, r.agents, "forked without a beat")
	r.set(func() { r.onBeat = nil })
	r.advance(2 * time.Second)
	next(t, r.agents).expect(t, "up")
}

func TestCrashIsReportedWithItsEvidence(t *testing.T) {
	r := newRig(t, time.Minute, false)
	r.set(func() {
		failures := 2
		r.onExit = func(*vigilv1.ReportExitRequest) error {
			if failures--; failures >= 0 {
				return no("no_leader")
			}
			return nil
		}
	})
	a := r.start(t, "crash", 1, 1)
	a.conn.Write([]byte("die\n"))
	next(t, r.exits)
	next(t, r.exits)
	x := next(t, r.exits)
	if x.GetCode() != 3 || x.GetSignal() != "" || x.GetReason() != "" || x.GetStartFailed() || x.GetHost() != 7 {
		t.Errorf("exit %v", x)
	}
	tail := x.GetTail()
	if !utf8.ValidString(tail) || len(tail) > maxTail || len(tail) < maxTail/2 || !strings.HasSuffix(tail, "line 1999 ?\nlast words\n") ||
		!strings.HasPrefix(tail, "line ") {
		t.Errorf("tail of %d bytes: %q", len(tail), tail)
	}
	// It restarts nothing by itself.
	r.start(t, "wait", 2, 1)
	none(t, r.agents, "restarted without an order")
}

func TestKilledAgentIsReportedWithItsSignal(t *testing.T) {
	r := newRig(t, time.Minute, false)
	r.stream.orders(t, order("start", 1, 1, "wait"))
	pid := next(t, r.agents).expect(t, "up")
	p, _ := os.FindProcess(pid)
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if x := next(t, r.exits); x.GetSignal() != "killed" || x.GetCode() != -1 {
		t.Errorf("exit %v", x)
	}
}

func TestStopEscalatesToKill(t *testing.T) {
	r := newRig(t, time.Minute, false)
	a := r.start(t, "deaf", 1, 1)
	stop := order("stop", 1, 1, "")
	stop.StopGrace.Seconds, stop.StopGrace.Nanos = 0, 200e6
	stop.Reason = "a human said so"
	r.stream.orders(t, stop)
	a.expect(t, "deaf to SIGTERM")
	a.gone(t)
	if x := next(t, r.exits); x.GetSignal() != "killed" || x.GetReason() != "a human said so" {
		t.Errorf("exit %v", x)
	}
}

// Nothing of an incarnation outlives its exit report, not even what has left the
// process group and the session.
func TestGrandchildrenAreGoneBeforeTheReport(t *testing.T) {
	r := newRig(t, time.Minute, false)
	r.stream.orders(t, order("start", 1, 1, "fork"))
	var all []int
	for range 3 {
		all = append(all, next(t, r.agents).expect(t, "up"))
	}
	start := next(t, r.starts)
	p, _ := os.FindProcess(int(start.GetPid()))
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	next(t, r.exits)
	for _, pid := range all {
		if s := state(pid); s != 0 && s != 'Z' {
			t.Errorf("process %d is in state %c after the exit report", pid, s)
		}
	}
}

// L6: a superseded life is stopped, and a newer one on the same host waits for it.
func TestSupersededBeatStops(t *testing.T) {
	r := newRig(t, time.Minute, true)
	r.set(func() {
		r.onBeat = func(b *vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) {
			answer := &vigilv1.BeatResponse{}
			for i, a := range b.GetAgents() {
				if b.GetIncarnations()[i] == 1 {
					answer.Exceptions = append(answer.Exceptions, &vigilv1.BeatException{Agent: a, Incarnation: 1, Verdict: "superseded"})
				}
			}
			return answer, nil
		}
	})
	a := r.start(t, "wait", 1, 1)
	r.advance(16 * time.Second)
	a.expect(t, "bye")
	if x := next(t, r.exits); x.GetReason() != "superseded" {
		t.Errorf("exit %v", x)
	}
	r.start(t, "wait", 1, 2)
}

func TestNewerOrderReplacesTheOldLife(t *testing.T) {
	r := newRig(t, time.Minute, false)
	a := r.start(t, "wait", 1, 1)
	r.stream.orders(t, order("start", 1, 2, "wait"))
	b := next(t, r.agents)
	b.expect(t, "up")
	select {
	case _, ok := <-a.words:
		for ok {
			_, ok = <-a.words
		}
	case <-time.After(patience):
		t.Fatal("the old life still runs")
	}
	if x := next(t, r.exits); x.GetIncarnation() != 1 {
		t.Errorf("exit %v", x)
	}
}

// L7: without an acknowledged beat for 0.75 TTL the tree is frozen; a beat that is
// answered current thaws it, and the work goes on.
func TestLostConnectionFreezesAndThaws(t *testing.T) {
	r := newRig(t, time.Minute, true)
	r.stream.orders(t, order("start", 1, 1, "wait"))
	a := next(t, r.agents)
	pid := a.expect(t, "up")
	next(t, r.starts)
	r.set(func() {
		r.onBeat = func(*vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) { return nil, no("unavailable") }
	})
	r.advance(44 * time.Second)
	for len(next(t, r.beats).GetAgents()) == 0 { // a look at the clock has happened
	}
	if s := state(pid); s == 'T' {
		t.Fatal("frozen before 0.75 TTL")
	}
	r.advance(2 * time.Second)
	until(t, "the freeze", func() bool { return state(pid) == 'T' })
	none(t, r.exits, "the fence is no crash")
	r.set(func() { r.onBeat = nil })
	r.advance(time.Second)
	until(t, "the thaw", func() bool { return state(pid) != 'T' })
	a.conn.Write([]byte("again\n"))
	a.expect(t, "heard again")
	none(t, r.exits, "the work goes on")
}

func TestFrozenForTooLongIsKilled(t *testing.T) {
	r := newRig(t, time.Minute, true)
	r.stream.orders(t, order("start", 1, 1, "wait"))
	a := next(t, r.agents)
	pid := a.expect(t, "up")
	next(t, r.starts)
	r.set(func() {
		r.onBeat = func(*vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) { return nil, no("unavailable") }
	})
	r.advance(46 * time.Second)
	until(t, "the freeze", func() bool { return state(pid) == 'T' })
	r.advance(31 * time.Minute)
	a.gone(t)
	if x := next(t, r.exits); !strings.Contains(x.GetReason(), "frozen for 30m0s") {
		t.Errorf("exit %v", x)
	}
}

// A frozen life that is superseded does not run for another moment.
func TestFrozenAndSupersededIsKilledAtOnce(t *testing.T) {
	r := newRig(t, time.Minute, true)
	r.stream.orders(t, order("start", 1, 1, "wait"))
	a := next(t, r.agents)
	pid := a.expect(t, "up")
	next(t, r.starts)
	r.set(func() {
		r.onBeat = func(*vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) { return nil, no("unavailable") }
	})
	r.advance(46 * time.Second)
	until(t, "the freeze", func() bool { return state(pid) == 'T' })
	r.set(func() {
		r.onBeat = func(b *vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) {
			return &vigilv1.BeatResponse{Exceptions: []*vigilv1.BeatException{{Agent: 1, Incarnation: 1, Verdict: "superseded"}}}, nil
		}
	})
	r.advance(2 * time.Second)
	a.gone(t)
	if x := next(t, r.exits); x.GetSignal() != "killed" || x.GetReason() != "superseded" {
		t.Errorf("exit %v", x)
	}
}

func TestBadOrdersFailWithTheirReason(t *testing.T) {
	r := newRig(t, time.Minute, false)
	for i, c := range []struct {
		change func(*vigilv1.Order)
		want   string
	}{
		{func(o *vigilv1.Order) { o.Params = map[string]string{"x": "y"} }, `parameter "x" is not declared by runner "wait"`},
		{func(o *vigilv1.Order) { o.Runner = "nope" }, `runner "nope" is not declared on this host (declared: crash,`},
		{func(o *vigilv1.Order) { o.AgentName = "../../etc/passwd" }, "is not room/role"},
	} {
		o := order("start", uint32(i+1), 1, "wait")
		c.change(o)
		r.stream.orders(t, o)
		x := next(t, r.exits)
		if !x.GetStartFailed() || !strings.Contains(x.GetReason(), c.want) {
			t.Errorf("%q: exit %v", c.want, x)
		}
		// The report counts only because the order was accepted before.
		next(t, r.accepts)
	}
	none(t, r.agents, "something was started")
}

func TestHostGoneRegistersAgainWithInventory(t *testing.T) {
	r := newRig(t, time.Minute, true)
	if first := next(t, r.registers); len(first.GetInventory()) != 0 || first.GetBoot() != "boot-1" || len(first.GetRunners()) != 7 {
		t.Errorf("first registration %v", first)
	}
	a := r.start(t, "wait", 3, 5)
	gone := true
	r.set(func() {
		r.onBeat = func(b *vigilv1.BeatRequest) (*vigilv1.BeatResponse, error) {
			defer func() { gone = false }()
			return &vigilv1.BeatResponse{HostGone: gone}, nil
		}
	})
	r.advance(16 * time.Second)
	again := next(t, r.registers)
	if len(again.GetInventory()) != 1 || again.GetInventory()[0].GetAgent() != 3 || again.GetInventory()[0].GetIncarnation() != 5 ||
		again.GetInventory()[0].GetPid() == 0 {
		t.Errorf("inventory %v", again.GetInventory())
	}
	a.conn.Write([]byte("hello\n"))
	a.expect(t, "heard hello")
}

func TestBeatsCarryAllAgentsInOneCall(t *testing.T) {
	r := newRig(t, time.Minute, true)
	for agent := uint32(3); agent > 0; agent-- {
		r.start(t, "wait", agent, uint64(agent))
	}
	r.advance(16 * time.Second)
	for {
		b := next(t, r.beats)
		if len(b.GetAgents()) < 3 {
			continue
		}
		if got := fmt.Sprintln(b.GetAgents(), b.GetIncarnations(), b.GetKinds(), b.GetHost(), b.GetBoot()); got != "[1 2 3] [1 2 3] [6 6 6] 7 boot-1\n" {
			t.Errorf("beat %v", b)
		}
		return
	}
}

func TestStreamAnswersPingsAndComesBack(t *testing.T) {
	r := newRig(t, time.Minute, false)
	if r.stream.hello.GetHost() != 7 || r.stream.hello.GetBoot() != "boot-1" {
		t.Errorf("hello %v", r.stream.hello)
	}
	r.stream.ping(t, 41)
	if n := next(t, r.stream.heard).GetPong().GetN(); n != 41 {
		t.Errorf("pong %d", n)
	}
	r.stream.end <- errors.New("server goes down")
	r.stream = next(t, r.streams)
	r.stream.orders(t, order("start", 1, 1, "wait"))
	next(t, r.agents).expect(t, "up")
}

func TestSilentStreamIsReplaced(t *testing.T) {
	f := newFake(t, time.Minute)
	a, err := Open(Config{DataDir: t.TempDir(), Conn: f.conn, Addrs: []string{"x"}, Boot: "b"})
	if err != nil {
		t.Fatal(err)
	}
	a.silence = 50 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	next(t, f.streams)
	next(t, f.streams)
	cancel()
	if err := next(t, done); err != nil {
		t.Error(err)
	}
}

func TestShutdownStopsReportsAndLeaves(t *testing.T) {
	r := newRig(t, time.Minute, false)
	a := r.start(t, "wait", 1, 1)
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	a.expect(t, "bye")
	if x := next(t, r.exits); x.GetReason() != "host is shutting down" || x.GetCode() != 0 {
		t.Errorf("exit %v", x)
	}
	next(t, r.leaves)
}

func TestShutdownIsBounded(t *testing.T) {
	r := newRig(t, time.Minute, false, func(c *Config) { c.ShutdownLimit = 200 * time.Millisecond })
	a := r.start(t, "deaf", 1, 1) // its grace is 20 s
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	a.gone(t)
	if x := next(t, r.exits); x.GetSignal() != "killed" {
		t.Errorf("exit %v", x)
	}
}

func TestSecondDaemonOnOneDirectoryIsRefused(t *testing.T) {
	r := newRig(t, time.Minute, false)
	_, err := Open(Config{DataDir: r.dir, Conn: r.conn, Addrs: []string{"x"}, Boot: "b"})
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("error %v", err)
	}
}

func TestHostKeyIsStableAndPrivate(t *testing.T) {
	f, dir := newFake(t, time.Minute), t.TempDir()
	keys := map[string]bool{}
	for range 2 {
		a, err := Open(Config{DataDir: dir, Conn: f.conn, Addrs: []string{"x"}, Boot: "b"})
		if err != nil {
			t.Fatal(err)
		}
		keys[a.Key()] = true
		a.Close()
	}
	info, err := os.Stat(filepath.Join(dir, keyFile))
	if err != nil || info.Mode().Perm() != 0o600 || len(keys) != 1 {
		t.Errorf("keys %v, file %v, %v", keys, info, err)
	}
	if err := os.WriteFile(filepath.Join(dir, keyFile), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Config{DataDir: dir, Conn: f.conn, Addrs: []string{"x"}, Boot: "b"}); err == nil ||
		!strings.Contains(err.Error(), "32 hexadecimal digits") {
		t.Errorf("error %v", err)
	}
}

func TestMissingProgramIsRefusedAtOpen(t *testing.T) {
	f := newFake(t, time.Minute)
	_, err := Open(Config{DataDir: t.TempDir(), Conn: f.conn, Addrs: []string{"x"}, Boot: "b",
		Runners: []runner.Runner{{Name: "a", Program: "/no/such/program"}}})
	var faults runner.Faults
	if !errors.As(err, &faults) || faults[0].Place() != "runners[0].program" {
		t.Errorf("error %v", err)
	}
}

// The environment is what was promised and nothing else; the token stays out of
// arguments, logs and the cluster.
func TestEnvironmentAndToken(t *testing.T) {
	t.Setenv("SECRET_OF_THE_DAEMON", "x")
	r := newRig(t, time.Minute, false, func(c *Config) {
		for i := range c.Runners {
			if c.Runners[i].Name == "env" {
				c.Runners[i].Args = []string{"--room=${VIGIL_ROOM}", "${param.model}", "$${x}", "${VIGIL_RESUME}"}
				c.Runners[i].Params = map[string]runner.Param{"model": {}}
			}
		}
	})
	o := order("start", 4, 1<<32+2, "env")
	o.AgentName, o.Params, o.Resume = "demo/builder.2", map[string]string{"model": "m-1"}, "conv 7"
	r.stream.orders(t, o)
	words := next(t, next(t, r.agents).words)
	args, env, _ := strings.Cut(words, " | ")
	if !strings.HasSuffix(args, "--room=demo m-1 ${x} conv 7") {
		t.Errorf("arguments %q", args)
	}
	token := ""
	for _, want := range []string{"VIGIL_ADDR=127.0.0.1:7420", "VIGIL_ROOM=demo", "VIGIL_ROLE=builder",
		"VIGIL_AGENT=demo/builder.2", "VIGIL_INCARNATION=4294967298", "VIGIL_AGENT_ID=4", "VIGIL_RESUME=conv 7", "PATH="} {
		if !strings.Contains(env, want) {
			t.Errorf("%s is missing in %s", want, env)
		}
	}
	if _, rest, ok := strings.Cut(env, "VIGIL_TOKEN="); ok {
		token, _, _ = strings.Cut(rest, " ")
	}
	if strings.Contains(env, "SECRET_OF_THE_DAEMON") {
		t.Error("a variable of the daemon was let through")
	}
	hash := sha256.Sum256([]byte(token))
	if len(token) < 40 || string(next(t, r.accepts).GetTokenHash()) != string(hash[:]) {
		t.Errorf("token %q does not belong to the hash", token)
	}
	if strings.Contains(r.log.String(), token) || strings.Contains(args, token) {
		t.Error("the token was shown")
	}
}

// What a killed daemon left behind is gone before the host says what runs there.
func TestStrayOfAnEarlierDaemonIsKilledFirst(t *testing.T) {
	f := newFake(t, time.Minute)
	r := &rig{fake: f, dir: t.TempDir(), agents: make(chan *agentTalk, 10), log: &lockedBuffer{}}
	socket := r.listen(t)
	config := Config{DataDir: r.dir, Conn: f.conn, Addrs: []string{"x"}, Boot: "b"}
	a, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	key := a.Key()
	a.Close()
	stray := startStray(t, socket, "VIGIL_HOST="+key, "VIGIL_AGENT_ID=1", "VIGIL_INCARNATION=1")
	other := startStray(t, socket, "VIGIL_HOST="+strings.Repeat("0", 32), "VIGIL_AGENT_ID=1", "VIGIL_INCARNATION=1")
	first, second := next(t, r.agents), next(t, r.agents)
	if first.expect(t, "up") != stray {
		first, second = second, first
	}
	r.run(t, config)
	next(t, f.registers)
	first.gone(t)
	if s := state(other); s == 0 || s == 'Z' {
		t.Error("a process of another host was killed")
	}
	second.conn.Close()
}
