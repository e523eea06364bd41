package client

import (
	"context"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

// What is no traceparent is in no log line, no header and no environment.
func TestTraceOfAJob(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	for said, want := range map[string]string{
		"00-" + id + "-00f067aa0ba902b7-01":      id,
		"cc-" + id + "-00f067aa0ba902b7-01-more": id, // of a later version
		"":                                       "",
		id:                                       "",
		"00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01":         "",
		"00-" + strings.ToUpper(id) + "-00f067aa0ba902b7-01":             "",
		"00-" + id[1:] + "\n-00f067aa0ba902b7-01":                        "",
		"00-" + id + "-00f067aa0ba902b7-01" + strings.Repeat("-x", 2000): "",
	} {
		job := &Job{Task: &vigilv1.Task{Traceparent: said}}
		md, _ := metadata.FromOutgoingContext(Traced(context.Background(), said))
		env, header := job.Environ(), md.Get(code.HeaderTrace)
		if got := TraceID(said); got != want {
			t.Errorf("%q: trace %q", said, got)
		}
		if want == "" && (len(env) > 0 || len(header) > 0) ||
			want != "" && (!slices.Equal(env, []string{"TRACEPARENT=" + said}) || !slices.Equal(header, []string{said})) {
			t.Errorf("%q: environment %q, header %q", said, env, header)
		}
	}
}
