"""The errors of vigil's API, a class for each code.

Made by `make generate` from the table of docs/errors.md. Do not edit.
"""

from __future__ import annotations

from typing import Dict, Optional, Type


class VigilError(Exception):
    """What a call failed with. Compare classes or code, never sentences."""

    code = "internal"
    """The stable name."""
    http = 500
    """The status of an answer with this code."""
    fate = "broken"
    """What became of the call: refused, over (nobody wants it any more), later (it may be taken
    when what the error names has changed), elsewhere (not done here), open (it may or may not have
    been done) or broken."""
    final = False
    """The answer is no: the same call gets the same answer."""
    fleeting = False
    """A server could not do its work just now; asking again helps."""
    remedy = ""
    """What to do, in one sentence."""

    def __init__(
        self,
        message: str = "",
        *,
        rev: Optional[int] = None,
        leader: str = "",
        oldest: Optional[int] = None,
    ) -> None:
        super().__init__(message or self.remedy or self.code.replace("_", " "))
        self.message = str(self)
        """What happened, where, and what to do."""
        self.rev = rev
        """The current revision, after a Conflict about one."""
        self.leader = leader
        """The leader's API address, where the server knew it."""
        self.oldest = oldest
        """The oldest event that a reader may go on from, after Compacted."""


class Invalid(VigilError):
    """Correct the value that the message names and send it again."""

    code = "invalid"
    http = 400
    fate = "refused"
    final = True
    fleeting = False
    remedy = (
        "Correct the value that the message names and send it again."
    )


class NotFound(VigilError):
    """Check the name; list what exists with `vigil room list`, `vigil task list` or `vigil agent
    list`."""

    code = "not_found"
    http = 404
    fate = "over"
    final = True
    fleeting = False
    remedy = (
        "Check the name; list what exists with `vigil room list`, `vigil task list` or `vigil agent "
        "list`."
    )


class Conflict(VigilError):
    """Somebody else was first. Read it again, then decide whether your change is still right."""

    code = "conflict"
    http = 409
    fate = "refused"
    final = True
    fleeting = False
    remedy = (
        "Somebody else was first. Read it again, then decide whether your change is still right."
    )


class Superseded(VigilError):
    """A newer incarnation or attempt has taken over. Stop; nothing that you say counts any more."""

    code = "superseded"
    http = 409
    fate = "over"
    final = True
    fleeting = False
    remedy = (
        "A newer incarnation or attempt has taken over. Stop; nothing that you say counts any more."
    )


class Rejoin(VigilError):
    """Your lease has ended. Join again."""

    code = "rejoin"
    http = 409
    fate = "refused"
    final = True
    fleeting = False
    remedy = (
        "Your lease has ended. Join again."
    )


class Denied(VigilError):
    """You may not do this: the token is not the one of this incarnation (use that of the running
    process), or your identity lacks the right. An admin gives rights with `vigil user add`."""

    code = "denied"
    http = 403
    fate = "refused"
    final = True
    fleeting = False
    remedy = (
        "You may not do this: the token is not the one of this incarnation (use that of the running "
        "process), or your identity lacks the right. An admin gives rights with `vigil user add`."
    )


class NoTask(VigilError):
    """There is nothing to claim. Wait again."""

    code = "no_task"
    http = 404
    fate = "refused"
    final = True
    fleeting = False
    remedy = (
        "There is nothing to claim. Wait again."
    )


class UnknownSession(VigilError):
    """The session has ended and nothing was executed. Open a new one, and find out by reading whether
    earlier writes were done."""

    code = "unknown_session"
    http = 409
    fate = "later"
    final = False
    fleeting = False
    remedy = (
        "The session has ended and nothing was executed. Open a new one, and find out by reading "
        "whether earlier writes were done."
    )


class Stopped(VigilError):
    """A human has stopped, deleted or retired it. Start it with `vigil agent start` or apply the room
    again."""

    code = "stopped"
    http = 409
    fate = "refused"
    final = True
    fleeting = False
    remedy = (
        "A human has stopped, deleted or retired it. Start it with `vigil agent start` or apply the "
        "room again."
    )


class HostInUse(VigilError):
    """Another boot of this host id still holds fences, or is heard. Wait until they have ended and it
    is silent, or give a cloned machine its own id."""

    code = "host_in_use"
    http = 409
    fate = "refused"
    final = True
    fleeting = False
    remedy = (
        "Another boot of this host id still holds fences, or is heard. Wait until they have ended and "
        "it is silent, or give a cloned machine its own id."
    )


class StaleStint(VigilError):
    """It was planned by a leader that no longer leads. The new leader plans again by itself."""

    code = "stale_stint"
    http = 409
    fate = "later"
    final = False
    fleeting = False
    remedy = (
        "It was planned by a leader that no longer leads. The new leader plans again by itself."
    )


class Late(VigilError):
    """The result came too late to count and was kept for inspection. Stop; look at it with `vigil task
    show`."""

    code = "late"
    http = 409
    fate = "over"
    final = True
    fleeting = False
    remedy = (
        "The result came too late to count and was kept for inspection. Stop; look at it with `vigil "
        "task show`."
    )


class TooOld(VigilError):
    """The session no longer knows the answer to so old a write. Find out by reading whether it was
    done."""

    code = "too_old"
    http = 410
    fate = "broken"
    final = False
    fleeting = False
    remedy = (
        "The session no longer knows the answer to so old a write. Find out by reading whether it was "
        "done."
    )


class AgentNotFound(VigilError):
    """There is no such agent to send mail to. Check the address; `vigil agent list` shows the
    agents."""

    code = "agent_not_found"
    http = 404
    fate = "refused"
    final = True
    fleeting = False
    remedy = (
        "There is no such agent to send mail to. Check the address; `vigil agent list` shows the "
        "agents."
    )


class AgentOffline(VigilError):
    """The agent is off and the mail was not to be kept for it. Send it without queue: false
    (`--no-queue`), or start the agent."""

    code = "agent_offline"
    http = 409
    fate = "refused"
    final = True
    fleeting = False
    remedy = (
        "The agent is off and the mail was not to be kept for it. Send it without queue: false "
        "(`--no-queue`), or start the agent."
    )


class MailboxFull(VigilError):
    """Nobody acknowledges what is there. Find out why the agent does not read its mail (`vigil agent
    explain`), or wait until older mail expires."""

    code = "mailbox_full"
    http = 507
    fate = "later"
    final = False
    fleeting = False
    remedy = (
        "Nobody acknowledges what is there. Find out why the agent does not read its mail (`vigil "
        "agent explain`), or wait until older mail expires."
    )


class Full(VigilError):
    """A budget is used up: what is new is refused, what exists goes on, and whatever ends or deletes
    something works. The message says which budget, how much of it is used and what helps; `vigil
    status` warns before."""

    code = "full"
    http = 507
    fate = "later"
    final = False
    fleeting = False
    remedy = (
        "A budget is used up: what is new is refused, what exists goes on, and whatever ends or "
        "deletes something works. The message says which budget, how much of it is used and what "
        "helps; `vigil status` warns before."
    )


class NotLeader(VigilError):
    """Nothing was executed. Ask the leader at the address that comes with the error."""

    code = "not_leader"
    http = 503
    fate = "elsewhere"
    final = False
    fleeting = True
    remedy = (
        "Nothing was executed. Ask the leader at the address that comes with the error."
    )


class NoLeader(VigilError):
    """Nothing was executed: no server leads at the moment. Try again; if it lasts, look at `vigil
    status` for servers that are down."""

    code = "no_leader"
    http = 503
    fate = "elsewhere"
    final = False
    fleeting = True
    remedy = (
        "Nothing was executed: no server leads at the moment. Try again; if it lasts, look at `vigil "
        "status` for servers that are down."
    )


class AgentdAway(VigilError):
    """Nothing was executed: the agentd of this host is down, or reaches no server. Try again in a
    moment; the agent lives on meanwhile."""

    code = "agentd_away"
    http = 503
    fate = "elsewhere"
    final = False
    fleeting = True
    remedy = (
        "Nothing was executed: the agentd of this host is down, or reaches no server. Try again in a "
        "moment; the agent lives on meanwhile."
    )


class UnknownOutcome(VigilError):
    """The leader was lost while it worked on this: it may or may not have been done. Find out by
    reading, or send writes with a write id, which makes repeating safe."""

    code = "unknown_outcome"
    http = 504
    fate = "open"
    final = False
    fleeting = True
    remedy = (
        "The leader was lost while it worked on this: it may or may not have been done. Find out by "
        "reading, or send writes with a write id, which makes repeating safe."
    )


class Timeout(VigilError):
    """The deadline passed first; a write may still be done. Repeat it with the same write id, or read
    before you repeat."""

    code = "timeout"
    http = 504
    fate = "open"
    final = False
    fleeting = True
    remedy = (
        "The deadline passed first; a write may still be done. Repeat it with the same write id, or "
        "read before you repeat."
    )


class Canceled(VigilError):
    """The caller went away; a write may still be done."""

    code = "canceled"
    http = 499
    fate = "open"
    final = False
    fleeting = True
    remedy = (
        "The caller went away; a write may still be done."
    )


class Compacted(VigilError):
    """The history no longer reaches so far back. Watch again from the oldest index that comes with the
    error, and read the state anew."""

    code = "compacted"
    http = 410
    fate = "refused"
    final = True
    fleeting = False
    remedy = (
        "The history no longer reaches so far back. Watch again from the oldest index that comes with "
        "the error, and read the state anew."
    )


class TooLarge(VigilError):
    """Put large content into a file and name it in the task."""

    code = "too_large"
    http = 413
    fate = "refused"
    final = True
    fleeting = False
    remedy = (
        "Put large content into a file and name it in the task."
    )


class Unavailable(VigilError):
    """Try another server."""

    code = "unavailable"
    http = 503
    fate = "open"
    final = False
    fleeting = True
    remedy = (
        "Try another server."
    )


class Internal(VigilError):
    """This is a fault of the server; its log says more."""

    code = "internal"
    http = 500
    fate = "broken"
    final = False
    fleeting = False
    remedy = (
        "This is a fault of the server; its log says more."
    )


class Unimplemented(VigilError):
    """This server does not know the call. Compare the versions with `vigil version`."""

    code = "unimplemented"
    http = 501
    fate = "refused"
    final = True
    fleeting = False
    remedy = (
        "This server does not know the call. Compare the versions with `vigil version`."
    )


class WrongMethod(VigilError):
    """HTTP only: the path exists and takes another method. /openapi.json lists the calls."""

    code = "wrong_method"
    http = 405
    fate = "refused"
    final = True
    fleeting = False
    remedy = (
        "HTTP only: the path exists and takes another method. /openapi.json lists the calls."
    )


class OldServers(VigilError):
    """Nothing was executed: a server of the cluster is of an older version that could not read this.
    Upgrade every server (`vigil server list` shows the versions) and try again."""

    code = "old_servers"
    http = 409
    fate = "later"
    final = False
    fleeting = False
    remedy = (
        "Nothing was executed: a server of the cluster is of an older version that could not read "
        "this. Upgrade every server (`vigil server list` shows the versions) and try again."
    )


class WrongOrigin(VigilError):
    """HTTP only: a web page of another site sent this, or it names a host that this server is not.
    Nothing was done."""

    code = "wrong_origin"
    http = 403
    fate = "refused"
    final = True
    fleeting = False
    remedy = (
        "HTTP only: a web page of another site sent this, or it names a host that this server is not. "
        "Nothing was done."
    )


class WrongType(VigilError):
    """HTTP only: a body has to be JSON and say so (Content-Type: application/json)."""

    code = "wrong_type"
    http = 415
    fate = "refused"
    final = True
    fleeting = False
    remedy = (
        "HTTP only: a body has to be JSON and say so (Content-Type: application/json)."
    )


class Closed(VigilError):
    """Clients only: the client was closed; a write that was under way may still be done."""

    code = "closed"
    http = 499
    fate = "broken"
    final = False
    fleeting = False
    remedy = (
        "Clients only: the client was closed; a write that was under way may still be done."
    )


class AuthDenied(VigilError):
    """Nothing was executed: nobody vouches for who you are. The certificate or API token is missing,
    unknown or was revoked; get another one (`vigil login`, for machines a new token)."""

    code = "auth_denied"
    http = 401
    fate = "later"
    final = False
    fleeting = False
    remedy = (
        "Nothing was executed: nobody vouches for who you are. The certificate or API token is "
        "missing, unknown or was revoked; get another one (`vigil login`, for machines a new token)."
    )


class AuthExpired(VigilError):
    """Nothing was executed: the certificate is too old and can only be renewed. Agentd and servers do
    that by themselves, for people the next command of `vigil`, for 30 days; after that a person
    runs `vigil login`. Programs that run for longer take an API token."""

    code = "auth_expired"
    http = 401
    fate = "later"
    final = False
    fleeting = False
    remedy = (
        "Nothing was executed: the certificate is too old and can only be renewed. Agentd and servers "
        "do that by themselves, for people the next command of `vigil`, for 30 days; after that a "
        "person runs `vigil login`. Programs that run for longer take an API token."
    )


CODES: Dict[str, Type[VigilError]] = {
    "invalid": Invalid,
    "not_found": NotFound,
    "conflict": Conflict,
    "superseded": Superseded,
    "rejoin": Rejoin,
    "denied": Denied,
    "no_task": NoTask,
    "unknown_session": UnknownSession,
    "stopped": Stopped,
    "host_in_use": HostInUse,
    "stale_stint": StaleStint,
    "late": Late,
    "too_old": TooOld,
    "agent_not_found": AgentNotFound,
    "agent_offline": AgentOffline,
    "mailbox_full": MailboxFull,
    "full": Full,
    "not_leader": NotLeader,
    "no_leader": NoLeader,
    "agentd_away": AgentdAway,
    "unknown_outcome": UnknownOutcome,
    "timeout": Timeout,
    "canceled": Canceled,
    "compacted": Compacted,
    "too_large": TooLarge,
    "unavailable": Unavailable,
    "internal": Internal,
    "unimplemented": Unimplemented,
    "wrong_method": WrongMethod,
    "old_servers": OldServers,
    "wrong_origin": WrongOrigin,
    "wrong_type": WrongType,
    "closed": Closed,
    "auth_denied": AuthDenied,
    "auth_expired": AuthExpired,
}
"""The class of each code; of one that is not here, which a newer server may send, VigilError."""
