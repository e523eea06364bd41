package client

import (
	"context"
	"strings"

	"google.golang.org/grpc/metadata"

	"vigil/rpc/code"
)

// EnvTrace names the variable in which programs are told the trace that they are part of, as W3C writes it.
const EnvTrace = "TRACEPARENT"

// Traced marks what is asked under ctx as part of a trace, by a traceparent as W3C writes it: a task that is
// created joins it, and log lines of servers name it. One that is not right changes nothing.
func Traced(ctx context.Context, traceparent string) context.Context {
	if TraceID(traceparent) == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, code.HeaderTrace, traceparent)
}

// TraceID gives the id of the trace in a traceparent, 32 hexadecimal digits: what a log line shows. Empty: it is
// no traceparent.
func TraceID(traceparent string) string {
	const head, id, rest = len("00-"), len("00-") + 32, len("00-") + 32 + len("-") + 16 + len("-00")
	if len(traceparent) < rest || len(traceparent) > 256 || traceparent[head-1] != '-' || traceparent[id] != '-' {
		return ""
	}
	trace := traceparent[head:id]
	if strings.Trim(trace, "0123456789abcdef") != "" || strings.Trim(trace, "0") == "" {
		return ""
	}
	return trace
}

// Traceparent is that of the attempt: what is done for the job belongs beneath it. Empty: nobody traces it.
func (j *Job) Traceparent() string { return j.Task.GetTraceparent() }

// Environ is what a program that is run for the job gets beside the environment of the caller: TRACEPARENT, so that
// its spans join the trace of the task.
func (j *Job) Environ() []string {
	if TraceID(j.Traceparent()) == "" {
		return nil
	}
	return []string{EnvTrace + "=" + j.Traceparent()}
}
