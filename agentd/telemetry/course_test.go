package telemetry

import (
	"strings"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"vigil/agentd/shim"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// What is no traceparent of version 00, or of a trace that nobody keeps, is no parent of anything.
func TestParentIsRead(t *testing.T) {
	for text, want := range map[string]bool{
		parent: true, "": false, parent[:54]: false, parent + "0": false, strings.ToUpper(parent): false,
		"01" + parent[2:]: false, parent[:53] + "00": false, parent[:53] + "03": true, parent[:53] + "0g": false,
		"00-" + strings.Repeat("0", 32) + parent[35:]:             false,
		parent[:36] + strings.Repeat("0", 16) + parent[52:]:       false,
		parent[:20] + "-" + parent[21:]:                           false,
		"00-4bf92f3577b34da6a3ce929d0e0e47-3600f067aa0ba902b7-01": false,
	} {
		if _, got := ReadParent(text); got != want {
			t.Errorf("%q is a parent: %v", text, got)
		}
	}
}

// However the clocks of a host jump, no span ends before it begins, and its ids stay.
func TestCourseNeverEndsBeforeItBegins(t *testing.T) {
	p, _ := ReadParent(parent)
	ids := map[string]bool{}
	now := time.Unix(1700000000, 0)
	for _, c := range []struct{ ordered, executed, ended, told time.Duration }{
		{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}, {0, 3, 0, 0},
	} {
		course := NewCourse(p)
		course.Agent, course.ID, course.Incarnation, course.Ordered = "web/a", 7, 3, now.Add(c.ordered)
		course.Begins(shim.Started{Ready: now, Executed: now.Add(c.executed)})
		course.Ends(shim.Exit{At: now.Add(c.ended)})
		body, err := course.Message("clean", false, now.Add(c.told))
		var m collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &m)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range m.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans() {
			ids[string(s.GetSpanId())] = true
			if s.GetEndTimeUnixNano() < s.GetStartTimeUnixNano() {
				t.Errorf("%+v: %s", c, s)
			}
		}
	}
	if len(ids) != 2 {
		t.Errorf("%d ids for two spans", len(ids))
	}
}
