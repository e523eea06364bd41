// How a job ends.
import { Full, Invalid, NotFound, TooLarge, TooOld, UnknownSession, VigilError } from "./errors.js";
import { clip, span } from "./spans.js";
const FULL_AFTER = 60; // s until an attempt follows whose result or hand-off a budget had no room for
/** Bytes of why an attempt has failed. */
export const MAX_REASON = 1024;
/**
 * What a refused end becomes: where the result, or the hand-off, is refused the attempt fails, since no other life
 * would end it better. undefined: the refusal is about life or attempt.
 */
export function unfit(end, e) {
    const full = e instanceof Full;
    if ("fail" in end)
        return undefined;
    if (!full && !(e instanceof Invalid || e instanceof NotFound || e instanceof TooLarge))
        return undefined;
    const reason = clip(`what it returned was refused: ${e.message}`, MAX_REASON);
    return { fail: { reason, retryable: full, ...(full && { after: span(FULL_AFTER) }) } };
}
/** An error that leaves open what became of the end of an attempt, which may be said again. */
export const unanswered = (e) => e instanceof VigilError && (e.fleeting || e instanceof UnknownSession || e instanceof TooOld);
/** Says how an attempt has ended, by a call that takes no other task. */
export async function sayEnd(client, of, end, options) {
    if ("complete" in end)
        await client.call("Work.CompleteTask", { ...of, ...end.complete }, options);
    else if ("handoff" in end)
        await client.call("Work.Handoff", { ...of, ...end.handoff }, options);
    else {
        const { reason, ...more } = end.fail;
        const request = { ...of, ...more, ...(reason !== undefined && { text: reason }) };
        await client.call("Work.FailTask", request, options);
    }
}
