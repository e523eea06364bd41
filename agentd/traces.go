package agentd

import (
	"slices"
	"strings"

	"vigil/agentd/disk"
	"vigil/agentd/shim"
	"vigil/agentd/telemetry"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// courseOf begins the course of an ordered life; nil: no task that somebody traces waits for it, or no collector
// would hear of it.
func (s *site) courseOf(o *vigilv1.Order) *telemetry.Course {
	parent, ok := telemetry.ReadParent(o.GetTraceparent())
	if !ok || s.forward == nil {
		return nil
	}
	c := telemetry.NewCourse(parent)
	c.Agent, c.ID, c.Incarnation = o.GetAgentName(), o.GetAgent(), o.GetIncarnation()
	c.Host, c.Runner, c.Ordered = s.config.Name, o.GetRunner(), s.config.Wall()
	return c
}

// tracedOf is what the journal keeps of a course, inherited what an earlier daemon has kept.
func tracedOf(c *telemetry.Course) *disk.Traced {
	if c == nil {
		return nil
	}
	return &disk.Traced{Traceparent: c.Traceparent(), Ordered: c.Ordered, Accepted: c.Accepted, Begun: c.Begun}
}

func (s *site) inherited(f *disk.Found) *telemetry.Course {
	t := f.Intent.Traced
	if t == nil {
		return nil
	}
	c := s.courseOf(&vigilv1.Order{Agent: f.Intent.Agent, AgentName: f.Intent.AgentName,
		Incarnation: f.Intent.Incarnation, Runner: f.Intent.Runner, Traceparent: t.Traceparent})
	if c != nil {
		c.Ordered, c.Accepted, c.Begun = t.Ordered, t.Accepted, t.Begun
		if started, err := shim.Began(f.Folder); err == nil {
			c.Begins(started)
		}
	}
	return c
}

// environ tells a program whose telemetry is taken which trace it is part of, unless its runner has told it.
func environ(c *telemetry.Course, told []string) []string {
	name := client.EnvTrace + "="
	if c == nil || slices.ContainsFunc(told, func(v string) bool { return strings.HasPrefix(v, name) }) {
		return nil
	}
	return []string{name + c.Program()}
}

// tellCourse has the collector hear of a life that is over.
func (v *lives) tellCourse(l *life, report *vigilv1.ReportExitRequest) {
	if l.course == nil {
		return
	}
	how := kindOf(report)
	body, err := l.course.Message(how, slices.Contains([]string{"start_failed", "timed_out", "crash"}, how),
		v.config.Wall())
	if err != nil {
		v.log.Error("spans of a life cannot be written", "agent", l.order.GetAgentName(), "error", err)
		return
	}
	v.forward(telemetry.TracesPath, telemetry.Protobuf, body)
}
