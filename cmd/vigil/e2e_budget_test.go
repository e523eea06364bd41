//go:build linux

package main_test

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"vigil/rpc/gen/vigilv1"
)

// spendRunner says where its telemetry goes, as whoever runs a tool would have to know, and does tasks.
const spendRunner = `name: spend
program: sh
telemetry: true
args:
  - -c
  - |
    echo "to $OTEL_EXPORTER_OTLP_ENDPOINT by $OTEL_EXPORTER_OTLP_HEADERS."
    while vigil wait-for-task --start; do vigil task complete done || exit; done
`

// newSpending starts a fleet whose agents can tell what they use.
func newSpending(t *testing.T) *crew {
	c := newTerminalCrew(t, spendRunner, "")
	c.ttl = 20 * time.Second // usage travels with beats
	return c
}

// thrifty declares a room with one agent, whose role may use a thousand tokens a day.
func (c *crew) thrifty(room string) {
	c.role(room, func(s *vigilv1.RoleSpec) {
		s.Runner, s.Budget = "spend", &vigilv1.Budget{Tokens: 1000}
	})
}

// collector is where the present life of an agent sends its telemetry, and the token that it shows.
func (c *crew) collector(agent string) (to, token string) {
	c.t.Helper()
	said := regexp.MustCompile(`to (\S+) by \S+?=(\S+)\.`)
	c.until("says where its telemetry goes", func() (bool, string) {
		stream, err := c.fleet.AgentLogs(c.ctx(), &vigilv1.AgentLogsRequest{Agent: agent})
		var text string
		for err == nil {
			var chunk *vigilv1.LogChunk
			chunk, err = stream.Recv()
			text += string(chunk.GetData())
		}
		if found := said.FindAllStringSubmatch(text, -1); found != nil {
			to, token = found[len(found)-1][1], found[len(found)-1][2]
		}
		return to != "", text
	})
	return to, token
}

// uses has a life tell that it has used tokens, as Claude Code does.
func (c *crew) uses(to, token string, tokens int) {
	c.t.Helper()
	now := time.Now().UnixNano()
	body := fmt.Sprintf(`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"claude_code.token.usage","sum":{
		"aggregationTemporality":1,"isMonotonic":true,"dataPoints":[{"startTimeUnixNano":"%d","timeUnixNano":"%d",
		"asDouble":%d,"attributes":[{"key":"type","value":{"stringValue":"output"}}]}]}}]}]}]}`, now-1, now, tokens)
	r, err := http.NewRequestWithContext(c.ctx(), http.MethodPost, to+"/v1/metrics", strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Vigil-Telemetry", token)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	if said, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK {
		c.t.Fatalf("telemetry was answered with %s: %s", res.Status, said)
	}
}

// A day's budget that runs out, for real: what a tool tells its host is warned of at four fifths, and at all of
// it keeps the agent from its next task and from its next life, with the reason; a human lifts it, and both go on.
func TestBudgetRunsOutInAFleet(t *testing.T) {
	t.Parallel()
	c := newSpending(t)
	c.thrifty("thrifty")
	c.joined("thrifty/a", "")
	c.completed(c.task("thrifty", "before"))
	to, token := c.collector("thrifty/a")
	c.uses(to, token, 850)
	c.sees("budget.warned", "", 0)
	c.says("escalation list", "budget", "thrifty/a")
	c.completed(c.task("thrifty", "after the warning"))
	c.uses(to, token, 250)
	c.sees("budget.out", "", 0)
	c.says("task show 2", "250 out")
	kept := c.task("thrifty", "kept back")
	c.says("agent explain thrifty/a", "has used up its budget", "vigil budget lift thrifty/a")
	c.says("usage thrifty", "thrifty/a", "1.1k")
	c.says("agent stop thrifty/a", "thrifty/a")
	c.waits("thrifty/a", "its end", func(g *vigilv1.Agent) bool { return g.GetProcess() == "none" })
	c.says("agent start thrifty/a", "thrifty/a")
	g := c.waits("thrifty/a", "why it is not started", func(g *vigilv1.Agent) bool {
		return strings.Contains(g.GetWhy(), "budget")
	})
	task, err := c.fleet.GetTask(c.ctx(), &vigilv1.GetTaskRequest{Task: kept})
	if err != nil || task.GetState() != vigilv1.TaskState_PENDING || g.GetProcess() != "none" {
		t.Fatalf("beyond its budget: %v, %v, process %s", task, err, g.GetProcess())
	}
	c.says("budget lift thrifty/a", "lifted for 25h")
	c.completed(kept)
	c.says("usage thrifty", "1.1k") // what was used stays used
}
