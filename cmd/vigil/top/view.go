package top

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"

	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// painter holds the styles, with the sixteen colours of the terminal. Without colours (NO_COLOR) all is plain,
// so nothing is told by a colour alone.
type painter struct {
	bold, chosen, faint, alarm lipgloss.Style
	tones                      [faint + 1]lipgloss.Style
}

func newPainter(r *lipgloss.Renderer) *painter {
	colour := func(n string) lipgloss.Style { return r.NewStyle().Foreground(lipgloss.Color(n)) }
	p := &painter{bold: r.NewStyle().Bold(true), chosen: r.NewStyle().Reverse(true), faint: r.NewStyle().Faint(true),
		alarm: colour("1").Bold(true)}
	p.tones = [faint + 1]lipgloss.Style{plain: r.NewStyle(), good: colour("2"), doubtful: colour("3"),
		bad: colour("1"), faint: r.NewStyle().Faint(true)}
	return p
}

// Least sizes: what is smaller shows less, and never more lines than there are.
const (
	leastWidth  = 20
	detailsFrom = 20 // lines of a screen that has details of the inbox below the list
	detailLines = 6
)

// View implements tea.Model.
func (m *model) View() string {
	width := max(m.width, leastWidth)
	lines := m.head(width)
	if m.mode == reading || m.mode == typing && m.beheld {
		lines = append(lines[:1], m.reader(width)...)
	} else {
		lines = append(lines, m.body(width)...)
	}
	foot := m.foot(width)
	lines = lines[:min(len(lines), max(m.height-1, 1))]
	for len(lines) < m.height-1 {
		lines = append(lines, "")
	}
	return strings.Join(append(lines, foot), "\n")
}

// fit cuts a line to the width and takes away what follows it.
func fit(line string, width int) string { return ansi.Truncate(line, width, "…") }

// head is what stands above the list: how the fleet is.
func (m *model) head(width int) (lines []string) {
	o := m.overview()
	leader := "nobody leads"
	if m.news.GetLeader() != "" {
		leader = term.OneLine(m.news.GetLeader()) + " leads"
	}
	if m.news == nil && o == nil {
		leader = "asking the servers ..."
	}
	first := m.paint.bold.Render("vigil") + "  " + leader
	if o != nil {
		first += fmt.Sprintf("  %s  %s", term.Plural(len(o.GetServers()), "server"),
			m.paint.faint.Render("clock "+term.Short(m.clock())))
	}
	lines = append(lines, fit(first, width))
	if o == nil {
		return append(lines, m.banners(width)...)
	}
	agents := fmt.Sprintf("agents  %d of %d run: %s", o.GetAgentsRunning(), o.GetAgents(), verdictText(o.GetVerdicts()))
	if n := o.GetAgentsWanted(); n > o.GetAgentsRunning() {
		agents = fmt.Sprintf("agents  %d run, %d should: %s", o.GetAgentsRunning(), n, verdictText(o.GetVerdicts()))
	}
	lines = append(lines, fit(agents, width), fit("tasks   "+tasksText(o.GetTasks()), width))
	if len(o.GetHosts()) > 0 {
		lines = append(lines, fit("hosts   "+countsText(o.GetHosts(), hostStates), width))
	}
	return append(lines, m.banners(width)...)
}

func (m *model) overview() *vigilv1.Overview {
	if m.look == nil {
		return nil
	}
	return m.look.overview
}

var (
	hostStates = []string{"ready", "suspect", "lost", "returning", "draining", "left"}
	verdicts   = []string{"unresponsive", "deaf", "stalled", "needs_input", "suspect", "degraded", "offline", "healthy",
		"busy", "idle", "sleeping"}
)

// countsText says "2 ready, 1 lost" in the order of names.
func countsText(counts map[string]uint32, names []string) string {
	var parts []string
	for _, name := range names {
		if n := counts[name]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, words(name)))
		}
	}
	return term.OrWord(strings.Join(parts, ", "), "none")
}

func verdictText(counts map[string]uint32) string { return countsText(counts, verdicts) }

// tasksText says how many tasks are in which state, and for how long the oldest that waits does.
func tasksText(tasks []*vigilv1.TaskCount) string {
	var parts []string
	for _, t := range tasks {
		if t.GetCount() == 0 {
			continue
		}
		text := fmt.Sprintf("%d %s", t.GetCount(), term.StateText(t.GetState()))
		if d := term.Span(t.GetOldest()); d != "" {
			text += " (" + d + ")"
		}
		parts = append(parts, text)
	}
	return term.OrWord(strings.Join(parts, ", "), "none")
}

// banners are what must be seen at once.
func (m *model) banners(width int) (lines []string) {
	add := func(text string) { lines = append(lines, m.paint.alarm.Render(fit("! "+term.OneLine(text), width))) }
	if old := m.now().Sub(m.heard); old > staleAfter {
		text := "no server answers; what you see is " + term.Short(old) + " old"
		if m.lost != nil {
			text += ": " + m.lost.Error()
		}
		add(text)
	} else if d := term.Span(m.news.GetLeaderless()); d != "" {
		add("no server leads for " + d + ": nothing can be changed, agents keep their work")
	}
	o := m.overview()
	if o.GetBrake() != "" {
		add("brake: " + term.Tidy(o.GetBrake()))
	}
	if o.GetPaused() {
		text := "paused by " + term.OrWord(o.GetPauseBy(), "somebody")
		if d := term.Span(o.GetPauseEndsIn()); d != "" {
			text += ", " + d + " left"
		}
		if o.GetPauseWhy() != "" {
			text += " (" + o.GetPauseWhy() + ")"
		}
		add(text)
	}
	if d := term.Span(o.GetHold()); d != "" {
		add("starts are held for " + d + " after a restore")
	}
	for _, s := range o.GetServers() {
		if s.GetDiverged() {
			add("server " + s.GetId() + " has diverged")
		}
	}
	return lines
}

// tabLine names the lists.
func (m *model) tabLine(width int) string {
	counts := [tabs]string{}
	if m.look != nil {
		more := map[bool]string{true: "+"}
		counts = [tabs]string{fmt.Sprint(len(m.look.inbox)) + more[m.look.inboxMore > 0],
			fmt.Sprint(len(m.look.agents)) + more[m.look.agentsMore], fmt.Sprint(len(m.look.hosts)), ""}
	}
	var parts []string
	for i, l := range lists {
		text := strings.TrimSpace(fmt.Sprintf("%d %s %s", i+1, l.name, counts[i]))
		if width < 60 && i != m.tab {
			text = fmt.Sprint(i + 1)
		}
		if i == m.tab {
			text = m.paint.bold.Render("[" + text + "]")
		} else {
			text = " " + text + " "
		}
		parts = append(parts, text)
	}
	return fit(strings.TrimRight(strings.Join(parts, " "), " "), width)
}

// listHeight is how many rows of a list fit.
func (m *model) listHeight(tab int) int {
	n := m.height - len(m.head(max(m.width, leastWidth))) - 3 // tabs, heads of the columns, the last line
	if m.details(tab) {
		n -= detailLines + 1
	}
	return max(n, 1)
}

func (m *model) details(tab int) bool {
	return tab == tabInbox && m.height >= detailsFrom && m.look != nil && len(m.look.inbox) > 0
}

// body is the list, and what is known of the chosen row.
func (m *model) body(width int) (lines []string) {
	lines = append(lines, m.tabLine(width))
	rows, l := m.rows(), lists[m.tab]
	if len(rows) == 0 {
		if m.look != nil {
			lines = append(lines, fit(l.empty, width))
		}
		return lines
	}
	at, height := m.at(rows), m.listHeight(m.tab)
	top := min(max(m.top[m.tab], at-height+1), at, max(0, len(rows)-height))
	m.top[m.tab] = top
	shown := rows[top:min(top+height, len(rows))]
	drawn := draw(l.columns, shown, width-2)
	lines = append(lines, "  "+m.paint.faint.Render(drawn[0]))
	for i, text := range drawn[1:] {
		style := m.paint.tones[shown[i].tone]
		mark := "  "
		if top+i == at {
			style, mark = m.paint.chosen, "> "
		}
		lines = append(lines, mark+style.Render(text))
	}
	if m.details(m.tab) {
		for len(lines) < height+2 {
			lines = append(lines, "")
		}
		lines = append(lines, m.paint.faint.Render(strings.Repeat("─", width)))
		for _, line := range detail(rows[at].item)[:min(detailLines, len(detail(rows[at].item)))] {
			lines = append(lines, fit(line, width))
		}
	}
	return lines
}

// draw lays rows out in columns: first the heads, then a line a row. The widest flexible column gives way
// until all fit.
func draw(columns []column, rows []row, width int) (lines []string) {
	var cols []int
	for i, c := range columns {
		if c.from <= width+2 {
			cols = append(cols, i)
		}
	}
	widths, total := map[int]int{}, 2*(len(cols)-1)
	for _, i := range cols {
		widths[i] = ansi.StringWidth(columns[i].head)
		for _, r := range rows {
			widths[i] = min(max(widths[i], ansi.StringWidth(term.OneLine(r.cells[i]))), width)
		}
		total += widths[i]
	}
	for total > width {
		widest := -1
		for _, i := range cols {
			if columns[i].flex && widths[i] > 6 && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
		total--
	}
	line := func(cell func(i int) string) string {
		var parts []string
		for _, i := range cols {
			text := ansi.Truncate(cell(i), widths[i], "…")
			pad := strings.Repeat(" ", max(0, widths[i]-ansi.StringWidth(text)))
			if columns[i].right {
				text = pad + text
			} else {
				text += pad
			}
			parts = append(parts, text)
		}
		return fit(strings.TrimRight(strings.Join(parts, "  "), " "), width)
	}
	lines = append(lines, line(func(i int) string { return columns[i].head }))
	for _, r := range rows {
		lines = append(lines, line(func(i int) string { return term.OrWord(term.OneLine(r.cells[i]), "-") }))
	}
	return lines
}

// reader shows a text.
func (m *model) reader(width int) (lines []string) {
	var text []string
	for _, line := range m.text {
		text = append(text, strings.Split(ansi.Hardwrap(strings.ReplaceAll(line, "\t", "    "), width, true), "\n")...)
	}
	height := max(m.height-3, 1)
	m.scroll = min(max(m.scroll, 0), max(0, len(text)-height))
	lines = append(lines, m.paint.bold.Render(fit(m.title, width)))
	return append(lines, text[m.scroll:min(m.scroll+height, len(text))]...)
}

// foot is the last line: what is asked, what has become of an order, or what can be done.
func (m *model) foot(width int) string {
	switch {
	case m.mode == typing:
		line := []rune(term.OneLine(words(m.order.verb)+" "+m.order.subject()) + ": ")
		typed := append(slices.Clone(m.typed), '_')
		room := max(width-len(line), 10)
		if width < 60 {
			line, room = []rune("> "), width-2
		}
		for ansi.StringWidth(string(typed)) > room { // the end is what is being written
			typed = typed[1:]
		}
		return fit(string(line)+term.Safe(string(typed)), width)
	case m.mode == asking:
		v, _ := verbNamed(m.order.verb)
		return m.paint.bold.Render(fit(term.OneLine(v.label+" "+m.order.subject())+"? y or n", width))
	case m.mode == reading:
		return m.paint.faint.Render(fit("q back  j k scroll", width))
	case m.said != "":
		style := m.paint.bold
		if m.wrong {
			style = m.paint.alarm
		}
		return style.Render(fit(term.OneLine(m.said), width))
	}
	keys := m.keys()
	if ansi.StringWidth(keys) > width { // the end is cut
		keys = "?  " + keys
	}
	return m.paint.faint.Render(fit(keys, width))
}

// keys names what can be done about the chosen row.
func (m *model) keys() string {
	var parts []string
	if rows := m.rows(); len(rows) > 0 {
		r := rows[m.at(rows)]
		for _, v := range verbs {
			if slices.Contains(r.acts, v.name) {
				parts = append(parts, v.key+" "+v.label)
			}
		}
		if r.order.agent != "" || r.order.host != "" {
			parts = append(parts, "e explain")
		}
		if r.order.agent != "" {
			parts = append(parts, "s screen", "t attach")
		}
		if r.order.task != 0 {
			parts = append(parts, "T task")
		}
		if r.order.mail != 0 {
			parts = append(parts, "M mail text")
		}
	}
	return strings.Join(append(parts, "? keys", "q quit"), "  ")
}
