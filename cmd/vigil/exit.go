package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"vigil/rpc/client"
)

// Exit codes; see the package comment.
const (
	exitOK         = 0
	exitFailed     = 1
	exitUsage      = 2
	exitNotFound   = 3
	exitConflict   = 4
	exitNoLeader   = 5
	exitTimeout    = 6
	exitSuperseded = 7
	exitUnknown    = 78 // a log record that this version does not know, or cannot apply
)

// usageError is a mistake on the command line or in a file that it names.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// wrongUsage makes a usageError of err.
func wrongUsage(err error) error { return usageError{err} }

// usagef makes a usageError of a sentence.
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// codeError ends the process with a code of its own, without a message when err
// is nil: that of a wrapped program, for instance.
type codeError struct {
	code int
	err  error
}

// exitWith makes a codeError; err may be nil.
func exitWith(code int, err error) error { return codeError{code, err} }

func (e codeError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}
func (e codeError) Unwrap() error { return e.err }

// exitCode gives the exit code for what a command returned.
func exitCode(err error) int {
	var coded codeError
	var usage usageError
	var sig signalError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &sig):
		return sig.code()
	case errors.Is(err, client.ErrInvalid):
		return exitUsage
	case errors.Is(err, client.ErrNotFound), errors.Is(err, client.ErrNoAddressee):
		return exitNotFound
	case errors.Is(err, client.ErrConflict), errors.Is(err, client.ErrStopped), errors.Is(err, client.ErrHostInUse), errors.Is(err, client.ErrLate),
		errors.Is(err, client.ErrAgentOff), errors.Is(err, client.ErrMailboxFull), errors.Is(err, client.ErrFull):
		return exitConflict
	case errors.Is(err, client.ErrNoLeader), errors.Is(err, client.ErrNotLeader), errors.Is(err, client.ErrUnavailable), errors.Is(err, client.ErrUnknownOutcome):
		return exitNoLeader
	case errors.Is(err, client.ErrTimeout), errors.Is(err, client.ErrNoTask), errors.Is(err, context.DeadlineExceeded):
		return exitTimeout
	case errors.Is(err, client.ErrSuperseded), errors.Is(err, client.ErrRejoin):
		return exitSuperseded
	default:
		return exitFailed
	}
}

// errorName gives the stable name of an error for --json.
func errorName(err error) string {
	if e := client.From(err); e != nil {
		return e.Code
	}
	switch exitCode(err) {
	case exitUsage:
		return "usage"
	case exitNotFound:
		return "not_found"
	case exitConflict:
		return "conflict"
	case exitTimeout:
		return "timeout"
	case exitUnknown:
		return "unknown_record"
	}
	return "failed"
}

// report prints an error as one line, or as one object with --json. A closed pipe
// is not worth a word: whoever read from it knows.
func report(w io.Writer, err error, asJSON bool) {
	var coded codeError
	if errors.As(err, &coded) && coded.err == nil || errors.Is(err, syscall.EPIPE) {
		return
	}
	if asJSON {
		out := struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		}{errorName(err), err.Error()}
		_ = json.NewEncoder(w).Encode(out) // there is nowhere left to complain
		return
	}
	text := oneLine(err.Error())
	if asPlace(err) {
		text = safe(strings.TrimRight(err.Error(), "\n"))
	}
	fmt.Fprintf(w, "vigil: %s\n", text)
}

// asPlace tells whether the error shows a place in a file and may have several
// lines.
func asPlace(err error) bool {
	var p *placeError
	return errors.As(err, &p)
}

// signalError is the cause of a context that a signal has ended.
type signalError struct{ sig syscall.Signal }

func (e signalError) Error() string { return fmt.Sprintf("ended by signal: %s", e.sig) }

func (e signalError) code() int { return 128 + int(e.sig) }
