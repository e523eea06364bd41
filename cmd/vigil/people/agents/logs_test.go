package agents

import (
	"io"
	"strings"
	"testing"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func TestS15LogsOfAgentsDoNotSteerTheTerminal(t *testing.T) {
	var out strings.Builder
	a := &cli.App{Terminal: term.Terminal{Out: &out}}
	pieces := []string{"one \x1b]0;title\atwo \x1b[31mred\x1b[", "0m \x1b]52;c;aGk=", "\athree\n"}
	next := func() (*vigilv1.LogChunk, error) {
		if len(pieces) == 0 {
			return nil, io.EOF
		}
		p := pieces[0]
		pieces = pieces[1:]
		return &vigilv1.LogChunk{Data: []byte(p)}, nil
	}
	if err := copyLogs(a, next); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Contains(got, "\x1b]") || strings.Contains(got, "aGk=") ||
		!strings.Contains(got, "\x1b[31mred\x1b[0m") ||
		!strings.HasSuffix(got, "three\n") {
		t.Errorf("printed %q, want the text with its colours and nothing else", got)
	}
}
