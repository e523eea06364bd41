package rpc

import (
	"fmt"
	"strings"
	"testing"
	"time"
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

func TestOverseersAreRefusedWithAReason(t *testing.T) {
	w, me := overseen(t)
	w.room("demo", "builder", 1)
	for _, tc := range []struct {
		method, path, body string
		status             int
		code, words        string
	}{
		{"GET", "/v1/overseers/ops/nobody", "", 404, "not_found", "does not exist"},
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
		{"PUT", "/v1/rooms/bad", `{"roles":[{"name":"a","overseer":{"triage":"A B"}}]}`, 400, "invalid", "overseer.triage"},
	} {
		status, got, _ := w.call(1, tc.method, tc.path, tc.body)
		if status != tc.status || !strings.Contains(fmt.Sprint(got), tc.code) ||
			!strings.Contains(fmt.Sprint(got), tc.words) {
			t.Errorf("%s %s: %d %v, want %d %s %q", tc.method, tc.path, status, got, tc.status, tc.code, tc.words)
		}
	}
}
