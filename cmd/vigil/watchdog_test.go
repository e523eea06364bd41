package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"vigil/rpc/gen/vigilv1"
)

func (s *cannedServer) GetWatchdog(context.Context, *vigilv1.GetWatchdogRequest) (*vigilv1.GetWatchdogResponse, error) {
	return &vigilv1.GetWatchdogResponse{Enabled: true, CanceledTotal: 3, History: []*vigilv1.Cancellation{
		{Room: "c", At: timestamppb.New(time.Unix(7200, 0)), Reason: "idle_timeout", Tasks: 2,
			Roles: []string{"a", "b"}, Hosts: []string{"h2"}},
		{Room: "b", At: timestamppb.New(time.Unix(7100, 0)), Reason: "deadline", Tasks: 1, Roles: []string{"b"}},
		{Room: "a", At: timestamppb.New(time.Unix(7000, 0)), Reason: "idle_timeout", Tasks: 1,
			Roles: []string{"b"}, Hosts: []string{"h1"}},
	}}, nil
}

// Cancellations are counted by role, host and hour.
func TestWatchdogHistoryShowsPatterns(t *testing.T) {
	s := newCanned(t)
	code, out, _ := terminalRun{env: declareEnv(t, s)}.do(t, "watchdog", "history")
	for _, want := range []string{"idle_timeout", "deadline", "by role  b 3, a 1", "by host  h1 1, h2 1",
		"by hour  01h 2, 02h 1"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("it ends with %d and prints\n%s\nwithout %q", code, out, want)
		}
	}
}
