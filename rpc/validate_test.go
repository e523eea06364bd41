package rpc

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

func TestValidationNamesPlaceAndRemedy(t *testing.T) {
	me := &vigilv1.Speaker{Agent: "demo/builder", Incarnation: 1}
	long := strings.Repeat("x", noun.MaxTaskText+1)
	cmd := func(_ fsm.Command, err error) error { return err }
	tests := []struct {
		name string
		err  error
		code string
		says []string
	}{
		{"room missing", cmd(createTaskCmd(&vigilv1.CreateTaskRequest{Role: "r", Title: "t"})), "invalid",
			[]string{"room is missing", "a-z"}},
		{"room with a slash",
			cmd(createTaskCmd(&vigilv1.CreateTaskRequest{Room: "a/b", Role: "r", Title: "t"})),
			"invalid", []string{`"a/b"`}},
		{"name begins with a dash",
			cmd(createTaskCmd(&vigilv1.CreateTaskRequest{Room: "-a", Role: "r", Title: "t"})),
			"invalid", []string{`"-a"`}},
		{"name too long", cmd(deleteRoomCmd(&vigilv1.DeleteRoomRequest{Room: strings.Repeat("a", 65)})),
			"invalid", []string{"1 to 64"}},
		{"nothing to do", cmd(createTaskCmd(&vigilv1.CreateTaskRequest{Room: "a", Role: "r"})), "invalid",
			[]string{"title and text"}},
		{"text too large", cmd(createTaskCmd(&vigilv1.CreateTaskRequest{Room: "a", Role: "r", Text: long})),
			"too_large", []string{"262145", "262144", "file"}},
		{"title of two lines",
			cmd(createTaskCmd(&vigilv1.CreateTaskRequest{Room: "a", Role: "r", Title: "a\nb"})), "invalid",
			[]string{"title", "byte 1"}},
		{"text is no text",
			cmd(createTaskCmd(&vigilv1.CreateTaskRequest{Room: "a", Role: "r", Text: "\xff"})),
			"invalid", []string{"UTF-8"}},
		{"agent without role",
			cmd(setAgentCmd(&vigilv1.SetAgentRequest{Agent: "demo", Desired: "running"})),
			"invalid", []string{"room/role"}},
		{"agent number 1",
			cmd(setAgentCmd(&vigilv1.SetAgentRequest{Agent: "demo/r.1", Desired: "running"})), "invalid",
			[]string{"room/role.2"}},
		{"star outside a join",
			cmd(claimCmd(&vigilv1.ClaimRequest{Speaker: &vigilv1.Speaker{Agent: "demo/r.*",
				Incarnation: 1}})), "invalid", []string{"demo/r.*"}},
		{"desired unknown", cmd(setAgentCmd(&vigilv1.SetAgentRequest{Agent: "a/b", Desired: "on"})),
			"invalid", []string{"running or stopped"}},
		{"desired missing", cmd(setAgentCmd(&vigilv1.SetAgentRequest{Agent: "a/b"})), "invalid",
			[]string{"desired is missing"}},
		{"incarnation missing",
			cmd(claimCmd(&vigilv1.ClaimRequest{Speaker: &vigilv1.Speaker{Agent: "a/b"}})), "invalid",
			[]string{"VIGIL_INCARNATION"}},
		{"attempt missing", cmd(startTaskCmd(&vigilv1.WorkRequest{Speaker: me, Task: 1})), "invalid",
			[]string{"attempt is missing"}},
		{"task missing", cmd(cancelTaskCmd(&vigilv1.CancelTaskRequest{})), "invalid", []string{"vigil task list"}},
		{"role twice",
			cmd(applyRoomCmd(&vigilv1.ApplyRoomRequest{Room: "a",
				Roles: []*vigilv1.RoleSpec{{Name: "r"}, {Name: "r"}}})), "invalid", []string{"role r", "twice"}},
		{"role desire unknown",
			cmd(applyRoomCmd(&vigilv1.ApplyRoomRequest{Room: "a",
				Roles: []*vigilv1.RoleSpec{{Name: "r", Desired: "on"}}})),
			"invalid", []string{"running, stopped or paused"}},
		{"role word unknown",
			cmd(applyRoomCmd(&vigilv1.ApplyRoomRequest{Room: "a",
				Roles: []*vigilv1.RoleSpec{{Name: "r", Start: "later"}}})),
			"invalid", []string{"role r: start", "on_demand"}},
		{"role policy unknown",
			cmd(applyRoomCmd(&vigilv1.ApplyRoomRequest{Room: "a",
				Roles: []*vigilv1.RoleSpec{{Name: "r", Policy: "never"}}})),
			"invalid", []string{"role r: policy", "fenced, fast or confirm"}},
		{"too many replicas",
			cmd(applyRoomCmd(&vigilv1.ApplyRoomRequest{Room: "a",
				Roles: []*vigilv1.RoleSpec{{Name: "r", Replicas: 10_001}}})), "invalid", []string{"10000"}},
		{"pause without saying which way", cmd(setPauseCmd(&vigilv1.SetPauseRequest{})), "invalid",
			[]string{"pause is missing"}},
		{"pause of no name", cmd(setPauseCmd(&vigilv1.SetPauseRequest{Pause: new(true), Scope: "Web"})),
			"invalid", []string{`scope "Web"`, "a-z"}},
		{"pause of a star", cmd(setPauseCmd(&vigilv1.SetPauseRequest{Pause: new(true), Scope: "web/b.*"})),
			"invalid", []string{"room/role"}},
		{"pause with a long reason",
			cmd(setPauseCmd(&vigilv1.SetPauseRequest{Pause: new(true), Reason: long})),
			"too_large", []string{"reason", "1024"}},
		{"pause as desired", cmd(setAgentCmd(&vigilv1.SetAgentRequest{Agent: "a/b", Desired: "paused"})),
			"invalid", []string{"vigil agent pause"}},
		{"fresh stop", cmd(setAgentCmd(&vigilv1.SetAgentRequest{Agent: "a/b", Desired: "stopped",
			Fresh: true})), "invalid", []string{"fresh"}},
		{"unpark without a name", cmd(unparkAgentCmd(&vigilv1.UnparkAgentRequest{})), "invalid",
			[]string{"agent is missing"}},
		{"unquarantine without a task", cmd(unquarantineTaskCmd(&vigilv1.UnquarantineTaskRequest{})),
			"invalid", []string{"vigil task list"}},
		{"brake by two lines", cmd(releaseBrakeCmd(&vigilv1.ReleaseBrakeRequest{By: "a\nb"})), "invalid",
			[]string{"by", "byte 1"}},
		{"negative turn limit",
			cmd(applyRoomCmd(&vigilv1.ApplyRoomRequest{Room: "a",
				Roles: []*vigilv1.RoleSpec{{Name: "r", TurnLimit: durationpb.New(-1)}}})), "invalid",
			[]string{"role r: turn_limit"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := fault.Of(tt.err)
			if p.Code != tt.code {
				t.Fatalf("code %s (%s), want %s", p.Code, p.Text, tt.code)
			}
			for _, s := range tt.says {
				if !strings.Contains(p.Text, s) {
					t.Errorf("message %q does not say %q", p.Text, s)
				}
			}
		})
	}
	for _, good := range []error{
		cmd(createTaskCmd(&vigilv1.CreateTaskRequest{Room: "a", Role: "r_1-x", Text: long[1:]})),
		cmd(joinCmd(&vigilv1.JoinRequest{Speaker: &vigilv1.Speaker{Agent: "a/r.*"}})),
		cmd(claimCmd(&vigilv1.ClaimRequest{Speaker: &vigilv1.Speaker{Agent: "a/r.10000", Incarnation: 1}})),
	} {
		if good != nil {
			t.Errorf("good request refused: %v", good)
		}
	}
}

func TestTokensAreHashedAtTheDoor(t *testing.T) {
	cmd, err := claimCmd(&vigilv1.ClaimRequest{Speaker: &vigilv1.Speaker{Agent: "a/b", Incarnation: 1,
		Token: "geheim"}})
	if err != nil {
		t.Fatal(err)
	}
	if s := fmt.Sprintf("%s %v", cmd, cmd); strings.Contains(s, "geheim") {
		t.Fatal("the command carries the token itself")
	}
	if len(cmd.(fsm.Claim).TokenHash) != 32 {
		t.Fatal("the command carries no sha256 sum")
	}
}
