package rpc

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"vigil/rpc/gen/vigilv1"
)

// metrics reads the figures of server i; it looks again at what is kept for a while.
func (w *world) metrics(i int) string {
	w.t.Helper()
	_, got, _ := w.call(i, "GET", "/metrics", "")
	return got["text"].(string)
}

// N13, N31: what waits, what is worked on and what is late can be seen by role, and how long
// claimed tasks had waited.
func TestN31AgesOfTasksAreFigures(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	for range 3 {
		w.task(0, "demo", "builder", "x")
	}
	sp := w.join("demo/builder")
	w.advance(20 * time.Second)
	if _, err := w.work(0).Claim(within(t), &vigilv1.ClaimRequest{Speaker: sp}); err != nil {
		t.Fatal(err)
	}
	w.advance(5 * time.Second)
	text := w.metrics(0)
	for _, want := range []string{
		`vigil_task_oldest_seconds{role="builder",room="demo",state="ACKNOWLEDGED"} 5`,
		`vigil_task_oldest_seconds{role="builder",room="demo",state="PENDING"} 25`,
		`vigil_task_oldest_seconds{role="builder",room="demo",state="QUEUED"} 25`,
		`vigil_task_queue_seconds_bucket{le="10"} 0`,
		`vigil_task_queue_seconds_bucket{le="60"} 1`,
		"vigil_task_queue_seconds_sum 20",
		"vigil_task_retries_total 0", "vigil_tasks_overdue 0",
		`vigil_room_open_tasks{room="demo"} 3`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// N13: figures by room and role are bounded, whatever the number of rooms.
func TestN13FiguresByRoomAreBounded(t *testing.T) {
	w := start(t, 1)
	for i := range 30 {
		room := fmt.Sprintf("r%d", i)
		w.room(room, "builder", 1)
		for range 1 + i%3 {
			w.task(0, room, "builder", "x")
		}
	}
	text := w.metrics(0)
	for name, most := range map[string]int{"vigil_room_open_tasks{": 20, "vigil_task_oldest_seconds{": 2 * 20} {
		if n := strings.Count(text, name); n != most {
			t.Errorf("%d lines with %s, want %d", n, name, most)
		}
	}
	if strings.Contains(text, `vigil_room_open_tasks{room="r0"}`) {
		t.Error("a room with one task is shown though twenty rooms have more or as many")
	}
}

// N13: how many series a server gives does not depend on the size of the fleet.
func TestN13SeriesDoNotGrowWithTheFleet(t *testing.T) {
	figures := func(n int) (text string, series int) {
		w := start(t, 1)
		for i := range n {
			room, role := fmt.Sprintf("r%d", i), fmt.Sprintf("role%d", i)
			w.room(room, role, 2)
			w.task(0, room, role, "x")
			w.join(room + "/" + role)
			w.register(fmt.Sprintf("key%d", i), fmt.Sprintf("host%d", i))
		}
		text = w.metrics(0)
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "#") {
				series++
			}
		}
		return text, series
	}
	_, small := figures(25)
	text, large := figures(75)
	if large != small || small < 100 {
		t.Errorf("25 rooms, roles and hosts give %d series, 75 give %d", small, large)
	}
	for _, want := range []string{"vigil_agents 150", "vigil_agents_wanted 0", `vigil_agent_verdicts{verdict="idle"} `,
		`vigil_hosts{state="ready"} 75`, `vigil_inbox_items{priority="urgent"} 0`} {
		if !strings.Contains(text, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// N13: names, units and help are by the conventions of Prometheus.
func TestN13FiguresFollowConventions(t *testing.T) {
	w := start(t, 1)
	w.room("demo", "builder", 1)
	w.task(0, "demo", "builder", "x")
	problems, err := promlint.New(strings.NewReader(w.metrics(0))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
