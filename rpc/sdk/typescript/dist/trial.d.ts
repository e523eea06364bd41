import type { Method } from "./calls.js";
import { Timeout, type VigilError } from "./errors.js";
import { type Linked, type Moment } from "./spans.js";
/** One call with its attempts. */
export interface Trial {
    readonly method: Method;
    readonly once: boolean;
    readonly began: number;
    readonly born: Moment;
    readonly until: number;
    readonly link: Linked;
    readonly signal: AbortSignal;
    tries: number;
    hops: number;
    fresh: boolean;
    sent: Moment;
    stood: boolean;
    more: number;
    last: VigilError | undefined;
}
/**
 * Whether the time of a call is over. Time in which the process stood still was no time to ask: after such a gap it is
 * asked for one attempt's time more, once.
 */
export declare function over(t: Trial, attempt: number): boolean;
/** The ms that are left of a call. */
export declare const left: (t: Trial) => number;
export declare function outOfTime(t: Trial): Timeout;
/** Headers that say how old a call is: what an agent says renews its lease when it has just said it. */
export declare function aged(t: Trial): Record<string, string>;
