package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"vigil/cmd/vigil/agent"
	"vigil/cmd/vigil/cli"
)

func TestRememberRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		in   string
		want string
	}{
		{[]string{strings.Repeat("x", agent.MaxResume+1)}, "", "put it into a file"},
		{[]string{"-"}, strings.Repeat("x", agent.MaxResume+9), "put it into a file"},
		{nil, "", "VALUE"},
	} {
		var out, errs bytes.Buffer
		code := run(context.Background(), append([]string{"remember", "--agent", "web/a", "--incarnation", "1"},
			c.args...), strings.NewReader(c.in), &out, &errs)
		if code != cli.ExitUsage || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%.20q: exit code %d, %s", c.args, code, errs.String())
		}
	}
}
