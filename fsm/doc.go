// Package fsm is vigil's replicated state machine: the nouns (rooms, roles,
// agents, tasks, hosts, orders, sessions, settings, events), the laws that bind
// them, and Apply, which turns one log entry into the next state.
//
// The package is pure. It reads no clock, no random source, no file and no
// network; it starts no goroutine, takes no lock and writes no log line. Apply
// reads nothing but the state and the entry, so all servers hold the same state
// at the same log index (law L12). What the outside world has to do after an
// entry (wake a waiter, push an order) is returned as Effects; the state machine
// never calls out.
//
// # Ownership
//
// A State belongs to one goroutine, or to whoever holds the lock around it. Copy
// gives an immutable view in O(tables), to be read by another goroutine while
// the original moves on: tables are copied page by page when they are next
// written to.
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
//	ACKNOWLEDGED --acknowledgement limit--> PENDING
//	ACKNOWLEDGED, IN_PROGRESS --holder gone--> PENDING (or QUARANTINED, FAILED)
//	any but terminal --CancelTask--> CANCELED
//	FAILED, CANCELED, QUARANTINED --RetryTask--> QUEUED
//	QUARANTINED --UnquarantineTask--> QUEUED
//	ACKNOWLEDGED, IN_PROGRESS --turn limit--> its holder is stopped (by hand: PENDING)
//
// # Process of a managed agent
//
//	none --OrderStart--> ordered --AcceptOrder--> accepted --ReportStarted--> running
//	accepted, running --ReportExit--> none
//	accepted, running --end of fence--> lost --OrderStart--> ordered (n+1)
//	lost --fence beat, no newer order--> running (adopted)
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
// Four things keep an agent from being started, and whyNot is the only place that
// asks for them, so no path goes around (laws L9, L11): what humans want (stop,
// pause of the agent, its room or everything, the declared role), its restart budget
// (back-off, breaker, usage limit), its old life (fence, open order, a process that
// cannot be killed), and the cluster (hold, brake, no host that fits).
//
// # Declarations and verdicts
//
// A life says of itself how it is (Declare): healthy, busy, degraded, and whether it
// waits for a human, a time or a tool, for how long. What has an end excuses silence
// until then: no progress limit ends its task. Each declaration is a health report, for
// roles that ask for them; missed ones are counted in cluster time when somebody asks.
// Judge makes one verdict of all Signals of an agent, a pure function of them. It changes
// nothing, and says nothing grave on one signal (law L10).
//
// # Mail
//
//	QUEUED --ReadMail--> DELIVERED --ReadMail of a newer life, after a reminder--> DELIVERED
//	QUEUED, DELIVERED --AckMail--> ACKNOWLEDGED --retention--> gone
//	QUEUED, DELIVERED --expiry--> EXPIRED --retention--> gone
//
// Mail waits in the mailbox of an agent, not of a life: each life gets once what none has
// acknowledged. A reminder makes it unread again, an escalation is an event; neither does
// anything to the agent, since silence about a mail is no sign of death.
//
// # Silent rooms
//
// A room with open tasks in which nothing is done or said for too long is warned, and
// canceled when it stays silent (WarnRoom, CancelIdleRoom); a human reopens it. Its silence
// is excused by what agents declare that hold its tasks, and by what humans hold back.
// Quiet tells how a room is seen, StalledRooms finds those that are stalled.
//
// # Escalations
//
//	OPEN --AckEscalation--> ACKNOWLEDGED --CloseEscalation--> CLOSED --too many closed ones--> gone
//	OPEN --CloseEscalation--> CLOSED --it comes back within the cool-down--> OPEN
//
// What needs a human opens an escalation, at most one about each thing. It is announced
// when it opens, and when it happens again after the cool-down while nobody has said a
// word: a notice is pending until every notifier of the leader has delivered it or has
// given up (NoteNotice). Lasts tells whether it is still so.
//
// # Stuck agents
//
//	nudge --2m--> wake --5m--> interrupt --1m--> restart --5m--> escalate
//
// An agent whose verdict is stalled, deaf or unresponsive goes up this ladder (StepLadder),
// each rung after the deadline of the one before, and back to its foot with the next word
// that it says. Climb tells where it stands, MayBeStuck and MayBeDeaf whom to look at.
//
// What came with a feature level is written, to the log and to dumps, only when every
// server reads it; see Level.
//
// # Laws
//
// L1 proof, L2 cleanup, L3 recovery, L4 dedup, L5 exit, L6 fencing, L7 one life,
// L8 nothing lost, L9 intent, L10 no false death, L11 bounded, L12 agreement.
// Check tests those that a single state can show; the tests are named after the
// law that they uphold. ARCHITECTURE.md states them in full.
package fsm
