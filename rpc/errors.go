package rpc

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"vigil/fsm/noun"
	"vigil/rpc/gen/vigilv1"
)

// Stable names of this room's codes. The other names are those of fsm.Code.
const (
	codeNotLeader      = "not_leader"
	codeNoLeader       = "no_leader"
	codeUnknownOutcome = "unknown_outcome"
	codeTimeout        = "timeout"
	codeCanceled       = "canceled"
	codeCompacted      = "compacted"
	codeTooLarge       = "too_large"
	codeUnavailable    = "unavailable"
	codeInternal       = "internal"
	codeUnimplemented  = "unimplemented"
	codeWrongMethod    = "wrong_method"
	codeOldServers     = "old_servers"
	codeWrongOrigin    = "wrong_origin"
	codeWrongType      = "wrong_type"
)

// codeRow is one line of the table of errors. The list is append-only: names
// cross the wire and stand in users' scripts.
type codeRow struct {
	name   string
	grpc   codes.Code
	http   int
	remedy string // what to do when the error brings no sentence of its own
}

// coordinatorCodes are the rows of fsm.Code, in the order of their numbers from
// fsm.OK on.
func coordinatorCodes() []codeRow {
	return []codeRow{
		{"ok", codes.OK, http.StatusOK, "Nothing to do."},
		{"invalid", codes.InvalidArgument, http.StatusBadRequest, "Correct the value that the message names and send it again."},
		{"not_found", codes.NotFound, http.StatusNotFound, "Check the name; list what exists with `vigil room list`, `vigil task list` or `vigil agent list`."},
		{"conflict", codes.Aborted, http.StatusConflict, "Somebody else was first. Read it again, then decide whether your change is still right."},
		{"superseded", codes.FailedPrecondition, http.StatusConflict, "A newer incarnation or attempt has taken over. Stop; nothing that you say counts any more."},
		{"rejoin", codes.FailedPrecondition, http.StatusConflict, "Your lease has ended. Join again."},
		{"denied", codes.PermissionDenied, http.StatusForbidden, "The token is not the one of this incarnation. Use VIGIL_TOKEN of the running process."},
		{"no_task", codes.NotFound, http.StatusNotFound, "There is nothing to claim. Wait again."},
		{"unknown_session", codes.FailedPrecondition, http.StatusConflict, "The session has ended and nothing was executed. Open a new one, and find out by reading whether earlier writes were done."},
		{"stopped", codes.FailedPrecondition, http.StatusConflict, "A human has stopped, deleted or retired it. Start it with `vigil agent start` or apply the room again."},
		{"host_in_use", codes.AlreadyExists, http.StatusConflict, "Another boot of this host id still holds fences. Wait until they have ended, or give a cloned machine its own id."},
		{"stale_stint", codes.Aborted, http.StatusConflict, "It was planned by a leader that no longer leads. The new leader plans again by itself."},
		{"late", codes.FailedPrecondition, http.StatusConflict, "The result came too late to count and was kept for inspection. Stop; look at it with `vigil task show`."},
		{"too_old", codes.OutOfRange, http.StatusGone, "The session no longer knows the answer to so old a write. Find out by reading whether it was done."},
		{"agent_not_found", codes.NotFound, http.StatusNotFound, "There is no such agent to send mail to. Check the address; `vigil agent list` shows the agents."},
		{"agent_offline", codes.FailedPrecondition, http.StatusConflict, "The agent is off and the mail was not to be kept for it. Send it without queue: false (`--no-queue`), or start the agent."},
		{"mailbox_full", codes.ResourceExhausted, http.StatusInsufficientStorage, "Nobody acknowledges what is there. Find out why the agent does not read its mail (`vigil agent explain`), or wait until older mail expires."},
		{"full", codes.ResourceExhausted, http.StatusInsufficientStorage, "A budget is used up: what is new is refused, what exists goes on, and whatever ends or deletes something works. The message says which budget, how much of it is used and what helps; `vigil status` warns before."},
	}
}

// doorCodes are the rows that only this room knows.
func doorCodes() []codeRow {
	return []codeRow{
		{codeNotLeader, codes.Unavailable, http.StatusServiceUnavailable, "Nothing was executed. Ask the leader at the address that comes with the error."},
		{codeNoLeader, codes.Unavailable, http.StatusServiceUnavailable, "Nothing was executed: no server leads at the moment. Try again; if it lasts, look at `vigil status` for servers that are down."},
		{codeUnknownOutcome, codes.Unknown, http.StatusGatewayTimeout, "The leader was lost while it worked on this: it may or may not have been done. Find out by reading, or send writes with a write id, which makes repeating safe."},
		{codeTimeout, codes.DeadlineExceeded, http.StatusGatewayTimeout, "The deadline passed first; a write may still be done. Repeat it with the same write id, or read before you repeat."},
		{codeCanceled, codes.Canceled, 499, "The caller went away; a write may still be done."},
		{codeCompacted, codes.OutOfRange, http.StatusGone, "The history no longer reaches so far back. Watch again from the oldest index that comes with the error, and read the state anew."},
		{codeTooLarge, codes.ResourceExhausted, http.StatusRequestEntityTooLarge, "Put large content into a file and name it in the task."},
		{codeUnavailable, codes.Unavailable, http.StatusServiceUnavailable, "Try another server."},
		{codeInternal, codes.Internal, http.StatusInternalServerError, "This is a fault of the server; its log says more."},
		{codeUnimplemented, codes.Unimplemented, http.StatusNotImplemented, "This server does not know the call. Compare the versions with `vigil version`."},
		{codeWrongMethod, codes.Unimplemented, http.StatusMethodNotAllowed, "HTTP only: the path exists and takes another method. /openapi.json lists the calls."},
		{codeOldServers, codes.FailedPrecondition, http.StatusConflict, "Nothing was executed: a server of the cluster is of an older version that could not read this. Upgrade every server (`vigil server list` shows the versions) and try again."},
		{codeWrongOrigin, codes.PermissionDenied, http.StatusForbidden, "HTTP only: a web page of another site sent this, or it names a host that this server is not. Nothing was done."},
		{codeWrongType, codes.InvalidArgument, http.StatusUnsupportedMediaType, "HTTP only: a body has to be JSON and say so (Content-Type: application/json)."},
	}
}

// errorTable finds rows by name and, for errors of gRPC itself, by status.
type errorTable struct {
	rows   []codeRow // coordinatorCodes, then doorCodes
	byName map[string]codeRow
}

func newErrorTable() *errorTable {
	t := &errorTable{rows: append(coordinatorCodes(), doorCodes()...), byName: map[string]codeRow{}}
	for _, r := range t.rows {
		t.byName[r.name] = r
	}
	return t
}

// row gives the row of a name, the one of internal for an unknown name.
func (t *errorTable) row(name string) codeRow {
	if r, ok := t.byName[name]; ok {
		return r
	}
	return t.byName[codeInternal]
}

// foreign names the code of an error that gRPC made by itself.
func foreign(c codes.Code) string {
	switch c {
	case codes.OK:
		return noun.OK.String()
	case codes.Canceled:
		return codeCanceled
	case codes.DeadlineExceeded:
		return codeTimeout
	case codes.ResourceExhausted:
		return codeTooLarge
	case codes.Unimplemented:
		return codeUnimplemented
	case codes.Unavailable:
		return codeUnavailable
	case codes.InvalidArgument:
		return noun.Invalid.String()
	case codes.NotFound:
		return noun.NotFound.String()
	default:
		return codeInternal
	}
}

// problem is an error with a stable code. All handlers return it, or an error of
// fsm or context that asProblem knows.
type problem struct {
	code   string
	text   string
	rev    uint64
	leader string
	oldest uint64
	index  uint64
}

func (p *problem) Error() string { return p.code + ": " + p.text }

func invalid(text string) error { return &problem{code: noun.Invalid.String(), text: text} }

func notFound(text string) error { return &problem{code: noun.NotFound.String(), text: text} }

// refusal turns an outcome that is not OK into an error.
func refusal(out *noun.Outcome) error {
	p := &problem{code: out.Code.String(), text: out.Detail, index: out.Index}
	if out.Code == noun.Conflict {
		p.rev = out.Rev
	}
	return p
}

// asProblem gives any error a code. Errors that no row knows are internal; their
// text is passed on, since it never holds task text or tokens.
func asProblem(err error) *problem {
	var p *problem
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, noun.ErrNotLeader):
		return &problem{code: codeNotLeader}
	case errors.Is(err, noun.ErrUnknownOutcome):
		return &problem{code: codeUnknownOutcome}
	case errors.Is(err, noun.ErrStopping):
		return &problem{code: codeUnavailable, text: "This server is stopping and has executed nothing; ask another one."}
	case errors.Is(err, noun.ErrOldServers):
		return &problem{code: codeOldServers}
	case errors.Is(err, noun.ErrDiverged):
		return &problem{code: codeUnavailable, text: "The state of this server differs from the majority's, so it serves nothing until its data is rebuilt; ask another server."}
	case errors.Is(err, context.DeadlineExceeded):
		return &problem{code: codeTimeout}
	case errors.Is(err, context.Canceled):
		return &problem{code: codeCanceled}
	}
	if st, ok := status.FromError(err); ok {
		return fromStatus(st)
	}
	var refused interface{ Code() noun.Code }
	if errors.As(err, &refused) {
		return &problem{code: refused.Code().String(), text: sentence(err.Error())}
	}
	return &problem{code: codeInternal, text: sentence(err.Error())}
}

// fromStatus reads an error that came from another server or from gRPC.
func fromStatus(st *status.Status) *problem {
	for _, d := range st.Details() {
		if i, ok := d.(*vigilv1.ErrorInfo); ok {
			return &problem{code: i.GetCode(), text: i.GetMessage(), rev: i.GetRev(),
				leader: i.GetLeader(), oldest: i.GetOldest(), index: i.GetIndex()}
		}
	}
	return &problem{code: foreign(st.Code()), text: sentence(st.Message())}
}

// info is the problem as it crosses the wire, with a sentence in any case.
func (t *errorTable) info(p *problem) *vigilv1.ErrorInfo {
	text := p.text
	if text == "" {
		text = t.row(p.code).remedy
	}
	return &vigilv1.ErrorInfo{Code: p.code, Message: text, Rev: p.rev,
		Leader: p.leader, Oldest: p.oldest, Index: p.index}
}

// status is the problem as gRPC sends it.
func (t *errorTable) status(p *problem) error {
	i := t.info(p)
	st := status.New(t.row(p.code).grpc, i.GetMessage())
	with, err := st.WithDetails(i)
	if err != nil {
		return st.Err()
	}
	return with.Err()
}

// sentence gives a text from elsewhere a capital and a full stop.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	s = strings.ToUpper(s[:1]) + s[1:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}
