//go:build linux

package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/gen/vigilv1"
)

// modelRunner runs a worker of the SDK's examples/models; a model that it needs is played by the test.
const modelRunner = `name: %s
program: %q
args: [%q]
telemetry: true
env: {OPENAI_BASE_URL: %q, OPENAI_API_KEY: none, OPENAI_AGENTS_DISABLE_TRACING: "1"}
`

// asked is a request that came to a model.
type asked struct {
	text, previous string
}

// playedModel answers as OpenAI's Responses API does. What goes on with a conversation by "hang" is never answered,
// by "forget" it is told that the conversation is unknown.
type playedModel struct {
	*httptest.Server
	asked  chan asked
	broken chan struct{} // gets something when the request that hangs was broken off
}

func newPlayedModel(t *testing.T) *playedModel {
	t.Helper()
	m := &playedModel{asked: make(chan asked, 64), broken: make(chan struct{}, 64)}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Previous string `json:"previous_response_id"`
			Input    []struct{ Content string }
		}
		err := json.NewDecoder(r.Body).Decode(&q)
		if err != nil || r.URL.Path != "/v1/responses" || len(q.Input) != 1 {
			t.Errorf("the model was asked %s for %+v (%v)", r.URL.Path, q, err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		text := q.Input[0].Content
		m.asked <- asked{text, q.Previous}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case q.Previous != "" && text == "hang":
			<-r.Context().Done()
			m.broken <- struct{}{}
			return
		case q.Previous != "" && text == "forget":
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error": {"code": "previous_response_not_found", "type": "invalid_request_error"}}`)
			return
		}
		fmt.Fprintf(w, `{"id": "answer-%[1]s", "object": "response", "status": "completed", "model": "played",
			"created_at": 1, "output": [{"id": "message", "type": "message", "role": "assistant", "status": "completed",
				"content": [{"type": "output_text", "text": "did %[1]s", "annotations": []}]}],
			"usage": {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18}}`, text)
	}))
	t.Cleanup(m.Close)
	return m
}

// next gives what the model is asked next.
func (m *playedModel) next(t *testing.T) asked {
	t.Helper()
	select {
	case q := <-m.asked:
		return q
	case <-time.After(patience):
		t.Fatalf("the model was asked nothing for %s", patience)
		return asked{}
	}
}

// newModelCrew starts a fleet with a host that runs the workers of examples/models, with the packages of their lock
// file.
func newModelCrew(t *testing.T, m *playedModel) *crew {
	t.Helper()
	npmOnly(t)
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	sdk := t.TempDir()
	for _, pattern := range []string{"package.json", "dist/*.js", "examples/models/*.js", "examples/models/*.json"} {
		names, err := filepath.Glob(filepath.Join("../../rpc/sdk/typescript", pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(names), err)
		}
		for _, name := range names {
			to := filepath.Join(sdk, filepath.Dir(pattern), filepath.Base(name))
			if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(to, []byte(readFile(t, name)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	models := filepath.Join(sdk, "examples", "models")
	npmInstall(t, models, "--omit=dev", "--omit=optional")
	c := &crew{testFleet: newFleet(t), ttl: 20 * time.Second} // usage travels with beats
	for name, file := range map[string]string{"openai": "openai_agents_worker.js", "langgraph": "langgraph_worker.js"} {
		declared := fmt.Sprintf(modelRunner, name, node, filepath.Join(models, file), m.URL+"/v1")
		c.write("h2/runners.d/"+name+".yaml", owned(declared))
	}
	c.write("h2/agentd.yaml", fmt.Sprintf("servers: [%s]\ninsecure: true\ndata_dir: %q\nname: h2\n",
		strings.Join(c.api, ", "), c.path("h2data")))
	agentd := spawn(t, "h2", "agentd", "--config", c.path("h2/agentd.yaml"))
	t.Cleanup(func() { c.clear("h2data", agentd) })
	return c
}

// modelled declares the agent of the examples, by a runner.
func (c *crew) modelled(runner string) {
	c.t.Helper()
	spec := &vigilv1.RoleSpec{Name: "agent", Runner: runner, Replicas: 1, Ttl: durationpb.New(c.ttl),
		StopGrace: durationpb.New(2 * time.Second)}
	if _, err := c.fleet.ApplyRoom(c.ctx(),
		&vigilv1.ApplyRoomRequest{Room: "web", By: "test", Roles: []*vigilv1.RoleSpec{spec}}); err != nil {
		c.t.Fatal(err)
	}
}

// asks gives the agent of the examples a task.
func (c *crew) asks(text string) (task uint64) {
	c.t.Helper()
	made, err := c.fleet.CreateTask(c.ctx(),
		&vigilv1.CreateTaskRequest{Room: "web", Role: "agent", Title: text, Text: text})
	if err != nil {
		c.t.Fatal(err)
	}
	return made.GetId()
}

// comesTo waits for the completion of a task and looks at its result.
func (c *crew) comesTo(task uint64, result string) {
	c.t.Helper()
	c.completed(task)
	got, err := c.fleet.GetTask(c.ctx(), &vigilv1.GetTaskRequest{Task: task})
	if err != nil || got.GetResult() != result {
		c.t.Errorf("task %d came to %q, want %q (%v)", task, got.GetResult(), result, err)
	}
}

// The workers of the TypeScript SDK's examples/models, with the packages that they are about. That around OpenAI's
// Agents SDK tells what it used, breaks off the request of a task that a human cancels, and goes on with its
// conversation, in the same life and in the next one, or begins a new one when the model has forgotten it. That
// around LangGraph asks a human where its graph interrupts itself, and goes on with the answer.
func TestModelWorkersFromNPM(t *testing.T) {
	m := newPlayedModel(t)
	c := newModelCrew(t, m)
	c.modelled("openai")
	first := c.joined("web/agent", "")
	c.comesTo(c.asks("one"), "did one")
	if q := m.next(t); q != (asked{"one", ""}) {
		t.Errorf("the model was asked %+v first", q)
	}
	c.until("what it used is known", func() (bool, string) {
		used, err := c.fleet.GetUsage(c.ctx(), &vigilv1.GetUsageRequest{Room: "web"})
		ok := err == nil
		for _, u := range used.GetUsage() {
			ok = ok && u.GetDay().GetInputTokens() == 11 && u.GetDay().GetOutputTokens() == 7
		}
		return ok && len(used.GetUsage()) > 0, fmt.Sprint(used, err)
	})

	hangs := c.asks("hang")
	if q := m.next(t); q != (asked{"hang", "answer-one"}) {
		t.Errorf("the model was asked %+v then", q)
	}
	c.says(fmt.Sprintf("task cancel %d", hangs))
	select {
	case <-m.broken:
	case <-time.After(patience):
		t.Fatal("the request of a task that was canceled goes on")
	}
	c.comesTo(c.asks("two"), "did two")
	if q := m.next(t); q != (asked{"two", "answer-one"}) {
		t.Errorf("after that the model was asked %+v", q)
	}
	if life := c.agent("web/agent").GetIncarnation(); life != first.GetIncarnation() {
		t.Errorf("the agent is at life %s, was at %s", life, first.GetIncarnation())
	}

	c.says("agent restart web/agent")
	c.joined("web/agent", first.GetIncarnation())
	c.comesTo(c.asks("three"), "did three")
	if q := m.next(t); q != (asked{"three", "answer-two"}) {
		t.Errorf("in the next life the model was asked %+v", q)
	}
	c.comesTo(c.asks("forget"), "did forget")
	if q, again := m.next(t), m.next(t); q != (asked{"forget", "answer-three"}) || again != (asked{"forget", ""}) {
		t.Errorf("of a conversation that it has forgotten the model was asked %+v and %+v", q, again)
	}

	last := c.agent("web/agent").GetIncarnation()
	c.says("agent stop web/agent --wait", "web/agent")
	c.modelled("langgraph")
	c.says("agent start web/agent", "web/agent")
	c.joined("web/agent", last)
	reviewed := c.asks("a poem")
	c.waits("web/agent", "its question", func(g *vigilv1.Agent) bool { return g.GetVerdict().GetKind() == "needs_input" })
	c.says("agent explain web/agent", "Is this right? a poem")
	c.says("mail send web/agent yes")
	c.comesTo(reviewed, "yes")
}
