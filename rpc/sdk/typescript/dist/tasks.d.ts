import type { CallOptions, Client } from "./client.js";
import type { ListTasksRequest, Task } from "./messages.js";
/** What a task is created with, beside its text. */
export interface TaskOptions extends CallOptions {
    /** What people see; the first line of the text unless it is given. */
    title?: string;
    priority?: number;
    /** How long an attempt may take, in seconds, 1 s to 30 days. */
    expect?: number;
    /** Puts the task off, in seconds, at most 30 days. */
    after?: number;
    /**
     * The trace that the task joins, a W3C traceparent. Absent: that of the job whose function runs, or the one in
     * TRACEPARENT.
     */
    traceparent?: string;
    /**
     * Names it in its room, at most 128 bytes without white space: who creates a task with it again gets the one that is
     * there, as long as it is kept, and Conflict when that says something else.
     */
    key?: string;
}
/** A task that was waited for has ended otherwise than by completion. */
export declare class TaskFailed extends Error {
    readonly task: Task;
    readonly name = "TaskFailed";
    /** What became of the task is in `task`. */
    constructor(task: Task);
}
/**
 * Tasks that were waited for were completed, and their results, or the ends of these, were dropped since a budget was
 * full.
 */
export declare class ResultLost extends Error {
    readonly task: Task;
    readonly tasks: ReadonlyMap<number, Task>;
    readonly name = "ResultLost";
    /**
     * What is left of the first is in `task`, what is left of each in `tasks`, by the place of its text in what a map was
     * given, from 0 on.
     */
    constructor(task: Task, tasks?: ReadonlyMap<number, Task>);
}
/** A task, or its number. */
export type TaskId = string | number | bigint | Pick<Task, "id">;
/** The tasks of a cluster: `new Client().tasks`. */
export declare class Tasks {
    private readonly client;
    private readonly watches;
    constructor(client: Client);
    /**
     * Creates a task of a role, exactly once however often it has to be sent. text is what the worker gets, at most
     * 256 KiB; what is no text is sent as JSON.
     */
    create(room: string, role: string, text?: unknown, options?: TaskOptions): Promise<Task>;
    /** The task as it is now, with its text and result. */
    get(task: TaskId, options?: CallOptions): Promise<Task>;
    /** The tasks of a room and a role, the oldest first, without texts; of all where nothing is named. */
    list(request?: Omit<ListTasksRequest, "after" | "limit">, options?: CallOptions): AsyncGenerator<Task, void, undefined>;
    /** Cancels a task; who works on it is told within seconds. */
    cancel(task: TaskId, options?: CallOptions & {
        reason?: string;
    }): Promise<Task>;
    /**
     * Waits until a task is over and gives what became of it. It outlives servers and leaders. TaskFailed unless it was
     * completed, ResultLost where its result was dropped before it was read; with check: false the task is given all the
     * same. Timeout after that many seconds: the task goes on.
     */
    wait(task: TaskId, options?: CallOptions & {
        check?: boolean;
    }): Promise<Task>;
    /** wait, whose looks at the task go through gate. */
    private ended;
    /**
     * Creates a task for each text and gives them in this order as they are over, whatever became of each. parallel is
     * how many are created, or looked at, at once. Each result is read when its task is over, however late the caller
     * asks for it. Timeout when not all are over after that many seconds. Tasks whose results were dropped before they
     * were read are left out, and ResultLost names them after all others were given.
     */
    map(room: string, role: string, texts: Iterable<unknown>, options?: CallOptions & {
        parallel?: number;
    }): AsyncGenerator<Task, void, undefined>;
    private over;
    private watch;
}
