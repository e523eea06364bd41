package top

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// Bounds of what is kept.
const (
	keptEvents = 500
	mostTyped  = 2000 // characters of an answer
)

// staleAfter is for how long a screen without news is not yet called old.
const staleAfter = 3 * time.Second

// mode is what keys mean.
type mode uint8

const (
	choosing mode = iota // a row
	reading              // a text
	asking               // yes or no
	typing               // a line
)

// choice is how a row became the chosen one.
type choice uint8

const (
	stood  choice = iota // it was the first one when there was something to see
	jumped               // another one was chosen, and is gone or out of sight
	moved                // a person went there
)

// model is the screen. It is changed by messages only.
type model struct {
	ctx   context.Context
	hand  hand
	now   func() time.Time
	paint *painter
	leave func(agent string) tea.Cmd // attaches to a terminal

	width, height int
	tab           int
	chosen        [tabs]string // key of the row
	chose         [tabs]choice // how it came to be the chosen one
	top           [tabs]int    // first row that is shown

	look   *snapshot
	news   *vigilv1.News
	heard  time.Time // of news
	lost   error     // why there is none
	events []*vigilv1.Event

	mode   mode
	title  string   // of the text that is read
	text   []string // its lines
	scroll int
	order  order // that is asked about, or typed for
	typed  []rune
	beheld bool   // the terminal stands above what is typed
	said   string // in the last line, until the next key
	wrong  bool   // it is an error
}

// Messages about what was ordered.
type (
	tickMsg struct{}
	saidMsg struct {
		text string
		err  error
	}
	textMsg struct{ title, text string }
)

func newModel(ctx context.Context, h hand, now func() time.Time, r *lipgloss.Renderer) *model {
	return &model{ctx: ctx, hand: h, now: now, paint: newPainter(r), width: 80, height: 24, heard: now()}
}

func tick() tea.Cmd { return tea.Tick(time.Second, func(time.Time) tea.Msg { return tickMsg{} }) }

// Init implements tea.Model.
func (m *model) Init() tea.Cmd { return tick() }

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tickMsg:
		return m, tick()
	case newsMsg:
		m.hear(msg.News)
	case lookMsg:
		m.look = msg.snapshot
		m.settle()
	case lostMsg:
		m.lost = msg.err
	case saidMsg:
		m.said, m.wrong = msg.text, msg.err != nil
		if msg.err != nil {
			m.said = "nothing was done: " + msg.err.Error()
		}
	case textMsg:
		m.read(msg.title, msg.text)
	case screenMsg:
		m.behold(msg)
	case tea.KeyMsg:
		return m, m.key(msg)
	}
	return m, nil
}

func (m *model) hear(n *vigilv1.News) {
	m.news, m.heard, m.lost = n, m.now(), nil
	if n.GetReset_() {
		m.events = nil
	}
	m.events = append(m.events, n.GetEvents()...)
	m.events = slices.Clone(m.events[max(0, len(m.events)-keptEvents):])
}

func (m *model) read(title, text string) {
	m.mode, m.title, m.scroll = reading, title, 0
	m.text = strings.Split(strings.TrimRight(term.Safe(text), "\n "), "\n")
}

// settle has each list keep its chosen row when others come, so that no order goes to what nobody has looked at. Where
// that row is gone the first one is chosen; where nobody went to it, also when it sinks out of sight: who only looks
// on sees what is first. Events take no orders, and who has not moved there sees the newest.
func (m *model) settle() {
	for tab := range tabEvents {
		rows := m.rowsOf(tab)
		at := slices.IndexFunc(rows, func(r row) bool { return r.key == m.chosen[tab] })
		if len(rows) == 0 || at >= 0 && (m.chose[tab] == moved || at < m.listHeight(tab)) {
			continue
		}
		if m.chosen[tab] != "" {
			m.chose[tab] = jumped
		}
		m.chosen[tab] = rows[0].key
	}
}

// rows are those of the tab that is shown.
func (m *model) rows() []row { return m.rowsOf(m.tab) }

func (m *model) rowsOf(tab int) []row {
	if tab == tabEvents {
		return eventRows(m.events)
	}
	if m.look == nil {
		return nil
	}
	switch tab {
	case tabInbox:
		return inboxRows(m.look.inbox)
	case tabAgents:
		return agentRows(m.look.agents)
	}
	return hostRows(m.look.hosts)
}

// at finds the chosen row; the first one when it is gone. -1: there is none.
func (m *model) at(rows []row) int {
	if len(rows) == 0 {
		return -1
	}
	return max(0, slices.IndexFunc(rows, func(r row) bool { return r.key == m.chosen[m.tab] }))
}

// key obeys a key, or several that came at once: the library gives what was typed in one read as one.
func (m *model) key(k tea.KeyMsg) tea.Cmd {
	if k.Type == tea.KeyRunes && len(k.Runes) > 1 && m.mode != typing {
		if k.Paste {
			return nil // nobody means a text as orders
		}
		var all []tea.Cmd
		for i, r := range k.Runes {
			if m.mode == typing {
				all = append(all, m.key(tea.KeyMsg{Type: tea.KeyRunes, Runes: k.Runes[i:]}))
				break
			}
			all = append(all, m.key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}}))
		}
		return tea.Batch(all...)
	}
	if k.String() == "ctrl+c" {
		return tea.Quit
	}
	switch m.mode {
	case typing:
		return m.typedKey(k)
	case asking:
		m.mode = choosing
		if k.String() == "y" {
			return m.do(m.order)
		}
		m.said, m.wrong = "nothing was done", false
		return nil
	case reading:
		return m.readingKey(k.String())
	}
	m.said = ""
	return m.choosingKey(k.String())
}

func (m *model) readingKey(k string) tea.Cmd {
	switch k {
	case "q", "esc", "enter", "e", "s", "?", "backspace":
		m.mode = choosing
	case "j", "down":
		m.scroll++
	case "k", "up":
		m.scroll--
	case " ", "pgdown":
		m.scroll += m.height - 3
	case "pgup":
		m.scroll -= m.height - 3
	case "g", "home":
		m.scroll = 0
	case "G", "end":
		m.scroll = len(m.text)
	}
	return nil
}

func (m *model) typedKey(k tea.KeyMsg) tea.Cmd {
	switch k.Type {
	case tea.KeyEsc:
		m.mode, m.said, m.wrong = choosing, "nothing was typed", false
	case tea.KeyEnter:
		m.mode = choosing
		m.order.text = string(m.typed)
		if m.order.verb != "nudge" && strings.TrimSpace(m.order.text) == "" {
			m.said, m.wrong = "nothing was typed", false
			return nil
		}
		if m.order.blind() {
			m.said, m.wrong = "nothing was done: no prompt was seen on its terminal; s shows it", true
			return nil
		}
		return m.do(m.order)
	case tea.KeyBackspace:
		m.typed = m.typed[:max(0, len(m.typed)-1)]
	case tea.KeyCtrlU:
		m.typed = nil
	case tea.KeyRunes, tea.KeySpace:
		for _, r := range k.Runes { // of a paste, too
			if unicode.IsControl(r) {
				r = ' '
			}
			if len(m.typed) < mostTyped {
				m.typed = append(m.typed, r)
			}
		}
	}
	return nil
}

func (m *model) choosingKey(k string) tea.Cmd {
	rows := m.rows()
	at := m.at(rows)
	move := func(to int) {
		if len(rows) > 0 {
			m.chosen[m.tab], m.chose[m.tab] = rows[min(max(to, 0), len(rows)-1)].key, moved
		}
	}
	switch k {
	case "q":
		return tea.Quit
	case "tab", "right", "l":
		m.tab = (m.tab + 1) % tabs
	case "shift+tab", "left", "h":
		m.tab = (m.tab + tabs - 1) % tabs
	case "1", "2", "3", "4":
		m.tab = int(k[0] - '1')
	case "j", "down":
		move(at + 1)
	case "k", "up":
		move(at - 1)
	case "pgdown", " ":
		move(at + m.listHeight(m.tab))
	case "pgup":
		move(at - m.listHeight(m.tab))
	case "g", "home":
		move(0)
	case "G", "end":
		move(len(rows) - 1)
	case "?":
		m.read("Keys", keysText)
	default:
		if at < 0 {
			return nil
		}
		return m.press(k, rows[at])
	}
	return nil
}

// press obeys a key that is about one row.
func (m *model) press(k string, r row) tea.Cmd {
	agent, host := r.order.agent, r.order.host
	switch {
	case (k == "e" || k == "enter") && agent != "" && (r.item == nil || k == "e"):
		return m.show(agent, "agent", "explain", "--", agent)
	case (k == "e" || k == "enter") && r.item != nil:
		m.read(term.OneLine(r.item.GetSubject()), strings.Join(detail(r.item), "\n"))
		return nil
	case (k == "e" || k == "enter") && host != "":
		return m.show(host, "host", "explain", "--", host)
	case k == "s" && agent != "":
		return m.show("Screen of "+agent, "agent", "screen", "--", agent)
	case k == "L" && agent != "":
		return m.show("Output of "+agent, "agent", "logs", "--", agent)
	case k == "T" && r.order.task != 0:
		return m.show(fmt.Sprintf("Task %d", r.order.task), "task", "show", "--", fmt.Sprint(r.order.task))
	case k == "M" && r.order.mail != 0:
		return m.show(fmt.Sprintf("Mail %d", r.order.mail), "mail", "show", "--", fmt.Sprint(r.order.mail))
	case k == "t" && agent != "" && m.leave != nil:
		return m.leave(agent)
	}
	for _, v := range verbs {
		if v.key != k || !slices.Contains(r.acts, v.name) {
			continue
		}
		m.order, m.typed, m.beheld = r.order, nil, false
		m.order.verb = v.name
		unseen := m.chose[m.tab] == jumped
		m.chose[m.tab] = moved
		switch {
		case v.typed:
			if m.mode = typing; m.answers() {
				return m.lookFirst()
			}
			return nil
		case v.sure || unseen:
			m.mode = asking
			return nil
		}
		return m.do(m.order)
	}
	return nil
}

// show reads what a command prints about something.
func (m *model) show(title string, args ...string) tea.Cmd {
	m.said, m.wrong = "asking ...", false
	return func() tea.Msg { return textMsg{term.OneLine(title), m.hand.Text(m.ctx, args...)} }
}

func (m *model) do(o order) tea.Cmd {
	m.said, m.wrong = fmt.Sprintf("%s %s ...", words(o.verb), o.subject()), false
	return func() tea.Msg {
		said, err := m.hand.Do(m.ctx, o)
		return saidMsg{said, err}
	}
}

// keysText is what `?` shows.
const keysText = `1 2 3 4, Tab     inbox, agents, hosts, events
j k, arrows      move; g and G: first and last
Enter            all about it
e                why: vigil agent explain, vigil host explain
s                the screen of the agent
L                the output of the agent
t                attach to its terminal, and type there
T                its task, or the one that it is about
M                the mail that waits for an answer

What can be done about the chosen row stands in the last line:

a  answer        type a line into its terminal
n  nudge         the same; an empty line asks how it is getting on
m  mail          a line for its mailbox
r  restart       x  stop       S  start       u  unpark
c  acknowledge an escalation   C  close it
R  retry a task  Q  let a quarantined one be claimed  X  cancel it
d  drain a host  U  end that   D  confirm that it is dead
B  release the brake           o  reopen a canceled room
b  lift a budget

An order about something that has changed since you looked changes nothing and says so.
Once the chosen row has gone, the next order is asked about first.
q  leave`

// clock is the cluster time of the newest news.
func (m *model) clock() time.Duration {
	if m.news.GetClock() != nil {
		return m.news.GetClock().AsDuration()
	}
	return m.overview().GetClock().AsDuration()
}
