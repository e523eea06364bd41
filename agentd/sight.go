package agentd

import (
	"context"
	"fmt"
	"time"

	"vigil/agentd/output"
	"vigil/agentd/runner"
	"vigil/agentd/shim"
)

// sight is what is seen of one life. What was printed stays on the host: only its kind is told.
type sight struct {
	prompts runner.Prompts
	tmux    bool // its terminal is looked at, else its output

	due     time.Duration
	looking bool
	looks   int
	looked  time.Duration // when the terminal was seen last: later looks were spared, its log had not grown
	stamp   output.Stamp  // of its output at the last look
	letters uint64        // of what was there
	moved   time.Duration
	match   runner.Match // of the last look, of which one more must be sure
	matched bool
	words   string // around that match
	asked   string // those of the permission prompt that counts
	over    bool   // a permission prompt has gone, which the cluster has still to hear before it hears of the next one
	now     seen

	told   seen // zero: nothing
	toldAt time.Duration
	known  bool // toldAt holds
}

// newSight has a life of a runner looked at when it runs, if the runner has prompts; else it
// gives nil.
func newSight(runners *runner.Set, name string) *sight {
	p := runners.Prompts(name)
	if len(p) == 0 {
		return nil
	}
	return &sight{prompts: p, tmux: runners.Kind(name) == runner.KindTmux}
}

// spares looks whether a permission prompt stands on a terminal at this very moment, and gives the
// reason to keep one's hands off: one look is enough, and so is one that fails. Dialogs are spared that no
// pattern of the runner knows, and where it has none (a nil sight). A sight's prompts and kind never change.
func (s *sight) spares(ctx context.Context, p process) error {
	screen, err := p.Terminal(ctx, shim.TerminalRequest{Look: true})
	switch {
	case noTerminal(err): // whoever types is told the same
		return nil
	case err != nil:
		return fmt.Errorf("whether a permission prompt stands on the terminal cannot be seen: %w", err)
	}
	text := runner.Tidy(screen)
	if s != nil && s.tmux {
		if m, ok := s.prompts.Match(text); ok && m.Kind == "permission" {
			return errPrompt
		}
	}
	if runner.Chooses(text) {
		return errChoice
	}
	return nil
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
