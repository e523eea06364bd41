package agentd

import (
	"crypto/sha256"
	"os"
	"strings"
	"testing"
	"time"

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

// L4: the order that comes with the answer to a report is accepted like any other, once: the stream brings it too,
// and an old answer starts nothing.
func TestL4TheNextOrderComesWithTheAnswer(t *testing.T) {
	r := newRig(t, time.Minute, false)
	next2 := order("start", 1, 2, "wait")
	r.set(func() { r.following = next2 })
	a := r.start(t, "plain", 1, 1)
	next(t, r.accepts)
	a.conn.Close() // it ends
	next(t, r.exits)
	if o := next(t, r.accepts); o.GetIncarnation() != 2 || len(o.GetTokenHash()) == 0 {
		t.Errorf("accepted: %v", o)
	}
	a = next(t, r.agents)
	a.expect(t, "up")
	if s := next(t, r.starts); s.GetIncarnation() != 2 {
		t.Errorf("started: %v", s)
	}
	r.stream.orders(t, next2)
	r.stream.settle(t)
	none(t, r.accepts, "the order was accepted twice")
	// The answer to the next report is of the past.
	a.conn.Close()
	if x := next(t, r.exits); x.GetIncarnation() != 2 {
		t.Errorf("exit %v", x)
	}
	r.start(t, "wait", 2, 1)
	if o := next(t, r.accepts); o.GetAgent() != 2 {
		t.Errorf("accepted: %v", o)
	}
	none(t, r.accepts, "an old answer was accepted")
	none(t, r.agents, "an old answer started an agent")
}

// L9: a daemon that ends its agents takes no order from an answer.
func TestL9NoNextLifeOfADaemonThatEnds(t *testing.T) {
	r := newRig(t, time.Minute, false)
	r.set(func() { r.following = order("start", 1, 2, "wait") })
	r.start(t, "wait", 1, 1)
	next(t, r.accepts)
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	next(t, r.exits)
	none(t, r.accepts, "an order was accepted at the end")
	none(t, r.agents, "an agent was started at the end")
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

func TestBadOrdersFailWithTheirReason(t *testing.T) {
	r := newRig(t, time.Minute, false)
	for i, c := range []struct {
		change func(*vigilv1.Order)
		want   string
	}{
		{func(o *vigilv1.Order) { o.Params = map[string]string{"x": "y"} },
			`parameter "x" is not declared by runner "wait"`},
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
	o.AgentName, o.Params, o.Resume = "demo/builder.2", map[string]string{"model": "m-1"}, "conv-7"
	r.stream.orders(t, o)
	words := next(t, next(t, r.agents).words)
	args, env, _ := strings.Cut(words, " | ")
	if !strings.HasSuffix(args, "--room=demo m-1 ${x} conv-7") {
		t.Errorf("arguments %q", args)
	}
	token := ""
	for _, want := range []string{"VIGIL_ADDR=127.0.0.1:7420", "VIGIL_ROOM=demo", "VIGIL_ROLE=builder",
		"VIGIL_AGENT=demo/builder.2", "VIGIL_INCARNATION=4294967298", "VIGIL_RESUME=conv-7", "PATH="} {
		if !strings.Contains(env, want) {
			t.Errorf("%s is missing in %s", want, env)
		}
	}
	if _, rest, ok := strings.Cut(env, "VIGIL_TOKEN_FILE="); ok {
		path, _, _ := strings.Cut(rest, " ")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		token = string(text)
	}
	if strings.Contains(env, "VIGIL_TOKEN=") || strings.Contains(env, token) {
		t.Error("the token is in the environment")
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
