/**
 * vigil for TypeScript and JavaScript: workers that are agents, and a client of the whole API. It needs nothing but
 * the runtime.
 *
 *     import { worker } from "vigil";
 *
 *     await worker("web/builder", async (job) => {
 *       await job.progress("started");
 *       return { ok: true };
 *     });
 *
 * docs/guide/typescript.md is the guide.
 *
 * @module
 */
export { Client, type CallOptions, type ClientOptions, type EventOptions } from "./client.js";
export * from "./errors.js";
export { Handoff, Job, Retry, type Declaration, type Letter, type Progress } from "./job.js";
export type * as messages from "./messages.js";
export type { Calls, Event, Mail, Task, TaskState } from "./messages.js";
export { CommandFailed, type Ran, type RunOptions } from "./subprocess.js";
export { ResultLost, TaskFailed, Tasks, type TaskId, type TaskOptions } from "./tasks.js";
export type { Place } from "./where.js";
export { worker, type Handler, type WorkerOptions } from "./worker.js";
