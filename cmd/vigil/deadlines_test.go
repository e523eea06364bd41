package main

import (
	"context"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/gen/vigilv1"
)

func (s *cannedServer) ListDeadlines(_ context.Context,
	r *vigilv1.ListDeadlinesRequest) (*vigilv1.ListDeadlinesResponse, error) {
	in := durationpb.New
	if r.GetRoom() != "" {
		return &vigilv1.ListDeadlinesResponse{}, nil
	}
	return &vigilv1.ListDeadlinesResponse{More: 7, Deadlines: []*vigilv1.Deadline{
		{Kind: "lease", Of: "agent " + r.GetAgent(), Left: in(-time.Second), Since: in(time.Minute),
			Span: in(time.Minute), Then: "it ends"},
		{Kind: "progress limit", Of: "task 7", Left: in(15 * time.Minute), Since: in(0),
			Span: in(10 * time.Minute), Absent: in(3 * time.Second),
			HeldBy: "what it has declared", HeldFor: in(5 * time.Minute), Then: "it is taken back"},
	}}, nil
}

func TestDeadlinesSayWhatIsDueWhenAndWhy(t *testing.T) {
	s := newCanned(t)
	code, out, errs := terminalRun{}.do(t, "agent", "deadlines", "web/builder", "--addr", s.addr)
	want := ` IN  WHAT            OF                 SINCE  HELD BY                                       THEN
now  lease           agent web/builder     1m  -                                             it ends
15m  progress limit  task 7               0ms  what it has declared, for 5m; 3s not counted  it is taken back
and 7 more that are due later
`
	if code != 0 || out != want {
		t.Errorf("exit code %d %s, printed\n%s\nwant\n%s", code, errs, out, want)
	}
	if _, out, _ = (terminalRun{}).do(t, "room", "deadlines", "web", "--addr", s.addr); out != "Nothing is due.\n" {
		t.Errorf("a room without deadlines prints %q", out)
	}
}
