import type { IncomingHttpHeaders } from "node:http";
import { type Method } from "./calls.js";
import { type VigilError } from "./errors.js";
import type { Request } from "./wire.js";
/** A message of any call. */
export type Message = Readonly<Record<string, unknown>>;
/** The body of an answer that is an error. */
export interface ErrorBody {
    code?: unknown;
    message?: unknown;
    rev?: unknown;
    leader?: unknown;
    oldest?: unknown;
}
/** What is known of a call. */
export declare function methodOf(name: string): Method;
/** How a message is said over HTTP. */
export declare function requestOf(method: Method, message: Message, token: string): Request;
/** The first value of a header; "": there is none. */
export declare function header(headers: IncomingHttpHeaders, name: string): string;
/** The error of an answer; one that is not of vigil comes from something between. */
export declare function failure(addr: string, status: number, body: Buffer): VigilError;
/** The error that a body tells. */
export declare function fromBody(b: ErrorBody): VigilError;
