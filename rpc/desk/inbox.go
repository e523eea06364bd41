package desk

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"vigil/fsm"
	"vigil/fsm/judge"
	"vigil/fsm/noun"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// Bounds of an inbox.
const (
	maxInbox     = 1000           // things
	failedLooked = 5000           // ended tasks, from the last one back
	failedFor    = 24 * time.Hour // of cluster time: a failed task waits no longer for somebody to see it
	rolesShown   = 100
)

// inbox gathers what waits for a human. What a human was called for already is in it once: an agent's prompt
// that an escalation is about is that escalation.
type inbox struct {
	room   string // "": all
	leader bool   // one is known
	items  []*vigilv1.InboxItem
	agents map[noun.AgentID]bool // that an escalation is about which takes the place of its item
	tasks  map[noun.TaskID]bool
}

// sameAs are the kinds of items that an escalation takes the place of: whoever looks at one before a human is
// called goes on looking at the same thing.
var sameAs = map[noun.EscalationKind]string{noun.EscPrompt: "prompt", noun.EscBreaker: "parked",
	noun.EscNeedsInput: "needs_input"}

func (in *inbox) add(i *vigilv1.InboxItem) { in.items = append(in.items, i) }

// escalations adds what nobody has closed.
func (in *inbox) escalations(st *fsm.View) {
	for e := range st.Escalations(0) {
		if e.State == noun.EscalationClosed || in.room != "" && e.Room != in.room {
			continue
		}
		i := &vigilv1.InboxItem{Key: "escalation/" + strconv.FormatUint(uint64(e.ID), 10), Kind: e.Kind.String(),
			Priority: e.Priority.String(), Subject: e.Subject, Room: e.Room, Agent: e.Agent,
			Incarnation: form.IncName(e.Inc), IncarnationRaw: uint64(e.Inc), Task: uint64(e.Task), Host: e.Host,
			Escalation: uint64(e.ID), Text: e.Reason(), Done: e.Done(), Age: form.Lasting(st.Clock().Sub(e.First)),
			AckBy: e.AckBy, Lasts: st.Lasts(e), Count: e.Count}
		for _, kv := range e.Facts {
			switch kv.Key {
			case "mail":
				i.Mail, _ = strconv.ParseUint(kv.Value, 10, 64)
			case "role":
				i.Role = kv.Value
			}
		}
		a := st.AgentByName(e.Agent)
		if e.Task != 0 && e.Kind == noun.EscTaskQuarantined {
			in.tasks[e.Task] = true
		}
		in.about(st, a, i)
		if _, role, ok := strings.Cut(e.Subject, "/"); ok && a == nil &&
			(e.Kind == noun.EscBudget || e.Kind == noun.EscTaskFailed) {
			i.Role = role
		}
		if kind := sameAs[e.Kind]; kind != "" && a != nil && i.Lasts {
			in.agents[a.ID] = true
			i.Key = agentKey(kind, a)
		}
		i.Actions = append(answers(e, i.Lasts), unacknowledged(e)...)
		in.add(i)
	}
}

// answers are what a human can do about an escalation beside saying that it is seen or over.
func answers(e *noun.Escalation, lasts bool) []string {
	if !lasts {
		return nil
	}
	switch e.Kind {
	case noun.EscPrompt:
		return []string{"answer", "restart", "stop"}
	case noun.EscNeedsInput:
		return []string{"answer", "mail", "restart", "stop"}
	case noun.EscAgentStuck, noun.EscMailUnanswered:
		return []string{"nudge", "restart", "stop"}
	case noun.EscBreaker, noun.EscBrokenStart, noun.EscLimitLasts:
		return []string{"unpark", "stop"}
	case noun.EscTaskQuarantined:
		return []string{"unquarantine", "cancel"}
	case noun.EscMassFailure:
		return []string{"release_brake"}
	case noun.EscRoomCanceled:
		return []string{"reopen"}
	case noun.EscUnproven:
		return []string{"confirm_dead"}
	case noun.EscStuckProcess:
		return []string{"stop"}
	case noun.EscBudget:
		return []string{"lift"}
	}
	return nil
}

func unacknowledged(e *noun.Escalation) []string {
	if e.State == noun.EscalationOpen {
		return []string{"ack", "close"}
	}
	return []string{"close"}
}

// about adds what is known of the agent and the task that an item is about.
func (in *inbox) about(st *fsm.View, a *noun.Agent, i *vigilv1.InboxItem) {
	if t := st.Task(noun.TaskID(i.GetTask())); t != nil {
		i.TaskRev = t.Rev
	}
	if a == nil {
		return
	}
	v := st.Verdict(a.ID, in.leader)
	i.Verdict, i.AgentRev, i.Agent, i.Room = v.Kind.String(), a.Rev, a.Name, st.RoomByID(a.Room).Name
	if r := st.Role(a.Role); r != nil {
		i.Role = r.Spec.Name
	}
	// What is done is done to the life of now.
	i.Incarnation, i.IncarnationRaw, i.Host = form.IncName(a.Inc), uint64(a.Inc), form.HostName(st, a.Host)
	if d := a.Declared; d != nil {
		i.Said = d.Text
	}
	for _, r := range v.Reasons {
		if r.Bad {
			i.Reasons = append(i.Reasons,
				&vigilv1.Reason{Text: r.Text, Evidence: r.Evidence, Age: form.Lasting(r.Age), Bad: true})
		}
	}
}

// agent adds an agent that waits for a human without an escalation.
func (in *inbox) agent(st *fsm.View, a *noun.Agent, kind judge.Kind) {
	if in.agents[a.ID] {
		return
	}
	i := &vigilv1.InboxItem{Subject: a.Name, Task: uint64(a.Task), Lasts: true, Count: 1}
	now, sc := st.Clock(), a.Screen()
	switch {
	case kind == judge.AgentNeedsInput && sc != nil && sc.Kind == noun.PromptPermission:
		i.Kind, i.Priority, i.Text = "prompt", noun.MailHigh.String(), noun.PromptTexts[noun.PromptPermission]
		i.Age, i.Actions = form.Lasting(now.Sub(sc.At)), []string{"answer", "restart", "stop"}
	case kind == judge.AgentNeedsInput:
		i.Kind, i.Priority, i.Text = "needs_input", noun.MailHigh.String(), "the agent says that it waits for a human"
		i.Age, i.Actions = form.Lasting(now.Sub(a.Declared.Since)), []string{"answer", "mail", "restart", "stop"}
	case a.Breaker():
		i.Kind, i.Priority, i.Text = "parked", noun.MailNormal.String(), "its restarts are paused after failures"
		i.Actions = []string{"unpark", "stop"}
		if x := a.LastExit; x != nil {
			i.Age = form.Lasting(now.Sub(x.At))
		}
	default:
		return
	}
	in.about(st, a, i)
	i.Key = agentKey(i.Kind, a)
	in.add(i)
}

// agentKey is the key of what is about one life of an agent.
func agentKey(kind string, a *noun.Agent) string {
	return fmt.Sprintf("%s/%s#%s", kind, a.Name, form.IncName(a.Inc))
}

// endedTasks adds tasks that have failed, or that nobody gets any more. It comes after the escalations.
func (in *inbox) endedTasks(st *fsm.View) {
	looked, now := 0, st.Clock()
	for t := range st.EndedTasks() {
		if looked++; looked > failedLooked {
			return
		}
		age := now.Sub(t.FinishedAt)
		if t.State != noun.TaskFailed && t.State != noun.TaskQuarantined ||
			t.State == noun.TaskFailed && age > failedFor || in.tasks[t.ID] {
			continue
		}
		room, role := st.RoomByID(t.Room), st.Role(t.Role)
		if room == nil || role == nil || in.room != "" && room.Name != in.room {
			continue
		}
		i := &vigilv1.InboxItem{Key: fmt.Sprintf("task/%d.%d", t.ID, t.Attempt), Kind: "task_failed",
			Priority: noun.MailLow.String(), Subject: fmt.Sprintf("task %d", t.ID), Room: room.Name,
			Role: role.Spec.Name, Task: uint64(t.ID), TaskRev: t.Rev, Agent: form.AgentName(st, t.Holder),
			Incarnation: form.IncName(t.HolderInc), IncarnationRaw: uint64(t.HolderInc), Said: t.Title,
			Text: "the task has failed", Age: form.Lasting(age), Lasts: true, Count: uint64(t.Attempt),
			Actions: []string{"retry"}}
		if t.State == noun.TaskQuarantined {
			i.Kind, i.Priority = noun.EscTaskQuarantined.String(), noun.MailNormal.String()
			i.Text, i.Actions = "nobody gets the task any more: its holders died", []string{"unquarantine", "cancel"}
			if t.Attempt == 0 && t.Hops > 0 { // nobody has had it
				i.Text = noun.HandedOn(t.Hops)
			}
		}
		in.add(i)
	}
}

// roles adds roles with work that nobody takes. It comes after the escalations.
func (in *inbox) roles(st *fsm.View) {
	list, _ := st.Unserved(in.room, rolesShown)
	for _, u := range list {
		r := st.Role(u.Role)
		name := st.RoomByID(r.Room).Name + "/" + r.Spec.Name
		if slices.ContainsFunc(in.items, func(i *vigilv1.InboxItem) bool {
			return i.GetKind() == noun.EscRoleFailing.String() && i.GetSubject() == name
		}) {
			continue
		}
		i := &vigilv1.InboxItem{Key: "role/" + name, Kind: "unserved", Priority: noun.MailNormal.String(), Subject: name,
			Room: st.RoomByID(r.Room).Name, Role: r.Spec.Name, Lasts: true, Count: uint64(u.Waiting),
			Text: fmt.Sprintf("%s and nobody takes one: %s", noun.Plural(u.Waiting, "task"), u.Why.Text),
			Age:  form.Lasting(u.Since)}
		if r.Half != nil {
			i.Kind = "half_open"
		}
		in.add(i)
	}
}

// sorted gives the most urgent first: what nobody looks after, by priority, and what waits longest.
func (in *inbox) sorted() (items []*vigilv1.InboxItem, left int) {
	rank := func(i *vigilv1.InboxItem) int {
		r := slices.Index([]string{"urgent", "high", "normal", "low"}, i.GetPriority())
		if i.GetAckBy() != "" {
			r += 4
		}
		if !i.GetLasts() {
			r += 8
		}
		return r
	}
	slices.SortStableFunc(in.items, func(a, b *vigilv1.InboxItem) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.GetAge().AsDuration(), a.GetAge().AsDuration()),
			cmp.Compare(a.GetKey(), b.GetKey()))
	})
	n := min(len(in.items), maxInbox)
	return in.items[:n], len(in.items) - n
}
