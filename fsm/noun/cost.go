package noun

// What values cost: a constant for each kind, which covers the value, its share of tables
// and indexes and its timers, and the lengths of its texts. The constants are measured once
// (TestF07CostsAreWhatMemoryTakes keeps them honest) and then part of the law: they are the
// same on every server, whatever it was built with.
const (
	costRoom       = 640
	costCanceled   = 160
	costSweep      = 80
	costRole       = 1024
	costOverseer   = 48
	CostAgent      = 512 // with its lease
	costNotes      = 216
	costSpent      = 80
	costUsed       = 192
	costTypist     = 64
	costHour       = 48
	costKind       = 8
	costLadder     = 112
	costScreen     = 96
	costChain      = 256
	costEnds       = 32
	costExit       = 128
	costDeclared   = 80
	costTask       = 400
	costPlan       = 32
	costTaskUsed   = 48
	costLate       = 64
	costRetry      = 64
	costFailure    = 48
	costEnding     = 64 // of its list there may be two
	costHalf       = 144
	costProbe      = 32
	costHeld       = 24
	costMail       = 352
	costHost       = 1024
	costView       = 64
	costTerminal   = 112
	costAnswer     = 144
	costSession    = 192 + LeastAnswers*costAnswer // those it can always keep
	costEvent      = 160
	costEscalation = 512
	costAudit      = 128
	costDelivery   = 112
	costKV         = 40
	costToken      = 256
	costCredential = 384
	costUser       = 160
	costBinding    = 24
	CostJoin       = costNotes + costDeclared + costExit // what a life by hand may need
	CostText       = 16                                  // beside its bytes; no text costs nothing
	costNumber     = 8
)

// text is what strings cost.
func text(list ...string) (n int64) {
	for _, s := range list {
		n += textOf(s)
	}
	return n
}

func textOf(s string) int64 {
	if s == "" {
		return 0
	}
	return int64(len(s)) + CostText
}

func textsOf(list []string) (n int64) {
	for _, s := range list {
		n += textOf(s) + CostText
	}
	return n
}

func costOfKVs(list []KV) (n int64) {
	for i := range list {
		n += costKV + textOf(list[i].Key) + textOf(list[i].Value)
	}
	return n
}

func CostOfRoom(r *Room) int64 {
	n := costRoom + textOf(r.Name) + textOf(r.ChangedBy) + textOf(r.PauseBy) + textOf(r.PauseWhy)
	n += int64(len(r.Roles)+len(r.Asked)) * costNumber
	if c := r.Canceled; c != nil {
		n += costCanceled + textOf(c.Room) + textOf(c.Reason) + textsOf(c.Roles) + textsOf(c.Hosts)
	}
	if w := r.Sweep; w != nil {
		n += costSweep + textOf(w.By)
	}
	return n + costOfSpent(r.Spent)
}

func CostOfRole(r *Role) int64 {
	n := costRole + textOf(r.Spec.Name) + textOf(r.Spec.Runner) + costOfKVs(r.Spec.Labels) + costOfKVs(r.Spec.Params)
	for i := range r.Spec.Overseer {
		n += costOverseer + textOf(r.Spec.Overseer[i].Triage)
	}
	n += costOfBindings(r.Spec.Grants)
	n += int64(len(r.Endings)) * costEnding
	if h := r.Half; h != nil {
		n += costHalf + int64(len(h.Probes))*costProbe + textOf(h.Why)
	}
	return n + costOfSpent(r.Spent)
}

func costOfSpent(p *Spent) int64 {
	if p == nil {
		return 0
	}
	return costSpent + int64(len(p.Day))*costHour + textOf(p.By)
}

func CostOfAgent(a *Agent) int64 {
	n := CostAgent + textOf(a.Name) + textOf(a.IntentBy) + textOf(a.TokenHash) + textOf(a.OrderReason) +
		textOf(a.Resume)
	n += int64(len(a.Starts)) * costNumber
	if x := a.LastExit; x != nil {
		n += costExit + textOf(x.Signal) + textOf(x.Reason) + textOf(x.Tail)
	}
	if d := a.Declared; d != nil {
		n += costDeclared + textOf(d.Text)
	}
	if x := a.Noted; x != nil {
		n += costNotes + textOf(x.PauseBy) + textOf(x.PauseWhy) + textOf(x.IntentWhy) + textOf(x.Stuck) +
			textOf(x.ParkedWhy) + textOf(x.StartFault)
		if x.Ends != nil {
			n += costEnds
		}
		if x.Ladder != nil {
			n += costLadder
		}
		if x.Screen != nil {
			n += costScreen
		}
		if t := x.Typist; t != nil {
			n += costTypist + textOf(t.By)
		}
		if u := x.Used; u != nil {
			n += costUsed + int64(len(u.Kinds))*costKind + int64(len(u.Day))*costHour
		}
		if c := x.Chain; c != nil {
			n += costChain + textOf(c.Action) + textOf(c.Asked) + textOf(c.Facts) + textOf(c.Degraded) +
				textOf(c.Act) + textOf(c.Why)
		}
	}
	return n
}

func CostOfTask(t *Task) int64 {
	n := costTask + textOf(t.Title) + textOf(t.Text) + textOf(t.Creator) + textOf(t.Note) + textOf(t.Result) +
		textOf(string(t.Trace)) + textOf(t.Key)
	for i := range t.Late {
		n += costLate + textOf(t.Late[i].Result)
	}
	n += int64(len(t.Past)) * costHeld
	if t.Plan != nil {
		n += costPlan
	}
	if t.Used != nil {
		n += costTaskUsed
	}
	if r := t.Retry; r != nil {
		n += costRetry
		for i := range r.Reasons {
			n += costFailure + textOf(r.Reasons[i].Text)
		}
	}
	return n
}

func CostOfMail(m *Mail) int64 {
	return costMail + textOf(m.From) + textOf(m.Subject) + textOf(m.Body) + textOf(m.Kind)
}

func CostOfHost(h *Host) int64 {
	n := costHost + text(h.Key, h.Name, h.Boot, h.Version, h.DrainBy, h.SuspectWhy, h.Pressure, h.GossipAddr,
		h.Containment)
	n += textsOf(h.Runners) + costOfKVs(h.Labels) + textsOf(h.Warnings) + textsOf(h.Servers) +
		int64(len(h.Flaps)+len(h.Away))*costNumber
	for i := range h.Views {
		n += costView + textOf(h.Views[i].Server)
	}
	if t := h.Terminal; t != nil {
		n += costTerminal + textOf(t.Tool) + textOf(t.Why) + textsOf(t.Runners) + textsOf(t.Watched)
	}
	return n
}

func CostOfSession(s *Session) int64 {
	n := costSession + textOf(s.Client)
	if more := len(s.Answers) - LeastAnswers; more > 0 {
		n += int64((more+LeastAnswers-1)/LeastAnswers*LeastAnswers) * costAnswer
	}
	for i := range s.Answers {
		n += textOf(s.Answers[i].Out.Detail)
	}
	return n
}

func CostOfEvent(e *Event) int64 {
	return costEvent + textOf(e.Kind) + textOf(e.Room) + textOf(e.Agent) + textOf(e.Host) + textOf(e.Text)
}

func CostOfEscalation(e *Escalation) int64 {
	n := costEscalation + text(e.Subject, e.Room, e.Agent, e.Host, e.AckBy, e.CloseBy, e.Note) + costOfKVs(e.Facts)
	for i := range e.Notice.Deliveries {
		n += costDelivery + textOf(e.Notice.Deliveries[i].Notifier) + textOf(e.Notice.Deliveries[i].Failure)
	}
	return n + int64(len(e.FailedNamed))*costNumber
}

func CostOfAudit(a *Audit) int64 {
	return costAudit + text(a.Who, a.Method, a.Room, a.Source, a.Digest)
}

func costOfBindings(list []Binding) (n int64) {
	for i := range list {
		n += costBinding + textOf(list[i].Room)
	}
	return n
}

func CostOfToken(t *Token) int64 {
	return costToken + text(t.Hash, t.Name, t.By) + costOfKVs(t.Labels) + textsOf(t.Runners)
}

func CostOfCredential(c *Credential) int64 {
	return costCredential + text(c.Name, c.Serial, c.Before, c.Key, c.Joined, c.Root) + costOfKVs(c.Labels) +
		textsOf(c.Runners)
}

func CostOfUser(u *User) int64 { return costUser + text(u.Name, u.By) + costOfBindings(u.Bindings) }

func CostOfAPIToken(t *APIToken) int64 {
	return costToken + text(t.Name, t.Hash, t.By) + costOfBindings(t.Bindings)
}

// Who pays, beside the cluster: the room never changes.
func RoomOfRoom(r *Room) RoomID { return r.ID }

func RoomOfRole(r *Role) RoomID { return r.Room }

func RoomOfAgent(a *Agent) RoomID { return a.Room }

func RoomOfTask(t *Task) RoomID { return t.Room }

func RoomOfMail(m *Mail) RoomID { return m.Room }
