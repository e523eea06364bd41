package noun

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// setting describes one setting: how users call it, what it means, its range.
type setting struct {
	Name, help string
	Dur        func(*Settings) *time.Duration
	num        func(*Settings) *uint64
	num32      func(*Settings) *uint32
	Flag       func(*Settings) *bool
	size       func(*Settings) *uint64 // in bytes
	word       func(*Settings) wordSetting
	Words      []string // that word takes
	Min, Max   int64    // durations in milliseconds
}

// wordSetting is a value that is one of some words.
type wordSetting interface {
	fmt.Stringer
	Set(word string) error
}

var SettingTable = []setting{
	{Name: "ttl", help: "lease and fence of an agent", Min: 500, Max: day,
		Dur: func(s *Settings) *time.Duration { return &s.TTL }},
	{Name: "host_ttl", help: "lease of a host", Min: 500, Max: day,
		Dur: func(s *Settings) *time.Duration { return &s.HostTTL }},
	{Name: "ack_limit", help: "a claimed task must be started within", Min: 100, Max: 7 * day,
		Dur: func(s *Settings) *time.Duration { return &s.AckLimit }},
	{Name: "pending_limit", help: "a task that nobody claims is reported after", Min: 100, Max: 7 * day,
		Dur: func(s *Settings) *time.Duration { return &s.PendingLimit }},
	{Name: "start_limit", help: "a started process must join within", Min: 500, Max: day,
		Dur: func(s *Settings) *time.Duration { return &s.StartLimit }},
	{Name: "stop_grace", help: "time between TERM and KILL", Min: 0, Max: day,
		Dur: func(s *Settings) *time.Duration { return &s.StopGrace }},
	{Name: "accept_limit", help: "a start order that its host does not accept is withdrawn after", Min: 100,
		Max: day, Dur: func(s *Settings) *time.Duration { return &s.AcceptLimit }},
	{Name: "session_ttl", help: "a client session ends after so long without a write",
		Min: int64(MinSessionTTL / time.Millisecond), Max: 7 * day,
		Dur: func(s *Settings) *time.Duration { return &s.SessionTTL }},
	{Name: "task_retention", help: "finished tasks are kept for", Min: 1000, Max: 3650 * day,
		Dur: func(s *Settings) *time.Duration { return &s.TaskRetention }},
	{Name: "tasks_kept", help: "finished tasks kept at most", Min: 0, Max: 1 << 40,
		num: func(s *Settings) *uint64 { return &s.TasksKept }},
	{Name: "events_kept", help: "events kept at most", Min: 1000, Max: 1 << 30,
		num: func(s *Settings) *uint64 { return &s.EventsKept }},
	{Name: "attempt_limit", help: "attempts at a task before it is FAILED; 0: no limit", Min: 0, Max: MaxTries,
		num32: func(s *Settings) *uint32 { return &s.AttemptLimit }},
	{Name: "kill_limit",
		help: "incarnations that may die of a task, or hang with it until the ladder ends them, " +
			"before it is QUARANTINED; twice as many that are lost in a row with their host, without progress, " +
			"do so too; 0: no limit",
		Min: 0, Max: MaxTries, num32: func(s *Settings) *uint32 { return &s.KillLimit }},
	{Name: "handoff_limit",
		help: "hand-offs in a row, each from the task of the one before, after which the next task is QUARANTINED; " +
			"0: no limit",
		Min: 0, Max: 100_000, num32: func(s *Settings) *uint32 { return &s.HandoffLimit }},
	{Name: "retry_first", help: "a task that failed is tried again after this, then after twice as much",
		Min: 0, Max: day, Dur: func(s *Settings) *time.Duration { return &s.Retry.First }},
	{Name: "retry_most", help: "a task that failed again and again is tried again after at most", Min: 0,
		Max: 30 * day, Dur: func(s *Settings) *time.Duration { return &s.Retry.Most }},
	{Name: "circuit_failures",
		help: "a role half-opens when so many attempts at its tasks fail within circuit_window, " +
			"more than half of those that end, or in a row at any pace; 0: never",
		Min: 0, Max: EndingsKept, num32: func(s *Settings) *uint32 { return &s.Retry.Failures }},
	{Name: "circuit_window", help: "window of circuit_failures", Min: 1000, Max: day / 24,
		Dur: func(s *Settings) *time.Duration { return &s.Retry.Window }},
	{Name: "breaker_starts", Min: 1, Max: 1000,
		help:  "failures within breaker_window that park an agent; twice as many in a row do at any pace",
		num32: func(s *Settings) *uint32 { return &s.BreakerStarts }},
	{Name: "breaker_window", help: "window of breaker_starts", Min: 1000, Max: day,
		Dur: func(s *Settings) *time.Duration { return &s.BreakerWindow }},
	{Name: "breaker_pause", help: "how long an agent is parked before one trial", Min: 1000, Max: 7 * day,
		Dur: func(s *Settings) *time.Duration { return &s.BreakerPause }},
	{Name: "usage_pause",
		help: "how long an agent is parked whose tool is out of quota and does not say until when; " +
			"one whose terminal shows that is nudged after it",
		Min: 1000, Max: day, Dur: func(s *Settings) *time.Duration { return &s.UsagePause }},
	{Name: "healthy_after", help: "a life this long, with work done, clears the restart budget", Min: 1000,
		Max: day, Dur: func(s *Settings) *time.Duration { return &s.HealthyAfter }},
	{Name: "starts_per_host", help: "agents that a host starts at once", Min: 1, Max: 10_000,
		num32: func(s *Settings) *uint32 { return &s.StartsPerHost }},
	{Name: "starts_per_second", help: "starts a second in the cluster", Min: 1, Max: 1_000_000,
		num32: func(s *Settings) *uint32 { return &s.StartsPerSecond }},
	{Name: "default_capacity", help: "agents on a host that names no capacity", Min: 1, Max: 1_000_000,
		num32: func(s *Settings) *uint32 { return &s.DefaultCapacity }},
	{Name: "mark_every",
		help: "log entries between comparisons of the servers' states, more when the state is large; 0: never",
		Min:  0, Max: 1 << 40, num: func(s *Settings) *uint64 { return &s.MarkEvery }},
	{Name: "brake_agents",
		help: "the mass-failure brake needs so many running agents; 0: there is no brake, and one that is set ends",
		Min:  0, Max: 1_000_000, num32: func(s *Settings) *uint32 { return &s.BrakeAgents }},
	{Name: "brake_share",
		help: "percentage of agents, or of at least 3 hosts, whose loss sets the brake when it is exceeded",
		Min:  1, Max: 100, num32: func(s *Settings) *uint32 { return &s.BrakeShare }},
	{Name: "brake_window", help: "window of brake_share", Min: 1000, Max: day / 24,
		Dur: func(s *Settings) *time.Duration { return &s.BrakeWindow }},
	{Name: "flap_limit",
		help: "a host that was suspect or lost so often gets no starts at first when it comes back; 0: no limit",
		Min:  0, Max: 1000, num32: func(s *Settings) *uint32 { return &s.FlapLimit }},
	{Name: "flap_window", help: "window of flap_limit", Min: 1000, Max: day,
		Dur: func(s *Settings) *time.Duration { return &s.FlapWindow }},
	{Name: "flap_pause", help: "no starts on a host that flaps, doubled each time to at most 10 min", Min: 1000,
		Max: day / 24, Dur: func(s *Settings) *time.Duration { return &s.FlapPause }},
	{Name: "replace_servers",
		help: "a server that nobody has heard for so long gives its vote to a standby; 0: never by itself",
		Min:  0, Max: 3650 * day, Dur: func(s *Settings) *time.Duration { return &s.ReplaceServers }},
	{Name: "forget_hosts",
		help: "a host that is lost or has left is forgotten after so long without a beat, " +
			"unless a life may come back with it or a human drains it; 0: never",
		Min: 0, Max: 3650 * day, Dur: func(s *Settings) *time.Duration { return &s.ForgetHosts }},
	{Name: "declare_limit",
		help: "the longest that an agent may declare itself busy, sleeping or in a tool at once", Min: 1000,
		Max: 7 * day, Dur: func(s *Settings) *time.Duration { return &s.DeclareLimit }},
	{Name: "mail_urgent_limit", help: "urgent mail without an acknowledgement is escalated after", Min: 1000,
		Max: 7 * day, Dur: func(s *Settings) *time.Duration { return &s.MailUrgentLimit }},
	{Name: "mail_high_limit",
		help: "high mail without an acknowledgement is reminded of after, and escalated after twice as much",
		Min:  1000, Max: 7 * day, Dur: func(s *Settings) *time.Duration { return &s.MailHighLimit }},
	{Name: "mail_normal_limit", help: "normal mail without an acknowledgement is reminded of after", Min: 1000,
		Max: 7 * day, Dur: func(s *Settings) *time.Duration { return &s.MailNormalLimit }},
	{Name: "mail_low_limit", help: "low mail without an acknowledgement is recorded after", Min: 1000,
		Max: 7 * day, Dur: func(s *Settings) *time.Duration { return &s.MailLowLimit }},
	{Name: "mail_expiry", help: "mail without an acknowledgement expires after", Min: 1000, Max: 365 * day,
		Dur: func(s *Settings) *time.Duration { return &s.MailExpiry }},
	{Name: "mail_retention", help: "acknowledged and expired mail is kept for", Min: 1000, Max: 365 * day,
		Dur: func(s *Settings) *time.Duration { return &s.MailRetention }},
	{Name: "mail_wakes",
		help:  "mail of this priority or a higher one starts an on_demand agent that does not run; low mail never does",
		Words: mailWakesNames[:], word: func(s *Settings) wordSetting { return &s.MailWakes }},
	{Name: "mail_kept", help: "mails kept at most in the cluster; the oldest closed ones go first", Min: 1000,
		Max: 10_000_000, num: func(s *Settings) *uint64 { return &s.MailKept }},
	{Name: "watchdog_enabled", help: "rooms in which nothing happens are warned and then canceled", Max: 1,
		Flag: func(s *Settings) *bool { return &s.Watchdog.Enabled }},
	{Name: "watchdog_interval", help: "time between looks for silent rooms", Min: 1000, Max: day,
		Dur: func(s *Settings) *time.Duration { return &s.Watchdog.Interval }},
	{Name: "watchdog_threshold",
		help: "a room with open tasks in which nothing is done or said for so long is stalled", Min: 1000,
		Max: 365 * day, Dur: func(s *Settings) *time.Duration { return &s.Watchdog.Threshold }},
	{Name: "watchdog_min_age", help: "a room that has had open tasks for less than this is never stalled",
		Min: 0, Max: 365 * day, Dur: func(s *Settings) *time.Duration { return &s.Watchdog.MinAge }},
	{Name: "watchdog_start_delay", help: "a new leader looks for silent rooms after this", Min: 0, Max: day,
		Dur: func(s *Settings) *time.Duration { return &s.Watchdog.StartDelay }},
	{Name: "watchdog_grace", help: "time between the warning of a silent room and its cancellation", Min: 0,
		Max: day, Dur: func(s *Settings) *time.Duration { return &s.Watchdog.Grace }},
	{Name: "watchdog_max_cancellations", help: "rooms canceled within watchdog_interval at most", Min: 1,
		Max: 10_000, num32: func(s *Settings) *uint32 { return &s.Watchdog.MaxCancellations }},
	{Name: "watchdog_untaken",
		help: "what becomes of a silent room that nobody serves, since its agents wait for a host, or no agent " +
			"has lived in it since it was created and it has no limits of its own: warn tells a human, " +
			"cancel treats it like other rooms",
		Words: untakenNames[1:], word: func(s *Settings) wordSetting { return &s.Watchdog.Untaken }},
	{Name: "escalation_cooldown",
		help: "what happens again is announced again after, while nobody looks after it", Min: 1000,
		Max: 30 * day, Dur: func(s *Settings) *time.Duration { return &s.Escalation.Cooldown }},
	{Name: "escalation_retry",
		help: "a notice that was not delivered is tried again after, then after twice as much, up to an hour",
		Min:  100, Max: day / 24, Dur: func(s *Settings) *time.Duration { return &s.Escalation.Retry }},
	{Name: "escalation_remind",
		help: "what still lasts and nobody looks after is announced again after; 0: never", Min: 0, Max: 30 * day,
		Dur: func(s *Settings) *time.Duration { return &s.Escalation.Remind }},
	{Name: "escalation_tries", help: "tries of a notifier before it gives a notice up", Min: 1, Max: 1000,
		num32: func(s *Settings) *uint32 { return &s.Escalation.Tries }},
	{Name: "escalations_kept", help: "closed escalations kept at most; the oldest go first", Min: 0,
		Max: 1_000_000, num: func(s *Settings) *uint64 { return &s.Escalation.Kept }},
	{Name: "ladder_enabled",
		help: "agents that are stuck are nudged, woken, interrupted, restarted, and at last a human is told",
		Max:  1, Flag: func(s *Settings) *bool { return &s.Ladder.Enabled }},
	{Name: "ladder_nudge", help: "a stuck agent that does not answer a nudge is woken after", Min: 1000,
		Max: day, Dur: func(s *Settings) *time.Duration { return &s.Ladder.Nudge }},
	{Name: "ladder_wake", help: "one that does not answer the inquiry is interrupted after", Min: 1000,
		Max: day, Dur: func(s *Settings) *time.Duration { return &s.Ladder.Wake }},
	{Name: "ladder_interrupt", help: "one that an interrupt does not help is restarted after", Min: 1000,
		Max: day, Dur: func(s *Settings) *time.Duration { return &s.Ladder.Interrupt }},
	{Name: "ladder_restart", help: "one that is stuck in spite of its restart becomes a human's business after",
		Min: 1000, Max: day, Dur: func(s *Settings) *time.Duration { return &s.Ladder.Restart }},
	{Name: "ladder_cooldown", help: "time from the last rung to the first one of the agent's next episode",
		Min: 0, Max: 7 * day, Dur: func(s *Settings) *time.Duration { return &s.Ladder.Cooldown }},
	{Name: "ladder_interval", help: "time between looks for stuck agents", Min: 1000, Max: day / 24,
		Dur: func(s *Settings) *time.Duration { return &s.Ladder.Interval }},
	{Name: "ladder_per_pass", help: "rungs that are taken in the cluster within ladder_interval at most",
		Min: 1, Max: 10_000, num32: func(s *Settings) *uint32 { return &s.Ladder.PerPass }},
	{Name: "prompt_limit",
		help: "a permission prompt on an agent's terminal, or needs_input that it declares, calls a human after",
		Min:  1000, Max: 7 * day, Dur: func(s *Settings) *time.Duration { return &s.Prompt.Limit }},
	{Name: "idle_prompt_limit",
		help: "an agent with a task that stands at its idle prompt without a sign of work is stalled after",
		Min:  1000, Max: 7 * day, Dur: func(s *Settings) *time.Duration { return &s.Prompt.Idle }},
	{Name: "chain_enabled", help: "vigil looks at overseers and wakes those that do not patrol", Max: 1,
		Flag: func(s *Settings) *bool { return &s.Chain.Enabled }},
	{Name: "overseer_interval",
		help: "time between two looks at an overseer; a life that is younger hands over nothing", Min: 1000,
		Max: day, Dur: func(s *Settings) *time.Duration { return &s.Chain.Interval }},
	{Name: "overseer_fresh", help: "an overseer whose last patrol is younger is left alone", Min: 1000,
		Max: 7 * day, Dur: func(s *Settings) *time.Duration { return &s.Chain.Fresh }},
	{Name: "overseer_stale", help: "one whose last patrol is older is woken", Min: 1000, Max: 7 * day,
		Dur: func(s *Settings) *time.Duration { return &s.Chain.Stale }},
	{Name: "triage_limit", help: "triage that has not answered a look within this is not waited for", Min: 1000,
		Max: day, Dur: func(s *Settings) *time.Duration { return &s.Chain.TriageLimit }},
	{Name: "budget_tasks",
		help: "memory for tasks with their texts and results; " +
			"when it is full old finished ones go first, then new tasks are refused",
		Min: LeastBudget, Max: mostBudget, size: func(s *Settings) *uint64 { return &s.Budget.Tasks }},
	{Name: "budget_mail",
		help: "memory for mail, in which each copy counts; " +
			"when it is full old closed mail goes first, then new mail is refused",
		Min: LeastBudget, Max: mostBudget, size: func(s *Settings) *uint64 { return &s.Budget.Mail }},
	{Name: "budget_agents",
		help: "memory for rooms, roles, agents and what they say of themselves; " +
			"when it is full new ones and joins by hand are refused",
		Min: LeastBudget, Max: mostBudget, size: func(s *Settings) *uint64 { return &s.Budget.Agents }},
	{Name: "budget_hosts", help: "memory for hosts; when it is full new ones are refused", Min: LeastBudget,
		Max: mostBudget, size: func(s *Settings) *uint64 { return &s.Budget.Hosts }},
	{Name: "budget_sessions",
		help: "memory for sessions of clients and the answers they may ask for again; " +
			"when it is full new ones are refused",
		Min: LeastBudget, Max: mostBudget, size: func(s *Settings) *uint64 { return &s.Budget.Sessions }},
	{Name: "budget_history", help: "memory for events, escalations and the audit; when it is full the oldest events go",
		Min: LeastBudget, Max: mostBudget, size: func(s *Settings) *uint64 { return &s.Budget.History }},
	{Name: "budget_trust", help: "memory for tokens, credentials and users; when it is full new ones are refused",
		Min: LeastBudget, Max: mostBudget, size: func(s *Settings) *uint64 { return &s.Budget.Trust }},
	{Name: "budget_room_share",
		help: "percentage of budget_tasks, budget_mail, budget_agents and max_open_tasks that one room may use",
		Min:  1, Max: 100, num32: func(s *Settings) *uint32 { return &s.Budget.RoomShare }},
	{Name: "max_open_tasks", help: "tasks that have not ended or are QUARANTINED, in the cluster",
		Min: 1, Max: 1 << 40,
		num: func(s *Settings) *uint64 { return &s.Budget.MaxTasks }},
	{Name: "max_rooms", help: "rooms in the cluster", Min: 1, Max: 1_000_000,
		num: func(s *Settings) *uint64 { return &s.Budget.MaxRooms }},
	{Name: "max_agents", help: "agents in the cluster", Min: 1, Max: 1 << 30,
		num: func(s *Settings) *uint64 { return &s.Budget.MaxAgents }},
	{Name: "max_hosts", help: "hosts in the cluster", Min: 1, Max: 1_000_000,
		num: func(s *Settings) *uint64 { return &s.Budget.MaxHosts }},
	{Name: "max_sessions", help: "sessions of clients in the cluster", Min: 1, Max: 1 << 30,
		num: func(s *Settings) *uint64 { return &s.Budget.MaxSessions }},
}

// SettingInfo is one setting as people see it.
type SettingInfo struct{ Name, Value, Default, Help, Range string }

func (d *setting) Show(s *Settings) string {
	switch {
	case d.Dur != nil:
		return d.Dur(s).String()
	case d.num != nil:
		return strconv.FormatUint(*d.num(s), 10)
	case d.Flag != nil:
		return strconv.FormatBool(*d.Flag(s))
	case d.size != nil:
		return sizeValue(*d.size(s))
	case d.word != nil:
		return d.word(s).String()
	}
	return strconv.FormatUint(uint64(*d.num32(s)), 10)
}

func (d *setting) bounds() string {
	if d.Flag != nil {
		return "true or false"
	}
	if last := len(d.Words) - 1; d.word != nil {
		return strings.Join(d.Words[:last], ", ") + " or " + d.Words[last]
	}
	if d.size != nil {
		return sizeValue(uint64(d.Min)) + " to " + sizeValue(uint64(d.Max))
	}
	if d.Dur != nil {
		return time.Duration(d.Min*milli).String() + " to " + time.Duration(d.Max*milli).String()
	}
	return fmt.Sprintf("%d to %d", d.Min, d.Max)
}

// Set changes one setting by name. A refusal names the range.
func (s *Settings) Set(name, value string) error {
	for i := range SettingTable {
		if SettingTable[i].Name == name {
			return SettingTable[i].set(s, value)
		}
	}
	return NoSetting(name)
}

// NoSetting says that there is no setting of a name.
func NoSetting(name string) error {
	return fmt.Errorf("there is no setting %q; `vigil settings show` lists them", name)
}

func (d *setting) set(s *Settings, value string) error {
	if d.Dur != nil {
		v, err := time.ParseDuration(value)
		if err != nil || v < time.Duration(d.Min*milli) || v > time.Duration(d.Max*milli) {
			return fmt.Errorf("setting %s: %q is no duration from %s, for instance 90s or 5m", d.Name, value,
				d.bounds())
		}
		*d.Dur(s) = v
		return nil
	}
	if d.Flag != nil {
		switch value {
		case "true", "false":
			*d.Flag(s) = value == "true"
			return nil
		}
		return fmt.Errorf("setting %s: %q is neither true nor false", d.Name, value)
	}
	if d.word != nil {
		if d.word(s).Set(value) != nil {
			return fmt.Errorf("setting %s: %q is not %s", d.Name, value, d.bounds())
		}
		return nil
	}
	if d.size != nil {
		v, ok := parseSize(value)
		if !ok || v < uint64(d.Min) || v > uint64(d.Max) {
			return fmt.Errorf("setting %s: %q is no size from %s, for instance 512MiB", d.Name, value, d.bounds())
		}
		*d.size(s) = v
		return nil
	}
	v, err := strconv.ParseInt(value, 10, 64)
	if err != nil || v < d.Min || v > d.Max {
		return fmt.Errorf("setting %s: %q is no number from %s", d.Name, value, d.bounds())
	}
	if d.num != nil {
		*d.num(s) = uint64(v)
	} else {
		*d.num32(s) = uint32(v)
	}
	return nil
}

// Check tells which settings do not fit together.
func (s *Settings) Check() error {
	if s.TTL < s.StopGrace*4/3 {
		return fmt.Errorf("ttl %s is too short for stop_grace %s: an agent must be stopped before its fence ends",
			s.TTL, s.StopGrace)
	}
	return nil
}

// LongestGrace is what a TTL leaves for the stop of an agent after its shim has
// frozen it at 0.75 TTL; TTLs from 10 s on keep a margin of 2 s.
func LongestGrace(ttl time.Duration) time.Duration {
	if ttl < 10*time.Second {
		return ttl / 4
	}
	return ttl/4 - 2*time.Second
}

// SilentFence is how much of its fence a life has at most when its lease ends for the silence of its host. Host and
// agent beat every quarter of a TTL, each at its own moments: after silence of both, lease and fence end within a
// quarter of each other; while the host is heard three quarters of the fence are left. This is the middle.
func SilentFence(ttl time.Duration) time.Duration { return ttl / 2 }

const (
	day   = int64(24 * time.Hour / time.Millisecond)
	milli = int64(time.Millisecond)
)

// Info lists all settings in a fixed order, with their values here.
func (s *Settings) Info() []SettingInfo {
	def := DefaultSettings()
	var list []SettingInfo
	for _, d := range SettingTable {
		list = append(list, SettingInfo{d.Name, d.Show(s), d.Show(&def), d.help, d.bounds()})
	}
	return list
}
