package noun

import (
	"fmt"
	"strconv"
	"strings"
)

// escalationWords say for people what an escalation of a kind is about, what vigil has
// done, and what a human can do. {agent}, {task}, {host}, {room}, {mail} and {server}
// stand for names; a command whose name is not known is left out.
type escalationWords struct {
	Name, reason, done string
	commands           []string
}

var EscalationKinds = [EscalationKindsPlus]escalationWords{
	EscStuckProcess: {"stuck_process", "a process of the agent cannot be ended, not even by SIGKILL",
		"its slot stays taken and no newer life is started anywhere until it is gone",
		[]string{"vigil agent explain {agent}", "vigil host explain {host}", "vigil host drain {host}"}},
	EscBreaker: {"breaker_open", "the agent has failed so often that its restarts are paused",
		"it is started once after the pause, to try; its tasks wait for another agent of the role",
		[]string{"vigil agent explain {agent}", "vigil agent logs {agent}", "vigil agent unpark {agent}",
			"vigil agent stop {agent}"}},
	EscBrokenStart: {"broken_start", "nothing of the agent can be started, several times in a row",
		"it is tried again at growing distances, on another host where there is one",
		[]string{"vigil agent explain {agent}", "vigil host explain {host}", "vigil agent stop {agent}"}},
	EscTaskQuarantined: {"task_quarantined",
		"several lives of agents died, or had to be ended, while they held the task",
		"nobody gets the task any more",
		[]string{"vigil task show {task}", "vigil task unquarantine {task}", "vigil task cancel {task}"}},
	EscMailUnanswered: {"mail_unacknowledged",
		"urgent or high mail to the agent is without an acknowledgement after its limit",
		"the mail is kept for the agent, which was reminded when the priority is high",
		[]string{"vigil mail show {mail}", "vigil agent explain {agent}", "vigil nudge {agent} TEXT",
			"vigil agent restart {agent}"}},
	EscMassFailure: {"mass_failure", "so many agents or hosts were lost at once that the network may be at fault",
		"the brake is set: agents of lost hosts are not started elsewhere at first, then slowly",
		[]string{"vigil status", "vigil host list", "vigil brake release"}},
	EscRoomCanceled: {"room_canceled", "nothing was done or said in the room for too long",
		"its tasks are canceled and who held them was stopped; nothing of it is lost",
		[]string{"vigil room show {room}", "vigil room reopen {room}", "vigil room watchdog {room} --idle-limit 2h"}},
	EscServerDiverged: {"server_diverged", "the state of a server differs from the majority's",
		"it serves nothing until its data is rebuilt",
		[]string{"vigil server list", "vigil server remove {server}"}},
	EscAgentStuck: {"agent_stuck", "the agent lives and does not get on, and its answers, if any, are words only",
		"it was nudged and asked, and interrupted and restarted where that is allowed; it keeps its task",
		[]string{"vigil agent explain {agent}", "vigil agent logs {agent}", "vigil nudge {agent} TEXT",
			"vigil agent restart {agent}", "vigil agent stop {agent}"}},
	EscPrompt: {"permission_prompt",
		"a permission prompt stands on the agent's terminal, and it works no more until somebody answers",
		"nothing: it is neither nudged nor restarted, and it keeps its task",
		[]string{"vigil agent screen {agent}", "vigil agent attach {agent}", "vigil agent explain {agent}",
			"vigil agent restart {agent}", "vigil agent stop {agent}"}},
	EscOverseerDown: {"overseer_down", "the overseer does not run, and its start waits",
		"it is started as soon as what it waits for allows; meanwhile nobody watches what it watches",
		[]string{"vigil agent explain {agent}", "vigil triage status {agent}", "vigil triage run {agent}"}},
	EscStatesDiffer: {"states_differ", "the states of servers differ, and no majority says which one is right",
		"nothing: all of them serve on, and what they answer may not agree",
		[]string{"vigil server list", "vigil status", "vigil server snapshot save before.snap"}},
	EscRoleFailing: {"role_failing", "most tasks of the role fail",
		"single tasks are tried, the others wait and lose no attempt; the escalation closes by itself once they succeed",
		[]string{"vigil room show {room}", "vigil task list --room {room}"}},
	EscUntaken: {"room_untaken",
		"nobody serves the roles of the room's tasks: no agent has lived in it, or theirs wait for a host",
		"nothing is canceled; the tasks wait, and the escalation closes by itself once an agent joins",
		[]string{"vigil room show {room}", "vigil task list --room {room}",
			"vigil room watchdog {room} --untaken cancel"}},
	EscUnproven: {"life_unproven",
		"the agent's host fell silent, and the policy of its role is confirm: time proves nothing",
		"its task is given to others; " +
			"it is started again when the host reports its end, or a human says that the host is dead",
		[]string{"vigil agent explain {agent}", "vigil host explain {host}", "vigil host confirm-dead {host}"}},
	EscIdentityCloned: {"identity_cloned",
		"a certificate was to be renewed whose successor is in use: two machines have the key of one name",
		"the older certificate is not renewed and runs out; the newer one goes on, and may be the copy",
		[]string{"vigil host explain {host}", "vigil server list"}},
	EscBudget: {"budget",
		"what was used within 24 h, as the AI tools tell it, is close to its budget or has used it up",
		"with all of it used nothing new is started or claimed; what runs goes on; it ends as the window moves on",
		[]string{"vigil usage {room}", "vigil agent explain {agent}", "vigil budget lift {room}"}},
	EscTaskFailed: {"task_failed",
		"tasks of the role FAILED: their attempts are used up, or an agent said that no other one helps",
		"nobody gets them any more; the escalation closes by itself once none of them is FAILED",
		[]string{"vigil task list --room {room} --state FAILED",
			"vigil task retry --room {room} --state FAILED --dry-run"}},
	EscNeedsInput: {"needs_input",
		"the agent says that it waits for a human, and works no more until somebody answers",
		"nothing: it is neither nudged nor restarted while it says so, and it keeps its task",
		[]string{"vigil agent explain {agent}", "vigil agent screen {agent}", "vigil nudge {agent} --answer TEXT",
			"vigil agent restart {agent}", "vigil agent stop {agent}"}},
	EscLimitLasts: {"limit_lasts",
		"agents of the role end at a limit of their tool, again and again, without any work done: " +
			"its login has expired, its account is empty, or the model is down",
		"they are parked and tried again after breaker_pause, or when their tool says; their tasks went back uncharged; " +
			"the escalation closes by itself once one of them works",
		[]string{"vigil agent explain {agent}", "vigil agent logs {agent}", "vigil agent unpark {agent}",
			"vigil agent stop {agent}"}},
}

// String is the name of the kind.
func (k EscalationKind) String() string { return EscalationKinds[k].Name }

// FactHops is the fact of a quarantined task that says how often in a row it was handed on, where that is why.
const FactHops = "handed_on"

// HandedOn says why a task waits for a human that was handed on so often in a row.
func HandedOn(hops uint32) string {
	return "handed on " + Plural(hops, "time") + " in a row, as often as handoff_limit allows"
}

// Reason says in fixed words what has happened.
func (e *Escalation) Reason() string {
	for _, kv := range e.Facts {
		if hops, err := strconv.ParseUint(kv.Value, 10, 32); kv.Key == FactHops && err == nil {
			return HandedOn(uint32(hops))
		}
	}
	return EscalationKinds[e.Kind].reason
}

// Done says in fixed words what vigil has done about it.
func (e *Escalation) Done() string { return EscalationKinds[e.Kind].done }

// Commands are what a human can do, those first that only look.
func (e *Escalation) Commands() (list []string) {
	values := map[string]string{"{agent}": e.Agent, "{host}": e.Host, "{room}": e.Room}
	if e.Task != 0 {
		values["{task}"] = strconv.FormatUint(uint64(e.Task), 10)
	}
	for _, kv := range e.Facts {
		if kv.Key == "mail" {
			values["{mail}"] = kv.Value
		}
	}
	if e.Kind == EscServerDiverged {
		values["{server}"] = e.Subject
	}
	for _, c := range EscalationKinds[e.Kind].commands {
		if at := strings.IndexByte(c, '{'); at >= 0 {
			name := c[at : strings.IndexByte(c, '}')+1]
			if values[name] == "" {
				continue
			}
			c = strings.ReplaceAll(c, name, values[name])
		}
		list = append(list, c)
	}
	if e.State == EscalationOpen {
		list = append(list, fmt.Sprintf("vigil escalation ack %d", e.ID))
	}
	return append(list, fmt.Sprintf("vigil escalation close %d", e.ID))
}

// Breaker tells that the agent's restarts are paused for its failures.
func (a *Agent) Breaker() bool { return a.Parked && a.Notes().ParkedWhy == "" }
