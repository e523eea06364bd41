// One call with its attempts.

import type { Method } from "./calls.js";
import { Timeout, type VigilError } from "./errors.js";
import { elapsed, now, type Linked, type Moment } from "./spans.js";

// ms between two attempts that tell of a process which stood still: frozen, or its machine asleep.
const GAP = 15_000;

/** One call with its attempts. */
export interface Trial {
  readonly method: Method;
  readonly once: boolean; // it is worth nothing later: one attempt
  readonly began: number; // by the clock of now
  readonly born: Moment; // the same, for what must not miss that the machine was asleep
  readonly until: number; // ms after began
  readonly link: Linked;
  readonly signal: AbortSignal;
  tries: number;
  hops: number;
  fresh: boolean; // the identity was shown anew
  sent: Moment; // when the last attempt began
  stood: boolean; // there was a gap
  more: number; // until when it is asked after it
  last: VigilError | undefined;
}

/**
 * Whether the time of a call is over. Time in which the process stood still was no time to ask: after such a gap it is
 * asked for one attempt's time more, once.
 */
export function over(t: Trial, attempt: number): boolean {
  const at = now();
  if (left(t) > 0) return false;
  if (t.stood || elapsed(t.sent) <= GAP) return true;
  t.stood = true;
  t.more = at + Math.min(t.until, attempt);
  return false;
}

/** The ms that are left of a call. */
export const left = (t: Trial): number => Math.max(t.until - elapsed(t.born), t.more - now());

export function outOfTime(t: Trial): Timeout {
  const why = t.last ? `: ${t.last.message}` : "";
  return new Timeout(`there was no answer within ${Math.round(t.until / 100) / 10} s${why}`, { cause: t.last });
}

/** Headers that say how old a call is: what an agent says renews its lease when it has just said it. */
export function aged(t: Trial): Record<string, string> {
  if (t.tries > 1) return { "vigil-repeat": "1" };
  const age = Math.floor(elapsed(t.born));
  return age > 0 ? { "vigil-said": String(age) } : {};
}
