/** What is known of an error beside its sentence. */
export interface Details {
    /** The current revision, after a Conflict about one. */
    rev?: number;
    /** The leader's API address, where the server knew it. */
    leader?: string;
    /** The oldest event that a reader may go on from, after Compacted. */
    oldest?: number;
    /** Why the client stopped trying. */
    cause?: unknown;
}
/**
 * What became of a call: refused, over (nobody wants it any more), later (it may be taken when what the
 * error names has changed), elsewhere (not done here), open (it may or may not have been done) or broken.
 */
export type Fate = "refused" | "over" | "later" | "elsewhere" | "open" | "broken";
/** What a call failed with. Compare classes or code, never sentences. */
export declare class VigilError extends Error {
    readonly name: string;
    /** The stable name; that of an error of a newer server stays as it came. */
    readonly code: string;
    /** The status of an answer with this code. */
    readonly http: number;
    readonly fate: Fate;
    /** What to do, in one sentence. */
    readonly remedy: string;
    readonly rev?: number;
    readonly leader?: string;
    readonly oldest?: number;
    constructor(code: string, message?: string, details?: Details);
    /** The answer is no: the same call gets the same answer. */
    get final(): boolean;
    /** A server could not do its work just now; asking again helps. */
    get fleeting(): boolean;
}
/** Correct the value that the message names and send it again. */
export declare class Invalid extends VigilError {
    readonly name = "Invalid";
    readonly http = 400;
    readonly fate = "refused";
    readonly remedy = "Correct the value that the message names and send it again.";
    constructor(message?: string, details?: Details);
}
/**
 * Check the name; list what exists with `vigil room list`, `vigil task list` or `vigil agent list`.
 */
export declare class NotFound extends VigilError {
    readonly name = "NotFound";
    readonly http = 404;
    readonly fate = "over";
    readonly remedy = "Check the name; list what exists with `vigil room list`, `vigil task list` or `vigil agent list`.";
    constructor(message?: string, details?: Details);
}
/** Somebody else was first. Read it again, then decide whether your change is still right. */
export declare class Conflict extends VigilError {
    readonly name = "Conflict";
    readonly http = 409;
    readonly fate = "refused";
    readonly remedy = "Somebody else was first. Read it again, then decide whether your change is still right.";
    constructor(message?: string, details?: Details);
}
/** A newer incarnation or attempt has taken over. Stop; nothing that you say counts any more. */
export declare class Superseded extends VigilError {
    readonly name = "Superseded";
    readonly http = 409;
    readonly fate = "over";
    readonly remedy = "A newer incarnation or attempt has taken over. Stop; nothing that you say counts any more.";
    constructor(message?: string, details?: Details);
}
/** Your lease has ended. Join again. */
export declare class Rejoin extends VigilError {
    readonly name = "Rejoin";
    readonly http = 409;
    readonly fate = "refused";
    readonly remedy = "Your lease has ended. Join again.";
    constructor(message?: string, details?: Details);
}
/**
 * You may not do this: the token is not the one of this incarnation (use that of the running
 * process), or your identity lacks the right. An admin gives rights with `vigil user add`.
 */
export declare class Denied extends VigilError {
    readonly name = "Denied";
    readonly http = 403;
    readonly fate = "refused";
    readonly remedy = "You may not do this: the token is not the one of this incarnation (use that of the running process), or your identity lacks the right. An admin gives rights with `vigil user add`.";
    constructor(message?: string, details?: Details);
}
/** There is nothing to claim. Wait again. */
export declare class NoTask extends VigilError {
    readonly name = "NoTask";
    readonly http = 404;
    readonly fate = "refused";
    readonly remedy = "There is nothing to claim. Wait again.";
    constructor(message?: string, details?: Details);
}
/**
 * The session has ended and nothing was executed. Open a new one, and find out by reading whether
 * earlier writes were done.
 */
export declare class UnknownSession extends VigilError {
    readonly name = "UnknownSession";
    readonly http = 409;
    readonly fate = "later";
    readonly remedy = "The session has ended and nothing was executed. Open a new one, and find out by reading whether earlier writes were done.";
    constructor(message?: string, details?: Details);
}
/**
 * A human has stopped, deleted or retired it. Start it with `vigil agent start` or apply the room
 * again.
 */
export declare class Stopped extends VigilError {
    readonly name = "Stopped";
    readonly http = 409;
    readonly fate = "refused";
    readonly remedy = "A human has stopped, deleted or retired it. Start it with `vigil agent start` or apply the room again.";
    constructor(message?: string, details?: Details);
}
/**
 * Another boot of this host id still holds fences, or is heard. Wait until they have ended and it
 * is silent, or give a cloned machine its own id.
 */
export declare class HostInUse extends VigilError {
    readonly name = "HostInUse";
    readonly http = 409;
    readonly fate = "refused";
    readonly remedy = "Another boot of this host id still holds fences, or is heard. Wait until they have ended and it is silent, or give a cloned machine its own id.";
    constructor(message?: string, details?: Details);
}
/** It was planned by a leader that no longer leads. The new leader plans again by itself. */
export declare class StaleStint extends VigilError {
    readonly name = "StaleStint";
    readonly http = 409;
    readonly fate = "later";
    readonly remedy = "It was planned by a leader that no longer leads. The new leader plans again by itself.";
    constructor(message?: string, details?: Details);
}
/**
 * The result came too late to count and was kept for inspection. Stop; look at it with `vigil task
 * show`.
 */
export declare class Late extends VigilError {
    readonly name = "Late";
    readonly http = 409;
    readonly fate = "over";
    readonly remedy = "The result came too late to count and was kept for inspection. Stop; look at it with `vigil task show`.";
    constructor(message?: string, details?: Details);
}
/**
 * The session no longer knows the answer to so old a write. Find out by reading whether it was
 * done.
 */
export declare class TooOld extends VigilError {
    readonly name = "TooOld";
    readonly http = 410;
    readonly fate = "broken";
    readonly remedy = "The session no longer knows the answer to so old a write. Find out by reading whether it was done.";
    constructor(message?: string, details?: Details);
}
/**
 * There is no such agent to send mail to. Check the address; `vigil agent list` shows the agents.
 */
export declare class AgentNotFound extends VigilError {
    readonly name = "AgentNotFound";
    readonly http = 404;
    readonly fate = "refused";
    readonly remedy = "There is no such agent to send mail to. Check the address; `vigil agent list` shows the agents.";
    constructor(message?: string, details?: Details);
}
/**
 * The agent is off and the mail was not to be kept for it. Send it without queue: false
 * (`--no-queue`), or start the agent.
 */
export declare class AgentOffline extends VigilError {
    readonly name = "AgentOffline";
    readonly http = 409;
    readonly fate = "refused";
    readonly remedy = "The agent is off and the mail was not to be kept for it. Send it without queue: false (`--no-queue`), or start the agent.";
    constructor(message?: string, details?: Details);
}
/**
 * Nobody acknowledges what is there. Find out why the agent does not read its mail (`vigil agent
 * explain`), or wait until older mail expires.
 */
export declare class MailboxFull extends VigilError {
    readonly name = "MailboxFull";
    readonly http = 507;
    readonly fate = "later";
    readonly remedy = "Nobody acknowledges what is there. Find out why the agent does not read its mail (`vigil agent explain`), or wait until older mail expires.";
    constructor(message?: string, details?: Details);
}
/**
 * A budget is used up: what is new is refused, what exists goes on, and whatever ends or deletes
 * something works. The message says which budget, how much of it is used and what helps; `vigil
 * status` warns before.
 */
export declare class Full extends VigilError {
    readonly name = "Full";
    readonly http = 507;
    readonly fate = "later";
    readonly remedy = "A budget is used up: what is new is refused, what exists goes on, and whatever ends or deletes something works. The message says which budget, how much of it is used and what helps; `vigil status` warns before.";
    constructor(message?: string, details?: Details);
}
/** Nothing was executed. Ask the leader at the address that comes with the error. */
export declare class NotLeader extends VigilError {
    readonly name = "NotLeader";
    readonly http = 503;
    readonly fate = "elsewhere";
    readonly remedy = "Nothing was executed. Ask the leader at the address that comes with the error.";
    constructor(message?: string, details?: Details);
}
/**
 * Nothing was executed: no server leads at the moment. Try again; if it lasts, look at `vigil
 * status` for servers that are down.
 */
export declare class NoLeader extends VigilError {
    readonly name = "NoLeader";
    readonly http = 503;
    readonly fate = "elsewhere";
    readonly remedy = "Nothing was executed: no server leads at the moment. Try again; if it lasts, look at `vigil status` for servers that are down.";
    constructor(message?: string, details?: Details);
}
/**
 * Nothing was executed: the agentd of this host is down, or reaches no server. Try again in a
 * moment; the agent lives on meanwhile.
 */
export declare class AgentdAway extends VigilError {
    readonly name = "AgentdAway";
    readonly http = 503;
    readonly fate = "elsewhere";
    readonly remedy = "Nothing was executed: the agentd of this host is down, or reaches no server. Try again in a moment; the agent lives on meanwhile.";
    constructor(message?: string, details?: Details);
}
/**
 * The leader was lost while it worked on this: it may or may not have been done. Find out by
 * reading, or send writes with a write id, which makes repeating safe.
 */
export declare class UnknownOutcome extends VigilError {
    readonly name = "UnknownOutcome";
    readonly http = 504;
    readonly fate = "open";
    readonly remedy = "The leader was lost while it worked on this: it may or may not have been done. Find out by reading, or send writes with a write id, which makes repeating safe.";
    constructor(message?: string, details?: Details);
}
/**
 * The deadline passed first; a write may still be done. Repeat it with the same write id, or read
 * before you repeat.
 */
export declare class Timeout extends VigilError {
    readonly name = "Timeout";
    readonly http = 504;
    readonly fate = "open";
    readonly remedy = "The deadline passed first; a write may still be done. Repeat it with the same write id, or read before you repeat.";
    constructor(message?: string, details?: Details);
}
/** The caller went away; a write may still be done. */
export declare class Canceled extends VigilError {
    readonly name = "Canceled";
    readonly http = 499;
    readonly fate = "open";
    readonly remedy = "The caller went away; a write may still be done.";
    constructor(message?: string, details?: Details);
}
/**
 * The history no longer reaches so far back. Watch again from the oldest index that comes with the
 * error, and read the state anew.
 */
export declare class Compacted extends VigilError {
    readonly name = "Compacted";
    readonly http = 410;
    readonly fate = "refused";
    readonly remedy = "The history no longer reaches so far back. Watch again from the oldest index that comes with the error, and read the state anew.";
    constructor(message?: string, details?: Details);
}
/** Put large content into a file and name it in the task. */
export declare class TooLarge extends VigilError {
    readonly name = "TooLarge";
    readonly http = 413;
    readonly fate = "refused";
    readonly remedy = "Put large content into a file and name it in the task.";
    constructor(message?: string, details?: Details);
}
/** Try another server. */
export declare class Unavailable extends VigilError {
    readonly name = "Unavailable";
    readonly http = 503;
    readonly fate = "open";
    readonly remedy = "Try another server.";
    constructor(message?: string, details?: Details);
}
/** This is a fault of the server; its log says more. */
export declare class Internal extends VigilError {
    readonly name = "Internal";
    readonly http = 500;
    readonly fate = "broken";
    readonly remedy = "This is a fault of the server; its log says more.";
    constructor(message?: string, details?: Details);
}
/** This server does not know the call. Compare the versions with `vigil version`. */
export declare class Unimplemented extends VigilError {
    readonly name = "Unimplemented";
    readonly http = 501;
    readonly fate = "refused";
    readonly remedy = "This server does not know the call. Compare the versions with `vigil version`.";
    constructor(message?: string, details?: Details);
}
/** HTTP only: the path exists and takes another method. /openapi.json lists the calls. */
export declare class WrongMethod extends VigilError {
    readonly name = "WrongMethod";
    readonly http = 405;
    readonly fate = "refused";
    readonly remedy = "HTTP only: the path exists and takes another method. /openapi.json lists the calls.";
    constructor(message?: string, details?: Details);
}
/**
 * Nothing was executed: a server of the cluster is of an older version that could not read this.
 * Upgrade every server (`vigil server list` shows the versions) and try again.
 */
export declare class OldServers extends VigilError {
    readonly name = "OldServers";
    readonly http = 409;
    readonly fate = "later";
    readonly remedy = "Nothing was executed: a server of the cluster is of an older version that could not read this. Upgrade every server (`vigil server list` shows the versions) and try again.";
    constructor(message?: string, details?: Details);
}
/**
 * HTTP only: a web page of another site sent this, or it names a host that this server is not.
 * Nothing was done.
 */
export declare class WrongOrigin extends VigilError {
    readonly name = "WrongOrigin";
    readonly http = 403;
    readonly fate = "refused";
    readonly remedy = "HTTP only: a web page of another site sent this, or it names a host that this server is not. Nothing was done.";
    constructor(message?: string, details?: Details);
}
/** HTTP only: a body has to be JSON and say so (Content-Type: application/json). */
export declare class WrongType extends VigilError {
    readonly name = "WrongType";
    readonly http = 415;
    readonly fate = "refused";
    readonly remedy = "HTTP only: a body has to be JSON and say so (Content-Type: application/json).";
    constructor(message?: string, details?: Details);
}
/** Clients only: the client was closed; a write that was under way may still be done. */
export declare class Closed extends VigilError {
    readonly name = "Closed";
    readonly http = 499;
    readonly fate = "broken";
    readonly remedy = "Clients only: the client was closed; a write that was under way may still be done.";
    constructor(message?: string, details?: Details);
}
/**
 * Nothing was executed: nobody vouches for who you are. The certificate or API token is missing,
 * unknown or was revoked; get another one (`vigil login`, for machines a new token).
 */
export declare class AuthDenied extends VigilError {
    readonly name = "AuthDenied";
    readonly http = 401;
    readonly fate = "later";
    readonly remedy = "Nothing was executed: nobody vouches for who you are. The certificate or API token is missing, unknown or was revoked; get another one (`vigil login`, for machines a new token).";
    constructor(message?: string, details?: Details);
}
/**
 * Nothing was executed: the certificate is too old and can only be renewed. Agentd and servers do
 * that by themselves, for people the next command of `vigil`, for 30 days; after that a person runs
 * `vigil login`. Programs that run for longer take an API token.
 */
export declare class AuthExpired extends VigilError {
    readonly name = "AuthExpired";
    readonly http = 401;
    readonly fate = "later";
    readonly remedy = "Nothing was executed: the certificate is too old and can only be renewed. Agentd and servers do that by themselves, for people the next command of `vigil`, for 30 days; after that a person runs `vigil login`. Programs that run for longer take an API token.";
    constructor(message?: string, details?: Details);
}
/** The class of each code; of one that is not here, which a newer server may send, VigilError. */
export declare const codes: Readonly<Record<string, new (message?: string, details?: Details) => VigilError>>;
/** Makes the error of a code. */
export declare function errorOf(code: string, message?: string, details?: Details): VigilError;
