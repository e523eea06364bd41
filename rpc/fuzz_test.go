package rpc

import (
	"testing"

	"vigil/rpc/form/formtest"
	"vigil/rpc/gen/vigilv1"
)

// builders turn the bytes of a request into a command, for every kind of write.
func builders() []formtest.Builder {
	return []formtest.Builder{
		formtest.Decoded(applyRoomCmd), formtest.Decoded(deleteRoomCmd), formtest.Decoded(createTaskCmd),
		formtest.Decoded(cancelTaskCmd), formtest.Decoded(retryTaskCmd), formtest.Decoded(setAgentCmd),
		formtest.Decoded(restartAgentCmd), formtest.Decoded(joinCmd), formtest.Decoded(leaveCmd),
		formtest.Decoded(claimCmd), formtest.Decoded(startTaskCmd), formtest.Decoded(progressTaskCmd),
		formtest.Decoded(completeTaskCmd), formtest.Decoded(failTaskCmd), formtest.Decoded(handoffCmd),
		formtest.Decoded(setResumeCmd), formtest.Decoded(openSessionCmd), formtest.Decoded(setPauseCmd),
		formtest.Decoded(unparkAgentCmd), formtest.Decoded(unquarantineTaskCmd), formtest.Decoded(releaseBrakeCmd),
	}
}

// FuzzWrites sends whatever bytes decode to a request through validation into a
// state: nothing may panic, and the laws hold afterwards.
func FuzzWrites(f *testing.F) {
	me := &vigilv1.Speaker{Agent: "demo/builder", Incarnation: 1}
	formtest.Seed(f, 0, &vigilv1.ApplyRoomRequest{Room: "demo",
		Roles: []*vigilv1.RoleSpec{{Name: "builder", Runner: "sh"}, {Name: "x"}}})
	formtest.Seed(f, 1, &vigilv1.DeleteRoomRequest{Room: "demo"})
	formtest.Seed(f, 2, &vigilv1.CreateTaskRequest{Room: "demo", Role: "builder", Title: "t"})
	formtest.Seed(f, 7, &vigilv1.JoinRequest{Speaker: &vigilv1.Speaker{Agent: "demo/builder.*"}})
	formtest.Seed(f, 9, &vigilv1.ClaimRequest{Speaker: me})
	formtest.Seed(f, 12, &vigilv1.WorkRequest{Speaker: me, Task: 1, Attempt: 1})
	formtest.Seed(f, 14, &vigilv1.HandoffRequest{Speaker: me, Task: 1, Attempt: 1, ToRole: "builder", Title: "next"})
	formtest.Seed(f, 17, &vigilv1.SetPauseRequest{Scope: "demo/builder", Pause: new(true), By: "x"})
	formtest.Seed(f, 17, &vigilv1.SetPauseRequest{Pause: new(true)})
	formtest.Writes(f, builders())
}
