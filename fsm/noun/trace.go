package noun

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Trace is where a task stands in a trace of whoever created it: a W3C traceparent of version 00 with no flag
// but "sampled". Empty: the task begins a trace of its own.
type Trace string

// MaxTrace bounds a traceparent in bytes as it comes; a Trace has 55.
const MaxTrace = 256

const traceBytes = len("00-0123456789abcdef0123456789abcdef-0123456789abcdef-01")

var errTrace = errors.New("it is no W3C traceparent: " +
	"want 00-TRACE-SPAN-FLAGS with 32, 16 and 2 lower-case hexadecimal digits, " +
	"TRACE and SPAN not zero, as in 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")

// ParseTrace reads a traceparent as W3C's Trace Context asks: of a later version it takes what version 00
// knows. Empty text is no trace and no error.
func ParseTrace(text string) (Trace, error) {
	if text == "" {
		return "", nil
	}
	if len(text) < traceBytes || len(text) > MaxTrace {
		return "", errTrace
	}
	version, id, span, flags := text[:2], text[3:35], text[36:52], text[53:traceBytes]
	switch {
	case text[2] != '-' || text[35] != '-' || text[52] != '-', !lowerHex(version + id + span + flags), version == "ff",
		strings.Trim(id, "0") == "", strings.Trim(span, "0") == "":
		return "", errTrace
	case len(text) > traceBytes && (version == "00" || text[traceBytes] != '-'):
		return "", errTrace
	}
	bits, _ := strconv.ParseUint(flags, 16, 8) // they are hexadecimal
	return Trace(fmt.Sprintf("00-%s-%s-%02x", id, span, bits&1)), nil
}

// ID is the id of the trace, in hexadecimal digits; the trace is not empty.
func (t Trace) ID() string { return string(t[3:35]) }

// Check tells what is wrong with a trace that the log brings.
func (t Trace) Check() error {
	if same, err := ParseTrace(string(t)); err != nil || same != t {
		return fmt.Errorf("traceparent: %w", errTrace)
	}
	return nil
}

func lowerHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// TraceID names a trace, SpanID a span of it; zero: none.
type (
	TraceID [16]byte
	SpanID  [8]byte
)

// Spans gives the spans of one task their ids. They follow from the cluster, the task and its creator's
// trace alone, so every server gives the same ones.
type Spans struct {
	ID      TraceID
	Parent  SpanID // in the trace of the creator; zero: the task's own span begins the trace
	Sampled bool   // false: the creator keeps nothing of this trace, so neither do servers

	seed [sha256.Size]byte
}

// SpansOf is about the task of that number which was created then: a number comes again when a backup is
// restored, with its time it does not.
func SpansOf(cluster string, id TaskID, created Wall, from Trace) Spans {
	s := Spans{Sampled: true, seed: sha256.Sum256([]byte(fmt.Sprintf("vigil %q %d %d", cluster, id, created)))}
	if from == "" {
		copy(s.ID[:], s.seed[:]) // all zero once in 2^128
		return s
	}
	copy(s.ID[:], unhex(from.ID()))
	copy(s.Parent[:], unhex(string(from[36:52])))
	s.Sampled = from[traceBytes-1] == '1'
	return s
}

// unhex turns hexadecimal digits, which the caller has checked, into bytes.
func unhex(s string) (b []byte) {
	for ; len(s) >= 2; s = s[2:] {
		n, _ := strconv.ParseUint(s[:2], 16, 8)
		b = append(b, byte(n))
	}
	return b
}

// Span is the id of a span of the task: of what, and which of them.
func (s *Spans) Span(what string, n uint64) (id SpanID) {
	h := sha256.New()
	h.Write(s.seed[:])
	h.Write(binary.BigEndian.AppendUint64([]byte(what), n))
	copy(id[:], h.Sum(nil))
	return id
}

// Root is the span of the task as a whole, Attempt that of one attempt.
func (s *Spans) Root() SpanID { return s.Span("task", 0) }

// Attempt is the span of the attempt of that number.
func (s *Spans) Attempt(n uint32) SpanID { return s.Span("attempt", uint64(n)) }

// Traceparent is what makes spans of others children of one of the task's.
func (s *Spans) Traceparent(of SpanID) Trace {
	flags := 0
	if s.Sampled {
		flags = 1
	}
	return Trace(fmt.Sprintf("00-%x-%x-%02x", s.ID, of, flags))
}
