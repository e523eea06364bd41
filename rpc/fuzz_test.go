package rpc

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// builders turn the bytes of a request into a command, for every kind of write.
func builders() []func([]byte) (fsm.Command, error) {
	return []func([]byte) (fsm.Command, error){
		decoded(applyRoomCmd), decoded(deleteRoomCmd), decoded(createTaskCmd), decoded(cancelTaskCmd),
		decoded(retryTaskCmd),
		decoded(setAgentCmd), decoded(restartAgentCmd), decoded(joinCmd), decoded(leaveCmd), decoded(claimCmd),
		decoded(startTaskCmd), decoded(progressTaskCmd), decoded(completeTaskCmd), decoded(failTaskCmd),
		decoded(handoffCmd),
		decoded(setResumeCmd), decoded(openSessionCmd), decoded(registerHostCmd), decoded(leaveHostCmd),
		decoded(acceptOrderCmd), decoded(reportStartedCmd), decoded(reportExitCmd),
		decoded(announceServerCmd), decoded(putSettingsCmd), decoded(reportHashCmd), decoded(setPauseCmd),
		decoded(unparkAgentCmd), decoded(unquarantineTaskCmd), decoded(releaseBrakeCmd),
		decoded(about(drainHostCmd)), decoded(about(confirmDeadCmd)), decoded(about(forgetHostCmd)),
		decoded(reportStuckCmd), decoded(reportPressureCmd), decoded(reportScreenCmd),
		decoded(reportTerminalsCmd), decoded(reportViewsCmd),
	}
}

// about makes a word about a host one about the first host.
func about[R any](build func(R, noun.HostID) (fsm.Command, error)) func(R) (fsm.Command, error) {
	return func(r R) (fsm.Command, error) { return build(r, 1) }
}

func decoded[R any, P interface {
	*R
	proto.Message
}](build func(P) (fsm.Command, error)) func([]byte) (fsm.Command, error) {
	return func(b []byte) (fsm.Command, error) {
		req := P(new(R))
		if err := proto.Unmarshal(b, req); err != nil {
			return nil, err
		}
		return build(req)
	}
}

// FuzzWrites sends whatever bytes decode to a request through validation into a
// state: nothing may panic, and the laws hold afterwards.
func FuzzWrites(f *testing.F) {
	seed := func(kind byte, m proto.Message) {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(append([]byte{kind}, b...))
	}
	me := &vigilv1.Speaker{Agent: "demo/builder", Incarnation: 1}
	seed(0, &vigilv1.ApplyRoomRequest{Room: "demo",
		Roles: []*vigilv1.RoleSpec{{Name: "builder", Runner: "sh"}, {Name: "x"}}})
	seed(1, &vigilv1.DeleteRoomRequest{Room: "demo"})
	seed(2, &vigilv1.CreateTaskRequest{Room: "demo", Role: "builder", Title: "t"})
	seed(7, &vigilv1.JoinRequest{Speaker: &vigilv1.Speaker{Agent: "demo/builder.*"}})
	seed(9, &vigilv1.ClaimRequest{Speaker: me})
	seed(12, &vigilv1.WorkRequest{Speaker: me, Task: 1, Attempt: 1})
	seed(14, &vigilv1.HandoffRequest{Speaker: me, Task: 1, Attempt: 1, ToRole: "builder", Title: "next"})
	seed(17, &vigilv1.RegisterRequest{Key: "k", Boot: "b",
		Inventory: []*vigilv1.RunningAgent{{Agent: 1, Incarnation: 1}}})
	seed(23, &vigilv1.PutSettingsRequest{Values: map[string]string{"ack_limit": "3m"}})
	seed(25, &vigilv1.SetPauseRequest{Scope: "demo/builder", Pause: new(true), By: "x"})
	seed(25, &vigilv1.SetPauseRequest{Pause: new(true)})
	seed(29, &vigilv1.DrainHostRequest{Host: "h", Deadline: durationpb.New(1), For: durationpb.New(1 << 40)})
	seed(30, &vigilv1.ConfirmDeadRequest{Host: "h", Force: true})
	seed(34, &vigilv1.ReportViewsRequest{Server: "s1", All: true,
		Views: []*vigilv1.HeardHost{{Host: 1, Gossip: "silent", Stream: "silent"}}})
	kinds := builders()
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		cmd, err := kinds[int(b[0])%len(kinds)](b[1:])
		if err != nil {
			return
		}
		st := fsm.New()
		first := []fsm.Request{
			{Cmd: fsm.LeaderEstablished{Server: "s1", APIAddr: "a:1"}},
			{Cmd: fsm.ApplyRoom{Room: "demo", Roles: []noun.RoleSpec{{Name: "builder", Replicas: 2}}}},
			{Cmd: fsm.CreateTask{Room: "demo", Role: "builder", Title: "t"}},
			{Cmd: fsm.RegisterHost{Key: "k", Name: "h", Boot: "b"}},
			{Cmd: fsm.Join{Speaker: fsm.Speaker{Agent: "demo/builder"}}},
			{Cmd: fsm.Claim{Speaker: fsm.Speaker{Agent: "demo/builder", Inc: 1}}},
		}
		st.Apply(&fsm.Entry{Index: 1, Term: 1, Stint: 1, Requests: first})
		st.Apply(&fsm.Entry{Index: 2, Term: 1, Stint: 1, Stamp: 1e9, Requests: []fsm.Request{{Cmd: cmd}}})
		if err := st.Check(); err != nil {
			t.Fatalf("after %T: %v", cmd, err)
		}
	})
}
