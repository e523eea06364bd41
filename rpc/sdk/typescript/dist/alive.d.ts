import { type Answer, type Request, type Wire } from "./wire.js";
/**
 * Sends a request and gives its answer. A server that stops to answer at all is left before the time of the call is
 * over; long: the call may take minutes, absent: nobody is asked, since the other end is on this machine.
 */
export declare function exchange(wire: Wire, addr: string, request: Request, signal: AbortSignal, timeout: number, long?: boolean): Promise<Answer>;
