package mail

import (
	"vigil/fsm/due"
	"vigil/fsm/noun"
)

// Kinds of deadlines of mail.
var (
	kindRemind   = &due.Kind{Name: "mail reminder", Then: "its reader is reminded, once a life"}
	kindRecord   = &due.Kind{Name: "mail limit", Then: "an event says that nobody has acknowledged it"}
	kindEscalate = &due.Kind{Name: "mail escalation", Then: "a human is called"}
	kindExpiry   = &due.Kind{Name: "mail expiry", Then: "it is closed without an acknowledgement"}
	kindRemoval  = &due.Kind{Name: "mail removal", Then: "it is forgotten"}
)

// mailRows are all rows of a mail, in no order. What follows when nobody acknowledges it depends
// on its priority. Reminders run from when the present reader got it, so that each life is
// reminded once; escalations from the sending, so that no series of lives puts them off.
func (v *View) mailRows(m *noun.Mail) (rows [3]due.Row) {
	set, of := &v.Meta.Settings, due.OfMail(m.ID)
	if m.State.Closed() {
		rows[0] = due.Row{Kind: kindRemoval, Of: of, From: m.ClosedAt, Span: set.MailRetention}
		return rows
	}
	limit := set.MailLimit(m.Priority)
	rows[0] = due.Row{Kind: kindExpiry, Of: of, From: m.SentAt, Span: set.MailExpiry}
	if !m.Noticed && m.Priority != noun.MailUrgent {
		rows[1] = due.Row{Kind: kindRemind, Of: of, From: m.Since, Span: limit}
		if m.Priority == noun.MailLow {
			rows[1].Kind = kindRecord
		}
	}
	switch {
	case m.Escalated:
	case m.Priority == noun.MailUrgent:
		rows[2] = due.Row{Kind: kindEscalate, Of: of, From: m.SentAt, Span: limit}
	case m.Priority == noun.MailHigh:
		rows[2] = due.Row{Kind: kindEscalate, Of: of, From: m.SentAt, Span: 2 * limit}
	}
	return rows
}

// mailRow is the row for which a mail must be looked at again.
func (v *View) mailRow(m *noun.Mail) (r due.Row) {
	for _, x := range v.mailRows(m) {
		r = due.Sooner(r, x)
	}
	return r
}

// boxRows adds what is due of an agent's mail without an acknowledgement.
func (v *View) boxRows(a *noun.Agent, l *due.List) {
	for _, id := range v.boxes[a.ID].list(false) {
		for _, r := range v.mailRows(v.MailTable.Get(id)) {
			l.Add(r)
		}
	}
}
