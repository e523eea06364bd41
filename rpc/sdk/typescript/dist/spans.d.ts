import type { Duration } from "./messages.js";
/** The wire's form of seconds. */
export declare function span(seconds: number): Duration;
/** Milliseconds of the wire's form, or `otherwise` where there is none. */
export declare function milliseconds(text: string | undefined, otherwise: number): number;
/** Milliseconds of a clock that never goes back. */
export declare const now: () => number;
/** A point in time by two clocks. */
export interface Moment {
    readonly at: number;
    readonly wall: number;
}
export declare const moment: () => Moment;
/**
 * The milliseconds since then, by whichever of the two clocks says more: the one that never goes back stands still
 * while a machine is suspended, the cluster does not.
 */
export declare const elapsed: (then: Moment) => number;
/** What a timer takes for so many milliseconds; for ever is nearly 25 days. */
export declare const delay: (ms: number) => number;
/** Waits so many milliseconds, or until a signal comes first. It does not fail. */
export declare function pause(ms: number, signal?: AbortSignal): Promise<void>;
/** A signal that comes with the first of others. Whoever has it calls end, so that these forget it. */
export declare class Linked {
    private readonly controller;
    private readonly others;
    constructor(...signals: (AbortSignal | undefined)[]);
    private readonly told;
    get signal(): AbortSignal;
    abort(reason?: unknown): void;
    end(): void;
}
/** At most so many bytes of a text, cut between characters. */
export declare function clip(text: string, most: number): string;
/** The title of a text: its first line that says something, without what servers refuse in a title. */
export declare function titleOf(text: string, otherwise: string): string;
/** Text as it is, nothing as "", anything else as JSON. */
export declare function textOf(value: unknown): string;
/** JSON; a bigint is digits, as the wire writes numbers of 64 bits. */
export declare function json(value: unknown): string;
