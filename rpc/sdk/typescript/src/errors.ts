// The errors of vigil's API, a class for each code.
// Made by `make generate` from the table of docs/errors.md. Do not edit.

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
export class VigilError extends Error {
  override readonly name: string = "VigilError";
  /** The stable name; that of an error of a newer server stays as it came. */
  readonly code: string;
  /** The status of an answer with this code. */
  readonly http: number = 500;
  readonly fate: Fate = "broken";
  /** What to do, in one sentence. */
  readonly remedy: string = "";
  declare readonly rev?: number;
  declare readonly leader?: string;
  declare readonly oldest?: number;

  constructor(code: string, message?: string, details: Details = {}) {
    super(message || code.replaceAll("_", " "), "cause" in details ? { cause: details.cause } : undefined);
    this.code = code;
    if (details.rev !== undefined) this.rev = details.rev;
    if (details.leader !== undefined) this.leader = details.leader;
    if (details.oldest !== undefined) this.oldest = details.oldest;
  }

  /** The answer is no: the same call gets the same answer. */
  get final(): boolean {
    return this.fate === "refused" || this.fate === "over";
  }

  /** A server could not do its work just now; asking again helps. */
  get fleeting(): boolean {
    return this.fate === "elsewhere" || this.fate === "open";
  }
}

/** Correct the value that the message names and send it again. */
export class Invalid extends VigilError {
  override readonly name = "Invalid";
  override readonly http = 400;
  override readonly fate = "refused";
  override readonly remedy =
    "Correct the value that the message names and send it again.";

  constructor(message?: string, details?: Details) {
    super("invalid", message, details);
  }
}

/**
 * Check the name; list what exists with `vigil room list`, `vigil task list` or `vigil agent list`.
 */
export class NotFound extends VigilError {
  override readonly name = "NotFound";
  override readonly http = 404;
  override readonly fate = "over";
  override readonly remedy =
    "Check the name; list what exists with `vigil room list`, `vigil task list` or `vigil agent list`.";

  constructor(message?: string, details?: Details) {
    super("not_found", message, details);
  }
}

/** Somebody else was first. Read it again, then decide whether your change is still right. */
export class Conflict extends VigilError {
  override readonly name = "Conflict";
  override readonly http = 409;
  override readonly fate = "refused";
  override readonly remedy =
    "Somebody else was first. Read it again, then decide whether your change is still right.";

  constructor(message?: string, details?: Details) {
    super("conflict", message, details);
  }
}

/** A newer incarnation or attempt has taken over. Stop; nothing that you say counts any more. */
export class Superseded extends VigilError {
  override readonly name = "Superseded";
  override readonly http = 409;
  override readonly fate = "over";
  override readonly remedy =
    "A newer incarnation or attempt has taken over. Stop; nothing that you say counts any more.";

  constructor(message?: string, details?: Details) {
    super("superseded", message, details);
  }
}

/** Your lease has ended. Join again. */
export class Rejoin extends VigilError {
  override readonly name = "Rejoin";
  override readonly http = 409;
  override readonly fate = "refused";
  override readonly remedy =
    "Your lease has ended. Join again.";

  constructor(message?: string, details?: Details) {
    super("rejoin", message, details);
  }
}

/**
 * You may not do this: the token is not the one of this incarnation (use that of the running
 * process), or your identity lacks the right. An admin gives rights with `vigil user add`.
 */
export class Denied extends VigilError {
  override readonly name = "Denied";
  override readonly http = 403;
  override readonly fate = "refused";
  override readonly remedy =
    "You may not do this: the token is not the one of this incarnation (use that of the running process), or your identity lacks the right. An admin gives rights with `vigil user add`.";

  constructor(message?: string, details?: Details) {
    super("denied", message, details);
  }
}

/** There is nothing to claim. Wait again. */
export class NoTask extends VigilError {
  override readonly name = "NoTask";
  override readonly http = 404;
  override readonly fate = "refused";
  override readonly remedy =
    "There is nothing to claim. Wait again.";

  constructor(message?: string, details?: Details) {
    super("no_task", message, details);
  }
}

/**
 * The session has ended and nothing was executed. Open a new one, and find out by reading whether
 * earlier writes were done.
 */
export class UnknownSession extends VigilError {
  override readonly name = "UnknownSession";
  override readonly http = 409;
  override readonly fate = "later";
  override readonly remedy =
    "The session has ended and nothing was executed. Open a new one, and find out by reading whether earlier writes were done.";

  constructor(message?: string, details?: Details) {
    super("unknown_session", message, details);
  }
}

/**
 * A human has stopped, deleted or retired it. Start it with `vigil agent start` or apply the room
 * again.
 */
export class Stopped extends VigilError {
  override readonly name = "Stopped";
  override readonly http = 409;
  override readonly fate = "refused";
  override readonly remedy =
    "A human has stopped, deleted or retired it. Start it with `vigil agent start` or apply the room again.";

  constructor(message?: string, details?: Details) {
    super("stopped", message, details);
  }
}

/**
 * Another boot of this host id still holds fences, or is heard. Wait until they have ended and it
 * is silent, or give a cloned machine its own id.
 */
export class HostInUse extends VigilError {
  override readonly name = "HostInUse";
  override readonly http = 409;
  override readonly fate = "refused";
  override readonly remedy =
    "Another boot of this host id still holds fences, or is heard. Wait until they have ended and it is silent, or give a cloned machine its own id.";

  constructor(message?: string, details?: Details) {
    super("host_in_use", message, details);
  }
}

/** It was planned by a leader that no longer leads. The new leader plans again by itself. */
export class StaleStint extends VigilError {
  override readonly name = "StaleStint";
  override readonly http = 409;
  override readonly fate = "later";
  override readonly remedy =
    "It was planned by a leader that no longer leads. The new leader plans again by itself.";

  constructor(message?: string, details?: Details) {
    super("stale_stint", message, details);
  }
}

/**
 * The result came too late to count and was kept for inspection. Stop; look at it with `vigil task
 * show`.
 */
export class Late extends VigilError {
  override readonly name = "Late";
  override readonly http = 409;
  override readonly fate = "over";
  override readonly remedy =
    "The result came too late to count and was kept for inspection. Stop; look at it with `vigil task show`.";

  constructor(message?: string, details?: Details) {
    super("late", message, details);
  }
}

/**
 * The session no longer knows the answer to so old a write. Find out by reading whether it was
 * done.
 */
export class TooOld extends VigilError {
  override readonly name = "TooOld";
  override readonly http = 410;
  override readonly fate = "broken";
  override readonly remedy =
    "The session no longer knows the answer to so old a write. Find out by reading whether it was done.";

  constructor(message?: string, details?: Details) {
    super("too_old", message, details);
  }
}

/**
 * There is no such agent to send mail to. Check the address; `vigil agent list` shows the agents.
 */
export class AgentNotFound extends VigilError {
  override readonly name = "AgentNotFound";
  override readonly http = 404;
  override readonly fate = "refused";
  override readonly remedy =
    "There is no such agent to send mail to. Check the address; `vigil agent list` shows the agents.";

  constructor(message?: string, details?: Details) {
    super("agent_not_found", message, details);
  }
}

/**
 * The agent is off and the mail was not to be kept for it. Send it without queue: false
 * (`--no-queue`), or start the agent.
 */
export class AgentOffline extends VigilError {
  override readonly name = "AgentOffline";
  override readonly http = 409;
  override readonly fate = "refused";
  override readonly remedy =
    "The agent is off and the mail was not to be kept for it. Send it without queue: false (`--no-queue`), or start the agent.";

  constructor(message?: string, details?: Details) {
    super("agent_offline", message, details);
  }
}

/**
 * Nobody acknowledges what is there. Find out why the agent does not read its mail (`vigil agent
 * explain`), or wait until older mail expires.
 */
export class MailboxFull extends VigilError {
  override readonly name = "MailboxFull";
  override readonly http = 507;
  override readonly fate = "later";
  override readonly remedy =
    "Nobody acknowledges what is there. Find out why the agent does not read its mail (`vigil agent explain`), or wait until older mail expires.";

  constructor(message?: string, details?: Details) {
    super("mailbox_full", message, details);
  }
}

/**
 * A budget is used up: what is new is refused, what exists goes on, and whatever ends or deletes
 * something works. The message says which budget, how much of it is used and what helps; `vigil
 * status` warns before.
 */
export class Full extends VigilError {
  override readonly name = "Full";
  override readonly http = 507;
  override readonly fate = "later";
  override readonly remedy =
    "A budget is used up: what is new is refused, what exists goes on, and whatever ends or deletes something works. The message says which budget, how much of it is used and what helps; `vigil status` warns before.";

  constructor(message?: string, details?: Details) {
    super("full", message, details);
  }
}

/** Nothing was executed. Ask the leader at the address that comes with the error. */
export class NotLeader extends VigilError {
  override readonly name = "NotLeader";
  override readonly http = 503;
  override readonly fate = "elsewhere";
  override readonly remedy =
    "Nothing was executed. Ask the leader at the address that comes with the error.";

  constructor(message?: string, details?: Details) {
    super("not_leader", message, details);
  }
}

/**
 * Nothing was executed: no server leads at the moment. Try again; if it lasts, look at `vigil
 * status` for servers that are down.
 */
export class NoLeader extends VigilError {
  override readonly name = "NoLeader";
  override readonly http = 503;
  override readonly fate = "elsewhere";
  override readonly remedy =
    "Nothing was executed: no server leads at the moment. Try again; if it lasts, look at `vigil status` for servers that are down.";

  constructor(message?: string, details?: Details) {
    super("no_leader", message, details);
  }
}

/**
 * Nothing was executed: the agentd of this host is down, or reaches no server. Try again in a
 * moment; the agent lives on meanwhile.
 */
export class AgentdAway extends VigilError {
  override readonly name = "AgentdAway";
  override readonly http = 503;
  override readonly fate = "elsewhere";
  override readonly remedy =
    "Nothing was executed: the agentd of this host is down, or reaches no server. Try again in a moment; the agent lives on meanwhile.";

  constructor(message?: string, details?: Details) {
    super("agentd_away", message, details);
  }
}

/**
 * The leader was lost while it worked on this: it may or may not have been done. Find out by
 * reading, or send writes with a write id, which makes repeating safe.
 */
export class UnknownOutcome extends VigilError {
  override readonly name = "UnknownOutcome";
  override readonly http = 504;
  override readonly fate = "open";
  override readonly remedy =
    "The leader was lost while it worked on this: it may or may not have been done. Find out by reading, or send writes with a write id, which makes repeating safe.";

  constructor(message?: string, details?: Details) {
    super("unknown_outcome", message, details);
  }
}

/**
 * The deadline passed first; a write may still be done. Repeat it with the same write id, or read
 * before you repeat.
 */
export class Timeout extends VigilError {
  override readonly name = "Timeout";
  override readonly http = 504;
  override readonly fate = "open";
  override readonly remedy =
    "The deadline passed first; a write may still be done. Repeat it with the same write id, or read before you repeat.";

  constructor(message?: string, details?: Details) {
    super("timeout", message, details);
  }
}

/** The caller went away; a write may still be done. */
export class Canceled extends VigilError {
  override readonly name = "Canceled";
  override readonly http = 499;
  override readonly fate = "open";
  override readonly remedy =
    "The caller went away; a write may still be done.";

  constructor(message?: string, details?: Details) {
    super("canceled", message, details);
  }
}

/**
 * The history no longer reaches so far back. Watch again from the oldest index that comes with the
 * error, and read the state anew.
 */
export class Compacted extends VigilError {
  override readonly name = "Compacted";
  override readonly http = 410;
  override readonly fate = "refused";
  override readonly remedy =
    "The history no longer reaches so far back. Watch again from the oldest index that comes with the error, and read the state anew.";

  constructor(message?: string, details?: Details) {
    super("compacted", message, details);
  }
}

/** Put large content into a file and name it in the task. */
export class TooLarge extends VigilError {
  override readonly name = "TooLarge";
  override readonly http = 413;
  override readonly fate = "refused";
  override readonly remedy =
    "Put large content into a file and name it in the task.";

  constructor(message?: string, details?: Details) {
    super("too_large", message, details);
  }
}

/** Try another server. */
export class Unavailable extends VigilError {
  override readonly name = "Unavailable";
  override readonly http = 503;
  override readonly fate = "open";
  override readonly remedy =
    "Try another server.";

  constructor(message?: string, details?: Details) {
    super("unavailable", message, details);
  }
}

/** This is a fault of the server; its log says more. */
export class Internal extends VigilError {
  override readonly name = "Internal";
  override readonly http = 500;
  override readonly fate = "broken";
  override readonly remedy =
    "This is a fault of the server; its log says more.";

  constructor(message?: string, details?: Details) {
    super("internal", message, details);
  }
}

/** This server does not know the call. Compare the versions with `vigil version`. */
export class Unimplemented extends VigilError {
  override readonly name = "Unimplemented";
  override readonly http = 501;
  override readonly fate = "refused";
  override readonly remedy =
    "This server does not know the call. Compare the versions with `vigil version`.";

  constructor(message?: string, details?: Details) {
    super("unimplemented", message, details);
  }
}

/** HTTP only: the path exists and takes another method. /openapi.json lists the calls. */
export class WrongMethod extends VigilError {
  override readonly name = "WrongMethod";
  override readonly http = 405;
  override readonly fate = "refused";
  override readonly remedy =
    "HTTP only: the path exists and takes another method. /openapi.json lists the calls.";

  constructor(message?: string, details?: Details) {
    super("wrong_method", message, details);
  }
}

/**
 * Nothing was executed: a server of the cluster is of an older version that could not read this.
 * Upgrade every server (`vigil server list` shows the versions) and try again.
 */
export class OldServers extends VigilError {
  override readonly name = "OldServers";
  override readonly http = 409;
  override readonly fate = "later";
  override readonly remedy =
    "Nothing was executed: a server of the cluster is of an older version that could not read this. Upgrade every server (`vigil server list` shows the versions) and try again.";

  constructor(message?: string, details?: Details) {
    super("old_servers", message, details);
  }
}

/**
 * HTTP only: a web page of another site sent this, or it names a host that this server is not.
 * Nothing was done.
 */
export class WrongOrigin extends VigilError {
  override readonly name = "WrongOrigin";
  override readonly http = 403;
  override readonly fate = "refused";
  override readonly remedy =
    "HTTP only: a web page of another site sent this, or it names a host that this server is not. Nothing was done.";

  constructor(message?: string, details?: Details) {
    super("wrong_origin", message, details);
  }
}

/** HTTP only: a body has to be JSON and say so (Content-Type: application/json). */
export class WrongType extends VigilError {
  override readonly name = "WrongType";
  override readonly http = 415;
  override readonly fate = "refused";
  override readonly remedy =
    "HTTP only: a body has to be JSON and say so (Content-Type: application/json).";

  constructor(message?: string, details?: Details) {
    super("wrong_type", message, details);
  }
}

/** Clients only: the client was closed; a write that was under way may still be done. */
export class Closed extends VigilError {
  override readonly name = "Closed";
  override readonly http = 499;
  override readonly fate = "broken";
  override readonly remedy =
    "Clients only: the client was closed; a write that was under way may still be done.";

  constructor(message?: string, details?: Details) {
    super("closed", message, details);
  }
}

/**
 * Nothing was executed: nobody vouches for who you are. The certificate or API token is missing,
 * unknown or was revoked; get another one (`vigil login`, for machines a new token).
 */
export class AuthDenied extends VigilError {
  override readonly name = "AuthDenied";
  override readonly http = 401;
  override readonly fate = "later";
  override readonly remedy =
    "Nothing was executed: nobody vouches for who you are. The certificate or API token is missing, unknown or was revoked; get another one (`vigil login`, for machines a new token).";

  constructor(message?: string, details?: Details) {
    super("auth_denied", message, details);
  }
}

/**
 * Nothing was executed: the certificate is too old and can only be renewed. Agentd and servers do
 * that by themselves, for people the next command of `vigil`, for 30 days; after that a person runs
 * `vigil login`. Programs that run for longer take an API token.
 */
export class AuthExpired extends VigilError {
  override readonly name = "AuthExpired";
  override readonly http = 401;
  override readonly fate = "later";
  override readonly remedy =
    "Nothing was executed: the certificate is too old and can only be renewed. Agentd and servers do that by themselves, for people the next command of `vigil`, for 30 days; after that a person runs `vigil login`. Programs that run for longer take an API token.";

  constructor(message?: string, details?: Details) {
    super("auth_expired", message, details);
  }
}

/** The class of each code; of one that is not here, which a newer server may send, VigilError. */
export const codes: Readonly<
  Record<string, new (message?: string, details?: Details) => VigilError>
> = {
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
export function errorOf(code: string, message?: string, details?: Details): VigilError {
  const known = Object.hasOwn(codes, code) ? codes[code] : undefined;
  return known ? new known(message, details) : new VigilError(code, message, details);
}
