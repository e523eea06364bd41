// How a job ends.

import type { CallOptions, Client } from "./client.js";
import { Full, Invalid, NotFound, OldServers, TooLarge, TooOld, UnknownSession, VigilError } from "./errors.js";
import type { Duration, NextRequest, Speaker } from "./messages.js";
import { clip, span } from "./spans.js";

const MAX_AFTER = 30 * 86_400; // s that servers put a task off at most
const FULL_AFTER = 60; // s until an attempt follows whose result or hand-off a budget had no room for

/** How a job ends. */
export type End =
  | { readonly complete: { result: string } }
  | { readonly fail: NonNullable<NextRequest["fail"]> }
  | { readonly handoff: NonNullable<NextRequest["handoff"]> & { to_role: string } };

/** Bytes of why an attempt has failed. */
export const MAX_REASON = 1024;

/** Bytes of a result that servers take and keep. */
const MAX_RESULT = 256 * 1024;

/** All that an end says that was refused, as much of it as servers keep. */
function made(end: Exclude<End, { readonly fail: unknown }>): string {
  let text = "complete" in end ? end.complete.result : (end.handoff.result ?? "");
  if ("handoff" in end)
    text = `${text}\n\nfor ${end.handoff.to_role}: ${end.handoff.title ?? ""}\n${end.handoff.text ?? ""}`
      .replace(/^\n+|\n+$/g, "");
  const size = Buffer.byteLength(text);
  if (size <= MAX_RESULT) return text;
  const note = `\n[cut: it had ${size} bytes]`;
  return clip(text, MAX_RESULT - note.length) + note;
}

/**
 * The span that a handler has said until the next attempt, as servers take it: what is past by now is 0, what is too
 * long the longest. undefined: it has said none, or what is no span.
 */
export function later(after: number | undefined): Duration | undefined {
  const seconds = Number(after ?? NaN);
  return Number.isNaN(seconds) ? undefined : span(Math.min(Math.max(seconds, 0), MAX_AFTER));
}

/**
 * What a refused end becomes: where the result, or the hand-off, is refused the attempt fails, since no other life
 * would end it better, and what it has made is kept with the task, if servers can. A failure is said without what is
 * refused of it. undefined: the refusal is about life or attempt.
 */
export function unfit(end: End, e: unknown): End | undefined {
  const full = e instanceof Full;
  const refused = full || e instanceof Invalid || e instanceof NotFound || e instanceof TooLarge;
  if ("fail" in end) {
    const { result, ...rest } = end.fail;
    if (result && (refused || e instanceof OldServers)) return { fail: rest };
    const { after, ...plain } = end.fail;
    return after !== undefined && e instanceof Invalid ? { fail: plain } : undefined;
  }
  if (!refused) return undefined;
  const reason = clip(`what it returned was refused: ${e.message}`, MAX_REASON);
  const result = made(end);
  return { fail: { reason, retryable: full, ...(full && { after: span(FULL_AFTER) }), ...(result && { result }) } };
}

/** Until when the end of an attempt is said: for as long as the life lasts and stop has not come, or for a time. */
export type Patience = { readonly stop: AbortSignal } | { readonly ms: number };

/** An error that leaves open what became of the end of an attempt, which may be said again. */
export const unanswered = (e: unknown): e is VigilError =>
  e instanceof VigilError && (e.fleeting || e instanceof UnknownSession || e instanceof TooOld);

/** Says how an attempt has ended, by a call that takes no other task. */
export async function sayEnd(
  client: Client,
  of: { speaker: Speaker; task: string; attempt: number },
  end: End,
  options: CallOptions,
): Promise<void> {
  if ("complete" in end) await client.call("Work.CompleteTask", { ...of, ...end.complete }, options);
  else if ("handoff" in end) await client.call("Work.Handoff", { ...of, ...end.handoff }, options);
  else {
    const { reason, ...more } = end.fail;
    const request = { ...of, ...more, ...(reason !== undefined && { text: reason }) };
    await client.call("Work.FailTask", request, options);
  }
}
