package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// tone says how a row is coloured.
type tone uint8

const (
	plain tone = iota
	good
	doubtful
	bad
	faint
)

// row is one line of a list, and what can be done about it.
type row struct {
	key   string // the same as long as it is the same thing
	cells []string
	tone  tone
	order order    // without a verb
	acts  []string // verbs
	item  *vigilv1.InboxItem
}

// column is one column of a list.
type column struct {
	head  string
	from  int // the least width of a screen that has it
	flex  bool
	right bool
}

// A list is what a tab shows.
type list struct {
	name    string
	columns []column
	empty   string
}

// Tabs in their order.
const (
	tabInbox = iota
	tabAgents
	tabHosts
	tabEvents
	tabs
)

var lists = [tabs]list{
	{"Inbox", []column{{"PRIORITY", 50, false, false}, {"WAITS", 0, false, true}, {"WHAT", 60, true, false},
		{"ABOUT", 0, true, false}, {"WHY", 80, true, false}}, "Nothing waits for a human."},
	{"Agents", []column{{"AGENT", 0, true, false}, {"VERDICT", 0, false, false}, {"PROCESS", 70, false, false},
		{"HOST", 60, true, false}, {"TASK", 50, false, true}, {"UP", 70, false, true}, {"WHY", 80, true, false}},
		"There are no agents yet: `vigil apply` creates them."},
	{"Hosts", []column{{"HOST", 0, true, false}, {"STATE", 0, false, false}, {"AGENTS", 0, false, false},
		{"HEARD", 50, false, true}, {"VERSION", 100, true, false}, {"WHY", 60, true, false}},
		"No host has registered yet: `vigil agentd` starts one."},
	{"Events", []column{{"TIME", 50, false, false}, {"EVENT", 0, false, false}, {"ABOUT", 0, true, false},
		{"WHAT", 60, true, false}}, "Nothing has happened since you began to look."},
}

// words writes a name of the API as people do.
func words(name string) string { return strings.ReplaceAll(term.OneLine(name), "_", " ") }

func inboxRows(items []*vigilv1.InboxItem) (rows []row) {
	for _, i := range items {
		tones := map[string]tone{"urgent": bad, "high": doubtful, "low": faint}
		t := tones[i.GetPriority()]
		if i.GetAckBy() != "" || !i.GetLasts() {
			t = faint
		}
		rows = append(rows, row{key: i.GetKey(), tone: t, item: i, acts: i.GetActions(),
			order: order{agent: i.GetAgent(), host: i.GetHost(), room: i.GetRoom(), task: i.GetTask(),
				escalation: i.GetEscalation(), role: i.GetRole(), mail: i.GetMail(), agentRev: i.GetAgentRev(),
				taskRev: i.GetTaskRev(), words: i.GetKind() == "needs_input"},
			cells: []string{i.GetPriority(), term.OrZero(term.Span(i.GetAge())), words(i.GetKind()), i.GetSubject(),
				term.Tidy(i.GetText())}})
	}
	return rows
}

// gravity orders verdicts: what somebody has to look at comes first.
var gravity = []string{"unresponsive", "deaf", "stalled", "needs_input", "suspect", "degraded", "offline"}

func grave(g *vigilv1.Agent) int {
	at := slices.Index(gravity, g.GetVerdict().GetKind())
	if at < 0 || g.GetVerdict().GetFine() {
		return len(gravity)
	}
	return at
}

func agentRows(agents []*vigilv1.Agent) (rows []row) {
	agents = slices.Clone(agents)
	slices.SortStableFunc(agents, func(a, b *vigilv1.Agent) int { return cmp.Compare(grave(a), grave(b)) })
	for _, g := range agents {
		t, task, process := plain, "", g.GetProcess()
		switch at := grave(g); {
		case at < 3:
			t = bad
		case at < len(gravity):
			t = doubtful
		case g.GetProcess() == "running":
			t = good
		case g.GetDesired() == "stopped":
			t = faint
		}
		if g.GetTask() != 0 {
			task = fmt.Sprint(g.GetTask())
		}
		if g.GetParked() {
			process = "parked"
		}
		acts := []string{"nudge", "mail", "restart", "stop"}
		if g.GetDesired() == "stopped" {
			acts = []string{"start"}
		}
		if g.GetParked() {
			acts = append(acts, "unpark")
		}
		rows = append(rows, row{key: g.GetName(), tone: t, acts: acts,
			order: order{agent: g.GetName(), room: g.GetRoom(), task: g.GetTask(), agentRev: g.GetRev()},
			cells: []string{g.GetName(), words(g.GetVerdict().GetKind()), process, g.GetHost(), task,
				term.Span(g.GetUp()), term.Tidy(g.GetWhy())}})
	}
	return rows
}

func hostRows(hosts []*vigilv1.Host) (rows []row) {
	hosts = slices.Clone(hosts)
	slices.SortStableFunc(hosts, func(a, b *vigilv1.Host) int { return cmp.Compare(a.GetName(), b.GetName()) })
	for _, h := range hosts {
		t, acts := good, []string{"drain"}
		switch h.GetState() {
		case "lost":
			t, acts = bad, []string{"drain", "confirm_dead"}
		case "suspect", "returning", "draining":
			t = doubtful
		case "left":
			t = faint
		}
		if h.GetDrain() { // also of one that is lost, which says so and can be given up
			acts[0] = "undrain"
		}
		load := fmt.Sprintf("%d of %d", h.GetRunning()+h.GetStarting(), h.GetCapacity())
		reasons := slices.DeleteFunc([]string{h.GetSuspectWhy(), h.GetPressure()},
			func(s string) bool { return s == "" })
		rows = append(rows, row{key: fmt.Sprint(h.GetId()), tone: t, acts: acts, order: order{host: h.GetName()},
			cells: []string{h.GetName(), h.GetState(), load, term.OrZero(term.Span(h.GetHeard())), h.GetVersion(),
				term.Tidy(strings.Join(reasons, "; "))}})
	}
	return rows
}

func eventRows(events []*vigilv1.Event) (rows []row) {
	for _, e := range slices.Backward(events) { // the newest first
		about := cmp.Or(e.GetAgent(), e.GetRoom(), e.GetHost())
		text := term.Tidy(e.GetText())
		if e.GetTask() != 0 {
			text = strings.TrimSuffix(fmt.Sprintf("task %d: %s", e.GetTask(), text), ": ")
		}
		t := plain
		if strings.Contains(e.GetKind(), "fail") || strings.Contains(e.GetKind(), "lost") {
			t = bad
		}
		when := ""
		if e.GetAt() != nil {
			when = e.GetAt().AsTime().Local().Format(time.TimeOnly)
		}
		rows = append(rows, row{key: fmt.Sprint(e.GetSeq()), tone: t,
			order: order{agent: e.GetAgent(), host: e.GetHost(), room: e.GetRoom(), task: e.GetTask()},
			cells: []string{when, e.GetKind(), about, text}})
	}
	return rows
}

// detail tells everything about a thing in the inbox.
func detail(i *vigilv1.InboxItem) (lines []string) {
	add := func(name, text string) {
		if text != "" {
			lines = append(lines, name+": "+term.OneLine(text))
		}
	}
	add("what", words(i.GetKind())+", "+i.GetPriority())
	add("why", term.Tidy(i.GetText()))
	add("done", term.Tidy(i.GetDone()))
	add("it says", i.GetSaid())
	add("verdict", words(i.GetVerdict()))
	for _, r := range i.GetReasons() {
		add("against it", term.Tidy(r.GetText()))
	}
	if i.GetTask() != 0 {
		add("task", fmt.Sprint(i.GetTask()))
	}
	add("host", i.GetHost())
	add("looked after by", i.GetAckBy())
	return lines
}
