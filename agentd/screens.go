package agentd

import (
	"context"
	"hash/maphash"
	"strings"
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
	// maxTrust is for how long looks at a terminal are spared because its log has not grown: a log says nothing where
	// it cannot be written, for reasons that nobody here needs to know.
	maxTrust = 5 * time.Minute
	// lastOutput is how much of an agent's output is matched, in bytes.
	lastOutput = 32 << 10
)

// screens is the part that sees what stands on the terminals of this host's agents.
type screens struct {
	base
	member   *membership
	lives    *lives
	pressure *pressure

	looking int
	telling bool
	seed    maphash.Seed
}

// look begins the looks that are due, tells what has changed, and says when to look
// again.
func (c *screens) look(now time.Duration) time.Duration {
	for _, l := range c.lives.all {
		s := l.sight
		if s == nil || l.phase != running {
			continue
		}
		// A frozen tree prints nothing, and its tmux answers nobody.
		if !s.looking && now >= s.due && !l.frozen && c.looking < maxLooks {
			c.lookAt(l)
		}
		c.tell(now, l)
	}
	return longestNap
}

func (c *screens) lookAt(l *life) {
	s, process, name := l.sight, l.process, l.order.GetAgentName()
	last := s.stamp
	// On a full disk logs do not grow, whatever is printed.
	full := c.pressure.space.reason != "" || c.pressure.inodes.reason != ""
	if s.looks == 0 || s.tmux && (full || c.config.Clock()-s.looked >= maxTrust) {
		last = output.Stamp{} // which tells nothing
	}
	s.looking = true
	c.looking++
	c.spawn(func() {
		got := c.seeScreen(c.ctx, process, name, s.tmux, last)
		c.send(func() {
			c.looking--
			s.looking = false
			c.saw(l, got)
		})
	})
}

// seeScreen looks, unless the log tells that nothing was printed since the last look. It touches nothing of the
// keeper. Types of terminals do not matter: whatever a terminal shows has gone through the log.
func (s *site) seeScreen(ctx context.Context, p process, name string, tmux bool,
	last output.Stamp) (got look) {
	log, err := s.logs.Log(name)
	if err != nil {
		got.err = err
		return got
	}
	got.stamp, err = log.Stamp() // before the screen, so that nothing is missed
	if err != nil && !tmux {     // a terminal shows itself, whatever has become of its log
		got.err = err
		return got
	}
	if got.same = got.stamp.Same(last); got.same {
		return got
	}
	s.metrics.captures.Inc()
	text := ""
	if tmux {
		ctx, cancel := context.WithTimeout(ctx, shim.TerminalLimit)
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
// is gone with the first look that does not find it. A permission prompt is gone, too, when other words have stood
// there for two looks: a human has answered it, and the next one has come up in between. Then none is told, and the
// next one counts in its turn, from its own time on.
func (c *screens) saw(l *life, got look) {
	defer c.metrics.looks.Inc()
	s, now := l.sight, c.config.Clock()
	s.due = now + c.config.LookEvery
	if c.lives.all[l.agent] != l {
		return
	}
	if got.err != nil {
		c.metrics.lookErrors.Inc()
		c.log.Debug("the terminal of an agent cannot be looked at", "agent", l.order.GetAgentName(),
			"incarnation", l.inc, "error", got.err)
		return // what was seen last stays, and is looked at again
	}
	match, matched, words := s.match, s.matched, s.words
	if !got.same {
		s.looked = now
		match, matched = s.prompts.Match(got.text)
		words = match.Words(got.text)
		letters := maphash.String(c.seed, runner.Letters(got.text))
		switch {
		case s.looks == 0: // as long as the file has been untouched, for an agent of an earlier daemon
			s.moved = now
			if at := got.stamp.At; !at.IsZero() {
				s.moved = now - min(max(time.Since(at), 0), c.config.QuietAfter)
			}
		case letters != s.letters:
			s.moved = now
		}
		s.stamp, s.letters = got.stamp, letters
	}
	s.looks++
	counts := matched && s.now.prompt == match.Kind
	sure := counts || matched && s.matched && s.match.Kind == match.Kind &&
		s.match.Text == match.Text && s.match.Below == match.Below
	if match.Kind == "permission" {
		another := counts && words == s.words && !sameWords(words, s.asked)
		sure = sure && !another && !s.over
		s.over = s.over || another
	}
	switch {
	case sure:
		if s.now.prompt != match.Kind {
			c.metrics.prompts.WithLabelValues(match.Kind).Inc()
			c.log.Info("prompt recognized", "agent", l.order.GetAgentName(), "incarnation", l.inc, "kind",
				match.Kind, "rule", match.Rule)
			s.asked = words
		}
		s.now.prompt = match.Kind
	case !matched, s.looks > 1, s.now.prompt != "":
		s.over = s.over || s.now.prompt == "permission"
		s.now.prompt = "none"
	}
	s.match, s.matched, s.words = match, matched, words
	s.now.quiet = now-s.moved >= c.config.QuietAfter
	c.tell(now, l)
}

// sameWords tells that two looks saw the same prompt: on a terminal of another width lines break elsewhere, and fewer
// of the words above it are among the lines that are compared.
func sameWords(a, b string) bool { return strings.HasSuffix(a, b) || strings.HasSuffix(b, a) }

// tell reports a change, one report of this host at a time and with screenGap between two
// about one life. What cannot be delivered is told later, as it is then.
func (c *screens) tell(now time.Duration, l *life) {
	s := l.sight
	if s.now == s.told && !c.telling {
		s.over = false
	}
	if s.now.prompt == "" || s.now == s.told || c.telling || !c.member.registered ||
		s.known && now-s.toldAt < screenGap {
		return
	}
	what := s.now
	request := &vigilv1.ReportScreenRequest{Host: c.member.host, Agent: l.agent, Incarnation: l.inc,
		Prompt: what.prompt, Quiet: what.quiet}
	c.telling, s.toldAt, s.known = true, now, true
	c.spawn(func() {
		ctx, cancel := context.WithTimeout(c.ctx, attemptLimit)
		defer cancel()
		_, err := c.host.ReportScreen(ctx, request)
		c.send(func() {
			c.telling = false
			if err == nil || client.Code(err) == code.Superseded { // then a beat or an order ends it
				s.told = what
				if what.prompt == "none" {
					s.over = false
				}
			}
		})
	})
}

// tellAgain has everything told anew: the cluster may have lost it.
func (c *screens) tellAgain() {
	for _, l := range c.lives.all {
		if l.sight != nil {
			l.sight.told = seen{}
		}
	}
}
