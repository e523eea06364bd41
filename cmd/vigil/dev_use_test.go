package main

import (
	"io"
	"strings"
	"testing"

	"vigil/cmd/vigil/cli"
)

func TestDevRefusesWrongUse(t *testing.T) {
	for want, args := range map[string][]string{
		"write vigil dev kill-host HOST": {"kill-host"},
		"did you mean kill-host":         {"kil-host"},
	} {
		var errs strings.Builder
		code := run(t.Context(), append([]string{"dev"}, args...), strings.NewReader(""), io.Discard, &errs)
		if code != cli.ExitUsage || !strings.Contains(errs.String(), want) {
			t.Errorf("vigil dev %v: exit code %d, %q, want %q", args, code, errs.String(), want)
		}
	}
}
