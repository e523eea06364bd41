package rpc

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"vigil/rpc/gen/vigilv1"
)

// least is a body with the fields that a call requires and no other, by message. One of two is written
// where the server wants either.
var least = map[string]string{
	"PutSettingsRequest":     `{"values":{"start_limit":"90s"}}`,
	"AddServerRequest":       `{"id":"s9","raft_addr":"127.0.0.1:1"}`,
	"AckEscalationRequest":   `{"escalation":"1"}`,
	"CloseEscalationRequest": `{"escalation":"1"}`,
	"ApplyRoomRequest":       `{"room":"demo"}`, "ReopenRoomRequest": `{"room":"demo"}`,
	"SetRoomWatchRequest": `{"room":"demo"}`, "LiftBudgetRequest": `{"room":"demo"}`,
	"CreateTaskRequest": `{"room":"demo","role":"builder","title":"either this or text"}`,
	"CancelTaskRequest": `{"task":"1"}`, "RetryTaskRequest": `{"task":"1"}`, "UnquarantineTaskRequest": `{"task":"1"}`,
	"SetAgentRequest":     `{"agent":"demo/builder","desired":"stopped"}`,
	"RestartAgentRequest": `{"agent":"demo/builder"}`, "UnparkAgentRequest": `{"agent":"demo/builder"}`,
	"SetPauseRequest": `{"pause":true}`, "NudgeAgentRequest": `{"agent":"demo/builder"}`,
	"TakeTerminalRequest": `{"agent":"demo/builder"}`, "ReleaseTerminalRequest": `{"agent":"demo/builder"}`,
	"TypeKeysRequest":  `{"agent":"demo/builder","grant":"1","seq":"1","keys":"eA=="}`,
	"DrainHostRequest": `{"host":"h1"}`, "ConfirmDeadRequest": `{"host":"h1"}`,
	"SendMailRequest": `{"from":"either this or speaker","to":"demo/builder","subject":"either this or body"}`,
	"ReadMailRequest": `{"speaker":ME}`, "WaitMailRequest": `{"speaker":ME}`,
	"AckMailRequest":        `{"speaker":ME,"mail":"1"}`,
	"LookAtOverseerRequest": `{"agent":"demo/builder"}`, "ReportPatrolRequest": `{"speaker":ME}`,
	"HandOverRequest": `{"speaker":ME,"subject":"either this or body"}`,
	"JoinRequest":     `{"speaker":ME}`, "LeaveRequest": `{"speaker":ME}`, "WaitRequest": `{"speaker":ME}`,
	"ClaimRequest": `{"speaker":ME}`, "WorkRequest": `{"speaker":ME,"task":"1","attempt":1}`,
	"CompleteTaskRequest": `{"speaker":ME,"task":"1","attempt":1}`,
	"HandoffRequest":      `{"speaker":ME,"task":"1","attempt":1,"to_role":"builder","title":"either this or text"}`,
	"NextRequest":         `{"speaker":ME,"task":"1","attempt":1,"complete":{}}`,
	"SetResumeRequest":    `{"speaker":ME}`, "DeclareRequest": `{"speaker":ME}`, "RenewRequest": `{"speaker":ME}`,
	"CreateTokenRequest": `{"role":"host"}`, "RevokeRequest": `{"kind":"host","name":"h1"}`,
	"JoinTrustRequest":      `{"token":"1","secret":"c2VjcmV0","csr":"Y3Ny","kind":"host","name":"h1"}`,
	"RenewTrustRequest":     `{"csr":"Y3Ny"}`,
	"LoginRequest":          `{"token":"1","secret":"c2VjcmV0","csr":"Y3Ny","user":"ann"}`,
	"PutUserRequest":        `{"user":"ann","bindings":[{"role":"viewer","room":"*"}]}`,
	"CreateAPITokenRequest": `{"name":"ci","bindings":[{"role":"viewer","room":"*"}]}`,
	"PromoteServerRequest":  `{"server":"s9"}`, "DemoteServerRequest": `{"server":"s9"}`,
	"TransferLeadershipRequest": `{}`, "ReleaseBrakeRequest": `{}`,
	"OpenSessionRequest": `{}`, "RotateGossipRequest": `{}`,
	"ReplaceRootRequest": `{"chain":["Y2VydA=="]}`,
}

// N15: what the document calls required is refused when it is missing, in words that name it, and
// nothing else needs to be there.
func TestN15RequiredFields(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	seen := map[string]bool{}
	for _, file := range []protoreflect.FileDescriptor{vigilv1.File_vigil_v1_cluster_proto,
		vigilv1.File_vigil_v1_escalation_proto, vigilv1.File_vigil_v1_fleet_proto, vigilv1.File_vigil_v1_mail_proto,
		vigilv1.File_vigil_v1_overseer_proto, vigilv1.File_vigil_v1_trust_proto, vigilv1.File_vigil_v1_work_proto,
		vigilv1.File_vigil_v1_desk_proto} {
		for i := range file.Services().Len() {
			for j := range file.Services().Get(i).Methods().Len() {
				m := file.Services().Get(i).Methods().Get(j)
				if rule, ok := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule); ok &&
					rule.GetBody() == "*" {
					seen[string(m.Input().Name())] = true
					w.required(t, m, rule)
				}
			}
		}
	}
	for name := range maps.Keys(least) {
		if !seen[name] {
			t.Errorf("no call takes a %s", name)
		}
	}
}

// required makes a call with what it requires, and without each of it.
func (w *world) required(t *testing.T, m protoreflect.MethodDescriptor, rule *annotations.HttpRule) {
	t.Helper()
	text, ok := least[string(m.Input().Name())]
	if !ok {
		t.Errorf("%s: what does a %s require?", m.Name(), m.Input().Name())
		return
	}
	whole := map[string]any{}
	text = strings.ReplaceAll(text, "ME", `{"agent":"demo/builder","incarnation":"1"}`)
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		t.Fatal(err)
	}
	verb, path := verbOf(rule)
	call := func(body map[string]any) (code, message string) {
		where := pathVariable.ReplaceAllStringFunc(path, func(v string) string {
			name := pathVariable.FindStringSubmatch(v)[1]
			value, _ := whole[name].(string)
			return value
		})
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		_, answer, _ := w.call(0, verb, where, string(b))
		code, _ = answer["code"].(string)
		message, _ = answer["message"].(string)
		return code, message
	}
	if code, message := call(whole); code == "invalid" {
		t.Errorf("%s wants more than %s: %s", m.Name(), text, message)
	}
	for name := range whole {
		f := m.Input().Fields().ByName(protoreflect.Name(name))
		marked := slices.Contains(proto.GetExtension(f.Options(), annotations.E_FieldBehavior).([]annotations.FieldBehavior),
			annotations.FieldBehavior_REQUIRED)
		said, _ := whole[name].(string)
		either := strings.HasPrefix(said, "either ") || name == "to" || // which a reply needs not
			name == "complete" || // either this, fail or handoff
			name == "keys" // either these or a size
		if marked == either {
			t.Errorf("%s: %s is marked as required: %v", m.Name(), name, marked)
		}
		if strings.Contains(path, "{"+name) { // there is no path without it
			continue
		}
		less := maps.Clone(whole)
		delete(less, name)
		if code, message := call(less); code != "invalid" || !strings.Contains(message, name) {
			t.Errorf("%s without %s: %s: %s", m.Name(), name, code, message)
		}
	}
}

var pathVariable = regexp.MustCompile(`\{(\w+)(?:=[^}]*)?\}`)

func verbOf(rule *annotations.HttpRule) (verb, path string) {
	switch {
	case rule.GetPut() != "":
		return "PUT", rule.GetPut()
	case rule.GetPatch() != "":
		return "PATCH", rule.GetPatch()
	}
	return "POST", rule.GetPost()
}
