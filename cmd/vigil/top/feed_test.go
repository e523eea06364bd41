package top

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/grpc"

	"vigil/rpc/gen/vigilv1"
)

// largeFleet lists agents as servers do: by name, and at most 10,000 looked at for a verdict.
type largeFleet struct {
	vigilv1.FleetClient
	agents []*vigilv1.Agent
	asked  int
}

func (f *largeFleet) ListAgents(
	_ context.Context, r *vigilv1.ListAgentsRequest, _ ...grpc.CallOption,
) (*vigilv1.ListAgentsResponse, error) {
	f.asked++
	resp := &vigilv1.ListAgentsResponse{}
	behind := func(a *vigilv1.Agent) bool { return a.GetName() > r.GetAfter() }
	for i, looked := slices.IndexFunc(f.agents, behind), 0; i >= 0 && i < len(f.agents); i++ {
		if len(resp.Agents) == int(r.GetLimit()) || looked == 10_000 && len(r.GetVerdicts()) > 0 {
			resp.More, resp.Next = true, f.agents[i-1].GetName()
			break
		}
		a := f.agents[i]
		if looked++; (len(r.GetVerdicts()) == 0 || slices.Contains(r.GetVerdicts(), a.GetVerdict().GetKind())) &&
			(!r.GetNotFine() || !a.GetVerdict().GetFine()) {
			resp.Agents = append(resp.Agents, a)
		}
	}
	return resp, nil
}

// What somebody has to look at first is first in a fleet of any size, also where it is last by name.
func TestTheGravestComeFirstInALargeFleet(t *testing.T) {
	f := &largeFleet{}
	for i := range 25_000 {
		v := &vigilv1.Verdict{Kind: "offline", Fine: true}
		switch {
		case i == 24_999:
			v = &vigilv1.Verdict{Kind: "unresponsive"}
		case i == 24_998:
			v = &vigilv1.Verdict{Kind: "offline"}
		case i >= 23_000:
			v = &vigilv1.Verdict{Kind: "idle", Fine: true}
		}
		f.agents = append(f.agents, &vigilv1.Agent{Name: fmt.Sprintf("web/a.%05d", i), Verdict: v})
	}
	counts := map[string]uint32{"unresponsive": 1, "offline": 23_001, "idle": 1998}
	agents, more, err := readAgents(t.Context(), f, "", counts)
	if err != nil || !more || len(agents) != mostAgents {
		t.Fatalf("%d agents, more: %v, %v", len(agents), more, err)
	}
	rows := agentRows(agents)
	if rows[0].key != "web/a.24999" || rows[1].key != "web/a.24998" || rows[2].key != "web/a.00000" {
		t.Errorf("the first are %s, %s, %s", rows[0].key, rows[1].key, rows[2].key)
	}
	if f.asked != 7 { // once by name, and for two verdicts in three parts each
		t.Errorf("servers were asked %d times", f.asked)
	}
	f.agents, f.asked = f.agents[:500], 0
	agents, more, err = readAgents(t.Context(), f, "", counts)
	if err != nil || more || len(agents) != 500 || f.asked != 1 {
		t.Errorf("of a small fleet: %d agents, more: %v, asked %d times, %v", len(agents), more, f.asked, err)
	}
}
