import type { Calls, Event } from "./messages.js";
import { Tasks } from "./tasks.js";
import { type Place } from "./where.js";
/** How a client behaves. All has a default. */
export interface ClientOptions extends Place {
    /** Shown in the cluster's list of sessions, for people. */
    name?: string;
    /** How long a call is repeated, in seconds: at most 300, since the cluster forgets a session after 600. */
    retryFor?: number;
    /** How long one attempt may wait for its answer before the next server is asked, in seconds. Default: 5. */
    attempt?: number;
}
/** What a single call may be told. */
export interface CallOptions {
    /** Ends the call: it fails with the signal's reason. A write may be done all the same. */
    signal?: AbortSignal;
    /** How long the call is repeated, in seconds: at most the client's retryFor. */
    timeout?: number;
}
/** Which events are wanted. */
export interface EventOptions {
    /** Those after this number; absent: from the oldest that is kept. */
    after?: string | number | bigint;
    agent?: string;
    task?: string | number | bigint;
    /** Only what happens from now on. */
    tail?: boolean;
    /** false: end with the newest event instead of waiting for more. */
    follow?: boolean;
    signal?: AbortSignal;
}
/** A client of a cluster. One is enough for a process; it holds no process up that has nothing else to do. */
export declare class Client {
    /** Tasks, as who gives them out sees them. */
    readonly tasks: Tasks;
    private readonly servers;
    private readonly wire;
    private readonly sessions;
    private readonly life;
    private readonly retryFor;
    private readonly attemptFor;
    private readonly token;
    /** Finds out whom to ask and reads who asks; it does not touch the network. Its errors are Invalid. */
    constructor(options?: ClientOptions);
    /** The addresses of the servers that the client knows. */
    get addrs(): readonly string[];
    /** Whether a server was ever reached. */
    get reached(): boolean;
    /** Ends the client: calls under way fail with Closed. It takes at most a few hundred milliseconds. */
    close(): Promise<void>;
    /**
     * Makes a call, such as `call("Fleet.GetTask", { task: 7 })`. It is repeated until it is answered, a write under
     * one number so that it is done once. Calls that prove life or park are sent once. Its errors are VigilError.
     */
    call<M extends keyof Calls>(name: M, message: Calls[M]["request"], options?: CallOptions): Promise<Calls[M]["response"]>;
    /** Makes a call once, whatever becomes of it. */
    single<M extends keyof Calls>(name: M, message: Calls[M]["request"], options?: CallOptions): Promise<Calls[M]["response"]>;
    /** The messages of a call that answers with many. The stream is not opened again when it breaks. */
    stream<M extends keyof Calls>(name: M, message: Calls[M]["request"], options?: CallOptions): AsyncGenerator<Calls[M]["response"], void, undefined>;
    private read;
    /**
     * The history of a room, then what happens, until the signal comes; room "": of all rooms. It goes on behind the
     * last event when servers come and go. Compacted says that events after `after` are no longer kept.
     */
    events(room?: string, options?: EventOptions): AsyncGenerator<Event, void, undefined>;
    private trial;
    private request;
    /** Repeats the request under a number. Where the cluster has no session to spare it goes without one. */
    private write;
    /** A number for a write, within the time of its call. The session that is opened for it may be for others, too. */
    private ticket;
    /** Sends the request until it is answered. */
    private repeat;
    private checkTime;
    private attempt;
    /** Decides what a call means that ended without an answer. */
    private lost;
    /** Decides what an answer means for the route and for the call. */
    private judge;
    private hear;
    /** Opens a stream at a server that works; one that cannot be reached is passed over. */
    private open;
}
