package noun

import "time"

// Settings are replicated: files seed them at bootstrap, PutSettings changes
// them. Durations are cluster time.
type Settings struct {
	TTL           time.Duration // lease and fence of agents
	HostTTL       time.Duration // lease of hosts
	AckLimit      time.Duration
	PendingLimit  time.Duration
	StartLimit    time.Duration
	StopGrace     time.Duration
	AcceptLimit   time.Duration // a start order that its host does not accept is withdrawn
	SessionTTL    time.Duration // without a write
	TaskRetention time.Duration // of terminal tasks
	TasksKept     uint64        // terminal tasks, at most
	EventsKept    uint64
	AttemptLimit  uint32
	KillLimit     uint32

	BreakerStarts   uint32        // restarts after failures ...
	BreakerWindow   time.Duration // ... in this window open the breaker ...
	BreakerPause    time.Duration // ... for this long
	HealthyAfter    time.Duration // with some work done, resets the budget
	StartsPerHost   uint32        // starting at once
	StartsPerSecond uint32        // in the cluster
	DefaultCapacity uint32        // agents on a host that names none
	MarkEvery       uint64        // log entries between state checksums, see State.MarkEvery; 0: none

	BrakeAgents uint32        // the mass-failure brake needs so many lives; 0: it is off ...
	BrakeShare  uint32        // ... and is set when more than this percentage of them ...
	BrakeWindow time.Duration // ... is lost within this
	FlapLimit   uint32        // a host that was suspect or lost so often; 0: no limit ...
	FlapWindow  time.Duration // ... within this ...
	FlapPause   time.Duration // ... gets no starts for so long when it comes back, doubled each time

	UsagePause time.Duration // of an agent whose tool is out of quota for an unknown time

	DeclareLimit time.Duration // the longest that an agent may declare itself busy, sleeping or in a tool

	MailUrgentLimit time.Duration // a mail without an acknowledgement: escalated after this
	MailHighLimit   time.Duration // reminded after this, escalated after twice as much
	MailNormalLimit time.Duration // reminded after this
	MailLowLimit    time.Duration // recorded after this
	MailExpiry      time.Duration // closed without an acknowledgement after this
	MailRetention   time.Duration // closed mail is kept for this
	MailKept        uint64        // mails in the cluster, at most

	Watchdog WatchdogSettings

	Escalation EscalationSettings
	Ladder     LadderSettings

	Prompt PromptSettings
	Chain  ChainSettings
	Budget BudgetSettings

	ForgetHosts time.Duration // of silence, after which a host that is lost or has left is forgotten; 0: never

	Retry RetrySettings

	MailWakes MailWakes // the mail that starts an agent on demand which does not run

	// ReplaceServers is the silence after which a standby gets the vote of a server; 0: never by itself.
	ReplaceServers time.Duration

	HandoffLimit uint32 // hand-offs in a row, after which a human is asked; 0: no limit
}

// WatchdogSettings are those of the conversation watchdog.
type WatchdogSettings struct {
	Enabled          bool
	Interval         time.Duration // between passes of the leader
	Threshold        time.Duration // of silence, for rooms without a limit of their own
	MinAge           time.Duration // since a room became active
	StartDelay       time.Duration // of a new leader's first pass
	Grace            time.Duration // between the warning and the cancellation
	MaxCancellations uint32        // within Interval
	Untaken          Untaken       // of rooms that nobody serves, and without a word of their own
}

// LadderSettings are those of the ladder for stuck agents. The times are how long a rung
// waits for an effect before the next one.
type LadderSettings struct {
	Enabled   bool
	Nudge     time.Duration
	Wake      time.Duration // of the inquiry
	Interrupt time.Duration
	Restart   time.Duration
	Cooldown  time.Duration // between two episodes of one agent
	Interval  time.Duration // between two looks of the leader for stuck agents
	PerPass   uint32        // rungs in the cluster within Interval
}

// DefaultSettings are the numbers of a new cluster.
func DefaultSettings() Settings {
	return Settings{
		TTL: time.Minute, HostTTL: time.Minute,
		AckLimit: 2 * time.Minute, PendingLimit: 5 * time.Minute, StartLimit: 2 * time.Minute,
		StopGrace: 5 * time.Second, AcceptLimit: 10 * time.Second,
		SessionTTL: 10 * time.Minute, TaskRetention: 7 * 24 * time.Hour, TasksKept: 2_000_000,
		EventsKept: 100_000, AttemptLimit: 5, KillLimit: 3,
		BreakerStarts: 5, BreakerWindow: 10 * time.Minute, BreakerPause: 30 * time.Minute,
		HealthyAfter: 10 * time.Minute, StartsPerHost: 4, StartsPerSecond: 20,
		DefaultCapacity: 256, MarkEvery: 8192,
		BrakeAgents: 10, BrakeShare: 50, BrakeWindow: 30 * time.Second,
		FlapLimit: 3, FlapWindow: 10 * time.Minute, FlapPause: time.Minute,
		UsagePause: 15 * time.Minute, DeclareLimit: 4 * time.Hour,
		MailUrgentLimit: 2 * time.Minute, MailHighLimit: 5 * time.Minute, MailNormalLimit: 15 * time.Minute,
		MailLowLimit: time.Hour,
		MailExpiry:   7 * 24 * time.Hour, MailRetention: 24 * time.Hour, MailKept: 100_000,
		Watchdog: WatchdogSettings{Enabled: true, Interval: 5 * time.Minute, Threshold: 10 * time.Minute,
			MinAge:     2 * time.Minute,
			StartDelay: 30 * time.Second, Grace: time.Minute, MaxCancellations: 10, Untaken: UntakenWarn},
		Escalation: EscalationSettings{Cooldown: 15 * time.Minute, Retry: 10 * time.Second, Tries: 20,
			Kept: 10_000, Remind: 4 * time.Hour},
		Ladder: LadderSettings{Enabled: true, Nudge: 2 * time.Minute, Wake: 5 * time.Minute, Interrupt: time.Minute,
			Restart: 5 * time.Minute, Cooldown: 10 * time.Minute, Interval: 30 * time.Second, PerPass: 10},
		Prompt: PromptSettings{Limit: 5 * time.Minute, Idle: 5 * time.Minute},
		Chain: ChainSettings{Enabled: true, Interval: 3 * time.Minute, Fresh: 5 * time.Minute,
			Stale: 15 * time.Minute, TriageLimit: 5 * time.Minute},
		Budget: defaultBudget(), ForgetHosts: 7 * 24 * time.Hour,
		ReplaceServers: 10 * time.Minute,
		Retry:          RetrySettings{First: time.Second, Most: 5 * time.Minute, Failures: 5, Window: time.Minute},
		MailWakes:      WakesUrgent, HandoffLimit: 30,
	}
}
