import * as http from "node:http";
import { type Trust } from "./where.js";
/** The connection ended, or there was no answer in time. */
export declare class Lost extends Error {
    /** The server may have taken the request. */
    readonly sent: boolean;
    /** There was no answer in time. */
    readonly late: boolean;
    /** An idle connection had been closed before: nothing is wrong with the server. */
    readonly stale: boolean;
    readonly name = "Lost";
    constructor(message: string, 
    /** The server may have taken the request. */
    sent: boolean, 
    /** There was no answer in time. */
    late?: boolean, 
    /** An idle connection had been closed before: nothing is wrong with the server. */
    stale?: boolean, options?: {
        cause?: unknown;
    });
}
/** What a server has answered. */
export interface Answer {
    readonly status: number;
    readonly headers: http.IncomingHttpHeaders;
    readonly body: Buffer;
}
/** A request of one call. */
export interface Request {
    readonly verb: string;
    readonly path: string;
    readonly headers: Record<string, string>;
    readonly body: string | undefined;
}
/** The connections to all servers of a place. */
export declare class Wire {
    private readonly trust;
    private agent;
    private secure;
    constructor(trust: () => Trust | undefined);
    private open;
    /** Tells whether connections show who asks. */
    get authenticates(): boolean;
    /** Has calls open new connections from now on, with the newest certificate. Those under way go on. */
    renew(): void;
    close(): void;
    /**
     * Closes the idle connections to a server that has not answered on one of them. Where a network has cut them off
     * without a word, each would cost a call its time.
     */
    drop(addr: string): void;
    /** Sends one request and reads the whole answer within so many milliseconds. Its error is a Lost. */
    exchange(addr: string, request: Request, signals: AbortSignal[], timeout: number): Promise<Answer>;
    /** Sends one request of a call that has so many ms left; gives the answer when its head is there. Its error is a Lost. */
    send(addr: string, request: Request, signal: AbortSignal, left?: number): Promise<http.IncomingMessage>;
    private request;
}
