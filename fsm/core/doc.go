// Package core is the state machine without supervision's features: rooms, roles, agents, tasks,
// hosts, sessions and orders, Apply, settle, and the Hooks on which features hang. It names none of
// them. Whoever is outside of fsm uses package fsm.
//
// # Participant
//
//	DISCONNECTED --Join--> WAITING --Claim--> ACTIVE --Join--> WAITING
//	WAITING, ACTIVE --Leave, exit report, end of lease--> DISCONNECTED
//
// # Task
//
//	QUEUED --promote--> PENDING --Claim--> ACKNOWLEDGED --StartTask--> IN_PROGRESS
//	ACKNOWLEDGED, IN_PROGRESS --CompleteTask--> COMPLETED
//	ACKNOWLEDGED, IN_PROGRESS --FailTask, attempt limit--> FAILED
//	ACKNOWLEDGED, IN_PROGRESS --FailTask, retryable--> QUEUED, put off --its time--> QUEUED
//	ACKNOWLEDGED --acknowledgement limit--> PENDING
//	ACKNOWLEDGED, IN_PROGRESS --holder gone--> PENDING (or QUARANTINED, FAILED)
//	PENDING --its role half-opens--> QUEUED
//	any but terminal, QUARANTINED --CancelTask--> CANCELED
//	FAILED, CANCELED, QUARANTINED --RetryTask--> QUEUED
//	QUARANTINED --UnquarantineTask--> QUEUED
//	ACKNOWLEDGED, IN_PROGRESS --turn limit--> its holder is stopped (by hand: PENDING)
//
// # Process of a managed agent
//
//	none --OrderStart--> ordered --AcceptOrder--> accepted --ReportStarted--> running
//	accepted, running --ReportExit--> none
//	accepted, running --end of fence--> lost --OrderStart--> ordered (n+1)
//	accepted, running --end of fence, policy confirm--> unproven
//	unproven --ReportExit, its host came back without it--> none
//	unproven --ConfirmDead--> lost
//	lost, unproven --fence beat, no newer order--> running (adopted)
//
// # Host
//
//	ready --not heard--> suspect --heard--> ready, or returning when it has flapped
//	returning --steady for a while--> ready
//	ready, suspect, returning --end of its lease, confirmed dead--> lost
//	any --good-bye--> left
//	lost, left --beat or registration--> ready, returning, or suspect while not heard
//
// A drain is a human's wish beside these states. Only a ready host that is not
// drained and not under pressure gets starts.
//
// # Intent and budgets
//
// Four things keep an agent from being started, and WhyNot is the only place that
// asks for them, so no path goes around (laws L9, L11): what humans want (stop,
// pause of the agent, its room or everything, each for good or for a time, and the
// declared role), its restart budget (back-off, breaker, usage limit), its old life
// (fence, open order, a process that cannot be killed), and the cluster (hold, brake,
// no host that fits).
//
// # Declarations
//
// A life says of itself how it is (Declare): healthy, busy, degraded, and whether it
// waits for a human, a time or a tool, for how long. What has an end excuses silence
// until then: no progress limit ends its task. Each declaration is a health report, for
// roles that ask for them; missed ones are counted in cluster time when somebody asks.
//
// What came with a feature level is written, to the log and to dumps, only when every
// server reads it; see Level.
package core
