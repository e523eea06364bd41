package client

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc/status"

	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/link"
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

// The codes, for errors.Is. What each says about the call stands in [code.Rows].
var (
	ErrInvalid        error = &Error{Code: code.Invalid, Message: "the request breaks a rule"}
	ErrNotFound       error = &Error{Code: code.NotFound, Message: "no such thing"}
	ErrConflict       error = &Error{Code: code.Conflict, Message: "somebody else was first"}
	ErrSuperseded     error = &Error{Code: code.Superseded, Message: "a newer life of this agent has begun: stop"}
	ErrRejoin         error = &Error{Code: code.Rejoin, Message: "the lease has ended: join again"}
	ErrDenied         error = &Error{Code: code.Denied, Message: "not allowed, or the wrong token"}
	ErrNoTask         error = &Error{Code: code.NoTask, Message: "nothing to claim"}
	ErrUnknownSession error = &Error{Code: code.UnknownSession, Message: "the session has ended"}
	ErrStopped        error = &Error{Code: code.Stopped, Message: "a human has stopped, deleted or retired it"}
	ErrHostInUse      error = &Error{Code: code.HostInUse, Message: "another boot of this host holds fences or is heard"}
	ErrStaleStint     error = &Error{Code: code.StaleStint, Message: "planned in a stint that is over"}
	ErrLate           error = &Error{Code: code.Late, Message: "the result came too late; it was kept to look at"}
	ErrTooOld         error = &Error{Code: code.TooOld, Message: "the answer to this write is no longer known"}
	ErrNoAddressee    error = &Error{Code: code.AgentNotFound, Message: "there is no such agent to send mail to"}
	ErrAgentOff       error = &Error{Code: code.AgentOffline, Message: "the agent is off"}
	ErrMailboxFull    error = &Error{Code: code.MailboxFull, Message: "the mailbox is full"}
	ErrFull           error = &Error{Code: code.Full, Message: "a budget of the cluster is used up"}
	ErrNotLeader      error = &Error{Code: code.NotLeader, Message: "this server is not the leader"}
	ErrNoLeader       error = &Error{Code: code.NoLeader, Message: "the cluster has no leader"}
	ErrAgentdAway     error = &Error{Code: code.AgentdAway, Message: "the agentd of this host is away"}
	ErrUnavailable    error = &Error{Code: code.Unavailable, Message: "no server could be reached"}
	ErrUnknownOutcome error = &Error{Code: code.UnknownOutcome, Message: "the leader was lost while it worked on this"}
	ErrTimeout        error = &Error{Code: code.Timeout, Message: "there was no answer in time"}
	ErrCanceled       error = &Error{Code: code.Canceled, Message: "the caller gave up"}
	ErrCompacted      error = &Error{Code: code.Compacted, Message: "these events are no longer kept"}
	ErrInternal       error = &Error{Code: code.Internal, Message: "the server failed"}
	ErrUnimplemented  error = &Error{Code: code.Unimplemented, Message: "the server does not know this call"}
	ErrTooLarge       error = &Error{Code: code.TooLarge, Message: "the message is too large"}
	ErrOldServers     error = &Error{Code: code.OldServers,
		Message: "a server is of an older version that cannot do this"}
	ErrAuthDenied  error = &Error{Code: code.AuthDenied, Message: "nobody vouches for who this is"}
	ErrAuthExpired error = &Error{Code: code.AuthExpired, Message: "the certificate is too old and must be renewed"}
	ErrClosed      error = &Error{Code: code.Closed, Message: "the client was closed"}
)

// Why no server could be spoken to although one listens, for errors.Is beside ErrUnavailable.
var (
	ErrSpeaksTLS   = link.ErrSpeaksTLS
	ErrSpeaksClear = link.ErrSpeaksClear
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

// Unwrap gives what ended the attempts, for instance context.DeadlineExceeded or ErrSpeaksTLS;
// nil when a server gave the answer.
func (e *Error) Unwrap() error { return e.cause }

// GRPCStatus lets [status.FromError] and [status.Code] understand the error.
func (e *Error) GRPCStatus() *status.Status { return status.New(code.Of(e.Code).GRPC, e.Error()) }

// From gives the *Error in err's chain, nil when there is none.
func From(err error) *Error {
	var e *Error
	errors.As(err, &e)
	return e
}

// Code gives the stable name of any error, one that came over a plain connection too.
func Code(err error) string {
	e, _ := decode(err)
	return e.Code
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
	return &Error{Code: code.Bare(st.Code()), Message: st.Message()}, false
}
