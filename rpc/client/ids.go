package client

import (
	"google.golang.org/protobuf/proto"

	"vigil/rpc/gen/vigilv1"
)

// identified is every request with a write id.
type identified interface {
	proto.Message
	GetId() *vigilv1.WriteId
}

// wantsID tells whether the client has to number the request. Wait is left alone:
// it may park for minutes and would hold up the numbers after it, and its claim is
// safe to repeat, since an incarnation that holds a task is given the same again.
func wantsID(args any) bool {
	m, ok := args.(identified)
	if !ok || m.GetId() != nil {
		return false
	}
	_, wait := args.(*vigilv1.WaitRequest)
	return !wait
}

// withID gives a copy of the request that carries the number, so that the caller's
// message stays as it is and can be used again.
func withID(args any, t ticket) proto.Message {
	m := proto.Clone(args.(identified))
	setID(m, &vigilv1.WriteId{Session: t.s.id, Seq: t.seq})
	return m
}

// setID puts the number into the request. A test keeps the list complete.
func setID(m proto.Message, id *vigilv1.WriteId) {
	switch m := m.(type) {
	case *vigilv1.ApplyRoomRequest:
		m.Id = id
	case *vigilv1.DeleteRoomRequest:
		m.Id = id
	case *vigilv1.ReopenRoomRequest:
		m.Id = id
	case *vigilv1.SetRoomWatchRequest:
		m.Id = id
	case *vigilv1.NudgeAgentRequest:
		m.Id = id
	case *vigilv1.CreateTaskRequest:
		m.Id = id
	case *vigilv1.CancelTaskRequest:
		m.Id = id
	case *vigilv1.RetryTaskRequest:
		m.Id = id
	case *vigilv1.SetAgentRequest:
		m.Id = id
	case *vigilv1.RestartAgentRequest:
		m.Id = id
	case *vigilv1.UnparkAgentRequest:
		m.Id = id
	case *vigilv1.UnquarantineTaskRequest:
		m.Id = id
	case *vigilv1.SetPauseRequest:
		m.Id = id
	case *vigilv1.ReleaseBrakeRequest:
		m.Id = id
	case *vigilv1.DrainHostRequest:
		m.Id = id
	case *vigilv1.ConfirmDeadRequest:
		m.Id = id
	case *vigilv1.ForgetHostRequest:
		m.Id = id
	case *vigilv1.JoinRequest:
		m.Id = id
	case *vigilv1.LeaveRequest:
		m.Id = id
	case *vigilv1.ClaimRequest:
		m.Id = id
	case *vigilv1.WorkRequest:
		m.Id = id
	case *vigilv1.CompleteTaskRequest:
		m.Id = id
	case *vigilv1.HandoffRequest:
		m.Id = id
	case *vigilv1.SetResumeRequest:
		m.Id = id
	case *vigilv1.DeclareRequest:
		m.Id = id
	case *vigilv1.SendMailRequest:
		m.Id = id
	case *vigilv1.ReadMailRequest:
		m.Id = id
	case *vigilv1.AckMailRequest:
		m.Id = id
	case *vigilv1.AckEscalationRequest:
		m.Id = id
	case *vigilv1.CloseEscalationRequest:
		m.Id = id
	case *vigilv1.LookAtOverseerRequest:
		m.Id = id
	case *vigilv1.ReportPatrolRequest:
		m.Id = id
	case *vigilv1.HandOverRequest:
		m.Id = id
	case *vigilv1.RevokeTokenRequest:
		m.Id = id
	case *vigilv1.RevokeRequest:
		m.Id = id
	case *vigilv1.PutUserRequest:
		m.Id = id
	case *vigilv1.RemoveUserRequest:
		m.Id = id
	case *vigilv1.RevokeAPITokenRequest:
		m.Id = id
	}
}

// operation gives the request inside a Write, nil when there is none.
func operation(w *vigilv1.Write) identified {
	switch op := w.GetOp().(type) {
	case *vigilv1.Write_CreateTask:
		return op.CreateTask
	case *vigilv1.Write_Claim:
		return op.Claim
	case *vigilv1.Write_StartTask:
		return op.StartTask
	case *vigilv1.Write_ProgressTask:
		return op.ProgressTask
	case *vigilv1.Write_CompleteTask:
		return op.CompleteTask
	case *vigilv1.Write_FailTask:
		return op.FailTask
	case *vigilv1.Write_Handoff:
		return op.Handoff
	case *vigilv1.Write_Join:
		return op.Join
	case *vigilv1.Write_Leave:
		return op.Leave
	default:
		return nil
	}
}
