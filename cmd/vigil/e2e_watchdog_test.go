//go:build linux

package main_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"vigil/rpc/gen/vigilv1"
)

// A room whose agent hangs is warned and canceled, the agent is stopped; reopened, the task
// goes on with its next attempt and is completed.
func TestStalledRoomIsCanceledAndReopened(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	c.ttl = patience // nothing here needs a lease that ends, and a loaded machine may be too slow for a short one
	c.says("settings set watchdog_start_delay=0s watchdog_interval=1s watchdog_threshold=3s "+
		"watchdog_min_age=0s watchdog_grace=1s", "watchdog_threshold")
	c.role("web", nil)
	c.sees("agent.joined", "web/a", 0)
	task := c.task("web", "stuck")
	c.sees("task.claimed", "web/a", task)
	before := c.agent("web/a")

	room := func(kind string) *vigilv1.Event {
		return c.await(kind+" of web", func(e *vigilv1.Event) bool {
			return e.GetKind() == kind &&
				e.GetRoom() == "web"
		})
	}
	room("room.stalling")
	room("room.canceled")
	c.says("settings set watchdog_threshold=1h", "1h") // what follows may take its time
	c.sees("agent.exited", "web/a", 0)
	c.says("room show web", "canceled", "by the watchdog", "vigil room reopen web")
	c.says("watchdog status", "canceled in all", "on")
	c.says("watchdog history", "web", "idle_timeout", "by role  a 1", "by host  crew 1")
	got, err := c.fleet.GetTask(c.ctx(), &vigilv1.GetTaskRequest{Task: task})
	if err != nil || got.GetState() != vigilv1.TaskState_CANCELED {
		t.Fatalf("the task is %v (%v)", got, err)
	}

	c.says("room reopen web", "room web is reopened: 1 task waits again")
	c.completed(task)
	if got := c.attempt(task); got != 2 {
		t.Errorf("attempt %d has completed it, want 2: attempts are kept", got)
	}
	if after := c.agent("web/a"); after.GetIncarnation() == before.GetIncarnation() ||
		after.GetFailures() != before.GetFailures() {
		t.Errorf("the agent is at life %s with %d failures, it was at %s with %d: the stop is not charged",
			after.GetIncarnation(), after.GetFailures(), before.GetIncarnation(), before.GetFailures())
	}
	c.refuses(badInput{"", []string{"room", "reopen", "web"}, 4, []string{"not canceled by the watchdog"}})
	c.starts("web/a")

	canceled := 0
	for _, addr := range c.api {
		answer, err := http.Get("http://" + addr + "/v1/health")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		var health struct {
			Status   string
			Watchdog struct {
				Enabled bool
				Stats   struct{ Canceled string }
			}
		}
		if err != nil || json.Unmarshal(body, &health) != nil || health.Status != "healthy" ||
			!health.Watchdog.Enabled {
			t.Errorf("%s is answered %d: %s (%v)", addr, answer.StatusCode, body, err)
		}
		if health.Watchdog.Stats.Canceled == "1" {
			canceled++
		}
	}
	if canceled != 1 {
		t.Errorf("%d servers say that they canceled a room, want the leader alone", canceled)
	}
}
