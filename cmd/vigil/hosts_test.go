package main

import (
	"context"
	"strings"
	"testing"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/gen/vigilv1"
)

// ListHosts pages as servers do: hosts whose ids are above the one that is given.
func (s *cannedServer) ListHosts(_ context.Context, r *vigilv1.ListHostsRequest) (*vigilv1.ListHostsResponse, error) {
	if s.hosts == nil {
		return &vigilv1.ListHostsResponse{Hosts: []*vigilv1.Host{s.host}}, nil
	}
	answer := &vigilv1.ListHostsResponse{}
	for _, h := range s.hosts {
		if h.GetId() <= r.GetAfter() {
			continue
		}
		if len(answer.Hosts) == 2 {
			answer.More, answer.Next = true, answer.Hosts[1].GetId()
			break
		}
		answer.Hosts = append(answer.Hosts, h)
	}
	return answer, nil
}

func (s *cannedServer) GetOverview(context.Context, *vigilv1.GetOverviewRequest) (*vigilv1.Overview, error) {
	return &vigilv1.Overview{Leader: "s1"}, nil
}

func (s *cannedServer) ListInbox(context.Context, *vigilv1.ListInboxRequest) (*vigilv1.ListInboxResponse, error) {
	return &vigilv1.ListInboxResponse{}, nil
}

// Servers list hosts in pages: whoever looks at hosts sees those of all pages.
func TestHostsOfAllPagesAreSeen(t *testing.T) {
	s := newCanned(t)
	s.status = &vigilv1.StatusResponse{Leader: "s1", Servers: []*vigilv1.Server{{Id: "s1", Voter: true, Leader: true}}}
	s.agent = &vigilv1.GetAgentResponse{Agent: &vigilv1.Agent{Name: "web/b"}}
	s.hosts = []*vigilv1.Host{{Id: 1, Name: "w1", State: "ready"}, {Id: 3, Name: "w3", State: "ready"},
		{Id: 4, Name: "w4", State: "ready"}, {Id: 7, Name: "w7", State: "ready"},
		{Id: 9, Name: "w9", State: "lost", SuspectWhy: "no server hears it"}}
	for _, tc := range []struct {
		args, says string
		code       int
	}{
		{"doctor", "MEND  hosts: host w9 is lost no server hears it", cli.ExitFailed},
		{"top", "w9", 0},
		{"host list", "w9", 0},
		{"__complete host show w", "w9", 0},
	} {
		code, out, errs := terminalRun{env: map[string]string{"VIGIL_ADDR": s.addr}}.do(t, strings.Fields(tc.args)...)
		if code != tc.code || !strings.Contains(out, tc.says) {
			t.Errorf("vigil %s ends with %d and prints\n%s%s\nwithout %q", tc.args, code, out, errs, tc.says)
		}
	}
}
