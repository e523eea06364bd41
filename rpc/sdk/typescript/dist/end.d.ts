import type { CallOptions, Client } from "./client.js";
import { VigilError } from "./errors.js";
import type { Duration, NextRequest, Speaker } from "./messages.js";
/** How a job ends. */
export type End = {
    readonly complete: {
        result: string;
    };
} | {
    readonly fail: NonNullable<NextRequest["fail"]>;
} | {
    readonly handoff: NonNullable<NextRequest["handoff"]> & {
        to_role: string;
    };
};
/** Bytes of why an attempt has failed. */
export declare const MAX_REASON = 1024;
/**
 * The span that a handler has said until the next attempt, as servers take it: what is past by now is 0, what is too
 * long the longest. undefined: it has said none, or what is no span.
 */
export declare function later(after: number | undefined): Duration | undefined;
/**
 * What a refused end becomes: where the result, or the hand-off, is refused the attempt fails, since no other life
 * would end it better, and what it has made is kept with the task, if servers can. A failure is said without what is
 * refused of it. undefined: the refusal is about life or attempt.
 */
export declare function unfit(end: End, e: unknown): End | undefined;
/** Until when the end of an attempt is said: for as long as the life lasts and stop has not come, or for a time. */
export type Patience = {
    readonly stop: AbortSignal;
} | {
    readonly ms: number;
};
/** An error that leaves open what became of the end of an attempt, which may be said again. */
export declare const unanswered: (e: unknown) => e is VigilError;
/** Says how an attempt has ended, by a call that takes no other task. */
export declare function sayEnd(client: Client, of: {
    speaker: Speaker;
    task: string;
    attempt: number;
}, end: End, options: CallOptions): Promise<void>;
