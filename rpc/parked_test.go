package rpc

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/gen/vigilv1"
)

// I91: a parked agent is shown as such and counts as trouble of the cluster, until it
// runs or a human has stopped it.
func TestParkedAgentsAreATroubleOfTheCluster(t *testing.T) {
	w := start(t, 1)
	_, host := w.connect(t, 0)
	agent := w.order(t, "demo/builder", host)
	hash := make([]byte, 32)
	if _, err := w.host(0).AcceptOrder(within(t), &vigilv1.AcceptOrderRequest{Host: uint32(host), Boot: "b1",
		Agent: agent.GetId(), Incarnation: agent.GetIncarnationRaw(), TokenHash: hash}); err != nil {
		t.Fatal(err)
	}
	troubled := func(want bool) {
		t.Helper()
		st, err := w.cluster(0).Status(within(t), &vigilv1.StatusRequest{})
		if err != nil {
			t.Fatal(err)
		}
		_, got, _ := w.call(0, "GET", "/metrics", "")
		a, err := w.fleet(0).GetAgent(within(t), &vigilv1.GetAgentRequest{Agent: "demo/builder"})
		if err != nil {
			t.Fatal(err)
		}
		warned := strings.Contains(strings.Join(st.GetWarnings(), "\n"),
			"parked after failures or for a usage limit: 1;")
		counted := strings.Contains(got["text"].(string), "vigil_agents_parked 1\n")
		shown := a.GetAgent().GetParked() && a.GetAgent().GetParkedWhy() != ""
		if warned != want || counted != want || shown != want && a.GetAgent().GetDesired() == "running" {
			t.Errorf("want %v: warned %v, counted %v, shown %v", want, warned, counted, shown)
		}
	}
	troubled(false)
	if _, err := w.host(0).ReportExit(within(t), &vigilv1.ReportExitRequest{Host: uint32(host), Agent: agent.GetId(),
		Incarnation: agent.GetIncarnationRaw(), UsageLimit: true, RetryAfter: durationpb.New(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	troubled(true)
	for _, desired := range []string{"stopped", "running"} {
		if _, err := w.fleet(0).SetAgent(within(t),
			&vigilv1.SetAgentRequest{Agent: "demo/builder", Desired: desired}); err != nil {
			t.Fatal(err)
		}
		troubled(false)
	}
}
