package rpc

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// overseen is a server with an overseer that was started by hand.
func overseen(t *testing.T) (*world, string) {
	w := start(t, 2)
	if status, got, _ := w.call(0, "PUT", "/v1/rooms/ops",
		`{"roles":[{"name":"deacon","ttl":"3600s","overseer":{"triage":"boot","handoff_after":2,"fresh":"60s"}},{"name":"boot"}]}`); status != 200 {
		t.Fatalf("apply: %d %v", status, got)
	}
	status, got, _ := w.call(0, "POST", "/v1/work:join", `{"speaker":{"agent":"ops/deacon"}}`)
	if status != 200 {
		t.Fatalf("join: %d %v", status, got)
	}
	return w, fmt.Sprintf(`"speaker":{"agent":"ops/deacon","incarnation":%v}`, got["incarnation"])
}

// An overseer over HTTP through a follower: patrols, looks, and what is shown of both.
func TestOverseerOverHTTP(t *testing.T) {
	w, me := overseen(t)
	status, got, _ := w.call(1, "POST", "/v1/overseers:patrol",
		`{`+me+`,"cycle":42,"action":"health-scan","healthy":3,"unhealthy":1}`)
	if status != 200 || got["patrols"] != 1.0 || got["handoff_due"] != false {
		t.Fatalf("patrol: %d %v", status, got)
	}
	w.advance(2 * time.Minute)
	status, got, _ = w.call(1, "GET", "/v1/overseers/ops/deacon", "")
	for field, want := range map[string]any{"agent": "ops/deacon", "session": "alive", "patrols": 1.0,
		"cycle": "42", "last_action": "health-scan", "healthy": 3.0, "unhealthy": 1.0, "freshness": "stale",
		"fresh": "60s", "stale": "900s", "patrol_age": "120s", "handoff_after": 2.0, "triage": "boot",
		"decision": nil, "look_task": nil, "rule": "NOTHING", "off": nil} {
		if got[field] != want {
			t.Errorf("%s is %v, want %v", field, got[field], want)
		}
	}
	if status != 200 {
		t.Errorf("show: %d", status)
	}
	if status, got, _ = w.call(1, "POST", "/v1/overseers/ops/deacon:look", `{"by":"ann"}`); status != 200 ||
		got["decision"] != "NOTHING" || got["decided_by"] != "mechanical" ||
		got["asked_by"] != "ann" || !strings.Contains(fmt.Sprint(got["degraded"]),
		"no agent of role ops/boot can run now (no_runner)") {
		t.Errorf("look: %d %v", status, got)
	}
	status, got, _ = w.call(1, "GET", "/v1/agents/ops/deacon", "")
	agent, _ := got["agent"].(map[string]any)
	role, _ := got["role"].(map[string]any)
	if o, _ := agent["overseer"].(map[string]any); status != 200 || o["cycle"] != "42" ||
		!strings.Contains(fmt.Sprint(role["overseer"]), "triage:boot") {
		t.Errorf("the agent shows %d %v, its role %v", status, agent["overseer"], role["overseer"])
	}
	for query, want := range map[string]int{"": 1, "?room=ops": 1, "?room=other": 0, "?after=ops/deacon": 0} {
		status, got, _ = w.call(1, "GET", "/v1/overseers"+query, "")
		if list, _ := got["overseers"].([]any); status != 200 || len(list) != want {
			t.Errorf("list%s: %d %v, want %d", query, status, got, want)
		}
	}
	_, got, _ = w.call(0, "GET", "/metrics", "")
	for _, want := range []string{"vigil_overseer_looks_total 1", "vigil_overseer_fallbacks_total 0",
		`vigil_overseer_decisions_total{by="mechanical",decision="NOTHING"} 1`,
		`vigil_overseer_decisions_total{by="triage",decision="WAKE"} 0`} {
		if text, _ := got["text"].(string); !strings.Contains(text, want+"\n") {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}

// What triage answers becomes a decision at the door of whichever server hears it; nonsense
// leaves the decision to the rule.
func TestTriageAnswersAreReadAtTheDoor(t *testing.T) {
	const good = `{"decision":"NUDGE","reason":"it hangs"}`
	for _, tc := range []struct{ text, decision, by, reason string }{
		{good, "NUDGE", "triage", "it hangs"},
		{"All is well.", "NOTHING", "mechanical", ""},
	} {
		w, _ := overseen(t)
		status, got, _ := w.call(1, "POST", "/v1/work:join", `{"speaker":{"agent":"ops/boot"}}`)
		if status != 200 {
			t.Fatalf("join: %d %v", status, got)
		}
		me := fmt.Sprintf(`"speaker":{"agent":"ops/boot","incarnation":%v}`, got["incarnation"])
		_, got, _ = w.call(1, "POST", "/v1/overseers/ops/deacon:look", `{"by":"ann"}`)
		task := got["look_task"]
		if status, got, _ = w.call(1, "POST", "/v1/work:claim", `{`+me+`}`); status != 200 {
			t.Fatalf("claim: %d %v", status, got)
		}
		word := fmt.Sprintf(`{%s,"task":%v,"attempt":1,"result":%q}`, me, task, tc.text)
		if status, got, _ = w.call(1, "POST", "/v1/work:complete", word); status != 200 {
			t.Fatalf("complete: %d %v", status, got)
		}
		_, got, _ = w.call(0, "GET", "/v1/overseers/ops/deacon", "")
		reason, _ := got["reason"].(string) // absent when there is none
		if got["decision"] != tc.decision || got["decided_by"] != tc.by || reason != tc.reason {
			t.Errorf("%q: %v", tc.text, got)
		}
		_, got, _ = w.call(0, "GET", fmt.Sprintf("/v1/tasks/%v", task), "")
		if !strings.Contains(fmt.Sprint(got), "COMPLETED") {
			t.Errorf("the task is %v", got)
		}
	}
	cmd, err := writeCmd(&vigilv1.Write{Op: &vigilv1.Write_CompleteTask{CompleteTask: &vigilv1.CompleteTaskRequest{
		Speaker: &vigilv1.Speaker{Agent: "ops/boot", Incarnation: 1}, Task: 7, Attempt: 1, Result: good}}})
	if c, ok := cmd.(fsm.AnswerLook); !ok || c.Decision != noun.DecideNudge || c.Task != 7 || c.Result != good {
		t.Errorf("a write of a batch becomes %+v (%v)", cmd, err)
	}
}

func TestOverseersAreRefusedWithAReason(t *testing.T) {
	w, me := overseen(t)
	w.room("demo", "builder", 1)
	for _, tc := range []struct {
		method, path, body string
		status             int
		code, words        string
	}{
		{"GET", "/v1/overseers/ops/nobody", "", 404, "not_found", "there is no agent"},
		{"GET", "/v1/overseers/demo/builder", "", 409, "conflict", "is no overseer"},
		{"GET", "/v1/overseers?room=A%20B", "", 400, "invalid", ""},
		{"POST", "/v1/overseers/demo/builder:look", `{}`, 409, "conflict", "is no overseer"},
		{"POST", "/v1/overseers:patrol", `{` + me + `,"action":"Health Scan"}`, 400, "invalid", ""},
		{"POST", "/v1/overseers:patrol", `{"speaker":{"agent":"ops/deacon","incarnation":9}}`, 400,
			"invalid", "never given out"},
		{"POST", "/v1/overseers:handover", `{` + me + `}`, 400, "invalid", "tell the next life"},
		{"POST", "/v1/overseers:handover", `{` + me + `,"subject":"s"}`, 409, "conflict", "started by hand"},
		{"PUT", "/v1/rooms/bad", `{"roles":[{"name":"a","start":"on_demand","overseer":{}}]}`, 400,
			"invalid", "started always"},
		{"PUT", "/v1/rooms/bad", `{"roles":[{"name":"a","overseer":{"triage":"A B"}}]}`, 400,
			"invalid", "overseer.triage"},
	} {
		status, got, _ := w.call(1, tc.method, tc.path, tc.body)
		if status != tc.status || !strings.Contains(fmt.Sprint(got), tc.code) ||
			!strings.Contains(fmt.Sprint(got), tc.words) {
			t.Errorf("%s %s: %d %v, want %d %s %q", tc.method, tc.path, status, got, tc.status, tc.code, tc.words)
		}
	}
}
