package code

import (
	"net/http"

	"google.golang.org/grpc/codes"
)

// canceledByCaller is the HTTP status that nginx gave to a request whose sender has gone.
const canceledByCaller = 499

// rows is the table of errors. The first ones are the codes of the state machine.
var rows = []Row{
	{OK, codes.OK, http.StatusOK, Done, "Nothing to do."},
	{Invalid, codes.InvalidArgument, http.StatusBadRequest, Refused,
		"Correct the value that the message names and send it again."},
	{NotFound, codes.NotFound, http.StatusNotFound, Over,
		"Check the name; list what exists with `vigil room list`, `vigil task list` or `vigil " +
			"agent list`."},
	{Conflict, codes.Aborted, http.StatusConflict, Refused,
		"Somebody else was first. Read it again, then decide whether your change is still right."},
	{Superseded, codes.FailedPrecondition, http.StatusConflict, Over,
		"A newer incarnation or attempt has taken over. Stop; nothing that you say counts any " +
			"more."},
	{Rejoin, codes.FailedPrecondition, http.StatusConflict, Refused,
		"Your lease has ended. Join again."},
	{Denied, codes.PermissionDenied, http.StatusForbidden, Refused,
		"You may not do this: the token is not the one of this incarnation (use that of the running " +
			"process), or your identity lacks the right. An admin gives rights with `vigil user add`."},
	{NoTask, codes.NotFound, http.StatusNotFound, Refused, "There is nothing to claim. Wait again."},
	{UnknownSession, codes.FailedPrecondition, http.StatusConflict, Later,
		"The session has ended and nothing was executed. Open a new one, and find out by reading " +
			"whether earlier writes were done."},
	{Stopped, codes.FailedPrecondition, http.StatusConflict, Refused,
		"A human has stopped, deleted or retired it. Start it with `vigil agent start` or apply " +
			"the room again."},
	{HostInUse, codes.AlreadyExists, http.StatusConflict, Refused,
		"Another boot of this host id still holds fences, or is heard. Wait until they have ended and it is silent, " +
			"or give a cloned machine its own id."},
	{StaleStint, codes.Aborted, http.StatusConflict, Later,
		"It was planned by a leader that no longer leads. The new leader plans again by itself."},
	{Late, codes.FailedPrecondition, http.StatusConflict, Over,
		"The result came too late to count and was kept for inspection. Stop; look at it with " +
			"`vigil task show`."},
	{TooOld, codes.OutOfRange, http.StatusGone, Broken,
		"The session no longer knows the answer to so old a write. Find out by reading whether " +
			"it was done."},
	{AgentNotFound, codes.NotFound, http.StatusNotFound, Refused,
		"There is no such agent to send mail to. Check the address; `vigil agent list` shows the " +
			"agents."},
	{AgentOffline, codes.FailedPrecondition, http.StatusConflict, Refused,
		"The agent is off and the mail was not to be kept for it. Send it without queue: false " +
			"(`--no-queue`), or start the agent."},
	{MailboxFull, codes.ResourceExhausted, http.StatusInsufficientStorage, Later,
		"Nobody acknowledges what is there. Find out why the agent does not read its mail " +
			"(`vigil agent explain`), or wait until older mail expires."},
	{Full, codes.ResourceExhausted, http.StatusInsufficientStorage, Later,
		"A budget is used up: what is new is refused, what exists goes on, and whatever ends or " +
			"deletes something works. The message says which budget, how much of it is used and what " +
			"helps; `vigil status` warns before."},
	{NotLeader, codes.Unavailable, http.StatusServiceUnavailable, Elsewhere,
		"Nothing was executed. Ask the leader at the address that comes with the error."},
	{NoLeader, codes.Unavailable, http.StatusServiceUnavailable, Elsewhere,
		"Nothing was executed: no server leads at the moment. Try again; if it lasts, look at " +
			"`vigil status` for servers that are down."},
	{AgentdAway, codes.Unavailable, http.StatusServiceUnavailable, Elsewhere,
		"Nothing was executed: the agentd of this host is down, or reaches no server. Try again in a " +
			"moment; the agent lives on meanwhile."},
	{UnknownOutcome, codes.Unknown, http.StatusGatewayTimeout, Open,
		"The leader was lost while it worked on this: it may or may not have been done. Find out " +
			"by reading, or send writes with a write id, which makes repeating safe."},
	{Timeout, codes.DeadlineExceeded, http.StatusGatewayTimeout, Open,
		"The deadline passed first; a write may still be done. Repeat it with the same write id, " +
			"or read before you repeat."},
	{Canceled, codes.Canceled, canceledByCaller, Open,
		"The caller went away; a write may still be done."},
	{Compacted, codes.OutOfRange, http.StatusGone, Refused,
		"The history no longer reaches so far back. Watch again from the oldest index that comes " +
			"with the error, and read the state anew."},
	{TooLarge, codes.ResourceExhausted, http.StatusRequestEntityTooLarge, Refused,
		"Put large content into a file and name it in the task."},
	{Unavailable, codes.Unavailable, http.StatusServiceUnavailable, Open, "Try another server."},
	{Internal, codes.Internal, http.StatusInternalServerError, Broken,
		"This is a fault of the server; its log says more."},
	{Unimplemented, codes.Unimplemented, http.StatusNotImplemented, Refused,
		"This server does not know the call. Compare the versions with `vigil version`."},
	{WrongMethod, codes.Unimplemented, http.StatusMethodNotAllowed, Refused,
		"HTTP only: the path exists and takes another method. /openapi.json lists the calls."},
	{OldServers, codes.FailedPrecondition, http.StatusConflict, Later,
		"Nothing was executed: a server of the cluster is of an older version that could not " +
			"read this. Upgrade every server (`vigil server list` shows the versions) and try again."},
	{WrongOrigin, codes.PermissionDenied, http.StatusForbidden, Refused,
		"HTTP only: a web page of another site sent this, or it names a host that this server is " +
			"not. Nothing was done."},
	{WrongType, codes.InvalidArgument, http.StatusUnsupportedMediaType, Refused,
		"HTTP only: a body has to be JSON and say so (Content-Type: application/json)."},
	{Closed, codes.Canceled, canceledByCaller, Broken,
		"Clients only: the client was closed; a write that was under way may still be done."},
	{AuthDenied, codes.Unauthenticated, http.StatusUnauthorized, Later,
		"Nothing was executed: nobody vouches for who you are. The certificate or API token is " +
			"missing, unknown or was revoked; get another one (`vigil login`, for machines a new token)."},
	{AuthExpired, codes.Unauthenticated, http.StatusUnauthorized, Later,
		"Nothing was executed: the certificate is too old and can only be renewed. Agentd and servers do that by " +
			"themselves, for people the next command of `vigil`, for 30 days; after that a person runs `vigil login`. " +
			"Programs that run for longer take an API token."},
}
