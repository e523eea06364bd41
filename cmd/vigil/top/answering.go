package top

import (
	tea "github.com/charmbracelet/bubbletea"

	"vigil/rpc/gen/vigilv1"
)

// This file is about the answer to a prompt: it is typed below the terminal on which the prompt stands, and is for
// that prompt only.

// screenMsg is what stands on the terminal of an agent that is about to be answered.
type screenMsg struct {
	agent  string
	screen *vigilv1.Screen
}

// blind tells that an answer is for a prompt which nobody was shown: one may come up before it is typed.
func (o order) blind() bool { return o.verb == "answer" && !o.words && o.dialog == "" }

// lookFirst shows what an answer is for, while it is typed.
func (m *model) lookFirst() tea.Cmd {
	agent := m.order.agent
	return func() tea.Msg {
		screen, err := m.hand.Screen(m.ctx, agent)
		if err != nil {
			return saidMsg{err: err}
		}
		return screenMsg{agent, screen}
	}
}

// answers tells whether keys that are typed now answer a prompt.
func (m *model) answers() bool { return m.mode == typing && m.order.verb == "answer" && !m.order.words }

func (m *model) behold(s screenMsg) {
	if !m.answers() || s.agent != m.order.agent || s.screen == nil {
		return
	}
	m.order.dialog = s.screen.GetDialog()
	m.read("Terminal of "+s.agent, s.screen.GetText())
	m.mode, m.scroll, m.beheld = typing, len(m.text), true
}
