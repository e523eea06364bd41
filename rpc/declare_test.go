package rpc

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm/judge"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// healthyRoom applies a room whose one role asks for reports.
func (w *world) healthyRoom(h *vigilv1.HealthSpec) *vigilv1.RoleSpec {
	w.t.Helper()
	room, err := w.fleet(0).ApplyRoom(within(w.t),
		&vigilv1.ApplyRoomRequest{Room: "demo", Roles: []*vigilv1.RoleSpec{{Name: "builder", Health: h}}})
	if err != nil {
		w.t.Fatal(err)
	}
	return room.GetRoles()[0].GetSpec()
}

func TestDeclareOverHTTPThroughAFollower(t *testing.T) {
	w := start(t, 2)
	w.advance(time.Minute)
	w.healthyRoom(&vigilv1.HealthSpec{Preset: "active"})
	me := w.join("demo/builder")
	body := func(rest string) string {
		return fmt.Sprintf(`{"speaker":{"agent":"demo/builder","incarnation":"%d"},%s}`, me.GetIncarnation(), rest)
	}
	status, got, _ := w.call(1, "POST", "/v1/work:declare",
		body(`"status":"busy","for":"1200s","text":"the test suite","sequence":"5"`))
	if status != 200 || got["applied"] != true || got["left"] != "1200s" || got["sequence"] != "5" {
		t.Fatalf("declare: %d %v", status, got)
	}
	if status, got, _ = w.call(1, "POST", "/v1/work:declare", body(`"sequence":"4"`)); status != 200 ||
		got["applied"] != false || got["sequence"] != "5" {
		t.Errorf("an older number: %d %v", status, got)
	}
	w.advance(time.Second)
	a, err := w.fleet(1).GetAgent(within(t), &vigilv1.GetAgentRequest{Agent: "demo/builder"})
	if err != nil {
		t.Fatal(err)
	}
	d, v := a.GetAgent().GetDeclaration(), a.GetAgent().GetVerdict()
	if d.GetStatus() != "busy" || d.GetWaiting() != "none" || d.GetText() != "the test suite" ||
		d.GetLeft().AsDuration() != 1199*time.Second || d.GetLapsed() {
		t.Errorf("declaration %v", d)
	}
	if v.GetKind() != "busy" || !v.GetFine() || len(v.GetReasons()) == 0 {
		t.Errorf("verdict %v", v)
	}
	for _, r := range v.GetReasons() {
		if strings.Contains(r.GetText(), "test suite") {
			t.Errorf("a reason, which may be logged, holds the agent's text: %v", r)
		}
	}
	for says, rest := range map[string]string{
		"declare_limit": `"status":"busy","for":"14401s"`, "needs an end": `"waiting":"in_tool"`,
		"healthy, busy or degraded": `"status":"dizzy"`, "in_tool": `"waiting":"for godot"`,
		"for is": `"status":"busy","for":"-1s"`,
	} {
		if status, got, _ := w.call(0, "POST", "/v1/work:declare", body(rest)); status != 400 ||
			!strings.Contains(fmt.Sprint(got["message"]), says) {
			t.Errorf("%s: %d %v, want %q in it", rest, status, got, says)
		}
	}
	if status, got, _ := w.call(0, "POST", "/v1/work:declare",
		body(`"text":"`+strings.Repeat("x", 1025)+`"`)); status != 413 {
		t.Errorf("a long text: %d %v", status, got)
	}
}

func TestDeclareOfASupersededLife(t *testing.T) { // law L6
	w := start(t, 1)
	w.room("demo", "builder", 1)
	old := w.join("demo/builder")
	if _, err := w.work(0).Leave(within(t), &vigilv1.LeaveRequest{Speaker: old}); err != nil {
		t.Fatal(err)
	}
	w.join("demo/builder")
	if _, err := w.work(0).Declare(within(t), &vigilv1.DeclareRequest{Speaker: old}); codeOf(err) != "superseded" {
		t.Errorf("%v, want superseded", err)
	}
}

// What a server of the cluster cannot read is not written, and whoever asks is told why.
func TestOldServersAreNamed(t *testing.T) {
	w := start(t, 2)
	w.room("demo", "builder", 1)
	me := w.join("demo/builder")
	w.mu.Lock()
	w.old = true
	w.mu.Unlock()
	_, err := w.work(1).Declare(within(t), &vigilv1.DeclareRequest{Speaker: me})
	if p := fault.Of(err); p.Code != "old_servers" || !strings.Contains(p.Text, "Upgrade every server") {
		t.Errorf("declare: %v", err)
	}
	status, got, _ := w.call(0, "PUT", "/v1/rooms/demo", `{"roles":[{"name":"builder","health":{"preset":"standby"}}]}`)
	if status != 409 || got["code"] != "old_servers" {
		t.Errorf("a role with health: %d %v", status, got)
	}
}

func TestRoleCarriesItsHealth(t *testing.T) {
	w := start(t, 1)
	for preset, want := range map[string]string{"critical": "30s 2", "active": "1m0s 3",
		"background": "5m0s 3", "standby": "15m0s 5"} {
		got := w.healthyRoom(&vigilv1.HealthSpec{Preset: preset}).GetHealth()
		if fmt.Sprint(got.GetEvery().AsDuration(), got.GetMissed()) != want || got.GetPreset() != preset {
			t.Errorf("preset %s is %v, want %s", preset, got, want)
		}
		if again := w.healthyRoom(got).GetHealth(); again.GetPreset() != preset {
			t.Errorf("what is shown cannot be applied again: %v", again)
		}
	}
	got := w.healthyRoom(&vigilv1.HealthSpec{Every: durationpb.New(45 * time.Second)}).GetHealth()
	if got.GetEvery().AsDuration() != 45*time.Second || got.GetMissed() != 3 || got.GetPreset() != "" {
		t.Errorf("every 45s is %v", got)
	}
	if got := w.healthyRoom(nil).GetHealth(); got != nil {
		t.Errorf("no reports are shown as %v", got)
	}
	for says, h := range map[string]*vigilv1.HealthSpec{
		"background or standby":     {Preset: "relaxed"},
		"needs a preset or every":   {Missed: 3},
		"preset or the figures":     {Preset: "active", Missed: 4},
		"1s to 24h0m0s is allowed":  {Every: durationpb.New(time.Millisecond)},
		"1 to 1000 are allowed":     {Every: durationpb.New(time.Minute), Missed: 1001},
		"role builder: health.ever": {Every: durationpb.New(-time.Minute)},
	} {
		_, err := applyRoomCmd(&vigilv1.ApplyRoomRequest{Room: "demo",
			Roles: []*vigilv1.RoleSpec{{Name: "builder", Health: h}}})
		if err == nil {
			_, err = w.fleet(0).ApplyRoom(within(t), &vigilv1.ApplyRoomRequest{Room: "demo",
				Roles: []*vigilv1.RoleSpec{{Name: "builder", Health: h}}})
		}
		if p := fault.Of(err); err == nil || p.Code != "invalid" || !strings.Contains(p.Text, says) {
			t.Errorf("%v is answered %v, want %q", h, err, says)
		}
	}
}

// The fields of the two example answers, and not_found.
func TestDetectionStatusQuery(t *testing.T) {
	w := start(t, 2)
	w.advance(time.Minute)
	w.room("demo", "builder", 1)
	ask := func(i int, path string) map[string]any {
		t.Helper()
		code, got, _ := w.call(i, "GET", path, "")
		if code != 200 {
			t.Fatalf("%s: %d %v", path, code, got)
		}
		return got
	}
	me := w.join("demo/builder")
	w.advance(10 * time.Second)
	got := ask(1, "/v1/agents/demo/builder/status")
	if got["status"] != "idle" || got["last_seen"] == nil || got["registered_at"] == nil ||
		got["offline_since"] != nil {
		t.Errorf("an agent that waits: %v", got)
	}
	w.task(0, "demo", "builder", "x")
	if _, err := w.work(0).Claim(within(t), &vigilv1.ClaimRequest{Speaker: me}); err != nil {
		t.Fatal(err)
	}
	if got = ask(1, "/v1/agents/demo/builder/status"); got["status"] != "busy" {
		t.Errorf("an agent with a task: %v", got)
	}
	if _, err := w.work(0).Leave(within(t), &vigilv1.LeaveRequest{Speaker: me}); err != nil {
		t.Fatal(err)
	}
	w.advance(5 * time.Minute)
	got = ask(1, "/v1/agents/demo/builder/status")
	since, err := time.Parse(time.RFC3339Nano, fmt.Sprint(got["offline_since"]))
	if got["status"] != "offline" || err != nil || time.Since(since) < 5*time.Minute || got["host"] != nil {
		t.Errorf("an agent that left: %v (%v)", got, err)
	}
	if v := got["verdict"].(map[string]any); v["kind"] != "offline" || len(v["reasons"].([]any)) < 2 {
		t.Errorf("verdict %v, want offline on two signals", v)
	}
	if got = ask(0, "/v1/agents/demo/nobody/status"); got["status"] != "not_found" || got["agent"] != "demo/nobody" {
		t.Errorf("an agent that does not exist: %v", got)
	}
	if code, _, _ := w.call(0, "GET", "/v1/agents/demo/BAD/status", ""); code != 400 {
		t.Errorf("a name that cannot be: %d", code)
	}
	// A server that knows no leader says suspect at most.
	w.nodes[1].cutOff(true)
	got = ask(1, "/v1/agents/demo/builder/status?stale=true")
	if v := got["verdict"].(map[string]any); got["status"] != "offline" || v["kind"] != "suspect" {
		t.Errorf("without a leader: %v", got)
	}
}

// Agents in lists carry their verdict, so that one call finds those that are not fine.
func TestListedAgentsAreJudged(t *testing.T) {
	w := start(t, 1)
	w.advance(time.Minute)
	w.healthyRoom(&vigilv1.HealthSpec{Every: durationpb.New(time.Second), Missed: 2})
	w.join("demo/builder")
	w.advance(10 * time.Second)
	list, err := w.fleet(0).ListAgents(within(t), &vigilv1.ListAgentsRequest{})
	if err != nil || len(list.GetAgents()) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	v := list.GetAgents()[0].GetVerdict()
	if v.GetKind() != judge.AgentIdle.String() || v.GetFine() ||
		!strings.Contains(v.GetReasons()[0].GetText(), "never reported") {
		t.Errorf("an agent that never reports (I33): %v", v)
	}
}
