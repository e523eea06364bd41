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
export { Client } from "./client.js";
export * from "./errors.js";
export { Handoff, Job, Retry } from "./job.js";
export { CommandFailed } from "./subprocess.js";
export { ResultLost, TaskFailed, Tasks } from "./tasks.js";
export { worker } from "./worker.js";
