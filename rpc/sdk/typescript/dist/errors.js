// The errors of vigil's API, a class for each code.
// Made by `make generate` from the table of docs/errors.md. Do not edit.
/** What a call failed with. Compare classes or code, never sentences. */
export class VigilError extends Error {
    name = "VigilError";
    /** The stable name; that of an error of a newer server stays as it came. */
    code;
    /** The status of an answer with this code. */
    http = 500;
    fate = "broken";
    /** What to do, in one sentence. */
    remedy = "";
    constructor(code, message, details = {}) {
        super(message || code.replaceAll("_", " "), "cause" in details ? { cause: details.cause } : undefined);
        this.code = code;
        if (details.rev !== undefined)
            this.rev = details.rev;
        if (details.leader !== undefined)
            this.leader = details.leader;
        if (details.oldest !== undefined)
            this.oldest = details.oldest;
    }
    /** The answer is no: the same call gets the same answer. */
    get final() {
        return this.fate === "refused" || this.fate === "over";
    }
    /** A server could not do its work just now; asking again helps. */
    get fleeting() {
        return this.fate === "elsewhere" || this.fate === "open";
    }
}
/** Correct the value that the message names and send it again. */
export class Invalid extends VigilError {
    name = "Invalid";
    http = 400;
    fate = "refused";
    remedy = "Correct the value that the message names and send it again.";
    constructor(message, details) {
        super("invalid", message, details);
    }
}
/**
 * Check the name; list what exists with `vigil room list`, `vigil task list` or `vigil agent list`.
 */
export class NotFound extends VigilError {
    name = "NotFound";
    http = 404;
    fate = "over";
    remedy = "Check the name; list what exists with `vigil room list`, `vigil task list` or `vigil agent list`.";
    constructor(message, details) {
        super("not_found", message, details);
    }
}
/** Somebody else was first. Read it again, then decide whether your change is still right. */
export class Conflict extends VigilError {
    name = "Conflict";
    http = 409;
    fate = "refused";
    remedy = "Somebody else was first. Read it again, then decide whether your change is still right.";
    constructor(message, details) {
        super("conflict", message, details);
    }
}
/** A newer incarnation or attempt has taken over. Stop; nothing that you say counts any more. */
export class Superseded extends VigilError {
    name = "Superseded";
    http = 409;
    fate = "over";
    remedy = "A newer incarnation or attempt has taken over. Stop; nothing that you say counts any more.";
    constructor(message, details) {
        super("superseded", message, details);
    }
}
/** Your lease has ended. Join again. */
export class Rejoin extends VigilError {
    name = "Rejoin";
    http = 409;
    fate = "refused";
    remedy = "Your lease has ended. Join again.";
    constructor(message, details) {
        super("rejoin", message, details);
    }
}
/**
 * You may not do this: the token is not the one of this incarnation (use that of the running
 * process), or your identity lacks the right. An admin gives rights with `vigil user add`.
 */
export class Denied extends VigilError {
    name = "Denied";
    http = 403;
    fate = "refused";
    remedy = "You may not do this: the token is not the one of this incarnation (use that of the running process), or your identity lacks the right. An admin gives rights with `vigil user add`.";
    constructor(message, details) {
        super("denied", message, details);
    }
}
/** There is nothing to claim. Wait again. */
export class NoTask extends VigilError {
    name = "NoTask";
    http = 404;
    fate = "refused";
    remedy = "There is nothing to claim. Wait again.";
    constructor(message, details) {
        super("no_task", message, details);
    }
}
/**
 * The session has ended and nothing was executed. Open a new one, and find out by reading whether
 * earlier writes were done.
 */
export class UnknownSession extends VigilError {
    name = "UnknownSession";
    http = 409;
    fate = "later";
    remedy = "The session has ended and nothing was executed. Open a new one, and find out by reading whether earlier writes were done.";
    constructor(message, details) {
        super("unknown_session", message, details);
    }
}
/**
 * A human has stopped, deleted or retired it. Start it with `vigil agent start` or apply the room
 * again.
 */
export class Stopped extends VigilError {
    name = "Stopped";
    http = 409;
    fate = "refused";
    remedy = "A human has stopped, deleted or retired it. Start it with `vigil agent start` or apply the room again.";
    constructor(message, details) {
        super("stopped", message, details);
    }
}
/**
 * Another boot of this host id still holds fences, or is heard. Wait until they have ended and it
 * is silent, or give a cloned machine its own id.
 */
export class HostInUse extends VigilError {
    name = "HostInUse";
    http = 409;
    fate = "refused";
    remedy = "Another boot of this host id still holds fences, or is heard. Wait until they have ended and it is silent, or give a cloned machine its own id.";
    constructor(message, details) {
        super("host_in_use", message, details);
    }
}
/** It was planned by a leader that no longer leads. The new leader plans again by itself. */
export class StaleStint extends VigilError {
    name = "StaleStint";
    http = 409;
    fate = "later";
    remedy = "It was planned by a leader that no longer leads. The new leader plans again by itself.";
    constructor(message, details) {
        super("stale_stint", message, details);
    }
}
/**
 * The result came too late to count and was kept for inspection. Stop; look at it with `vigil task
 * show`.
 */
export class Late extends VigilError {
    name = "Late";
    http = 409;
    fate = "over";
    remedy = "The result came too late to count and was kept for inspection. Stop; look at it with `vigil task show`.";
    constructor(message, details) {
        super("late", message, details);
    }
}
/**
 * The session no longer knows the answer to so old a write. Find out by reading whether it was
 * done.
 */
export class TooOld extends VigilError {
    name = "TooOld";
    http = 410;
    fate = "broken";
    remedy = "The session no longer knows the answer to so old a write. Find out by reading whether it was done.";
    constructor(message, details) {
        super("too_old", message, details);
    }
}
/**
 * There is no such agent to send mail to. Check the address; `vigil agent list` shows the agents.
 */
export class AgentNotFound extends VigilError {
    name = "AgentNotFound";
    http = 404;
    fate = "refused";
    remedy = "There is no such agent to send mail to. Check the address; `vigil agent list` shows the agents.";
    constructor(message, details) {
        super("agent_not_found", message, details);
    }
}
/**
 * The agent is off and the mail was not to be kept for it. Send it without queue: false
 * (`--no-queue`), or start the agent.
 */
export class AgentOffline extends VigilError {
    name = "AgentOffline";
    http = 409;
    fate = "refused";
    remedy = "The agent is off and the mail was not to be kept for it. Send it without queue: false (`--no-queue`), or start the agent.";
    constructor(message, details) {
        super("agent_offline", message, details);
    }
}
/**
 * Nobody acknowledges what is there. Find out why the agent does not read its mail (`vigil agent
 * explain`), or wait until older mail expires.
 */
export class MailboxFull extends VigilError {
    name = "MailboxFull";
    http = 507;
    fate = "later";
    remedy = "Nobody acknowledges what is there. Find out why the agent does not read its mail (`vigil agent explain`), or wait until older mail expires.";
    constructor(message, details) {
        super("mailbox_full", message, details);
    }
}
/**
 * A budget is used up: what is new is refused, what exists goes on, and whatever ends or deletes
 * something works. The message says which budget, how much of it is used and what helps; `vigil
 * status` warns before.
 */
export class Full extends VigilError {
    name = "Full";
    http = 507;
    fate = "later";
    remedy = "A budget is used up: what is new is refused, what exists goes on, and whatever ends or deletes something works. The message says which budget, how much of it is used and what helps; `vigil status` warns before.";
    constructor(message, details) {
        super("full", message, details);
    }
}
/** Nothing was executed. Ask the leader at the address that comes with the error. */
export class NotLeader extends VigilError {
    name = "NotLeader";
    http = 503;
    fate = "elsewhere";
    remedy = "Nothing was executed. Ask the leader at the address that comes with the error.";
    constructor(message, details) {
        super("not_leader", message, details);
    }
}
/**
 * Nothing was executed: no server leads at the moment. Try again; if it lasts, look at `vigil
 * status` for servers that are down.
 */
export class NoLeader extends VigilError {
    name = "NoLeader";
    http = 503;
    fate = "elsewhere";
    remedy = "Nothing was executed: no server leads at the moment. Try again; if it lasts, look at `vigil status` for servers that are down.";
    constructor(message, details) {
        super("no_leader", message, details);
    }
}
/**
 * Nothing was executed: the agentd of this host is down, or reaches no server. Try again in a
 * moment; the agent lives on meanwhile.
 */
export class AgentdAway extends VigilError {
    name = "AgentdAway";
    http = 503;
    fate = "elsewhere";
    remedy = "Nothing was executed: the agentd of this host is down, or reaches no server. Try again in a moment; the agent lives on meanwhile.";
    constructor(message, details) {
        super("agentd_away", message, details);
    }
}
/**
 * The leader was lost while it worked on this: it may or may not have been done. Find out by
 * reading, or send writes with a write id, which makes repeating safe.
 */
export class UnknownOutcome extends VigilError {
    name = "UnknownOutcome";
    http = 504;
    fate = "open";
    remedy = "The leader was lost while it worked on this: it may or may not have been done. Find out by reading, or send writes with a write id, which makes repeating safe.";
    constructor(message, details) {
        super("unknown_outcome", message, details);
    }
}
/**
 * The deadline passed first; a write may still be done. Repeat it with the same write id, or read
 * before you repeat.
 */
export class Timeout extends VigilError {
    name = "Timeout";
    http = 504;
    fate = "open";
    remedy = "The deadline passed first; a write may still be done. Repeat it with the same write id, or read before you repeat.";
    constructor(message, details) {
        super("timeout", message, details);
    }
}
/** The caller went away; a write may still be done. */
export class Canceled extends VigilError {
    name = "Canceled";
    http = 499;
    fate = "open";
    remedy = "The caller went away; a write may still be done.";
    constructor(message, details) {
        super("canceled", message, details);
    }
}
/**
 * The history no longer reaches so far back. Watch again from the oldest index that comes with the
 * error, and read the state anew.
 */
export class Compacted extends VigilError {
    name = "Compacted";
    http = 410;
    fate = "refused";
    remedy = "The history no longer reaches so far back. Watch again from the oldest index that comes with the error, and read the state anew.";
    constructor(message, details) {
        super("compacted", message, details);
    }
}
/** Put large content into a file and name it in the task. */
export class TooLarge extends VigilError {
    name = "TooLarge";
    http = 413;
    fate = "refused";
    remedy = "Put large content into a file and name it in the task.";
    constructor(message, details) {
        super("too_large", message, details);
    }
}
/** Try another server. */
export class Unavailable extends VigilError {
    name = "Unavailable";
    http = 503;
    fate = "open";
    remedy = "Try another server.";
    constructor(message, details) {
        super("unavailable", message, details);
    }
}
/** This is a fault of the server; its log says more. */
export class Internal extends VigilError {
    name = "Internal";
    http = 500;
    fate = "broken";
    remedy = "This is a fault of the server; its log says more.";
    constructor(message, details) {
        super("internal", message, details);
    }
}
/** This server does not know the call. Compare the versions with `vigil version`. */
export class Unimplemented extends VigilError {
    name = "Unimplemented";
    http = 501;
    fate = "refused";
    remedy = "This server does not know the call. Compare the versions with `vigil version`.";
    constructor(message, details) {
        super("unimplemented", message, details);
    }
}
/** HTTP only: the path exists and takes another method. /openapi.json lists the calls. */
export class WrongMethod extends VigilError {
    name = "WrongMethod";
    http = 405;
    fate = "refused";
    remedy = "HTTP only: the path exists and takes another method. /openapi.json lists the calls.";
    constructor(message, details) {
        super("wrong_method", message, details);
    }
}
/**
 * Nothing was executed: a server of the cluster is of an older version that could not read this.
 * Upgrade every server (`vigil server list` shows the versions) and try again.
 */
export class OldServers extends VigilError {
    name = "OldServers";
    http = 409;
    fate = "later";
    remedy = "Nothing was executed: a server of the cluster is of an older version that could not read this. Upgrade every server (`vigil server list` shows the versions) and try again.";
    constructor(message, details) {
        super("old_servers", message, details);
    }
}
/**
 * HTTP only: a web page of another site sent this, or it names a host that this server is not.
 * Nothing was done.
 */
export class WrongOrigin extends VigilError {
    name = "WrongOrigin";
    http = 403;
    fate = "refused";
    remedy = "HTTP only: a web page of another site sent this, or it names a host that this server is not. Nothing was done.";
    constructor(message, details) {
        super("wrong_origin", message, details);
    }
}
/** HTTP only: a body has to be JSON and say so (Content-Type: application/json). */
export class WrongType extends VigilError {
    name = "WrongType";
    http = 415;
    fate = "refused";
    remedy = "HTTP only: a body has to be JSON and say so (Content-Type: application/json).";
    constructor(message, details) {
        super("wrong_type", message, details);
    }
}
/** Clients only: the client was closed; a write that was under way may still be done. */
export class Closed extends VigilError {
    name = "Closed";
    http = 499;
    fate = "broken";
    remedy = "Clients only: the client was closed; a write that was under way may still be done.";
    constructor(message, details) {
        super("closed", message, details);
    }
}
/**
 * Nothing was executed: nobody vouches for who you are. The certificate or API token is missing,
 * unknown or was revoked; get another one (`vigil login`, for machines a new token).
 */
export class AuthDenied extends VigilError {
    name = "AuthDenied";
    http = 401;
    fate = "later";
    remedy = "Nothing was executed: nobody vouches for who you are. The certificate or API token is missing, unknown or was revoked; get another one (`vigil login`, for machines a new token).";
    constructor(message, details) {
        super("auth_denied", message, details);
    }
}
/**
 * Nothing was executed: the certificate is too old and can only be renewed. Agentd and servers do
 * that by themselves, for people the next command of `vigil`, for 30 days; after that a person runs
 * `vigil login`. Programs that run for longer take an API token.
 */
export class AuthExpired extends VigilError {
    name = "AuthExpired";
    http = 401;
    fate = "later";
    remedy = "Nothing was executed: the certificate is too old and can only be renewed. Agentd and servers do that by themselves, for people the next command of `vigil`, for 30 days; after that a person runs `vigil login`. Programs that run for longer take an API token.";
    constructor(message, details) {
        super("auth_expired", message, details);
    }
}
/** The class of each code; of one that is not here, which a newer server may send, VigilError. */
export const codes = {
    invalid: Invalid,
    not_found: NotFound,
    conflict: Conflict,
    superseded: Superseded,
    rejoin: Rejoin,
    denied: Denied,
    no_task: NoTask,
    unknown_session: UnknownSession,
    stopped: Stopped,
    host_in_use: HostInUse,
    stale_stint: StaleStint,
    late: Late,
    too_old: TooOld,
    agent_not_found: AgentNotFound,
    agent_offline: AgentOffline,
    mailbox_full: MailboxFull,
    full: Full,
    not_leader: NotLeader,
    no_leader: NoLeader,
    agentd_away: AgentdAway,
    unknown_outcome: UnknownOutcome,
    timeout: Timeout,
    canceled: Canceled,
    compacted: Compacted,
    too_large: TooLarge,
    unavailable: Unavailable,
    internal: Internal,
    unimplemented: Unimplemented,
    wrong_method: WrongMethod,
    old_servers: OldServers,
    wrong_origin: WrongOrigin,
    wrong_type: WrongType,
    closed: Closed,
    auth_denied: AuthDenied,
    auth_expired: AuthExpired,
};
/** Makes the error of a code. */
export function errorOf(code, message, details) {
    const known = Object.hasOwn(codes, code) ? codes[code] : undefined;
    return known ? new known(message, details) : new VigilError(code, message, details);
}
