package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

// Error is an error with a stable code.
type Error struct {
	Code   string // of package code
	Text   string // what happened and what to do; empty: the remedy of the code
	Rev    uint64 // with conflict: the current revision
	Leader string // with not_leader and no_leader: the API address of the leader, when known
	Oldest uint64 // with compacted: the index to watch after
	Index  uint64 // the log index that the answer rests on, when there is one
}

func (e *Error) Error() string { return e.Code + ": " + e.Text }

// New makes an error of a code and a sentence in the manner of Printf.
func New(code, format string, args ...any) *Error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

// Invalid says which value breaks which rule.
func Invalid(format string, args ...any) error { return New(code.Invalid, format, args...) }

// NotFound says what there is not.
func NotFound(format string, args ...any) error { return New(code.NotFound, format, args...) }

// Refusal turns an outcome that is not OK into an error.
func Refusal(out *noun.Outcome) error {
	e := &Error{Code: out.Code.String(), Text: out.Detail, Index: out.Index}
	if out.Code == noun.Conflict {
		e.Rev = out.Rev
	}
	return e
}

// Of gives any error a code. Errors that no row of the table knows are internal; their text is passed
// on, since it never holds task text or tokens.
func Of(err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, noun.ErrNotLeader):
		return &Error{Code: code.NotLeader}
	case errors.Is(err, noun.ErrUnknownOutcome):
		return &Error{Code: code.UnknownOutcome}
	case errors.Is(err, noun.ErrStopping):
		return New(code.Unavailable, "This server is stopping and has executed nothing; ask another one.")
	case errors.Is(err, noun.ErrOldServers):
		return &Error{Code: code.OldServers}
	case errors.Is(err, noun.ErrDiverged):
		return New(code.Unavailable, "The state of this server differs from the majority's, so it serves "+
			"nothing until its data is rebuilt; ask another server.")
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: code.Timeout}
	case errors.Is(err, context.Canceled):
		return &Error{Code: code.Canceled}
	}
	if st, ok := status.FromError(err); ok {
		return FromStatus(st)
	}
	var refused interface{ Code() noun.Code }
	if errors.As(err, &refused) {
		return &Error{Code: refused.Code().String(), Text: Sentence(err.Error())}
	}
	return &Error{Code: code.Internal, Text: Sentence(err.Error())}
}

// FromStatus reads an error that came from another server or from gRPC.
func FromStatus(st *status.Status) *Error {
	for _, d := range st.Details() {
		if i, ok := d.(*vigilv1.ErrorInfo); ok {
			return &Error{Code: i.GetCode(), Text: i.GetMessage(), Rev: i.GetRev(),
				Leader: i.GetLeader(), Oldest: i.GetOldest(), Index: i.GetIndex()}
		}
	}
	return &Error{Code: code.Bare(st.Code()), Text: Sentence(st.Message())}
}

// Ours tells whether a server of ours made the error, not gRPC itself.
func Ours(err error) bool {
	var e *Error
	if errors.As(err, &e) {
		return true
	}
	st, ok := status.FromError(err)
	return ok && st.Code() != codes.OK && len(st.Details()) > 0
}

// Info is the error as it crosses the wire, with a sentence in any case.
func (e *Error) Info() *vigilv1.ErrorInfo {
	text := e.Text
	if text == "" {
		text = code.Of(e.Code).Remedy
	}
	return &vigilv1.ErrorInfo{Code: e.Code, Message: text, Rev: e.Rev,
		Leader: e.Leader, Oldest: e.Oldest, Index: e.Index}
}

// Status is the error as gRPC sends it.
func (e *Error) Status() error {
	i := e.Info()
	st := status.New(code.Of(e.Code).GRPC, i.GetMessage())
	with, err := st.WithDetails(i)
	if err != nil {
		return st.Err()
	}
	return with.Err()
}

// Sentence gives a text from elsewhere a capital and a full stop.
func Sentence(s string) string {
	if s == "" {
		return ""
	}
	s = strings.ToUpper(s[:1]) + s[1:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

// Quote shows a value from outside, shortened.
func Quote(s string) string { return noun.Quote(s) }
