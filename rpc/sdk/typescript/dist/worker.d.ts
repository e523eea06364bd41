import { Client } from "./client.js";
import { type Job } from "./job.js";
/** Does a task. What it returns is the result: text as it is, anything else as JSON, at most 256 KiB. */
export type Handler = (job: Job) => unknown;
/** How a worker behaves. All has a default. */
export interface WorkerOptions {
    /** By which cluster; absent: what the environment and the command line have set up. */
    client?: Client;
    /** Ends the worker: the job under way is told, gets grace to end, and goes back to its role unless it has ended. */
    signal?: AbortSignal;
    /** false: SIGTERM and SIGINT are left to the program. Otherwise the first one ends the worker. */
    signals?: boolean;
    /** Classes of errors after which another attempt may succeed. */
    retryOn?: readonly (abstract new (...args: never[]) => Error)[];
    /** How long a handler that was told to stop may go on, in seconds. Default: 10. */
    grace?: number;
    /** Is told in a line what happens; absent: standard error. */
    log?: (line: string) => void;
}
/**
 * Makes this process an agent of a role, such as "web/builder", and a function its work: the first that is free of the
 * role, with "web/builder.2" that one alone. In a life that an agentd has started the agent is that of the life.
 *
 * It joins, waits, claims, beats, reports and leaves. An error of the function fails the task for good, with its class
 * and message; Retry, those of retryOn, and errors of vigil that may pass fail the attempt only. It ends when the
 * signal comes, and fails when this life is over: Superseded when a newer one has begun, Stopped, NotFound or Denied.
 */
export declare function worker(agent: string, handler: Handler, options?: WorkerOptions): Promise<void>;
