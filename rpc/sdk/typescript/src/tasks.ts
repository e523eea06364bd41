// Tasks, as who gives them out sees them.

import type { CallOptions, Client } from "./client.js";
import { Denied, Timeout } from "./errors.js";
import type { CreateTaskRequest, ListTasksRequest, Task, TaskState } from "./messages.js";
import { Linked, pause, span, textOf } from "./spans.js";

const MAX_TITLE = 80; // characters of a title that is taken from the text
const LOOK = 60_000; // ms without an event after which one looks all the same
const BLIND = 1000; // ms between looks, where events may not be read

/** What a task is created with, beside its text. */
export interface TaskOptions extends CallOptions {
  /** What people see; the first line of the text unless it is given. */
  title?: string;
  priority?: number;
  /** How long an attempt may take, in seconds, 1 s to 30 days. */
  expect?: number;
  /** Puts the task off, in seconds, at most 30 days. */
  after?: number;
}

/** A task that was waited for has ended otherwise than by completion. */
export class TaskFailed extends Error {
  override readonly name = "TaskFailed";

  /** What became of the task is in `task`. */
  constructor(readonly task: Task) {
    super(`task ${task.id} of ${task.room}/${task.role} is ${task.state}${task.note ? `: ${task.note}` : ""}`);
  }
}

/** A task, or its number. */
export type TaskId = string | number | bigint | Pick<Task, "id">;

const idOf = (task: TaskId): string => (typeof task === "object" ? task.id : String(task));

const OVER: readonly TaskState[] = ["COMPLETED", "FAILED", "CANCELED", "QUARANTINED"];

/** The tasks of a cluster: `new Client().tasks`. */
export class Tasks {
  constructor(private readonly client: Client) {}

  /**
   * Creates a task of a role, exactly once however often it has to be sent. text is what the worker gets, at most
   * 256 KiB; what is no text is sent as JSON.
   */
  create(room: string, role: string, text: unknown = "", options: TaskOptions = {}): Promise<Task> {
    const { title, priority, expect, after, ...call } = options;
    const body = textOf(text);
    const line = body.split("\n").find((l) => l.trim() !== "")?.trim() ?? role;
    const message: CreateTaskRequest = {
      room, role, text: body, title: title ?? [...line].slice(0, MAX_TITLE).join(""),
      ...(priority !== undefined && { priority }),
      ...(expect !== undefined && { expect: span(expect) }),
      ...(after !== undefined && { after: span(after) }),
    };
    return this.client.call("Fleet.CreateTask", message, call);
  }

  /** The task as it is now, with its text and result. */
  get(task: TaskId, options?: CallOptions): Promise<Task> {
    return this.client.call("Fleet.GetTask", { task: idOf(task) }, options);
  }

  /** The tasks of a room and a role, the oldest first, without texts; of all where nothing is named. */
  async *list(request: Omit<ListTasksRequest, "after" | "limit"> = {}, options?: CallOptions): AsyncGenerator<Task, void, undefined> {
    let after = "";
    for (;;) {
      const page = await this.client.call("Fleet.ListTasks", { ...request, limit: 1000, ...(after && { after }) }, options);
      yield* page.tasks;
      if (!page.more || !page.next) return;
      after = page.next;
    }
  }

  /** Cancels a task; who works on it is told within seconds. */
  cancel(task: TaskId, options: CallOptions & { reason?: string } = {}): Promise<Task> {
    const { reason, ...call } = options;
    return this.client.call("Fleet.CancelTask", { task: idOf(task), ...(reason !== undefined && { reason }) }, call);
  }

  /**
   * Waits until a task is over and gives what became of it. It outlives servers and leaders. TaskFailed unless it was
   * completed; with check: false the task is given all the same. Timeout after that many seconds: the task goes on.
   */
  async wait(task: TaskId, options: CallOptions & { check?: boolean } = {}): Promise<Task> {
    const id = idOf(task);
    const limit = options.timeout === undefined ? undefined : AbortSignal.timeout(options.timeout * 1000);
    const link = new Linked(options.signal, limit);
    try {
      const found = await this.over(id, link.signal);
      if (options.check !== false && found.state !== "COMPLETED") throw new TaskFailed(found);
      return found;
    } catch (e) {
      if (!limit?.aborted || options.signal?.aborted || e instanceof TaskFailed) throw e;
      throw new Timeout(`task ${id} is not over after ${options.timeout} s. It goes on without you: ` +
        `\`vigil task show ${id}\` tells how, \`vigil task cancel ${id}\` ends it`);
    } finally {
      link.abort();
      link.end();
    }
  }

  private async over(id: string, signal: AbortSignal): Promise<Task> {
    const bell = new Bell();
    let every = LOOK;
    const watch = async (): Promise<void> => {
      try {
        for await (const _ of this.client.events("", { task: id, tail: true, signal })) bell.ring();
      } catch (e) {
        if (signal.aborted) return;
        if (e instanceof Denied) every = BLIND;
        else every = Math.min(every, 5000);
        bell.ring();
      }
    };
    const watching = watch();
    try {
      for (;;) {
        const now = await this.client.call("Fleet.GetTask", { task: id }, { signal });
        if (OVER.includes(now.state)) return now;
        // The first look may have come before the watch stood: the next one is soon.
        await bell.wait(bell.rung ? every : BLIND, signal);
        bell.rung = true;
        signal.throwIfAborted();
      }
    } finally {
      void watching;
    }
  }
}

/** Wakes who waits, or who is about to. */
class Bell {
  rung = false;
  private waiting = new AbortController();

  ring(): void {
    this.waiting.abort();
  }

  async wait(ms: number, signal: AbortSignal): Promise<void> {
    const link = new Linked(this.waiting.signal, signal);
    await pause(ms, link.signal);
    link.end();
    this.waiting = new AbortController();
  }
}
