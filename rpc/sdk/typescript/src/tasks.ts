// Tasks, as who gives them out sees them.

import type { CallOptions, Client } from "./client.js";
import { Timeout } from "./errors.js";
import type { CreateTaskRequest, ListTasksRequest, Task, TaskState } from "./messages.js";
import { delay, Linked, now, pause, span, textOf, titleOf } from "./spans.js";
import { checked, here } from "./trace.js";

const LOOK = 60_000; // ms without an event after which one looks all the same
const BLIND = 1000; // ms between looks, where events may not be read,
const SPACE = 10; // and for each of many tasks
const NAMED = 10; // tasks that the text of an error names

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
export class TaskFailed extends Error {
  override readonly name = "TaskFailed";

  /** What became of the task is in `task`. */
  constructor(readonly task: Task) {
    const why = task.result || task.note;
    super(`task ${task.id} of ${task.room}/${task.role} is ${task.state}${why ? `: ${why}` : ""}`);
  }
}

/**
 * Tasks that were waited for were completed, and their results, or the ends of these, were dropped since a budget was
 * full.
 */
export class ResultLost extends Error {
  override readonly name = "ResultLost";

  /**
   * What is left of the first is in `task`, what is left of each in `tasks`, by the place of its text in what a map was
   * given, from 0 on.
   */
  constructor(
    readonly task: Task,
    readonly tasks: ReadonlyMap<number, Task> = new Map([[0, task]]),
  ) {
    const all = [...tasks.values()];
    const ids = all.slice(0, NAMED).map((t) => t.id);
    const more = all.length > NAMED ? ` and ${all.length - NAMED} more` : "";
    const of = `of ${task.room}/${task.role}`;
    const gone = all.reduce((sum, t) => sum + Number(t.result_dropped ?? 0), 0);
    super(
      (all.length > 1
        ? `tasks ${ids.join(", ")}${more} ${of} were completed, and of their results `
        : `task ${task.id} ${of} was completed, and of its result `) +
        `${gone} bytes went since the budget for tasks was full`,
    );
  }
}

const lost = (task: Task): boolean => task.state === "COMPLETED" && Number(task.result_dropped ?? 0) > 0;

/** A task, or its number. */
export type TaskId = string | number | bigint | Pick<Task, "id">;

const idOf = (task: TaskId): string => (typeof task === "object" ? task.id : String(task));

const OVER: readonly TaskState[] = ["COMPLETED", "FAILED", "CANCELED", "QUARANTINED"];

/** The tasks of a cluster: `new Client().tasks`. */
export class Tasks {
  private readonly watches = new Map<string, Watch>(); // by room

  constructor(private readonly client: Client) {}

  /**
   * Creates a task of a role, exactly once however often it has to be sent. text is what the worker gets, at most
   * 256 KiB; what is no text is sent as JSON.
   */
  create(room: string, role: string, text: unknown = "", options: TaskOptions = {}): Promise<Task> {
    const { title, priority, expect, after, traceparent, key, ...call } = options;
    const body = textOf(text);
    const trace = traceparent === undefined ? here() : checked(traceparent);
    const message: CreateTaskRequest = {
      room,
      role,
      text: body,
      title: title ?? titleOf(body, role),
      ...(priority !== undefined && { priority }),
      ...(trace && { traceparent: trace }),
      ...(key && { key }),
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
  async *list(
    request: Omit<ListTasksRequest, "after" | "limit"> = {},
    options?: CallOptions,
  ): AsyncGenerator<Task, void, undefined> {
    let after = "";
    for (;;) {
      const page = await this.client.call(
        "Fleet.ListTasks",
        { ...request, limit: 1000, ...(after && { after }) },
        options,
      );
      yield* page.tasks;
      if (!page.more || !page.next) return;
      after = page.next;
    }
  }

  /** Cancels a task; who works on it is told within seconds. */
  cancel(task: TaskId, options: CallOptions & { reason?: string } = {}): Promise<Task> {
    const { reason, ...call } = options;
    return this.client.call(
      "Fleet.CancelTask",
      { task: idOf(task), ...(reason !== undefined && { reason }) },
      call,
    );
  }

  /**
   * Waits until a task is over and gives what became of it. It outlives servers and leaders. TaskFailed unless it was
   * completed, ResultLost where its result was dropped before it was read; with check: false the task is given all the
   * same. Timeout after that many seconds: the task goes on.
   */
  wait(task: TaskId, options: CallOptions & { check?: boolean } = {}): Promise<Task> {
    return this.ended(task, options, (look) => look());
  }

  /** wait, whose looks at the task go through gate. */
  private async ended(
    task: TaskId,
    options: CallOptions & { check?: boolean },
    gate: Gate,
  ): Promise<Task> {
    const id = idOf(task);
    const limit =
      options.timeout === undefined ? undefined : AbortSignal.timeout(delay(options.timeout * 1000));
    const link = new Linked(options.signal, limit);
    try {
      const found = await this.over(id, link.signal, gate);
      if (options.check !== false && found.state !== "COMPLETED") throw new TaskFailed(found);
      if (options.check !== false && lost(found)) throw new ResultLost(found);
      return found;
    } catch (e) {
      if (!limit?.aborted || options.signal?.aborted) throw e;
      if (e instanceof TaskFailed || e instanceof ResultLost) throw e;
      throw new Timeout(
        `task ${id} is not over after ${options.timeout} s. It goes on without you: ` +
          `\`vigil task show ${id}\` tells how, \`vigil task cancel ${id}\` ends it`,
      );
    } finally {
      link.abort();
      link.end();
    }
  }

  /**
   * Creates a task for each text and gives them in this order as they are over, whatever became of each. parallel is
   * how many are created, or looked at, at once. Each result is read when its task is over, however late the caller
   * asks for it. Timeout when not all are over after that many seconds. Tasks whose results were dropped before they
   * were read are left out, and ResultLost names them after all others were given.
   */
  async *map(
    room: string,
    role: string,
    texts: Iterable<unknown>,
    options: CallOptions & { parallel?: number } = {},
  ): AsyncGenerator<Task, void, undefined> {
    const { parallel = 8, timeout, signal } = options;
    const until = timeout === undefined ? Infinity : now() + timeout * 1000;
    const over = new Linked(signal); // ends with this map
    const left = (): CallOptions => ({
      signal: over.signal,
      ...(until !== Infinity && { timeout: Math.max(until - now(), 1) / 1000 }),
    });
    const all = [...texts];
    const ends: Promise<Task>[] = [];
    const gate = gateOf(Math.max(parallel, 1));
    let next = 0;
    const create = async (): Promise<void> => {
      for (let i = next++; i < all.length; i = next++) {
        try {
          const task = await this.create(room, role, all[i], left());
          // Each result is read when its task is over: what is old may be dropped before the last one is created.
          const end = this.ended(task, { ...left(), check: false }, gate);
          end.catch(() => undefined); // told when it is its turn
          ends[i] = end;
        } catch (e) {
          next = all.length; // whoever called has none of them
          throw e;
        }
      }
    };
    try {
      const loops = Array.from({ length: Math.max(parallel, 1) }, create);
      await Promise.allSettled(loops); // when this fails nothing is created any more
      await Promise.all(loops);
      const gone = new Map<number, Task>();
      for (const [place, end] of ends.entries()) {
        const task = await end;
        if (lost(task)) gone.set(place, task);
        else yield task;
      }
      const [first] = gone.values();
      if (first) throw new ResultLost(first, gone);
    } finally {
      over.abort();
      over.end();
    }
  }

  private async over(id: string, signal: AbortSignal, gate: Gate): Promise<Task> {
    let bell: Bell | undefined;
    try {
      for (;;) {
        const task = await gate(() => this.client.call("Fleet.GetTask", { task: id }, { signal }));
        if (OVER.includes(task.state)) return task;
        const first = !bell;
        bell ??= this.watch(task.room).bell(id);
        // The watch may stand only after the first look: the next one is soon.
        await bell.wait(first ? BLIND : bell.every(), signal);
        signal.throwIfAborted();
      }
    } finally {
      bell?.end();
    }
  }

  private watch(room: string): Watch {
    let watch = this.watches.get(room);
    if (!watch) {
      watch = new Watch(this.client, room, () => this.watches.delete(room));
      this.watches.set(room, watch);
    }
    return watch;
  }
}

/** Lets what is asked of it begin. */
type Gate = (look: () => Promise<Task>) => Promise<Task>;

/** A gate for so many at once. */
function gateOf(most: number): Gate {
  const queue: (() => void)[] = [];
  let within = 0;
  return async (look) => {
    if (within >= most) await new Promise<void>((go) => queue.push(go));
    else within++;
    try {
      return await look();
    } finally {
      const following = queue.shift(); // which takes this place
      if (following) following();
      else within--;
    }
  };
}

/** The events of a room, for all who wait for tasks of it. It ends with the last of them. */
class Watch {
  private readonly bells = new Map<string, Set<Bell>>();
  private readonly controller = new AbortController();
  private blind = false;

  constructor(
    private readonly client: Client,
    private readonly room: string,
    private readonly ended: () => void,
  ) {
    void this.follow();
  }

  bell(task: string): Bell {
    const all = this.bells.get(task) ?? new Set();
    this.bells.set(task, all);
    const every = (): number => (this.blind ? Math.max(BLIND, this.bells.size * SPACE) : LOOK);
    const bell = new Bell(every, () => {
      all.delete(bell);
      if (all.size === 0) this.bells.delete(task);
      if (this.bells.size === 0) this.end();
    });
    all.add(bell);
    return bell;
  }

  private end(): void {
    this.ended();
    this.controller.abort();
  }

  private async follow(): Promise<void> {
    const { signal } = this.controller;
    // What has happened before a stream stands, also since the one before it has broken, it does not tell.
    const stands = (): void => this.each((bell) => bell.ring());
    try {
      for await (const event of this.client.events(this.room, { tail: true, signal, stands })) {
        for (const bell of this.bells.get(event.task ?? "") ?? []) bell.ring();
      }
    } catch {
      // Who may not read events, or reads them too slowly, looks every second.
      this.blind = true;
      this.each((bell) => bell.ring());
    }
  }

  private each(tell: (bell: Bell) => void): void {
    for (const all of this.bells.values()) for (const bell of all) tell(bell);
  }
}

/** Wakes who waits, or who is about to. */
class Bell {
  private ringing = new AbortController();

  constructor(
    readonly every: () => number,
    readonly end: () => void,
  ) {}

  ring(): void {
    this.ringing.abort();
  }

  async wait(ms: number, signal: AbortSignal): Promise<void> {
    const link = new Linked(this.ringing.signal, signal);
    await pause(ms, link.signal);
    link.end();
    this.ringing = new AbortController();
  }
}
