package noun

import (
	"fmt"
	"time"
)

// PromptKind is what stands at the end of a terminal.
type PromptKind uint8

// Kinds of prompts. The numbers are written to disk.
const (
	PromptUnknown    PromptKind = iota // nobody looks, or can
	PromptNone                         // looked at, and none
	PromptPermission                   // a human must allow or answer something
	PromptUsageLimit                   // the tool is out of quota
	PromptError                        // the tool has stopped with an error
	PromptIdle                         // the tool waits for its next instruction
	PromptKindsPlus                    // one more than the last
)

var promptNames = [PromptKindsPlus]string{"unknown", "none", "permission", "usage_limit", "error", "idle"}

func (k PromptKind) String() string { return promptNames[k] }

// PromptNames are the words for kinds of prompts, by number.
func PromptNames() []string { return promptNames[:] }

// sentences about prompts, for reasons, events and rooms that are exempt.
var PromptTexts = [PromptKindsPlus]string{"nobody looks at its terminal", "its terminal shows no prompt",
	"its terminal shows a permission prompt", "its terminal shows that its tool is out of quota",
	"its terminal shows an error", "its terminal shows the idle prompt"}

// Screen is what a host has seen of one life. Times are cluster time.
type Screen struct {
	Inc     Incarnation
	Kind    PromptKind
	At      Time // since when it is Kind
	Quiet   bool // for a while, which is the host's setting, nothing new was printed
	QuietAt Time // since when Quiet is as it is
	// Excused is until when nobody expects progress or reports: as long as a human may
	// leave a question without an answer, or a usage limit is believed to last, or when
	// the prompt went.
	Excused Time
	Called  Time // when a human was called for this prompt; 0: not yet
	Closed  Time // when a human has closed the escalation about it, though it stood there; 0: nobody has
}

// PromptSettings are those of prompts.
type PromptSettings struct {
	Limit time.Duration // a permission prompt calls a human after
	Idle  time.Duration // at the idle prompt, with a task and without a sign of work: stalled
}

// HostTerminal is what a host can do about terminals.
type HostTerminal struct {
	Tool    string   // "tmux 3.3a"; empty: none, see Why
	Why     string   // why there is none
	Runners []string // that give their agents one, sorted
	Watched []string // whose agents' prompts are recognized, sorted
}

// MaxTool is the longest name of what makes terminals, in bytes.
const MaxTool = 64

// Screen is what is seen of the agent's present life; nil: nothing.
func (a *Agent) Screen() *Screen {
	if a.Noted == nil || a.Noted.Screen == nil || a.Noted.Screen.Inc != a.Inc || !a.Proc.Fenced() {
		return nil
	}
	return a.Noted.Screen
}

// Shows tells that a prompt of this kind stands on the agent's terminal.
func (a *Agent) Shows(k PromptKind) bool {
	sc := a.Screen()
	return sc != nil && sc.Kind == k
}

// Prints tells that new text has come on the agent's terminal lately, and no prompt stands there.
func (a *Agent) Prints() bool {
	sc := a.Screen()
	return sc != nil && sc.Kind == PromptNone && !sc.Quiet
}

// PrintedUntil is when what did not print any more has stopped to: new text came to an end, or a prompt came
// up. A terminal that is seen for the first time has just stopped.
func (sc *Screen) PrintedUntil() Time {
	switch {
	case sc.Kind == PromptNone:
		return sc.QuietAt
	case !sc.Quiet:
		return sc.At
	}
	return min(sc.At, sc.QuietAt)
}

// ScreenExcuse is until when what stands on its terminal, or a human who types there, explains that the
// agent says nothing; 0: nothing does.
func (a *Agent) ScreenExcuse() Time {
	at := a.TypedUntil()
	if sc := a.Screen(); sc != nil {
		at = max(at, sc.Excused)
	}
	return at
}

// Terminals says what the host can do about terminals; empty: its agentd has not said.
func (h *Host) Terminals() string {
	switch t := h.Terminal; {
	case t == nil:
		return ""
	case t.Tool != "":
		return t.Tool
	case t.Why != "" && t.Why != "no tmux":
		return fmt.Sprintf("no terminal: no tmux (%s): %s", t.Why, degradedMeans)
	}
	return "no terminal: no tmux: " + degradedMeans
}

// degradedMeans is what a host without terminals can do.
const degradedMeans = "nothing can be typed or observed; mail and restarts only"
