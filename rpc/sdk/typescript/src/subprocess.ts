// Commands that a job runs, and their end.

import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { delay } from "./spans.js";

const KEPT = 1 << 20; // bytes of the output of a command that are kept
const HELD = 2000; // ms for which the output of a command is read after its end

/** How a command is run. */
export interface RunOptions {
  /** What it reads; absent: nothing. */
  input?: string;
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** Seconds after which it is ended. */
  timeout?: number;
  /** Seconds between SIGTERM and SIGKILL. Default: 10. */
  grace?: number;
  /** false: an exit code other than 0 is no error. */
  check?: boolean;
}

/** How a command has ended. */
export interface Ran {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Its output, of which the last MiB is kept. */
  readonly stdout: string;
  readonly stderr: string;
}

/** A command has ended with another exit code than 0, by a signal, or since its time was over. */
export class CommandFailed extends Error {
  override readonly name = "CommandFailed";

  constructor(
    message: string,
    readonly ran: Ran,
  ) {
    super(message);
  }
}

/** A command that is ended when nobody wants its result any more. */
export class Running {
  private readonly gone: Promise<void>;
  private killer: NodeJS.Timeout | undefined;
  private ending = false;

  constructor(
    private readonly child: ChildProcess,
    private readonly grouped: boolean,
    private readonly grace: number,
  ) {
    this.gone = new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(this.killer);
        if (this.ending && this.grouped) this.kill("SIGKILL"); // what it has left in its group, too
        resolve();
      };
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return done();
      child.once("exit", done);
      child.once("error", done);
    });
  }

  get over(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null || this.child.pid === undefined;
  }

  /** Sends SIGTERM, and SIGKILL after the grace; it resolves when the process is gone. */
  end(): Promise<void> {
    if (!this.over && !this.ending) {
      this.ending = true;
      this.kill("SIGTERM");
      this.killer = setTimeout(() => this.kill("SIGKILL"), delay(this.grace * 1000));
    }
    return this.gone;
  }

  /** What a command has started in its own group gets the signal, too. */
  private kill(signal: NodeJS.Signals): void {
    try {
      if (this.grouped) process.kill(-this.child.pid!, signal);
      else this.child.kill(signal);
    } catch {
      // It has ended already.
    }
  }
}

/** Starts a command in a process group of its own, without a shell. */
export function start(
  command: string,
  args: readonly string[],
  options: SpawnOptions,
): { child: ChildProcess; grouped: boolean } {
  const grouped = process.platform !== "win32";
  return { child: spawn(command, args, { ...options, shell: false, detached: grouped }), grouped };
}

/** Waits for the end of a command whose output is kept. */
export function ended(child: ChildProcess, input: string | undefined): Promise<Ran> {
  const out = new Tail(child.stdout);
  const err = new Tail(child.stderr);
  child.stdin?.on("error", () => undefined); // it reads no more, as it may
  child.stdin?.end(input ?? "");
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    const done = (code: number | null, signal: NodeJS.Signals | null): void => {
      clearTimeout(timer);
      child.stdout?.destroy();
      child.stderr?.destroy();
      resolve({ code, signal, stdout: out.text(), stderr: err.text() });
    };
    let timer: NodeJS.Timeout | undefined;
    // What the command has left running may hold its output open.
    child.once("exit", (code, signal) => (timer = setTimeout(() => done(code, signal), HELD)));
    child.once("close", done);
  });
}

/** Why a command counts as failed; undefined: it does not. */
export function complaint(command: string, ran: Ran): string | undefined {
  if (ran.code === 0) return undefined;
  const last = (ran.stderr.trim() || ran.stdout.trim()).split("\n").at(-1) ?? "";
  return `${command} has ended with ${ran.signal ?? ran.code}${last ? `: ${last.slice(0, 300)}` : ""}`;
}

/** The last part of a stream. */
class Tail {
  private parts: Buffer[] = [];
  private size = 0;

  constructor(from: NodeJS.ReadableStream | null) {
    from?.on("data", (part: Buffer) => {
      this.parts.push(part);
      this.size += part.length;
      while (this.size - this.parts[0]!.length >= KEPT) this.size -= this.parts.shift()!.length;
    });
  }

  text(): string {
    return Buffer.concat(this.parts).subarray(-KEPT).toString();
  }
}
