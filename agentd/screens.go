package agentd

import (
	"context"
	"hash/maphash"
	"time"

	"vigil/agentd/output"
	"vigil/agentd/runner"
	"vigil/agentd/shim"
	"vigil/rpc/client"
	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

const (
	// maxLooks bounds the looks at terminals that are under way.
	maxLooks = 4
	// screenGap is the least time between two reports about one life.
	screenGap = 10 * time.Second
	// lastOutput is how much of an agent's output is matched, in bytes.
	lastOutput = 32 << 10
)

// screens is what this host does to see what stands on the terminals of its agents.
type screens struct {
	looking int
	telling bool
	seed    maphash.Seed
}

// sight is what is seen of one life. What was printed stays on the host: only its kind is told.
type sight struct {
	prompts runner.Prompts
	tmux    bool // its terminal is looked at, else its output

	due     time.Duration
	looking bool
	looks   int
	stamp   output.Stamp // of its output at the last look
	letters uint64       // of what was there
	moved   time.Duration
	match   runner.Match // of the last look, of which one more must be sure
	matched bool
	now     seen

	told   seen // zero: nothing
	toldAt time.Duration
	known  bool // toldAt holds
}

// seen is what is told.
type seen struct {
	prompt string // none or one of runner.PromptKinds; empty: not known yet
	quiet  bool
}

// look is the result of one look.
type look struct {
	stamp output.Stamp
	same  bool // nothing was printed since the last one
	text  string
	err   error
}

// watch has a life that runs looked at, if its runner has prompts.
func (k *keeper) watch(l *life) {
	if p := k.runners.Prompts(l.order.GetRunner()); len(p) > 0 {
		l.sight = &sight{prompts: p, tmux: k.runners.Kind(l.order.GetRunner()) == runner.KindTmux}
	}
}

// lookAtScreens begins the looks that are due, tells what has changed, and says when to look
// again.
func (k *keeper) lookAtScreens(now time.Duration) time.Duration {
	for _, l := range k.lives {
		s := l.sight
		if s == nil || l.phase != running {
			continue
		}
		// A frozen tree prints nothing, and its tmux answers nobody.
		if !s.looking && now >= s.due && !l.frozen && k.screens.looking < maxLooks {
			k.lookAt(l)
		}
		k.tellScreen(now, l)
	}
	return longestNap
}

func (k *keeper) lookAt(l *life) {
	s, process, name := l.sight, l.process, l.order.GetAgentName()
	before, first := s.stamp, s.looks == 0
	s.looking = true
	k.screens.looking++
	k.spawn(func() {
		got := k.seeScreen(process, name, s.tmux, before, first)
		k.send(func() {
			k.screens.looking--
			s.looking = false
			k.saw(l, got)
		})
	})
}

// seeScreen looks, when anything was printed since the last look. It owns nothing of the
// keeper. Types of terminals do not matter: whatever a terminal shows has gone through the log.
func (k *keeper) seeScreen(p process, name string, tmux bool, before output.Stamp, first bool) (got look) {
	log, err := k.logs.Log(name)
	if err == nil {
		got.stamp, err = log.Stamp() // before the screen, so that nothing is missed
	}
	if got.err = err; err != nil {
		return got
	}
	if got.same = !first && got.stamp.Same(before); got.same {
		return got
	}
	k.metrics.captures.Inc()
	text := ""
	if tmux {
		ctx, cancel := context.WithTimeout(k.ctx, shim.TerminalLimit)
		defer cancel()
		text, err = p.Terminal(ctx, shim.TerminalRequest{Look: true})
	}
	if !tmux || err != nil && err.Error() == shim.ErrNoTerminal.Error() { // it was started without tmux
		text, err = log.Last(lastOutput)
	}
	got.text, got.err = runner.Tidy(text), err
	return got
}

// saw makes of a look what is true of a life. A prompt counts when it stood still from one look
// to the next: text that an agent only prints moves on. Once it counts it may be drawn anew; it
// is gone with the first look that does not find it.
func (k *keeper) saw(l *life, got look) {
	defer k.metrics.looks.Inc()
	s, now := l.sight, k.config.Clock()
	s.due = now + k.config.LookEvery
	if k.lives[l.agent] != l {
		return
	}
	if got.err != nil {
		k.metrics.lookErrors.Inc()
		k.log.Debug("the terminal of an agent cannot be looked at", "agent", l.order.GetAgentName(),
			"incarnation", l.inc, "error", got.err)
		return // what was seen last stays, and is looked at again
	}
	match, matched := s.match, s.matched
	if !got.same {
		match, matched = s.prompts.Match(got.text)
		letters := maphash.String(k.screens.seed, runner.Letters(got.text))
		switch {
		case s.looks == 0: // as long as the file has been untouched, for an agent of an earlier daemon
			s.moved = now
			if at := got.stamp.At; !at.IsZero() {
				s.moved = now - min(max(time.Since(at), 0), k.config.QuietAfter)
			}
		case letters != s.letters:
			s.moved = now
		}
		s.stamp, s.letters = got.stamp, letters
	}
	s.looks++
	sure := matched && (s.now.prompt == match.Kind || s.matched && s.match.Kind == match.Kind &&
		s.match.Text == match.Text && s.match.Below == match.Below)
	switch {
	case sure:
		if s.now.prompt != match.Kind {
			k.metrics.prompts.WithLabelValues(match.Kind).Inc()
			k.log.Info("prompt recognized", "agent", l.order.GetAgentName(), "incarnation", l.inc, "kind",
				match.Kind, "rule", match.Rule)
		}
		s.now.prompt = match.Kind
	case !matched, s.looks > 1, s.now.prompt != "":
		s.now.prompt = "none"
	}
	s.match, s.matched = match, matched
	s.now.quiet = now-s.moved >= k.config.QuietAfter
	k.tellScreen(now, l)
}

// tellScreen reports a change, one report of this host at a time and with screenGap between two
// about one life. What cannot be delivered is told later, as it is then.
func (k *keeper) tellScreen(now time.Duration, l *life) {
	s := l.sight
	if s.now.prompt == "" || s.now == s.told || k.screens.telling || !k.entry.registered ||
		s.known && now-s.toldAt < screenGap {
		return
	}
	what := s.now
	request := &vigilv1.ReportScreenRequest{Host: k.entry.host, Agent: l.agent, Incarnation: l.inc,
		Prompt: what.prompt, Quiet: what.quiet}
	k.screens.telling, s.toldAt, s.known = true, now, true
	k.spawn(func() {
		ctx, cancel := context.WithTimeout(k.ctx, attemptLimit)
		defer cancel()
		_, err := k.host.ReportScreen(ctx, request)
		k.send(func() {
			k.screens.telling = false
			if err == nil || client.Code(err) == code.Superseded { // then a beat or an order ends it
				s.told = what
			}
		})
	})
}

// tellAgain has everything told anew: the cluster may have lost it.
func (k *keeper) tellAgain() {
	k.terminals.told = false
	for _, l := range k.lives {
		if l.sight != nil {
			l.sight.told = seen{}
		}
	}
}
