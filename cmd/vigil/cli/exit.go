package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"vigil/cmd/vigil/term"
	"vigil/rpc/client"
)

// Exit codes; see the package comment.
const (
	ExitOK         = 0
	ExitFailed     = 1
	ExitUsage      = 2
	ExitNotFound   = 3
	ExitConflict   = 4
	ExitNoLeader   = 5
	ExitTimeout    = 6
	ExitSuperseded = 7
	ExitUnknown    = 78 // a log record that this version does not know, or cannot apply
)

// usageError is a mistake on the command line or in a file that it names.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// WrongUsage makes a usageError of err.
func WrongUsage(err error) error { return usageError{err} }

// Usagef makes a usageError of a sentence.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// CodeError ends the process with a code of its own, without a message when err
// is nil: that of a wrapped program, for instance.
type CodeError struct {
	code int
	err  error
}

// ExitWith makes a CodeError; err may be nil.
func ExitWith(code int, err error) error { return CodeError{code, err} }

func (e CodeError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}
func (e CodeError) Unwrap() error { return e.err }

// ExitCode gives the exit code for what a command returned.
func ExitCode(err error) int {
	var coded CodeError
	var usage usageError
	var sig SignalError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &usage):
		return ExitUsage
	case errors.As(err, &sig):
		return sig.Code()
	case errors.Is(err, client.ErrInvalid):
		return ExitUsage
	case errors.Is(err, client.ErrNotFound), errors.Is(err, client.ErrNoAddressee):
		return ExitNotFound
	case errors.Is(err, client.ErrConflict), errors.Is(err, client.ErrStopped),
		errors.Is(err, client.ErrHostInUse), errors.Is(err, client.ErrLate),
		errors.Is(err, client.ErrAgentOff), errors.Is(err, client.ErrMailboxFull), errors.Is(err, client.ErrFull):
		return ExitConflict
	case errors.Is(err, client.ErrNoLeader), errors.Is(err, client.ErrNotLeader),
		errors.Is(err, client.ErrUnavailable), errors.Is(err, client.ErrUnknownOutcome),
		errors.Is(err, client.ErrAgentdAway):
		return ExitNoLeader
	case errors.Is(err, client.ErrTimeout), errors.Is(err, client.ErrNoTask), errors.Is(err, context.DeadlineExceeded):
		return ExitTimeout
	case errors.Is(err, client.ErrSuperseded), errors.Is(err, client.ErrRejoin):
		return ExitSuperseded
	default:
		return ExitFailed
	}
}

// ErrorName gives the stable name of an error for --json.
func ErrorName(err error) string {
	if e := client.From(err); e != nil {
		return e.Code
	}
	switch ExitCode(err) {
	case ExitUsage:
		return "usage"
	case ExitNotFound:
		return "not_found"
	case ExitConflict:
		return "conflict"
	case ExitTimeout:
		return "timeout"
	case ExitUnknown:
		return "unknown_record"
	}
	return "failed"
}

// Report prints an error as one line, or as one object with --json. A closed pipe
// is not worth a word: whoever read from it knows.
func Report(w io.Writer, err error, asJSON bool) {
	var coded CodeError
	if errors.As(err, &coded) && coded.err == nil || errors.Is(err, syscall.EPIPE) {
		return
	}
	if asJSON {
		out := struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		}{ErrorName(err), err.Error()}
		_ = json.NewEncoder(w).Encode(out) // there is nowhere left to complain
		return
	}
	text := term.OneLine(term.Tidy(err.Error()))
	if asPlace(err) || errors.As(err, new(Lines)) {
		text = term.Safe(strings.TrimRight(err.Error(), "\n"))
	}
	fmt.Fprintf(w, "vigil: %s\n", text)
}

// Lines is an error whose text has several lines that stay as they are.
type Lines string

func (e Lines) Error() string { return string(e) }

// asPlace tells whether the error shows a place in a file and may have several
// lines.
func asPlace(err error) bool {
	var p *PlaceError
	return errors.As(err, &p)
}

// SignalError is the cause of a context that a signal has ended.
type SignalError struct{ Sig syscall.Signal }

func (e SignalError) Error() string { return fmt.Sprintf("ended by signal: %s", e.Sig) }

// Code is the exit code that shells give to such an end.
func (e SignalError) Code() int { return 128 + int(e.Sig) }
