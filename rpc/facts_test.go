package rpc

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/gen/vigilv1"
)

// A1: the end of a life that asks to wait for ever parks its agent for a day, and is an end.
func TestA01EndlessUsageLimitParksForADay(t *testing.T) {
	w := start(t, 1)
	_, host := w.connect(t, 0)
	agent := w.order(t, "demo/builder", host)
	if _, err := w.host(0).AcceptOrder(within(t), &vigilv1.AcceptOrderRequest{Host: uint32(host), Boot: "b1",
		Agent: agent.GetId(), Incarnation: agent.GetIncarnationRaw(), TokenHash: make([]byte, 32)}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.host(0).ReportExit(within(t), &vigilv1.ReportExitRequest{Host: uint32(host),
		Agent: agent.GetId(), Incarnation: agent.GetIncarnationRaw(), UsageLimit: true, Code: 1,
		Tail: "usage limit reached|99999999999", RetryAfter: durationpb.New(1000 * 365 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	resp, err := w.fleet(0).GetAgent(within(t), &vigilv1.GetAgentRequest{Agent: "demo/builder"})
	if err != nil {
		t.Fatal(err)
	}
	a := resp.GetAgent()
	if left := a.GetNotBefore().AsDuration(); !a.GetParked() || left <= 0 || left > 25*time.Hour {
		t.Errorf("parked %v, next start in %s: %v", a.GetParked(), left, a)
	}
}
