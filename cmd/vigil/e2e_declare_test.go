//go:build linux

package main_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/gen/vigilv1"
)

// L10: an agent inside a long call of a tool, which it has declared, keeps its task for
// longer than the progress limit, and is fine all the while.
func TestDeclaredToolCallOutlastsTheProgressLimit(t *testing.T) {
	t.Parallel()
	const limit = time.Second
	c := newCrew(t, alone)
	c.role("web", func(s *vigilv1.RoleSpec) {
		s.ProgressLimit, s.Health = durationpb.New(limit), &vigilv1.HealthSpec{Preset: "active"}
	})
	c.says("agent status web/a", "web/a")
	task := c.task("web", "told")
	if e := c.sees("agent.declared", "web/a", 0); e.GetText() != "in_tool for 1h0m0s" {
		t.Errorf("the event says %q", e.GetText())
	}
	c.sees("task.started", "web/a", task)
	attempt := c.attempt(task)
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) { // of cluster time
		if c.agent("web/a").GetDeclaration().GetReported().AsDuration() > 3*limit {
			break
		}
		if time.Now().After(end) {
			t.Fatal("cluster time does not go by")
		}
	}
	c.says("agent explain web/a", "in tool for", "a long build", "declaration: it declared in_tool")
	c.says("agent status web/a", "busy", "in tool for")
	c.says("agent health-check web", "All agents are fine.")
	c.write("ledger.go", "")
	c.completed(task)
	if got := c.attempt(task); got != attempt {
		t.Errorf("attempt %d was taken from it, attempt %d has completed the task", attempt, got)
	}
	c.says("agent stop web/a", "desired stopped")
	c.sees("agent.exited", "web/a", 0)
	c.says("agent status web/a", "offline", "offline since")
	c.says("agent health-check web", "All agents are fine.") // it is off on purpose
	p := c.cli("agent", "status", "web/a.9")
	if code := p.end(); code != 3 || !strings.Contains(p.out.String(), "not_found") {
		t.Errorf("status of nobody ended with %d: %s", code, p.out.tail())
	}
	if text, err := os.ReadFile(c.path("ledger")); err != nil || strings.Contains(string(text), "twice") {
		t.Errorf("ledger: %s (%v)", text, err)
	}
}

func (c *crew) attempt(task uint64) uint32 {
	c.t.Helper()
	got, err := c.fleet.GetTask(c.ctx(), &vigilv1.GetTaskRequest{Task: task})
	if err != nil {
		c.t.Fatal(err)
	}
	return got.GetAttempt()
}
