import type { Job } from "./job.js";
import type { Speaker } from "./messages.js";
/**
 * Leaves the result of a job in the folder that VIGIL_SPOOL names, all at once, and on disk when it returns. False
 * where there is no such folder, as in a life that no agentd has started.
 */
export declare function put(speaker: Speaker, job: Job, result: string): boolean;
