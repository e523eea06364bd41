package fsm

import (
	"slices"
	"testing"
	"time"

	"vigil/fsm/noun"
)

// mail is what agents and people do with mail; now and then it is nonsense.
func (c *chaos) mail(s *State) Command {
	switch n := c.rng.IntN(12); {
	case n < 5:
		return c.send(s)
	case n < 8:
		return ReadMail{Speaker: c.speaker(c.agent(s)), Max: uint32(c.rng.IntN(4))}
	}
	a := c.agent(s)
	id := noun.MailID(1 + max(0, int(s.Meta.LastMail)-c.rng.IntN(25)))
	var box []noun.MailID
	for m := range s.Mailbox(a.ID, 0) {
		box = append(box, m.ID)
	}
	if len(box) > 0 && !c.one(12) {
		id = pick(c, box[max(0, len(box)-5):])
	}
	return AckMail{Speaker: c.speaker(a), Mail: id}
}

func (c *chaos) send(s *State) Command {
	m := SendMail{From: pick(c, []string{"ann", "bob", "r/nobody"}),
		Subject: "s", Body: "b", Kind: pick(c, []string{"", "note"}),
		Priority: noun.MailPriority(c.rng.IntN(4)), NoQueue: c.one(4)}
	room := pick(c, c.rooms)
	m.To = pick(c, []string{room, room + "/a", room + "/b.*", room + "/c.1", room + "/c.2", room + "/b", room +
		"/x", "nowhere", room + "/a.02", room + "/a.9"})
	if c.one(2) {
		m.To = c.agent(s).Name
	}
	if c.one(2) {
		m.Speaker = c.speaker(c.agent(s))
	}
	if s.Meta.LastMail > 0 && c.one(4) {
		m.ReplyTo = 1 + noun.MailID(c.rng.IntN(int(s.Meta.LastMail)))
		if c.one(2) {
			m.To = ""
		}
	}
	switch {
	case c.one(40):
		m.Subject, m.Body = "", ""
	case c.one(40):
		m.Priority = noun.MailLow + 1
	case c.one(40):
		m.Thread = s.Meta.LastMail + 1
	case c.one(40):
		m.From = ""
	}
	return m
}

// twinMail is one mail, naively: no timer, no index.
type twinMail struct {
	id, thread              noun.MailID
	to, from                string
	fromInc, reader         noun.Incarnation
	priority                noun.MailPriority
	state                   noun.MailState
	sent, since, closed     noun.Time
	deliveries, reminded    uint32
	again, noticed, escaped bool
}

func (w *twin) present(sp Speaker) (*twinAgent, noun.Code) {
	a, no := w.living(sp)
	if no == noun.OK && !a.managed && a.part == noun.PartDisconnected {
		return nil, noun.Rejoin
	}
	return a, no
}

func (w *twin) sendMail(t *testing.T, c SendMail, got noun.Outcome) noun.Code {
	m := twinMail{from: c.From, priority: c.Priority, state: noun.MailQueued, sent: w.now, since: w.now,
		thread: c.Thread}
	if c.Agent != "" {
		a, no := w.present(c.Speaker)
		if no != noun.OK {
			return no
		}
		m.from, m.fromInc = a.name, a.inc
	}
	if m.from == "" || c.Subject == "" && c.Body == "" || c.Priority > noun.MailLow || c.ReplyTo > w.lastMail ||
		c.Thread > w.lastMail {
		return noun.Invalid
	}
	if m.thread == 0 {
		m.thread = c.ReplyTo
		if old := w.mails[c.ReplyTo]; old != nil {
			m.thread = old.thread
		}
	}
	list, code := w.addressed(c)
	if code != noun.OK {
		return code
	}
	list = slices.DeleteFunc(list, func(name string) bool {
		a := w.agents[name]
		return c.NoQueue && !a.proc.Fenced() && a.part == noun.PartDisconnected
	})
	if len(list) == 0 {
		return noun.AgentOff
	}
	if got.Mail != w.lastMail+1 || int(got.Count) != len(list) {
		t.Fatalf("sent mail %d, %d copies; the twin says %d to %v", got.Mail, got.Count, w.lastMail+1, list)
	}
	if m.thread == 0 {
		m.thread = w.lastMail + 1
	}
	for _, name := range list {
		w.lastMail++
		x := m
		x.id, x.to = w.lastMail, name
		w.mails[x.id] = &x
	}
	return noun.OK
}

func (w *twin) addressed(c SendMail) ([]string, noun.Code) {
	first := map[string]string{"r/a.1": "r/a", "r/b.1": "r/b", "r/c.1": "r/c"}
	roles := map[string]string{"r/a": "a", "r/b": "b", "r/c": "c", "r/a.*": "a", "r/b.*": "b", "r/c.*": "c"}
	if c.To == "" {
		old := w.mails[c.ReplyTo]
		switch {
		case c.ReplyTo == 0:
			return nil, noun.Invalid
		case old == nil:
			return nil, noun.NotFound
		case old.fromInc == 0:
			return nil, noun.NoAddressee
		}
		return []string{old.from}, noun.OK
	}
	var list []string
	for _, name := range w.order {
		if (c.To == "r" || roles[c.To] == w.agents[name].role) && name != c.Agent {
			list = append(list, name)
		}
	}
	switch {
	case len(list) > 0:
		return list, noun.OK
	case first[c.To] != "":
		return []string{first[c.To]}, noun.OK
	case w.agents[c.To] != nil:
		return []string{c.To}, noun.OK
	}
	return nil, noun.NoAddressee
}

func (w *twin) readMail(t *testing.T, c ReadMail, got noun.Outcome) noun.Code {
	a, no := w.present(c.Speaker)
	if no != noun.OK {
		return no
	}
	most := int(c.Max)
	if most == 0 {
		most = noun.MaxMailRead
	}
	n := 0
	for _, p := range []noun.MailPriority{noun.MailUrgent, noun.MailHigh, noun.MailNormal, noun.MailLow} {
		for id := noun.MailID(1); id <= w.lastMail && n < most; id++ {
			m := w.mails[id]
			if m == nil || m.to != a.name || m.priority != p || m.state > noun.MailDelivered ||
				m.state == noun.MailDelivered && m.reader == a.inc && !m.again {
				continue
			}
			n++
			if m.reader != a.inc && (m.noticed || m.reader != 0) {
				m.since, m.noticed = w.now, false
			}
			m.state, m.reader, m.again = noun.MailDelivered, a.inc, false
			m.deliveries++
		}
	}
	if int(got.Count) != n {
		t.Fatalf("%s read %d mails, the twin says %d", a.name, got.Count, n)
	}
	return noun.OK
}

func (w *twin) ackMail(c AckMail) noun.Code {
	a, no := w.present(c.Speaker)
	if no != noun.OK {
		return no
	}
	m := w.mails[c.Mail]
	switch {
	case m == nil || m.to != a.name:
		return noun.NotFound
	case m.state == noun.MailExpired:
		return noun.Conflict
	case m.state != noun.MailAcknowledged:
		m.state, m.closed, m.again = noun.MailAcknowledged, w.now, false
	}
	return noun.OK
}

// mailLimits does what is due for mail that nobody has acknowledged.
func (w *twin) mailLimits() {
	due := func(from noun.Time, d time.Duration) bool { return from.Add(d) <= w.now }
	for id, m := range w.mails {
		limit := map[noun.MailPriority]time.Duration{noun.MailUrgent: w.set.MailUrgentLimit,
			noun.MailHigh:   w.set.MailHighLimit,
			noun.MailNormal: w.set.MailNormalLimit, noun.MailLow: w.set.MailLowLimit}[m.priority]
		switch {
		case m.state.Closed():
			if due(m.closed, w.set.MailRetention) {
				delete(w.mails, id)
			}
			continue
		case due(m.sent, w.set.MailExpiry):
			m.state, m.closed, m.again = noun.MailExpired, w.now, false
			continue
		}
		if m.priority != noun.MailUrgent && !m.noticed && due(m.since, limit) {
			m.noticed = true
			if m.priority != noun.MailLow {
				m.again = true
				m.reminded++
			}
		}
		if m.priority == noun.MailUrgent && due(m.sent, limit) || m.priority == noun.MailHigh && due(m.sent, 2*limit) {
			m.escaped = true
		}
	}
}

func (w *twin) sameMail(t *testing.T, s *State, index uint64) {
	t.Helper()
	if len(w.mails) != s.MailTable.Len() {
		t.Fatalf("after entry %d: %d mails, the twin has %d", index, s.MailTable.Len(), len(w.mails))
	}
	for id, m := range w.mails {
		r := s.Mail(id)
		if r == nil {
			t.Fatalf("after entry %d at %s: mail %d is gone, the twin has %+v", index, time.Duration(w.now), id, m)
		}
		if s.Agent(r.To).Name != m.to || r.From != m.from || r.FromInc != m.fromInc || r.State != m.state ||
			r.DeliveredTo != m.reader ||
			r.Deliveries != m.deliveries || r.Reminded != m.reminded || r.Again != m.again ||
			r.Escalated != m.escaped || r.Thread != m.thread {
			t.Fatalf("after entry %d at %s mail %d is\n%+v, the twin says\n%+v", index, time.Duration(w.now), id, r, m)
		}
	}
}
