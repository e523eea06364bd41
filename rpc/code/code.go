package code

import "google.golang.org/grpc/codes"

// The stable names of errors.
const (
	OK             = "ok"
	Invalid        = "invalid"
	NotFound       = "not_found"
	Conflict       = "conflict"
	Superseded     = "superseded"
	Rejoin         = "rejoin"
	Denied         = "denied"
	NoTask         = "no_task"
	UnknownSession = "unknown_session"
	Stopped        = "stopped"
	HostInUse      = "host_in_use"
	StaleStint     = "stale_stint"
	Late           = "late"
	TooOld         = "too_old"
	AgentNotFound  = "agent_not_found"
	AgentOffline   = "agent_offline"
	MailboxFull    = "mailbox_full"
	Full           = "full"
	NotLeader      = "not_leader"
	NoLeader       = "no_leader"
	AgentdAway     = "agentd_away"
	UnknownOutcome = "unknown_outcome"
	Timeout        = "timeout"
	Canceled       = "canceled"
	Compacted      = "compacted"
	TooLarge       = "too_large"
	Unavailable    = "unavailable"
	Internal       = "internal"
	Unimplemented  = "unimplemented"
	WrongMethod    = "wrong_method"
	OldServers     = "old_servers"
	WrongOrigin    = "wrong_origin"
	WrongType      = "wrong_type"
	Closed         = "closed"
	AuthDenied     = "auth_denied"
	AuthExpired    = "auth_expired"
)

// Fate says what a code tells about the call, and so what its sender does next.
type Fate uint8

// The fates. Only Open and Broken leave open whether the call was carried out.
const (
	Broken    Fate = iota // something is wrong: whether it was done is open, and asking again by itself helps little
	Done                  // it was done
	Refused               // the answer is no: nothing was done, and the same call gets the same answer
	Over                  // refused, since what it is about is over: nobody wants it any more
	Later                 // nothing was done; the call may be taken when what the error names has changed
	Elsewhere             // nothing was done here; another server may do it, or this one in a moment
	Open                  // it may or may not have been done; repeating it with its write id tells
)

var fateNames = [...]string{"broken", "done", "refused", "over", "later", "elsewhere", "open"}

// String gives the word of docs/errors.md.
func (f Fate) String() string { return fateNames[f] }

// No tells whether the cluster has answered no.
func (f Fate) No() bool { return f == Refused || f == Over }

// Fleeting tells whether a server's answer means only that it could not do its work just now.
func (f Fate) Fleeting() bool { return f == Elsewhere || f == Open }

// Row is one line of the table of errors.
type Row struct {
	Name   string
	GRPC   codes.Code
	HTTP   int
	Fate   Fate
	Remedy string // what to do, when the error brings no sentence of its own
}

// Of gives the row of a name; that of [Internal] when no row has the name, which a
// newer server may send.
func Of(name string) Row {
	if r, ok := byName[name]; ok {
		return r
	}
	return byName[Internal]
}

// Rows gives the table, in the order of docs/errors.md.
func Rows() []Row { return append([]Row(nil), rows...) }

var byName = func() map[string]Row {
	m := make(map[string]Row, len(rows))
	for _, r := range rows {
		m[r.Name] = r
	}
	return m
}()

// Bare names an error of which gRPC tells only its own code. No server has said it, but
// the transport, or something between the two.
func Bare(c codes.Code) string {
	switch c {
	case codes.OK:
		return OK
	case codes.InvalidArgument:
		return Invalid
	case codes.NotFound:
		return NotFound
	case codes.AlreadyExists, codes.Aborted, codes.FailedPrecondition:
		return Conflict
	case codes.PermissionDenied:
		return Denied
	case codes.Unauthenticated:
		return AuthDenied
	case codes.ResourceExhausted:
		return TooLarge
	case codes.Unimplemented:
		return Unimplemented
	case codes.Unavailable:
		return Unavailable
	case codes.DeadlineExceeded:
		return Timeout
	case codes.Canceled:
		return Canceled
	default:
		return Internal
	}
}
