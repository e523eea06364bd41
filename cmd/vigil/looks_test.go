package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// With --watch a list is asked for again and again: each look begins at the first page and asks for the same, also
// after one that has failed amid its pages.
func TestEachLookBeginsAtTheFirstPage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		line string
		many int
		cut  bool
	}{
		{line: "task list --state PENDING", many: 101},
		{line: "agent list", many: 1001, cut: true},
		{line: "escalation list", many: 1001, cut: true},
	} {
		s := newCanned(t)
		s.many, s.cut = tt.many, tt.cut
		var out bytes.Buffer
		a := &cli.App{Terminal: term.Terminal{Out: &out, Err: &out, Now: func() time.Time { return testNow }},
			Getenv: func(k string) string { return map[string]string{"VIGIL_ADDR": s.addr}[k] }}
		cmd, flags, err := newRootCmd(a).Find(strings.Fields(tt.line))
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.ParseFlags(flags); err != nil {
			t.Fatal(err)
		}
		cmd.SetContext(t.Context())
		var looks []string
		for range 3 {
			out.Reset()
			if err := cmd.RunE(cmd, nil); (err != nil) != (tt.cut && looks == nil) {
				t.Fatalf("%s: look %d: %v", tt.line, len(looks), err)
			}
			looks = append(looks, out.String())
		}
		if want := tt.many; looks[1] != looks[2] || tt.cut && strings.Count(looks[1], "\n") != want+1 ||
			!tt.cut && looks[0] != looks[1] {
			t.Errorf("%s: looks differ, or lack some of %d:\n%s\n%s\n%s", tt.line, want, looks[0], looks[1], looks[2])
		}
		for _, m := range s.asked {
			if r, ok := m.(*vigilv1.ListTasksRequest); ok && (len(r.GetStates()) != 1 || r.GetAfter() != 0) {
				t.Errorf("%s: it asks for %v", tt.line, r)
			}
		}
	}
}
