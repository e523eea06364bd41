package fsm

import (
	"testing"
	"time"

	"vigil/fsm/core"
	"vigil/fsm/noun"
)

// screen is what a host says of a terminal, often of another life or another host.
func (c *chaos) screen(s *State) Command {
	a := c.agent(s)
	host := a.Host
	if host == 0 || c.one(20) {
		host = noun.HostID(1 + c.rng.IntN(3))
	}
	if h := s.Host(host); h != nil && c.one(30) {
		watched := []string{"w"}
		if c.one(4) {
			watched = nil
		}
		return ReportTerminals{Host: host, Boot: pick(c, []string{h.Boot, h.Boot, "x"}),
			Tool: pick(c, []string{"", "tmux 3.3a"}), Runners: watched, Watched: watched}
	}
	if e := newestAbout(s, noun.EscPrompt, a.Name); e != nil && c.one(4) {
		return CloseEscalation{Escalation: e.ID, By: "ann"}
	}
	kind := noun.PromptKind(c.rng.IntN(int(noun.PromptKindsPlus) + 1))
	if c.one(2) {
		kind = noun.PromptPermission
	}
	return ReportScreen{Host: host, Agent: a.ID, Inc: c.inc(a.Inc), Kind: kind, Quiet: c.one(2)}
}

const twinPromptLimit = 3 * time.Second

// shownTwin is what stands on one terminal, noted as it was said.
type shownTwin struct {
	inc   noun.Incarnation
	kind  noun.PromptKind
	at    noun.Time
	from  noun.Time // at, or when a human who was called has closed the escalation about it
	quiet bool
	// unsure: its end was told in the entry of that word, or it was taken up again then
	unsure bool
	called noun.Time // as it was seen last
}

// closedNow takes note of what humans have closed, which they say in any entry.
func closedNow(s *State, m map[noun.AgentID]*shownTwin) (n int) {
	for id, x := range m {
		a := s.Agent(id)
		e := newestAbout(s, noun.EscPrompt, a.Name)
		// Who was called for this very prompt, and not for one before it.
		if s.Level() < core.LevelRetry || x.kind != noun.PromptPermission || e == nil || e.State != noun.EscalationClosed ||
			e.CloseBy != "ann" || e.Last < x.from.Add(twinPromptLimit) {
			continue
		}
		x.from, x.unsure = e.Closed, x.unsure || !a.Proc.Fenced()
		n++
	}
	return n
}

// forgets what was said of a life that is over.
func shownNow(s *State, m map[noun.AgentID]*shownTwin) {
	for id, x := range m {
		if a := s.Agent(id); a == nil || a.Inc != x.inc {
			delete(m, id)
		}
	}
}

// The naive twin of screens agrees: what is said of the present life of a process counts, and
// of no other; a permission prompt calls a human at its limit, and not before, and once more
// when it stands for as long after that human has closed the escalation; and whoever
// stands at one is neither late with progress nor on the ladder.
func TestTwinOfScreensAgrees(t *testing.T) {
	const limit = twinPromptLimit
	taken, refused, calls, again := [noun.PromptKindsPlus]int{}, 0, 0, 0
	for _, seed := range seeds(t, 6) {
		c, s := newChaos(seed, true), New()
		for _, e := range c.opening() {
			s.Apply(e)
		}
		for _, cmd := range []Command{PutSettings{Values: []noun.KV{{Key: "prompt_limit", Value: limit.String()}}}} {
			s.Apply(c.entry(Request{Cmd: cmd}))
		}
		if seed%2 == 1 {
			s.Apply(c.entry(Request{Cmd: RaiseLevel{Level: core.LevelRetry}}))
		}
		m := map[noun.AgentID]*shownTwin{}
		for range 3000 {
			c.nurse(s)
			s.Apply(c.next(s))
			shownNow(s, m)
			again += closedNow(s, m)
			cmd := c.screen(s)
			out := s.Apply(c.entry(Request{Cmd: cmd})).Outcomes[0]
			shownNow(s, m)
			switch cmd := cmd.(type) {
			case ReportScreen:
				a := s.Agent(cmd.Agent)
				want := a != nil && cmd.Inc == a.Inc && cmd.Host == a.Host && a.Proc.Fenced() &&
					cmd.Kind < noun.PromptKindsPlus
				if (out.Code == noun.OK) != want {
					t.Fatalf("seed %d: %+v is answered %s (%s), the twin says %v", seed, cmd, out.Code,
						out.Detail, want)
				}
				if !want {
					refused++
					break
				}
				taken[cmd.Kind]++
				x := m[a.ID]
				if x == nil {
					x = &shownTwin{inc: a.Inc, at: s.Clock(), from: s.Clock()}
					m[a.ID] = x
				}
				if x.kind != cmd.Kind {
					x.kind, x.at, x.from, x.unsure = cmd.Kind, s.Clock(), s.Clock(), false
				}
				x.quiet = cmd.Quiet
			case ReportTerminals:
				if out.Code != noun.OK || len(cmd.Watched) > 0 {
					break
				}
				for id, x := range m {
					if a := s.Agent(id); a.Host == cmd.Host && a.Proc.Fenced() && x.kind != noun.PromptUnknown {
						x.kind, x.at, x.from, x.quiet = noun.PromptUnknown, s.Clock(), s.Clock(), false
					}
				}
			}
			again += closedNow(s, m)
			for a := range s.Agents("") {
				g, x := s.Signals(a.ID, true), m[a.ID]
				if x == nil || !a.Proc.Fenced() { // one that is taken up again shows what it did
					x = &shownTwin{}
				}
				if g.Prompt != x.kind || x.kind != noun.PromptUnknown &&
					(g.Quiet != x.quiet || g.PromptAge+s.Absent(a, x.at) != s.Clock().Sub(x.at)) {
					t.Fatalf("seed %d: %s shows %s for %s, quiet %v; the twin says %+v", seed, a.Name, g.Prompt,
						g.PromptAge, g.Quiet, *x)
				}
				if x.kind != noun.PromptPermission || x.unsure {
					continue
				}
				if g.ProgressAge > 0 || s.Climb(a.ID).Next != noun.NoRung {
					t.Fatalf("seed %d: %s at a prompt is without progress for %s, %+v", seed, a.Name,
						g.ProgressAge, s.Climb(a.ID))
				}
				declared := s.Level() < core.LevelRetry && a.Declared.Holds(s.Clock()) && a.Declared.Waiting == noun.WaitingInput
				called := a.Screen().Called
				if late := s.Clock().Sub(x.from) >= limit && !declared && a.Order != noun.StopOrder &&
					!s.Behind(); late && called == 0 {
					t.Fatalf("seed %d: %s stands at a prompt for %s, and nobody was called", seed, a.Name,
						s.Clock().Sub(x.from))
				}
				if called != 0 {
					calls++
					if called.Sub(x.from) < limit || called != x.called && !escalated(s, noun.EscPrompt, a.Name) {
						t.Fatalf("seed %d: a human was called after %s", seed, called.Sub(x.from))
					}
					x.called = called // which one is not kept for ever
				}
			}
			if err := s.Check(); err != nil {
				t.Fatalf("seed %d: %v after %T %+v", seed, err, cmd, cmd)
			}
		}
	}
	for k := range noun.PromptKindsPlus {
		if taken[k] == 0 && *seedFlag == 0 {
			t.Errorf("no prompt %s was said: the log exercises nothing", k)
		}
	}
	if calls == 0 || refused == 0 || again == 0 && *seedFlag == 0 {
		t.Errorf("%d calls, %d refused, %d closed", calls, refused, again)
	}
	t.Logf("%v taken, %d refused, %d seen called, %d closed", taken, refused, calls, again)
}

func escalated(s *State, kind noun.EscalationKind, subject string) bool {
	return newestAbout(s, kind, subject) != nil
}

// newestAbout is the newest escalation of this kind and subject; nil: there was none.
func newestAbout(s *State, kind noun.EscalationKind, subject string) (newest *noun.Escalation) {
	for e := range s.Escalations(0) {
		if e.Kind == kind && e.Subject == subject {
			newest = e
		}
	}
	return newest
}
