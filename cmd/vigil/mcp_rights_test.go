package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"vigil/agentd/local"
	"vigil/rpc/gen/vigilv1"
)

// Each tool makes calls that an agent may make through the socket of its life, and no other.
func TestMCPToolsCallOnlyWhatAgentsMay(t *testing.T) {
	t.Parallel()
	s := newCanned(t)
	s.give, s.task = true, &vigilv1.Task{Id: 7, Room: "web", Role: "builder",
		State: vigilv1.TaskState_IN_PROGRESS, Attempt: 1}
	s.post = []*vigilv1.ListMailResponse{{}}
	s.agent = &vigilv1.GetAgentResponse{Agent: &vigilv1.Agent{Name: "web/builder", Room: "web", Role: "builder"}}
	c := connect(t, map[string]string{"VIGIL_ADDR": s.addr, "VIGIL_AGENT": "web/builder"})
	tools := must(c.session.ListTools(t.Context(), nil))(t).Tools
	if len(tools) < 14 {
		t.Fatalf("there are %d tools", len(tools))
	}
	slices.Reverse(tools) // so that the agent waits for its task first, ...
	tried := map[string]bool{}
	for _, tool := range tools {
		args := leastArguments(t, tool.InputSchema)
		if tool.Name == "complete_task" || tool.Name == "handoff_task" || tool.Name == "fail_task" {
			<-c.begin("wait_for_task", nil) // ... and has one for each last word
		}
		<-c.begin(tool.Name, args)
		tried[tool.Name] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, method := range slices.Sorted(maps.Keys(s.called)) {
		r := httptest.NewRequest(http.MethodPost, method, nil)
		r.ProtoMajor = 2
		r.Header.Set("Content-Type", "application/grpc")
		if _, may := local.Method(r); !may {
			t.Errorf("a tool calls %s, which does not pass the socket of a life", method)
		}
	}
	for _, want := range []string{vigilv1.Work_Wait_FullMethodName, vigilv1.Work_CompleteTask_FullMethodName,
		vigilv1.Work_Handoff_FullMethodName, vigilv1.Work_FailTask_FullMethodName, vigilv1.Work_ProgressTask_FullMethodName,
		vigilv1.Work_Declare_FullMethodName, vigilv1.Work_SetResume_FullMethodName, vigilv1.Mailbox_SendMail_FullMethodName,
		vigilv1.Mailbox_ReadMail_FullMethodName, vigilv1.Mailbox_AckMail_FullMethodName,
		vigilv1.Mailbox_ListMail_FullMethodName, vigilv1.Fleet_ListAgents_FullMethodName} {
		if !s.called[want] {
			t.Errorf("no tool calls %s: %v", want, slices.Sorted(maps.Keys(s.called)))
		}
	}
}

// leastArguments are those that a tool wants, with values that it takes; mail is sent to a colleague.
func leastArguments(t *testing.T, schema any) map[string]any {
	t.Helper()
	text, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Required   []string
		Properties map[string]struct {
			Type string
			Enum []any
		}
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	args := map[string]any{}
	for _, name := range s.Required {
		p := s.Properties[name]
		switch {
		case len(p.Enum) > 0:
			args[name] = p.Enum[0]
		case p.Type == "array":
			args[name] = []int{1}
		case p.Type == "integer", p.Type == "number":
			args[name] = 1
		default:
			args[name] = "x"
		}
	}
	if _, mail := s.Properties["only_if_running"]; mail {
		args["to"], args["subject"] = "web/reviewer", "x"
	}
	return args
}
