package client

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"vigil/rpc/gen/vigilv1"
)

// Error is the error of every call. Code is a stable name; compare with
// [errors.Is] and the Err values of this package, which look at Code only.
type Error struct {
	// Code is a stable name, for instance "conflict".
	Code string
	// Message says what happened, where, and what to do, in one sentence.
	Message string
	// Rev is the current revision, after a conflict about a revision.
	Rev uint64
	// Leader is the leader's API address, when the server knew it.
	Leader string
	// Oldest is the oldest event that a watch may resume from, after ErrCompacted.
	Oldest uint64

	cause error // why the client stopped trying; nil: the answer was final
}

// The codes, for errors.Is. Those marked "not done" prove that the call changed
// nothing.
var (
	ErrInvalid        error = &Error{Code: "invalid", Message: "the request breaks a rule"}                               // not done
	ErrNotFound       error = &Error{Code: "not_found", Message: "no such thing"}                                         // not done
	ErrConflict       error = &Error{Code: "conflict", Message: "somebody else was first"}                                // not done
	ErrSuperseded     error = &Error{Code: "superseded", Message: "a newer life of this agent has begun: stop"}           // not done
	ErrRejoin         error = &Error{Code: "rejoin", Message: "the lease has ended: join again"}                          // not done
	ErrDenied         error = &Error{Code: "denied", Message: "wrong token"}                                              // not done
	ErrNoTask         error = &Error{Code: "no_task", Message: "nothing to claim"}                                        // not done
	ErrUnknownSession error = &Error{Code: "unknown_session", Message: "the session has ended"}                           // not done
	ErrStopped        error = &Error{Code: "stopped", Message: "a human has stopped, deleted or retired it"}              // not done
	ErrHostInUse      error = &Error{Code: "host_in_use", Message: "another boot of this host holds fences"}              // not done
	ErrStaleStint     error = &Error{Code: "stale_stint", Message: "planned in a stint that is over"}                     // not done
	ErrLate           error = &Error{Code: "late", Message: "the result came too late; it was kept to look at"}           // kept, counts for nothing
	ErrTooOld         error = &Error{Code: "too_old", Message: "the answer to this write is no longer known"}             // unknown
	ErrNoAddressee    error = &Error{Code: "agent_not_found", Message: "there is no such agent to send mail to"}          // not done
	ErrAgentOff       error = &Error{Code: "agent_offline", Message: "the agent is off"}                                  // not done
	ErrMailboxFull    error = &Error{Code: "mailbox_full", Message: "the mailbox is full"}                                // not done
	ErrFull           error = &Error{Code: "full", Message: "a budget of the cluster is used up"}                         // not done
	ErrNotLeader      error = &Error{Code: "not_leader", Message: "this server is not the leader"}                        // not done
	ErrNoLeader       error = &Error{Code: "no_leader", Message: "the cluster has no leader"}                             // unknown, if repeated
	ErrUnavailable    error = &Error{Code: "unavailable", Message: "no server could be reached"}                          // unknown
	ErrUnknownOutcome error = &Error{Code: "unknown_outcome", Message: "the leader was lost while it worked on this"}     // unknown
	ErrTimeout        error = &Error{Code: "timeout", Message: "there was no answer in time"}                             // unknown
	ErrCanceled       error = &Error{Code: "canceled", Message: "the caller gave up"}                                     // unknown
	ErrCompacted      error = &Error{Code: "compacted", Message: "these events are no longer kept"}                       // not done
	ErrInternal       error = &Error{Code: "internal", Message: "the server failed"}                                      // unknown
	ErrUnimplemented  error = &Error{Code: "unimplemented", Message: "the server does not know this call"}                // not done
	ErrTooLarge       error = &Error{Code: "too_large", Message: "the message is too large"}                              // not done
	ErrOldServers     error = &Error{Code: "old_servers", Message: "a server is of an older version that cannot do this"} // not done
	ErrClosed         error = &Error{Code: "closed", Message: "the client was closed"}                                    // unknown, if it was under way
)

// Error gives the message, or the code when there is none.
func (e *Error) Error() string {
	if e.Message == "" {
		return strings.ReplaceAll(e.Code, "_", " ")
	}
	return e.Message
}

// Is compares codes, so that errors.Is(err, ErrConflict) holds for every conflict.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && e != nil && t.Code == e.Code
}

// Unwrap gives what ended the attempts, for instance context.DeadlineExceeded;
// nil when a server gave the answer.
func (e *Error) Unwrap() error { return e.cause }

// GRPCStatus lets [status.FromError] and [status.Code] understand the error.
func (e *Error) GRPCStatus() *status.Status { return status.New(grpcCode(e.Code), e.Error()) }

// From gives the *Error in err's chain, nil when there is none.
func From(err error) *Error {
	var e *Error
	errors.As(err, &e)
	return e
}

// FromInfo turns an error of a Batch result into an *Error; nil for nil.
func FromInfo(info *vigilv1.ErrorInfo) error {
	if info == nil {
		return nil
	}
	return fromInfo(info)
}

func fromInfo(info *vigilv1.ErrorInfo) *Error {
	return &Error{Code: info.GetCode(), Message: info.GetMessage(), Rev: info.GetRev(),
		Leader: info.GetLeader(), Oldest: info.GetOldest()}
}

// decode turns what gRPC returned into an *Error. An answer without details came
// from the transport, or from something between us and the server.
func decode(err error) (e *Error, answered bool) {
	if errors.As(err, &e) {
		return e, true
	}
	st := status.Convert(err)
	for _, d := range st.Details() {
		if info, ok := d.(*vigilv1.ErrorInfo); ok {
			e = fromInfo(info)
			if e.Message == "" {
				e.Message = st.Message()
			}
			return e, true
		}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		st = status.FromContextError(err)
	}
	return &Error{Code: wireCode(st.Code()), Message: st.Message()}, false
}

// wireCode names a bare gRPC code.
func wireCode(c codes.Code) string {
	switch c {
	case codes.InvalidArgument, codes.OutOfRange:
		return "invalid"
	case codes.NotFound:
		return "not_found"
	case codes.AlreadyExists, codes.Aborted, codes.FailedPrecondition:
		return "conflict"
	case codes.PermissionDenied, codes.Unauthenticated:
		return "denied"
	case codes.ResourceExhausted:
		return "too_large"
	case codes.Unimplemented:
		return "unimplemented"
	case codes.Unavailable:
		return "unavailable"
	case codes.DeadlineExceeded:
		return "timeout"
	case codes.Canceled:
		return "canceled"
	default:
		return "internal"
	}
}

func grpcCode(code string) codes.Code {
	switch code {
	case "invalid":
		return codes.InvalidArgument
	case "not_found", "no_task", "agent_not_found":
		return codes.NotFound
	case "conflict", "stopped", "rejoin", "host_in_use", "old_servers", "agent_offline":
		return codes.FailedPrecondition
	case "superseded", "stale_stint", "late", "too_old", "unknown_session":
		return codes.Aborted
	case "denied":
		return codes.PermissionDenied
	case "not_leader", "no_leader", "unavailable":
		return codes.Unavailable
	case "timeout":
		return codes.DeadlineExceeded
	case "unknown_outcome":
		return codes.Unknown
	case "canceled", "closed":
		return codes.Canceled
	case "compacted":
		return codes.OutOfRange
	case "unimplemented":
		return codes.Unimplemented
	case "too_large", "mailbox_full", "full":
		return codes.ResourceExhausted
	default:
		return codes.Internal
	}
}
