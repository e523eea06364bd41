package judge

import (
	"fmt"
	"time"

	"vigil/fsm/noun"
)

// What a verdict says of each signal, for people.

// reasons lists every signal that says something, bad ones first.
func (g *Signals) reasons(v *Verdict) {
	var good []Reason
	add := func(bad bool, evidence string, age time.Duration, format string, args ...any) {
		r := Reason{Text: fmt.Sprintf(format, args...), Evidence: evidence, Age: max(age, 0), Bad: bad}
		if bad {
			v.Reasons = append(v.Reasons, r)
		} else {
			good = append(good, r)
		}
	}
	g.doubts(add)
	g.lives(add)
	g.works(add)
	v.Reasons = append(v.Reasons, good...)
}

type addReason func(bad bool, evidence string, age time.Duration, format string, args ...any)

func (g *Signals) doubts(add addReason) {
	if g.LeaderOff {
		add(true, "leader", 0, "no server leads, so nothing newer is known")
	}
	switch {
	case g.HostName == "" || !g.Proc.Fenced() && !g.Proc.GivenUp():
	case g.Unheard > 0:
		add(true, "host", g.Unheard, "host %s is %s: nothing has been heard of it for %s", g.HostName, g.Host,
			g.Unheard.Round(time.Second))
	case g.Host == noun.HostSuspect, g.Host == noun.HostLost:
		add(true, "host", 0, "host %s is %s", g.HostName, g.Host)
	}
	if g.Off != "" {
		add(false, "intent", 0, "%s", g.Off)
	}
	if g.Paused != "" && g.alive() {
		add(false, "intent", 0, "it gets no task: %s", g.Paused)
	}
	if g.Order != noun.NoOrder {
		add(false, "order", g.OrderAge, "a %s order is open", g.Order)
	}
}

// lives says what is known of its process and its participant.
func (g *Signals) lives(add addReason) {
	switch {
	case g.Proc.Fenced() && g.FenceLeft <= 0:
		add(true, "fence", -g.FenceLeft, "the fence of its process is over")
	case g.Proc.Fenced():
		add(false, "process", g.ProcAge, "its process is %s", g.Proc)
	case g.Part != noun.PartDisconnected && !g.Managed:
		add(false, "process", g.ProcAge, "it was started by hand")
	case g.Exit != "":
		add(true, "process", g.ProcAge, "no process: its last life %s", g.Exit)
	case g.Proc == noun.ProcOrdered:
		add(true, "process", 0, "no process yet")
	default:
		add(true, "process", g.ProcAge, "no process of it is known")
	}
	switch {
	case g.Part == noun.PartDisconnected && g.Proc.Fenced():
		add(g.overdueStart(), "participant", g.PartAge, "it has not joined its room")
	case g.Part == noun.PartDisconnected:
		add(true, "participant", g.PartAge, "it is DISCONNECTED from its room")
	case g.LeaseLeft <= 0:
		add(true, "lease", -g.LeaseLeft, "its lease is over")
	case g.Beatless > 0:
		add(true, "lease", g.Beatless,
			"it is %s, and its lease goes on by its words alone: no beat has come for %s", g.Part,
			g.Beatless.Round(time.Second))
	default:
		add(false, "lease", 0, "it is %s, its lease goes on", g.Part)
	}
}

// plans says when its task is expected to be done, and how far it said it is.
func (g *Signals) plans(add addReason, held bool) {
	said := ""
	if percent, ok := g.Percent.Said(); ok {
		said = fmt.Sprintf(", and %d %% of it is done by its own word", percent)
	}
	switch left := g.ExpectLeft.Round(time.Second); {
	case !g.Expected && said != "":
		add(false, "expectation", 0, "nothing says when task %d should be done%s", g.Task, said)
	case !g.Expected:
	case g.expected():
		add(false, "expectation", 0, "task %d is expected to be done in %s%s", g.Task, left, said)
	default:
		add(!held && g.stalled(), "expectation", -g.ExpectLeft, "task %d was expected to be done %s ago%s",
			g.Task, -left, said)
	}
}

// works says what is known of its reports and its task.
func (g *Signals) works(add addReason) {
	d, held := g.Declared, g.holds()
	switch {
	case d == nil && g.HealthEvery > 0 && g.alive():
		add(g.ProcAge > g.reportSpan(), "health", g.ProcAge,
			"it has never reported its health, which its role expects every %s: "+
				"does anything in it call `vigil declare`?", g.HealthEvery)
	case held:
		add(false, "declaration", g.DeclaredAge, "it declared %s for %s more", d.Kind(),
			g.DeclaredLeft.Round(time.Second))
	case d != nil && g.alive() && g.Missed > 0:
		add(g.Unreported(), "health", g.DeclaredAge, "%d health reports are missing in a row, %d are allowed to",
			g.Missed, max(g.HealthMissed, 1)-1)
	case d != nil && d.Until == 0 && g.alive():
		add(d.Status == noun.StatusDegraded, "declaration", g.DeclaredAge, "it declared %s", d.Kind())
	}
	if g.Task != 0 {
		unseen := g.Unreported() && g.silent(g.reportSpan()) && !g.wrote(g.reportSpan()) || g.mute()
		add(!held && (g.stalled() || unseen), "progress", g.ProgressAge,
			"the last sign of progress with task %d was %s ago", g.Task, g.ProgressAge.Round(time.Second))
		g.plans(add, held)
	}
	if g.Away > 0 && g.alive() {
		add(false, "host", g.Away, "its host was not heard for %s of that time, which does not count",
			g.Away.Round(time.Second))
	}
	if g.Overseer && g.alive() {
		add(!held && g.unpatrolled(), "patrol", g.PatrolAge, "the last sign of a patrol was %s ago",
			g.PatrolAge.Round(time.Second))
	}
	if g.Mailed && g.alive() {
		add(false, "mail", g.MailAge, "it has sent or acknowledged mail")
	}
	g.seen(add)
	if g.Waiting > 0 && g.Part != noun.PartDisconnected {
		add(!held && g.Unheeding(), "task", g.Waiting, "a task that it could take has waited for %s",
			g.Waiting.Round(time.Second))
	}
}

// seen says what is seen on its terminal. That nothing is printed is never bad by itself.
func (g *Signals) seen(add addReason) {
	held := g.holds()
	if g.Tooled && g.alive() {
		add(false, "tools", g.ToolAge, "its tool tells that it has used a tool")
	}
	switch {
	case !g.alive() || g.Prompt == noun.PromptUnknown:
		return
	case g.Prompt == noun.PromptPermission:
		add(!held || g.Declared.Waiting != noun.WaitingInput, "screen", g.PromptAge,
			"its terminal has shown a permission prompt for %s", g.PromptAge.Round(time.Second))
	case g.Prompt == noun.PromptIdle:
		add(!held && g.Task != 0 && g.stalled() && g.idling(), "screen", g.PromptAge,
			"its terminal shows the idle prompt")
	case g.Prompt == noun.PromptUsageLimit && !g.Exhausted:
		add(!held, "screen", g.PromptAge, "its terminal has shown for %s that its tool is out of quota; that may be over",
			g.PromptAge.Round(time.Second))
	case g.Prompt > noun.PromptNone:
		add(g.Prompt == noun.PromptError, "screen", g.PromptAge, "%s", noun.PromptTexts[g.Prompt])
	}
	if g.Quiet {
		add(false, "screen", g.QuietAge, "nothing new is printed")
	}
}
