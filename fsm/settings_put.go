package fsm

import (
	"fmt"
	"strconv"
	"time"
)

// setting describes one setting: how users call it, what it means, its range.
type setting struct {
	name, help string
	dur        func(*Settings) *time.Duration
	num        func(*Settings) *uint64
	num32      func(*Settings) *uint32
	flag       func(*Settings) *bool
	size       func(*Settings) *uint64 // in bytes
	min, max   int64                   // durations in milliseconds
}

const (
	day   = int64(24 * time.Hour / time.Millisecond)
	milli = int64(time.Millisecond)
)

var settingTable = []setting{
	{name: "ttl", help: "lease and fence of an agent", min: 500, max: day, dur: func(s *Settings) *time.Duration { return &s.TTL }},
	{name: "host_ttl", help: "lease of a host", min: 500, max: day, dur: func(s *Settings) *time.Duration { return &s.HostTTL }},
	{name: "ack_limit", help: "a claimed task must be started within", min: 100, max: 7 * day, dur: func(s *Settings) *time.Duration { return &s.AckLimit }},
	{name: "pending_limit", help: "a task that nobody claims is reported after", min: 100, max: 7 * day, dur: func(s *Settings) *time.Duration { return &s.PendingLimit }},
	{name: "start_limit", help: "a started process must join within", min: 500, max: day, dur: func(s *Settings) *time.Duration { return &s.StartLimit }},
	{name: "stop_grace", help: "time between TERM and KILL", min: 0, max: day, dur: func(s *Settings) *time.Duration { return &s.StopGrace }},
	{name: "accept_limit", help: "a start order that its host does not accept is withdrawn after", min: 100, max: day, dur: func(s *Settings) *time.Duration { return &s.AcceptLimit }},
	{name: "session_ttl", help: "a client session ends after so long without a write", min: int64(MinSessionTTL / time.Millisecond), max: 7 * day, dur: func(s *Settings) *time.Duration { return &s.SessionTTL }},
	{name: "task_retention", help: "finished tasks are kept for", min: 1000, max: 3650 * day, dur: func(s *Settings) *time.Duration { return &s.TaskRetention }},
	{name: "tasks_kept", help: "finished tasks kept at most", min: 0, max: 1 << 40, num: func(s *Settings) *uint64 { return &s.TasksKept }},
	{name: "events_kept", help: "events kept at most", min: 1000, max: 1 << 30, num: func(s *Settings) *uint64 { return &s.EventsKept }},
	{name: "attempt_limit", help: "attempts at a task before it is FAILED; 0: no limit", min: 0, max: 1000, num32: func(s *Settings) *uint32 { return &s.AttemptLimit }},
	{name: "kill_limit", help: "incarnations that may die of a task, or hang with it until the ladder ends them, before it is QUARANTINED; 0: no limit", min: 0, max: 1000, num32: func(s *Settings) *uint32 { return &s.KillLimit }},
	{name: "breaker_starts", help: "failures within breaker_window that park an agent", min: 1, max: 1000, num32: func(s *Settings) *uint32 { return &s.BreakerStarts }},
	{name: "breaker_window", help: "window of breaker_starts", min: 1000, max: day, dur: func(s *Settings) *time.Duration { return &s.BreakerWindow }},
	{name: "breaker_pause", help: "how long an agent is parked before one trial", min: 1000, max: 7 * day, dur: func(s *Settings) *time.Duration { return &s.BreakerPause }},
	{name: "usage_pause", help: "how long an agent is parked whose tool is out of quota and does not say until when", min: 1000, max: day, dur: func(s *Settings) *time.Duration { return &s.UsagePause }},
	{name: "healthy_after", help: "a life this long, with work done, clears the restart budget", min: 1000, max: day, dur: func(s *Settings) *time.Duration { return &s.HealthyAfter }},
	{name: "starts_per_host", help: "agents that a host starts at once", min: 1, max: 10_000, num32: func(s *Settings) *uint32 { return &s.StartsPerHost }},
	{name: "starts_per_second", help: "starts a second in the cluster", min: 1, max: 1_000_000, num32: func(s *Settings) *uint32 { return &s.StartsPerSecond }},
	{name: "default_capacity", help: "agents on a host that names no capacity", min: 1, max: 1_000_000, num32: func(s *Settings) *uint32 { return &s.DefaultCapacity }},
	{name: "mark_every", help: "log entries between comparisons of the servers' states, more when the state is large; 0: never", min: 0, max: 1 << 40, num: func(s *Settings) *uint64 { return &s.MarkEvery }},
	{name: "brake_agents", help: "the mass-failure brake needs so many running agents; 0: there is no brake", min: 0, max: 1_000_000, num32: func(s *Settings) *uint32 { return &s.BrakeAgents }},
	{name: "brake_share", help: "percentage of agents, or of at least 3 hosts, whose loss sets the brake when it is exceeded", min: 1, max: 100, num32: func(s *Settings) *uint32 { return &s.BrakeShare }},
	{name: "brake_window", help: "window of brake_share", min: 1000, max: day / 24, dur: func(s *Settings) *time.Duration { return &s.BrakeWindow }},
	{name: "flap_limit", help: "a host that was suspect or lost so often gets no starts at first when it comes back; 0: no limit", min: 0, max: 1000, num32: func(s *Settings) *uint32 { return &s.FlapLimit }},
	{name: "flap_window", help: "window of flap_limit", min: 1000, max: day, dur: func(s *Settings) *time.Duration { return &s.FlapWindow }},
	{name: "flap_pause", help: "no starts on a host that flaps, doubled each time to at most 10 min", min: 1000, max: day / 24, dur: func(s *Settings) *time.Duration { return &s.FlapPause }},
	{name: "forget_hosts", help: "a host that is lost or has left is forgotten after so long without a beat, unless a life may come back with it or a human drains it; 0: never", min: 0, max: 3650 * day, dur: func(s *Settings) *time.Duration { return &s.ForgetHosts }},
	{name: "declare_limit", help: "the longest that an agent may declare itself busy, parked or in a tool at once", min: 1000, max: 7 * day, dur: func(s *Settings) *time.Duration { return &s.DeclareLimit }},
	{name: "mail_urgent_limit", help: "urgent mail without an acknowledgement is escalated after", min: 1000, max: 7 * day, dur: func(s *Settings) *time.Duration { return &s.MailUrgentLimit }},
	{name: "mail_high_limit", help: "high mail without an acknowledgement is reminded of after, and escalated after twice as much", min: 1000, max: 7 * day, dur: func(s *Settings) *time.Duration { return &s.MailHighLimit }},
	{name: "mail_normal_limit", help: "normal mail without an acknowledgement is reminded of after", min: 1000, max: 7 * day, dur: func(s *Settings) *time.Duration { return &s.MailNormalLimit }},
	{name: "mail_low_limit", help: "low mail without an acknowledgement is recorded after", min: 1000, max: 7 * day, dur: func(s *Settings) *time.Duration { return &s.MailLowLimit }},
	{name: "mail_expiry", help: "mail without an acknowledgement expires after", min: 1000, max: 365 * day, dur: func(s *Settings) *time.Duration { return &s.MailExpiry }},
	{name: "mail_retention", help: "acknowledged and expired mail is kept for", min: 1000, max: 365 * day, dur: func(s *Settings) *time.Duration { return &s.MailRetention }},
	{name: "mail_kept", help: "mails kept at most in the cluster; the oldest closed ones go first", min: 1000, max: 10_000_000, num: func(s *Settings) *uint64 { return &s.MailKept }},
	{name: "watchdog_enabled", help: "rooms in which nothing happens are warned and then canceled", max: 1, flag: func(s *Settings) *bool { return &s.Watchdog.Enabled }},
	{name: "watchdog_interval", help: "time between looks for silent rooms", min: 1000, max: day, dur: func(s *Settings) *time.Duration { return &s.Watchdog.Interval }},
	{name: "watchdog_threshold", help: "a room with open tasks in which nothing is done or said for so long is stalled", min: 1000, max: 365 * day, dur: func(s *Settings) *time.Duration { return &s.Watchdog.Threshold }},
	{name: "watchdog_min_age", help: "a room that has had open tasks for less than this is never stalled", min: 0, max: 365 * day, dur: func(s *Settings) *time.Duration { return &s.Watchdog.MinAge }},
	{name: "watchdog_start_delay", help: "a new leader looks for silent rooms after this", min: 0, max: day, dur: func(s *Settings) *time.Duration { return &s.Watchdog.StartDelay }},
	{name: "watchdog_grace", help: "time between the warning of a silent room and its cancellation", min: 0, max: day, dur: func(s *Settings) *time.Duration { return &s.Watchdog.Grace }},
	{name: "watchdog_max_cancellations", help: "rooms canceled within watchdog_interval at most", min: 1, max: 10_000, num32: func(s *Settings) *uint32 { return &s.Watchdog.MaxCancellations }},
	{name: "escalation_cooldown", help: "what happens again is announced again after, while nobody looks after it", min: 1000, max: 30 * day, dur: func(s *Settings) *time.Duration { return &s.Escalation.Cooldown }},
	{name: "escalation_retry", help: "a notice that was not delivered is tried again after, then after twice as much, up to an hour", min: 100, max: day / 24, dur: func(s *Settings) *time.Duration { return &s.Escalation.Retry }},
	{name: "escalation_remind", help: "what still lasts and nobody looks after is announced again after; 0: never", min: 0, max: 30 * day, dur: func(s *Settings) *time.Duration { return &s.Escalation.Remind }},
	{name: "escalation_tries", help: "tries of a notifier before it gives a notice up", min: 1, max: 1000, num32: func(s *Settings) *uint32 { return &s.Escalation.Tries }},
	{name: "escalations_kept", help: "closed escalations kept at most; the oldest go first", min: 0, max: 1_000_000, num: func(s *Settings) *uint64 { return &s.Escalation.Kept }},
	{name: "ladder_enabled", help: "agents that are stuck are nudged, woken, interrupted, restarted, and at last a human is told", max: 1, flag: func(s *Settings) *bool { return &s.Ladder.Enabled }},
	{name: "ladder_nudge", help: "a stuck agent that does not answer a nudge is woken after", min: 1000, max: day, dur: func(s *Settings) *time.Duration { return &s.Ladder.Nudge }},
	{name: "ladder_wake", help: "one that does not answer the inquiry is interrupted after", min: 1000, max: day, dur: func(s *Settings) *time.Duration { return &s.Ladder.Wake }},
	{name: "ladder_interrupt", help: "one that an interrupt does not help is restarted after", min: 1000, max: day, dur: func(s *Settings) *time.Duration { return &s.Ladder.Interrupt }},
	{name: "ladder_restart", help: "one that is stuck in spite of its restart becomes a human's business after", min: 1000, max: day, dur: func(s *Settings) *time.Duration { return &s.Ladder.Restart }},
	{name: "ladder_cooldown", help: "time from the last rung to the first one of the agent's next episode", min: 0, max: 7 * day, dur: func(s *Settings) *time.Duration { return &s.Ladder.Cooldown }},
	{name: "ladder_interval", help: "time between looks for stuck agents", min: 1000, max: day / 24, dur: func(s *Settings) *time.Duration { return &s.Ladder.Interval }},
	{name: "ladder_per_pass", help: "rungs that are taken in the cluster within ladder_interval at most", min: 1, max: 10_000, num32: func(s *Settings) *uint32 { return &s.Ladder.PerPass }},
	{name: "prompt_limit", help: "a permission prompt that stands on an agent's terminal calls a human after", min: 1000, max: 7 * day, dur: func(s *Settings) *time.Duration { return &s.Prompt.Limit }},
	{name: "idle_prompt_limit", help: "an agent with a task that stands at its idle prompt without a sign of work is stalled after", min: 1000, max: 7 * day, dur: func(s *Settings) *time.Duration { return &s.Prompt.Idle }},
	{name: "chain_enabled", help: "vigil looks at overseers and wakes those that do not patrol", max: 1, flag: func(s *Settings) *bool { return &s.Chain.Enabled }},
	{name: "overseer_interval", help: "time between two looks at an overseer; a life that is younger hands over nothing", min: 1000, max: day, dur: func(s *Settings) *time.Duration { return &s.Chain.Interval }},
	{name: "overseer_fresh", help: "an overseer whose last patrol is younger is left alone", min: 1000, max: 7 * day, dur: func(s *Settings) *time.Duration { return &s.Chain.Fresh }},
	{name: "overseer_stale", help: "one whose last patrol is older is woken", min: 1000, max: 7 * day, dur: func(s *Settings) *time.Duration { return &s.Chain.Stale }},
	{name: "triage_limit", help: "triage that has not answered a look within this is not waited for", min: 1000, max: day, dur: func(s *Settings) *time.Duration { return &s.Chain.TriageLimit }},
	{name: "budget_tasks", help: "memory for tasks with their texts and results; when it is full old finished ones go first, then new tasks are refused", min: leastBudget, max: mostBudget, size: func(s *Settings) *uint64 { return &s.Budget.Tasks }},
	{name: "budget_mail", help: "memory for mail, in which each copy counts; when it is full old closed mail goes first, then new mail is refused", min: leastBudget, max: mostBudget, size: func(s *Settings) *uint64 { return &s.Budget.Mail }},
	{name: "budget_agents", help: "memory for rooms, roles, agents and what they say of themselves; when it is full new ones and joins by hand are refused", min: leastBudget, max: mostBudget, size: func(s *Settings) *uint64 { return &s.Budget.Agents }},
	{name: "budget_hosts", help: "memory for hosts; when it is full new ones are refused", min: leastBudget, max: mostBudget, size: func(s *Settings) *uint64 { return &s.Budget.Hosts }},
	{name: "budget_sessions", help: "memory for sessions of clients and the answers they may ask for again; when it is full new ones are refused", min: leastBudget, max: mostBudget, size: func(s *Settings) *uint64 { return &s.Budget.Sessions }},
	{name: "budget_history", help: "memory for events and escalations; when it is full the oldest events go", min: leastBudget, max: mostBudget, size: func(s *Settings) *uint64 { return &s.Budget.History }},
	{name: "budget_room_share", help: "percentage of budget_tasks, budget_mail, budget_agents and max_open_tasks that one room may use", min: 1, max: 100, num32: func(s *Settings) *uint32 { return &s.Budget.RoomShare }},
	{name: "max_open_tasks", help: "tasks that have not ended, in the cluster", min: 1, max: 1 << 40, num: func(s *Settings) *uint64 { return &s.Budget.MaxTasks }},
	{name: "max_rooms", help: "rooms in the cluster", min: 1, max: 1_000_000, num: func(s *Settings) *uint64 { return &s.Budget.MaxRooms }},
	{name: "max_agents", help: "agents in the cluster", min: 1, max: 1 << 30, num: func(s *Settings) *uint64 { return &s.Budget.MaxAgents }},
	{name: "max_hosts", help: "hosts in the cluster", min: 1, max: 1_000_000, num: func(s *Settings) *uint64 { return &s.Budget.MaxHosts }},
	{name: "max_sessions", help: "sessions of clients in the cluster", min: 1, max: 1 << 30, num: func(s *Settings) *uint64 { return &s.Budget.MaxSessions }},
}

// SettingInfo is one setting as people see it.
type SettingInfo struct{ Name, Value, Default, Help, Range string }

// SettingsInfo lists all settings in a fixed order.
func (v *View) SettingsInfo() []SettingInfo {
	def := DefaultSettings()
	var list []SettingInfo
	for _, d := range settingTable {
		list = append(list, SettingInfo{d.name, d.show(&v.meta.Settings), d.show(&def), d.help, d.bounds()})
	}
	return list
}

func (d *setting) show(s *Settings) string {
	switch {
	case d.dur != nil:
		return d.dur(s).String()
	case d.num != nil:
		return strconv.FormatUint(*d.num(s), 10)
	case d.flag != nil:
		return strconv.FormatBool(*d.flag(s))
	case d.size != nil:
		return sizeValue(*d.size(s))
	}
	return strconv.FormatUint(uint64(*d.num32(s)), 10)
}

func (d *setting) bounds() string {
	if d.flag != nil {
		return "true or false"
	}
	if d.size != nil {
		return sizeValue(uint64(d.min)) + " to " + sizeValue(uint64(d.max))
	}
	if d.dur != nil {
		return time.Duration(d.min*milli).String() + " to " + time.Duration(d.max*milli).String()
	}
	return fmt.Sprintf("%d to %d", d.min, d.max)
}

// Set changes one setting by name. A refusal names the range.
func (s *Settings) Set(name, value string) error {
	for i := range settingTable {
		if settingTable[i].name == name {
			return settingTable[i].set(s, value)
		}
	}
	return fmt.Errorf("there is no setting %q; `vigil settings show` lists them", name)
}

func (d *setting) set(s *Settings, value string) error {
	if d.dur != nil {
		v, err := time.ParseDuration(value)
		if err != nil || v < time.Duration(d.min*milli) || v > time.Duration(d.max*milli) {
			return fmt.Errorf("setting %s: %q is no duration from %s, for instance 90s or 5m", d.name, value, d.bounds())
		}
		*d.dur(s) = v
		return nil
	}
	if d.flag != nil {
		switch value {
		case "true", "false":
			*d.flag(s) = value == "true"
			return nil
		}
		return fmt.Errorf("setting %s: %q is neither true nor false", d.name, value)
	}
	if d.size != nil {
		v, ok := parseSize(value)
		if !ok || v < uint64(d.min) || v > uint64(d.max) {
			return fmt.Errorf("setting %s: %q is no size from %s, for instance 512MiB", d.name, value, d.bounds())
		}
		*d.size(s) = v
		return nil
	}
	v, err := strconv.ParseInt(value, 10, 64)
	if err != nil || v < d.min || v > d.max {
		return fmt.Errorf("setting %s: %q is no number from %s", d.name, value, d.bounds())
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
		return fmt.Errorf("ttl %s is too short for stop_grace %s: an agent must be stopped before its fence ends", s.TTL, s.StopGrace)
	}
	return nil
}

func (s *State) putSettings(c *PutSettings) Outcome {
	next := s.meta.Settings
	for _, kv := range c.Values {
		if err := next.Set(kv.Key, kv.Value); err != nil {
			return refuse(Invalid, "%v", err)
		}
	}
	if err := next.Check(); err != nil {
		return refuse(Invalid, "%v", err)
	}
	s.meta.Settings, s.meta.SettingsRev = next, s.meta.Index
	for h := range s.Hosts() { // open orders may be due earlier now
		for _, id := range s.HostOrders(h.ID) {
			a := s.agents.Mut(id)
			s.rearm(timerAgent, uint64(id), &a.Armed, s.agentDeadline(a))
		}
	}
	s.rearmHosts(c)
	s.rearmMail(c)
	s.rearmPrompts(c)
	s.reviewOverseers()
	for _, kv := range c.Values {
		s.event("settings.changed", about{}, kv.Key+"="+kv.Value+" by "+nobody(c.By))
	}
	s.placeOwn()
	s.rearmReminders()
	s.res.Effects.Plan = true
	return Outcome{Rev: s.meta.Index}
}

// fillDefaults completes a declared role from the settings in force.
func (s *View) fillDefaults(r *RoleSpec) {
	set := &s.meta.Settings
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&r.TTL, set.TTL)
	def(&r.AckLimit, set.AckLimit)
	def(&r.PendingLimit, set.PendingLimit)
	def(&r.StartLimit, set.StartLimit)
	def(&r.StopGrace, min(set.StopGrace, longestGrace(r.TTL)))
	if r.Replicas == 0 {
		r.Replicas = 1
	}
	if r.AttemptLimit == 0 {
		r.AttemptLimit = set.AttemptLimit
	}
	if r.KillLimit == 0 {
		r.KillLimit = set.KillLimit
	}
}

// longestGrace is what a TTL leaves for the stop of an agent after its shim has
// frozen it at 0.75 TTL; TTLs from 10 s on keep a margin of 2 s.
func longestGrace(ttl time.Duration) time.Duration {
	if ttl < 10*time.Second {
		return ttl / 4
	}
	return ttl/4 - 2*time.Second
}

// CheckRole tells what is wrong with a declared role, with defaults filled in. An
// agent must be stoppable before its fence ends (law L7): F + grace + 2 s < TTL
// with F = 0.75 TTL, for TTLs of at least 10 s; shorter ones keep the ratio only.
func (s *View) CheckRole(spec *RoleSpec) error {
	r := *spec
	s.fillDefaults(&r)
	if err := CheckName(r.Name); err != nil {
		return fmt.Errorf("name: %w", err)
	}
	if r.Runner != "" {
		if err := CheckName(r.Runner); err != nil {
			return fmt.Errorf("runner: %w", err)
		}
	}
	spans := []struct {
		name     string
		v        time.Duration
		min, max time.Duration
	}{
		{"ttl", r.TTL, 500 * time.Millisecond, 24 * time.Hour},
		{"ack_limit", r.AckLimit, 100 * time.Millisecond, 7 * 24 * time.Hour},
		{"pending_limit", r.PendingLimit, 100 * time.Millisecond, 7 * 24 * time.Hour},
		{"start_limit", r.StartLimit, 500 * time.Millisecond, 24 * time.Hour},
		{"progress_limit", r.ProgressLimit, 0, 7 * 24 * time.Hour},
		{"stop_grace", r.StopGrace, 0, 24 * time.Hour},
		{"turn_limit", r.TurnLimit, 0, 30 * 24 * time.Hour},
		{"run_limit", r.RunLimit, 0, 30 * 24 * time.Hour},
	}
	for _, d := range spans {
		if d.v < d.min || d.v > d.max {
			return fmt.Errorf("%s: %s is out of range, %s to %s is allowed", d.name, d.v, d.min, d.max)
		}
	}
	switch {
	case r.StopGrace > longestGrace(r.TTL):
		return fmt.Errorf("stop_grace: %s is too long for a ttl of %s, at most %s is allowed: an agent must be stopped before its fence ends",
			r.StopGrace, r.TTL, longestGrace(r.TTL))
	case r.Replicas > MaxReplicas:
		return fmt.Errorf("replicas: %d is out of range, 1 to %d is allowed", r.Replicas, MaxReplicas)
	case r.Desired > DesiredPaused || r.Start > StartOnDemand || r.Proof > ProofAgent || r.Policy > PolicyFast || r.Ladder > LadderRestart:
		return fmt.Errorf("desired, start, proof, policy or ladder has a value that this server does not know")
	}
	if err := checkHealth(&r); err != nil {
		return err
	}
	if err := CheckExpect(r.Expect); err != nil {
		return err
	}
	if err := checkOverseer(&r); err != nil {
		return err
	}
	for _, list := range [][]KV{r.Labels, r.Params} {
		for i, kv := range list {
			if kv.Key == "" || len(kv.Key) > MaxName || len(kv.Value) > MaxTitle {
				return fmt.Errorf("labels and params: %q has a name of 1 to %d and a value of at most %d characters", kv.Key, MaxName, MaxTitle)
			}
			if i > 0 && list[i-1].Key >= kv.Key {
				return fmt.Errorf("labels and params must be sorted by name without doubles: %q", kv.Key)
			}
		}
	}
	return nil
}
