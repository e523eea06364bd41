// Results that no server has taken: agentd delivers them after the life, before it reports the life's end.

import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Job } from "./job.js";
import type { Speaker } from "./messages.js";
import { json } from "./spans.js";

/**
 * Leaves the result of a job in the folder that VIGIL_SPOOL names, all at once, and on disk when it returns. False
 * where there is no such folder, as in a life that no agentd has started.
 */
export function put(speaker: Speaker, job: Job, result: string): boolean {
  const folder = process.env.VIGIL_SPOOL;
  const { agent, incarnation, token } = speaker;
  if (!folder || !token || !/^[0-9]+$/.test(`${incarnation}${job.id}`)) return false;
  const words = json({ agent, result, token, ...(job.trace && { traceparent: job.trace }) });
  const numbers = `"incarnation":${incarnation},"task":${job.id},"attempt":${job.attempt}`; // they may have 64 bits
  const name = `${String(BigInt(Date.now()) * 1_000_000n).padStart(20, "0")}-${job.id}-${job.attempt}`;
  const temporary = join(folder, `.${name}`);
  try {
    on(openSync(temporary, "w", 0o600), (file) => writeFileSync(file, `{${numbers},${words.slice(1)}\n`));
    renameSync(temporary, join(folder, `${name}.json`));
    on(openSync(folder, "r"), () => undefined);
    return true;
  } catch {
    return false; // the task is given back, as without a folder
  }
}

/** Does something with an open file, and has it on disk then. */
function on(file: number, what: (file: number) => void): void {
  try {
    what(file);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
