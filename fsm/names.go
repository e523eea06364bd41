package fsm

import (
	"iter"

	"vigil/fsm/core"
	"vigil/fsm/evidence"
	"vigil/fsm/noun"
	"vigil/fsm/trust"
	"vigil/fsm/watch/budget"
	"vigil/fsm/watch/chain"
	"vigil/fsm/watch/escalation"
	"vigil/fsm/watch/ladder"
	"vigil/fsm/watch/mail"
	"vigil/fsm/watch/screen"
	"vigil/fsm/watch/silence"
)

// What Apply reads, and what all commands share.
type (
	Entry     = core.Entry
	Request   = core.Request
	Matcher   = core.Matcher
	Extra     = core.Extra
	Command   = core.Command
	HostBeats = core.HostBeats
	Used      = core.Used
	Beat      = core.Beat
	Word      = core.Word
	Speaker   = core.Speaker
	Work      = core.Work
	AuditNote = core.AuditNote
)

// What agents ask and say.
type (
	OpenSession  = core.OpenSession
	CloseSession = core.CloseSession
	Join         = core.Join
	Leave        = core.Leave
	Claim        = core.Claim
	StartTask    = core.StartTask
	ProgressTask = core.ProgressTask
	CompleteTask = core.CompleteTask
	FailTask     = core.FailTask
	Handoff      = core.Handoff
	Then         = core.Then
	Declare      = core.Declare
	SetResume    = core.SetResume
	SendMail     = mail.SendMail
	ReadMail     = mail.ReadMail
	AckMail      = mail.AckMail
	ReportPatrol = chain.ReportPatrol
	AnswerLook   = chain.AnswerLook
	HandOver     = chain.HandOver
)

// What people ask.
type (
	ApplyRoom        = core.ApplyRoom
	DeleteRoom       = core.DeleteRoom
	CreateTask       = core.CreateTask
	CancelTask       = core.CancelTask
	RetryTask        = core.RetryTask
	UnquarantineTask = core.UnquarantineTask
	SetAgent         = core.SetAgent
	RestartAgent     = core.RestartAgent
	UnparkAgent      = core.UnparkAgent
	NoteNudge        = core.NoteNudge
	SetPause         = core.SetPause
	PutSettings      = core.PutSettings
	ReleaseBrake     = core.ReleaseBrake
	DrainHost        = core.DrainHost
	ConfirmDead      = core.ConfirmDead
	ForgetHost       = core.ForgetHost
	AckEscalation    = escalation.AckEscalation
	CloseEscalation  = escalation.CloseEscalation
	SetRoomWatch     = silence.SetRoomWatch
	ReopenRoom       = silence.ReopenRoom
	LookAtOverseer   = chain.LookAtOverseer
	LiftBudget       = budget.LiftBudget
	TakeTerminal     = screen.TakeTerminal
	KeepTerminal     = screen.KeepTerminal
	ReleaseTerminal  = screen.ReleaseTerminal
)

// What hosts report.
type (
	RegisterHost    = core.RegisterHost
	SurrenderHost   = core.SurrenderHost
	LeaveHost       = core.LeaveHost
	ReportPressure  = core.ReportPressure
	ReportKept      = core.ReportKept
	Running         = core.Running
	AcceptOrder     = core.AcceptOrder
	ReportStarted   = core.ReportStarted
	ReportExit      = core.ReportExit
	ReportStuck     = core.ReportStuck
	ReportScreen    = screen.ReportScreen
	ReportTerminals = screen.ReportTerminals
)

// What the leader plans, and servers say of themselves.
type (
	LeaderEstablished = core.LeaderEstablished
	LeaderUnreached   = core.LeaderUnreached
	RefuseEntry       = core.RefuseEntry
	NumberedWrite     = core.NumberedWrite
	AgreeOnRefused    = core.AgreeOnRefused
	PutServer         = core.PutServer
	DropServer        = core.DropServer
	SetStandby        = core.SetStandby
	ReportViews       = core.ReportViews
	SuspectHost       = core.SuspectHost
	OrderStart        = core.OrderStart
	OrderStop         = core.OrderStop
	CancelOrder       = core.CancelOrder
	Mark              = core.Mark
	ReportHash        = core.ReportHash
	RaiseEpoch        = core.RaiseEpoch
	RaiseLevel        = core.RaiseLevel
	WarnRoom          = silence.WarnRoom
	CancelIdleRoom    = silence.CancelIdleRoom
	StepLadder        = ladder.StepLadder
	NoteRung          = ladder.NoteRung
	ProdOverseer      = chain.ProdOverseer
	NoteProd          = chain.NoteProd
	NoteNotice        = escalation.NoteNotice
)

// Who is let in.
type (
	FoundTrust      = trust.FoundTrust
	Root            = trust.Root
	PutToken        = trust.PutToken
	RevokeToken     = trust.RevokeToken
	UseToken        = trust.UseToken
	NoteLeaf        = trust.NoteLeaf
	RaiseGeneration = trust.RaiseGeneration
	PutUser         = trust.PutUser
	RemoveUser      = trust.RemoveUser
	PutAPIToken     = trust.PutAPIToken
	RevokeAPIToken  = trust.RevokeAPIToken
	AddGossipKey    = trust.AddGossipKey
	StepGossip      = trust.StepGossip
	AckGossip       = trust.AckGossip
	RotateGossip    = trust.RotateGossip
	AddRoot         = trust.AddRoot
	StepRoots       = trust.StepRoots
	RootWait        = trust.RootWait
	Others          = trust.Others
	NoteAudit       = core.NoteAudit
)

// What becomes of the people of a backup of another cluster.
const (
	OthersUnsaid  = trust.OthersUnsaid
	OthersRevoked = trust.OthersRevoked
	OthersTrusted = trust.OthersTrusted
)

// WaitedBounds are the upper bounds, in seconds, of what Figures counts as Waited.
var WaitedBounds = core.WaitedBounds

// What a View answers.
type (
	Counts           = core.Counts
	BudgetUse        = core.BudgetUse
	Figures          = core.Figures
	TaskAge          = core.TaskAge
	RoomLoad         = core.RoomLoad
	HostLoad         = core.HostLoad
	RoomPlan         = core.RoomPlan
	RolePlan         = core.RolePlan
	Presence         = evidence.Presence
	RoomQuiet        = silence.RoomQuiet
	RoomState        = silence.RoomState
	Climb            = ladder.Climb
	DeafPlace        = ladder.DeafPlace
	EscalationCounts = escalation.EscalationCounts
)

// How the conversation watchdog sees a room, and what it cancels one for.
const (
	RoomUnwatched = silence.RoomUnwatched
	RoomIdle      = silence.RoomIdle
	RoomExempt    = silence.RoomExempt
	RoomActive    = silence.RoomActive
	RoomStalled   = silence.RoomStalled
	RoomStalling  = silence.RoomStalling
	RoomUntaken   = silence.RoomUntaken
	IdleTimeout   = silence.IdleTimeout
	RoomDeadline  = silence.RoomDeadline
)

// What a beat renews, and limits that doors check.
const (
	BeatLease     = core.BeatLease
	BeatFence     = core.BeatFence
	BeatVouch     = core.BeatVouch
	BeatStranger  = core.BeatStranger
	SilentFor     = core.SilentFor
	DrainBySelf   = core.DrainBySelf
	MaxHostName   = core.MaxHostName
	MaxUsagePause = core.MaxUsagePause
	Baseline      = core.Baseline
	NewestLevel   = core.Newest
)

// Level is the feature level that must have begun before the command may be written.
func Level(c Command) uint32 { return core.Level(c) }

// LevelOf is Level of the command of a request, and of what it says beside.
func LevelOf(r *Request) uint32 { return core.LevelOf(r) }

// IsWord tells whether the command may prove that an incarnation lives, see View.WordOf.
func IsWord(c Command) bool { return core.IsWord(c) }

// PackWords appends what words prove to dst, as Entry has it.
func PackWords(dst []byte, words []Word) []byte { return core.PackWords(dst, words) }

// PackBeats appends renewals to dst, as HostBeats has them.
func PackBeats(dst []byte, agents []noun.AgentID, incs []noun.Incarnation, kinds []uint8) []byte {
	return core.PackBeats(dst, agents, incs, kinds)
}

// UnpackBeats yields packed renewals.
func UnpackBeats(p []byte) iter.Seq[Beat] { return core.UnpackBeats(p) }

// ValidBeats counts packed renewals; ok is false when p is none.
func ValidBeats(p []byte) (n int, ok bool) { return core.ValidBeats(p) }

// CheckHostName tells what is wrong with the name of a host.
func CheckHostName(name string) error { return core.CheckHostName(name) }

// EscalationKindNames are the words for kinds of escalations, by number; the first is empty.
func EscalationKindNames() []string { return escalation.EscalationKindNames() }
