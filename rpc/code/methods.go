package code

import "vigil/rpc/gen/vigilv1"

// Nature says who may be asked to carry out a method, and when it may be asked again.
type Nature uint8

// The natures. Where nothing else is said, only the leader carries a call out, and the other
// servers send it on.
const (
	// Unknown is the nature of methods that are not in the table: never repeated.
	Unknown Nature = iota
	// Write changes something. Its write id makes repeating safe; without one it is repeated only
	// after proof that nothing was done.
	Write
	// Idempotent changes something, or asks; doing it twice is the same as doing it once.
	Idempotent
	// Unnumbered changes something and has no write id: repeated later it would undo what
	// somebody else has done meanwhile.
	Unnumbered
	// Move is like Unnumbered, and may take minutes: it changes which servers there are.
	Move
	// Read is answered from the state; from that of any server when stale is asked for.
	Read
	// Beat is a proof of life. Its sender counts from the moment in which it sent it, so the servers
	// may bring it to one leader after the other, but it is never sent again.
	Beat
	// Local is answered by any server by itself.
	Local
	// Wait is parked by any server for minutes, and never repeated.
	Wait
	// Stream is carried out by any server, or sent on by it to the one that can.
	Stream
	// Watch is a stream that brings what leaders have decided, from any server that knows one.
	Watch
)

// NatureOf gives the nature of a method by its full name, as in /vigil.v1.Work/Join.
func NatureOf(method string) Nature { return natures[method] }

// Repeatable tells whether a method may be called again while it is open whether it was carried
// out; a Write only under its write id.
func (n Nature) Repeatable() bool {
	return n == Write || n == Idempotent || n == Read || n == Local
}

// RepeatableAfter tells whether a method may be called again after an error with this code.
func (n Nature) RepeatableAfter(name string) bool {
	return n.Repeatable() || (n == Unnumbered || n == Move) && Of(name).Fate == Elsewhere
}

// Parked tells whether a server may hold the call for as long as its caller likes.
func (n Nature) Parked() bool { return n == Wait || n == Stream || n == Watch }

// Long tells whether the answer may take minutes.
func (n Nature) Long() bool { return n == Move || n.Parked() }

// Carried tells whether calls of the method may be made over a stream of many (Calls/Carry): their
// answers are short.
func (n Nature) Carried() bool { return n == Write || n == Idempotent || n == Beat || n == Wait }

var natures = func() map[string]Nature {
	m := map[string]Nature{}
	for nature, methods := range methods {
		for _, name := range methods {
			m[name] = nature
		}
	}
	return m
}()

var methods = map[Nature][]string{
	Write: {
		vigilv1.Fleet_ApplyRoom_FullMethodName, vigilv1.Fleet_DeleteRoom_FullMethodName,
		vigilv1.Fleet_ReopenRoom_FullMethodName, vigilv1.Fleet_SetRoomWatch_FullMethodName,
		vigilv1.Fleet_LiftBudget_FullMethodName,
		vigilv1.Fleet_CreateTask_FullMethodName, vigilv1.Fleet_CancelTask_FullMethodName,
		vigilv1.Fleet_RetryTask_FullMethodName, vigilv1.Fleet_UnquarantineTask_FullMethodName,
		vigilv1.Fleet_SetAgent_FullMethodName, vigilv1.Fleet_RestartAgent_FullMethodName,
		vigilv1.Fleet_UnparkAgent_FullMethodName, vigilv1.Fleet_SetPause_FullMethodName,
		vigilv1.Fleet_ReleaseBrake_FullMethodName, vigilv1.Fleet_NudgeAgent_FullMethodName,
		vigilv1.Fleet_TakeTerminal_FullMethodName, vigilv1.Fleet_ReleaseTerminal_FullMethodName,
		vigilv1.Fleet_DrainHost_FullMethodName, vigilv1.Fleet_ConfirmDead_FullMethodName,
		vigilv1.Fleet_ForgetHost_FullMethodName,
		vigilv1.Work_Join_FullMethodName, vigilv1.Work_StartTask_FullMethodName,
		vigilv1.Work_CompleteTask_FullMethodName, vigilv1.Work_FailTask_FullMethodName,
		vigilv1.Work_Handoff_FullMethodName, vigilv1.Work_Next_FullMethodName, vigilv1.Work_Batch_FullMethodName,
		vigilv1.Mailbox_SendMail_FullMethodName, vigilv1.Mailbox_ReadMail_FullMethodName,
		vigilv1.Overseers_LookAtOverseer_FullMethodName, vigilv1.Overseers_ReportPatrol_FullMethodName,
		vigilv1.Overseers_HandOver_FullMethodName,
		vigilv1.Trust_RevokeToken_FullMethodName, vigilv1.Trust_Revoke_FullMethodName,
		vigilv1.Trust_PutUser_FullMethodName, vigilv1.Trust_RemoveUser_FullMethodName,
		vigilv1.Trust_RevokeAPIToken_FullMethodName, vigilv1.Trust_RotateGossip_FullMethodName,
		vigilv1.Trust_ReplaceRoot_FullMethodName,
	},
	Idempotent: {
		vigilv1.Fleet_TypeKeys_FullMethodName,
		vigilv1.Work_Leave_FullMethodName, vigilv1.Work_Claim_FullMethodName,
		vigilv1.Work_ProgressTask_FullMethodName, vigilv1.Work_SetResume_FullMethodName,
		vigilv1.Work_Declare_FullMethodName, vigilv1.Work_OpenSession_FullMethodName,
		vigilv1.Work_CloseSession_FullMethodName,
		vigilv1.HostAgent_Register_FullMethodName, vigilv1.HostAgent_LeaveHost_FullMethodName,
		vigilv1.HostAgent_AcceptOrder_FullMethodName, vigilv1.HostAgent_ReportStarted_FullMethodName,
		vigilv1.HostAgent_ReportExit_FullMethodName, vigilv1.HostAgent_ReportStuck_FullMethodName,
		vigilv1.HostAgent_ReportPressure_FullMethodName, vigilv1.HostAgent_ReportKept_FullMethodName,
		vigilv1.HostAgent_ReportScreen_FullMethodName,
		vigilv1.HostAgent_ReportTerminals_FullMethodName, vigilv1.HostAgent_DrainSelf_FullMethodName,
		vigilv1.Cluster_ListServers_FullMethodName, vigilv1.Cluster_AnnounceServer_FullMethodName,
		vigilv1.Cluster_ReportHash_FullMethodName, vigilv1.Cluster_ReportViews_FullMethodName,
		vigilv1.Trust_ReportGossip_FullMethodName,
		vigilv1.Mailbox_AckMail_FullMethodName,
		vigilv1.Escalations_AckEscalation_FullMethodName,
		vigilv1.Escalations_CloseEscalation_FullMethodName,
		// With the same key, these give a certificate of the same generation again.
		vigilv1.Trust_Join_FullMethodName, vigilv1.Trust_Renew_FullMethodName, vigilv1.Trust_Login_FullMethodName,
	},
	Unnumbered: {
		vigilv1.Cluster_PutSettings_FullMethodName,
		vigilv1.Trust_CreateToken_FullMethodName, vigilv1.Trust_CreateAPIToken_FullMethodName,
	},
	Move: {
		vigilv1.Cluster_AddServer_FullMethodName, vigilv1.Cluster_RemoveServer_FullMethodName,
		vigilv1.Cluster_TransferLeadership_FullMethodName,
		vigilv1.Cluster_PromoteServer_FullMethodName, vigilv1.Cluster_DemoteServer_FullMethodName,
	},
	Read: {
		vigilv1.Fleet_ListRooms_FullMethodName, vigilv1.Fleet_GetRoom_FullMethodName,
		vigilv1.Fleet_GetWatchdog_FullMethodName, vigilv1.Fleet_ListTasks_FullMethodName,
		vigilv1.Fleet_GetTask_FullMethodName, vigilv1.Fleet_ListAgents_FullMethodName,
		vigilv1.Fleet_GetAgent_FullMethodName, vigilv1.Fleet_GetAgentStatus_FullMethodName,
		vigilv1.Fleet_ListDeadlines_FullMethodName, vigilv1.Fleet_GetUsage_FullMethodName,
		vigilv1.Fleet_ListHosts_FullMethodName, vigilv1.Fleet_GetHost_FullMethodName,
		vigilv1.Cluster_Status_FullMethodName, vigilv1.Cluster_GetSettings_FullMethodName,
		vigilv1.Mailbox_ListMail_FullMethodName, vigilv1.Mailbox_GetMail_FullMethodName,
		vigilv1.Escalations_ListEscalations_FullMethodName,
		vigilv1.Escalations_GetEscalation_FullMethodName,
		vigilv1.Overseers_ListOverseers_FullMethodName, vigilv1.Overseers_GetOverseer_FullMethodName,
		vigilv1.Trust_GetTrust_FullMethodName, vigilv1.Trust_ListTokens_FullMethodName,
		vigilv1.Trust_ListIdentities_FullMethodName, vigilv1.Trust_ListUsers_FullMethodName,
		vigilv1.Trust_ListAPITokens_FullMethodName, vigilv1.Trust_GetGossip_FullMethodName,
		vigilv1.Trust_GetRoots_FullMethodName, vigilv1.Trust_ListAudit_FullMethodName,
		vigilv1.Desk_GetOverview_FullMethodName, vigilv1.Desk_ListInbox_FullMethodName,
		vigilv1.Desk_GetTrend_FullMethodName, vigilv1.Desk_Search_FullMethodName,
		vigilv1.Desk_ListEvents_FullMethodName, vigilv1.Desk_GetTimeline_FullMethodName,
	},
	Beat: {
		vigilv1.Work_Beat_FullMethodName, vigilv1.Work_Renew_FullMethodName,
	},
	Local: {
		vigilv1.Fleet_LookAtAgent_FullMethodName, vigilv1.Fleet_AtTerminal_FullMethodName,
		vigilv1.Cluster_GetHealth_FullMethodName, vigilv1.Cluster_Diagnose_FullMethodName,
		vigilv1.Trust_SignIssuer_FullMethodName, vigilv1.Trust_GetGossipKeys_FullMethodName,
		vigilv1.Desk_OpenPage_FullMethodName,
	},
	Wait: {
		vigilv1.Work_Wait_FullMethodName,
		vigilv1.Mailbox_WaitMail_FullMethodName,
	},
	Stream: {
		vigilv1.Calls_Carry_FullMethodName,
		// Not a Watch: who follows wants to see that a server is cut off, too.
		vigilv1.Desk_Follow_FullMethodName,
		vigilv1.Fleet_AgentLogs_FullMethodName, vigilv1.Fleet_FollowScreen_FullMethodName,
		vigilv1.Cluster_SaveSnapshot_FullMethodName, vigilv1.Cluster_RestoreSnapshot_FullMethodName,
	},
	Watch: {
		vigilv1.Fleet_WatchEvents_FullMethodName,
		vigilv1.HostAgent_Stream_FullMethodName,
	},
}
