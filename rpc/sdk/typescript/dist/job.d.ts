import type { ChildProcess, SpawnOptions } from "node:child_process";
import type { Mail, SendMailRequest, Task } from "./messages.js";
import { type Ran, type RunOptions } from "./subprocess.js";
/** Thrown by a handler: this attempt has failed, another one may succeed. */
export declare class Retry extends Error {
    readonly name = "Retry";
    /**
     * When the task is offered again at the earliest, in seconds: at most 30 days, longer ones are cut. Absent, and where
     * it is past by now: as the role says.
     */
    readonly after?: number;
    constructor(message?: string, options?: {
        after?: number;
        cause?: unknown;
    });
}
/** Returned by a handler: the task is completed, and another role of the room gets a task, in one step. */
export declare class Handoff {
    readonly role: string;
    readonly text: string;
    readonly title: string;
    readonly result: string;
    readonly priority: number;
    constructor(role: string, text?: unknown, options?: {
        title?: string;
        result?: unknown;
        priority?: number;
    });
}
/** What progress may tell beside its note. */
export interface Progress {
    /** How much is done, 0 to 100. */
    percent?: number;
    /** How long the rest takes from now, in seconds, 1 s to 30 days. */
    expect?: number;
}
/** How an agent is, by its own word. */
export interface Declaration {
    status?: "healthy" | "busy" | "degraded";
    waiting?: "none" | "needs_input" | "sleeping" | "in_tool";
    /** How long that holds, in seconds; needed with waiting. */
    lasts?: number;
    /** For people, at most 1 KiB. */
    why?: string;
}
/** What a mail may have beside its address, subject and body. */
export type Letter = Pick<SendMailRequest, "priority" | "kind" | "reply_to" | "queue" | "thread">;
/**
 * One claimed attempt at a task. What it says is refused with Superseded when the attempt is no longer the task's
 * own: stop then, nothing counts any more. Its signal comes at the same moment.
 */
export declare class Job {
    private readonly life;
    /** The task as it was claimed. */
    readonly task: Task;
    readonly attempt: number;
    readonly id: string;
    readonly room: string;
    readonly role: string;
    readonly title: string;
    /** What is to be done: the text of the task, or its title where it has no text. */
    readonly text: string;
    readonly agent: string;
    readonly incarnation: string;
    /** The W3C traceparent of this attempt, for spans of your own; "": nobody traces the task. */
    readonly trace: string;
    /** What an earlier life has remembered; "": nothing. */
    readonly resume: string;
    private readonly controller;
    private running;
    /** Comes when nobody wants the result any more; the reason says why. Hand it on to what you call. */
    get signal(): AbortSignal;
    /** The text of the task, which was created with a value that is no text. */
    json<T = unknown>(): T;
    /** Waits so many seconds; it fails with the reason when nobody wants the result any more. */
    sleep(seconds: number): Promise<void>;
    /** Says that the work goes on: a note for people, of which 4 KiB are sent, and how far it is. */
    progress(note?: unknown, far?: Progress): Promise<void>;
    /** Says how long the rest takes from now, in seconds: until then a silent task does not count as stalled. */
    expect(seconds: number, note?: unknown): Promise<void>;
    /** Says how the agent is. */
    declare(how: Declaration): Promise<void>;
    /**
     * Keeps a value for the next life of this agent, usually the id of a conversation: it is the next one's resume. At
     * most 4 KiB; "" forgets it.
     */
    remember(value: string): Promise<void>;
    /**
     * Sends mail to a room (each of its agents), room/role or room/role.2, and gives the numbers of its copies. A
     * subject has at most 256 bytes, a body 16 KiB.
     */
    mail(to: string, subject: string, body?: string, letter?: Letter): Promise<string[]>;
    /**
     * Takes the unread mail of this agent, the most urgent first; where there is none it waits so many seconds for some.
     * Mail comes again in the next life until it is acknowledged.
     */
    inbox(seconds?: number): Promise<Mail[]>;
    private mails;
    /**
     * Waits until there is mail, the time is over, or something went wrong for a moment. It outlives the lease, which may
     * have ended while this machine slept: the beat that joins again tells what has become of this job.
     */
    private parked;
    /** Says that the agent has taken note of a mail, so that no later life gets it. */
    ack(mail: Mail | string): Promise<void>;
    /**
     * Asks a human and waits for the answer: the agent counts as waiting for a human and not as stuck, people see the
     * question in their inbox, and what they send with `vigil mail send` to this agent is the answer. within is how long
     * that may take, in seconds, at most 7 days; Timeout after that. Mail of agents and of vigil is no answer, and neither
     * is what was sent before the question: inbox gives all that.
     */
    ask(question: string, options?: {
        within?: number;
    }): Promise<Mail>;
    /**
     * Adds what a model was used: tokens, and cost in dollars. Budgets count them. It is told to the agentd of this host,
     * so it needs a managed life whose runner says telemetry: true; false says that nobody took it. It does not fail.
     */
    usage(used: {
        tokens?: number;
        input?: number;
        output?: number;
        cost?: number;
    }): Promise<boolean>;
    /**
     * Runs a command to its end, without a shell, and gives its output. When nobody wants the result any more, or after
     * timeout seconds, it and what it has started get SIGTERM, and SIGKILL after a grace.
     */
    run(command: string, args?: readonly string[], options?: RunOptions): Promise<Ran>;
    /** Starts a command in a process group of its own and has it ended as run does, with the options of node's spawn. */
    spawn(command: string, args?: readonly string[], options?: SpawnOptions & {
        grace?: number;
    }): ChildProcess;
    /** Has a process ended when nobody wants the result any more, and when the handler returns before it. */
    register(child: ChildProcess, options?: {
        grace?: number;
    }): void;
    /** The environment of a command, which finds the trace of this attempt in TRACEPARENT. */
    private traced;
    private keep;
}
