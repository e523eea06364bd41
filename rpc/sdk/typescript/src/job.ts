// One claimed attempt at a task, as its handler sees it.

import type { ChildProcess, SpawnOptions } from "node:child_process";
import { Rejoin, Superseded, Timeout, type VigilError } from "./errors.js";
import type { Life } from "./life.js";
import type { DeclareRequest, Mail, SendMailRequest, Task } from "./messages.js";
import { clip, delay, now, pause, span, textOf, titleOf } from "./spans.js";
import { CommandFailed, complaint, ended, Running, start, type Ran, type RunOptions } from "./subprocess.js";
import { checked } from "./trace.js";
import { tell } from "./usage.js";

const MAX_NOTE = 4 << 10; // bytes of a note of progress
const MAX_WAIT = 30; // s that one call which waits for mail lasts
const OWN = ["vigil", "watchdog"]; // what vigil itself calls itself in mail to agents

/** Thrown by a handler: this attempt has failed, another one may succeed. */
export class Retry extends Error {
  override readonly name = "Retry";
  /**
   * When the task is offered again at the earliest, in seconds: at most 30 days, longer ones are cut. Absent, and where
   * it is past by now: as the role says.
   */
  readonly after?: number;

  constructor(message = "another attempt may succeed", options: { after?: number; cause?: unknown } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    if (options.after !== undefined) this.after = options.after;
  }
}

/** Returned by a handler: the task is completed, and another role of the room gets a task, in one step. */
export class Handoff {
  readonly role: string;
  readonly text: string;
  readonly title: string;
  readonly result: string;
  readonly priority: number;

  constructor(
    role: string,
    text: unknown = "",
    options: { title?: string; result?: unknown; priority?: number } = {},
  ) {
    this.role = role;
    this.text = textOf(text);
    this.title = options.title ?? titleOf(this.text, role);
    this.result = textOf(options.result);
    this.priority = options.priority ?? 0;
  }
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

/**
 * Tells whether a mail that has come after a question may be a human's answer. One that is handed over again, as after
 * a reminder, is older than the question: who asks reads all that there is before.
 */
const answers = (mail: Mail): boolean =>
  !mail.from_incarnation && !mail.redelivered && !OWN.includes(mail.from ?? "");

type Pauses = Parameters<Life["client"]["rest"]>[0];

/** What a mail may have beside its address, subject and body. */
export type Letter = Pick<SendMailRequest, "priority" | "kind" | "reply_to" | "queue" | "thread">;

/**
 * One claimed attempt at a task. What it says is refused with Superseded when the attempt is no longer the task's
 * own: stop then, nothing counts any more. Its signal comes at the same moment.
 */
export class Job {
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
  readonly resume: string = process.env.VIGIL_RESUME ?? "";
  private readonly controller = new AbortController();
  private running: Running[] = [];

  /** @internal A worker makes jobs. */
  constructor(
    private readonly life: Life,
    /** The task as it was claimed. */
    readonly task: Task,
    readonly attempt: number,
  ) {
    this.id = task.id;
    this.room = task.room;
    this.role = task.role;
    this.title = task.title ?? "";
    this.text = task.text || this.title;
    this.trace = checked(task.traceparent);
    this.agent = life.agent;
    this.incarnation = life.incarnation;
  }

  /** Comes when nobody wants the result any more; the reason says why. Hand it on to what you call. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** The text of the task, which was created with a value that is no text. */
  json<T = unknown>(): T {
    return JSON.parse(this.text) as T;
  }

  /** Waits so many seconds; it fails with the reason when nobody wants the result any more. */
  async sleep(seconds: number): Promise<void> {
    await pause(seconds * 1000, this.signal);
    this.signal.throwIfAborted();
  }

  /** Says that the work goes on: a note for people, of which 4 KiB are sent, and how far it is. */
  async progress(note: unknown = "", far: Progress = {}): Promise<void> {
    await this.life.say(this, "Work.ProgressTask", {
      text: clip(textOf(note), MAX_NOTE),
      ...(far.percent !== undefined && { percent: far.percent }),
      ...(far.expect !== undefined && { expect: span(far.expect) }),
    });
  }

  /** Says how long the rest takes from now, in seconds: until then a silent task does not count as stalled. */
  expect(seconds: number, note: unknown = ""): Promise<void> {
    return this.progress(note, { expect: seconds });
  }

  /** Says how the agent is. */
  async declare(how: Declaration): Promise<void> {
    const message: Omit<DeclareRequest, "speaker"> = {
      status: how.status ?? "",
      waiting: how.waiting ?? "",
      text: clip(how.why ?? "", 1024),
      ...(how.lasts !== undefined && { for: span(how.lasts) }),
    };
    await this.life.speak("Work.Declare", message, { signal: this.signal });
  }

  /**
   * Keeps a value for the next life of this agent, usually the id of a conversation: it is the next one's resume. At
   * most 4 KiB; "" forgets it.
   */
  async remember(value: string): Promise<void> {
    await this.life.speak("Work.SetResume", { resume: value }, { signal: this.signal });
  }

  /**
   * Sends mail to a room (each of its agents), room/role or room/role.2, and gives the numbers of its copies. A
   * subject has at most 256 bytes, a body 16 KiB.
   */
  async mail(to: string, subject: string, body = "", letter: Letter = {}): Promise<string[]> {
    const message = { ...letter, to, subject, body };
    return (await this.life.speak("Mailbox.SendMail", message, { signal: this.signal })).mails;
  }

  /**
   * Takes the unread mail of this agent, the most urgent first; where there is none it waits so many seconds for some.
   * Mail comes again in the next life until it is acknowledged.
   */
  async inbox(seconds = 0): Promise<Mail[]> {
    this.signal.throwIfAborted();
    const kept = this.life.mails.take();
    return kept.length > 0 ? kept : this.mails(seconds);
  }

  private async mails(seconds: number): Promise<Mail[]> {
    const until = now() + seconds * 1000;
    const t = { began: now(), tries: 0, signal: this.signal };
    for (;;) {
      const { mails } = await this.life.speak("Mailbox.ReadMail", {}, { signal: this.signal });
      const left = (until - now()) / 1000;
      if (mails.length > 0 || left <= 0) return mails;
      await this.parked(Math.min(left, MAX_WAIT), t);
    }
  }

  /**
   * Waits until there is mail, the time is over, or something went wrong for a moment. It outlives the lease, which may
   * have ended while this machine slept: the beat that joins again tells what has become of this job.
   */
  private async parked(seconds: number, t: Pauses): Promise<void> {
    const until = now() + seconds * 1000;
    for (;;) {
      const wait = Math.max((until - now()) / 1000, 1);
      try {
        const options = { signal: this.signal, timeout: wait + 10 };
        await this.life.speak("Mailbox.WaitMail", { max_wait: span(wait) }, options);
        t.tries = 0;
        return;
      } catch (e) {
        this.signal.throwIfAborted();
        const outside = e instanceof Rejoin && now() < until;
        if (!outside && !(e as VigilError).fleeting) throw e;
        t.tries++;
        if (outside) this.life.beatNow();
        await this.life.client.rest(t);
        if (!outside) return;
        this.signal.throwIfAborted();
      }
    }
  }

  /** Says that the agent has taken note of a mail, so that no later life gets it. */
  async ack(mail: Mail | string): Promise<void> {
    await this.life.speak(
      "Mailbox.AckMail",
      { mail: typeof mail === "string" ? mail : mail.id },
      { signal: this.signal },
    );
  }

  /**
   * Asks a human and waits for the answer: the agent counts as waiting for a human and not as stuck, people see the
   * question in their inbox, and what they send with `vigil mail send` to this agent is the answer. within is how long
   * that may take, in seconds, at most 7 days; Timeout after that. Mail of agents and of vigil is no answer, and neither
   * is what was sent before the question: inbox gives all that.
   */
  async ask(question: string, options: { within?: number } = {}): Promise<Mail> {
    const within = Math.max(options.within ?? 86_400, 1);
    const until = now() + within * 1000;
    for (let old = await this.mails(0); old.length > 0; old = await this.mails(0)) this.life.mails.keep(old);
    await this.expect(within, `asked a human: ${question}`);
    await this.declare({ waiting: "needs_input", lasts: within, why: question });
    try {
      for (;;) {
        const left = (until - now()) / 1000;
        if (left <= 0) throw new Timeout(`nobody has answered within ${within} s`);
        const mails = await this.mails(left);
        const answer = mails.find(answers);
        this.life.mails.keep(mails.filter((mail) => mail !== answer));
        if (!answer) continue;
        await this.ack(answer);
        return answer;
      }
    } finally {
      if (!this.signal.aborted) await this.declare({ status: "healthy" });
    }
  }

  /**
   * Adds what a model was used: tokens, and cost in dollars. Budgets count them. It is told to the agentd of this host,
   * so it needs a managed life whose runner says telemetry: true; false says that nobody took it. It does not fail.
   */
  usage(used: { tokens?: number; input?: number; output?: number; cost?: number }): Promise<boolean> {
    return tell((used.input ?? 0) + (used.tokens ?? 0), used.output ?? 0, used.cost ?? 0);
  }

  /**
   * Runs a command to its end, without a shell, and gives its output. When nobody wants the result any more, or after
   * timeout seconds, it and what it has started get SIGTERM, and SIGKILL after a grace.
   */
  async run(command: string, args: readonly string[] = [], options: RunOptions = {}): Promise<Ran> {
    const { input, timeout, grace = 10, check = true, ...how } = options;
    this.signal.throwIfAborted();
    const { child, grouped } = start(command, args, this.traced({ ...how, stdio: ["pipe", "pipe", "pipe"] }));
    const running = this.keep(new Running(child, grouped, grace));
    let late = false;
    const timer =
      timeout === undefined
        ? undefined
        : setTimeout(
            () => {
              late = true;
              void running.end();
            },
            delay(timeout * 1000),
          );
    try {
      const ran = await ended(child, input);
      this.signal.throwIfAborted();
      if (late) throw new CommandFailed(`${command} was ended after ${timeout} s`, ran);
      const why = complaint(command, ran);
      if (check && why) throw new CommandFailed(why, ran);
      return ran;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Starts a command in a process group of its own and has it ended as run does, with the options of node's spawn. */
  spawn(
    command: string,
    args: readonly string[] = [],
    options: SpawnOptions & { grace?: number } = {},
  ): ChildProcess {
    const { grace = 10, ...how } = options;
    this.signal.throwIfAborted();
    const { child, grouped } = start(command, args, this.traced(how));
    this.keep(new Running(child, grouped, grace));
    return child;
  }

  /** Has a process ended when nobody wants the result any more, and when the handler returns before it. */
  register(child: ChildProcess, options: { grace?: number } = {}): void {
    this.keep(new Running(child, false, options.grace ?? 10));
  }

  /** The environment of a command, which finds the trace of this attempt in TRACEPARENT. */
  private traced(how: SpawnOptions): SpawnOptions {
    if (!this.trace) return how;
    return { ...how, env: { ...(how.env ?? process.env), TRACEPARENT: this.trace } };
  }

  private keep(one: Running): Running {
    this.running = this.running.filter((r) => !r.over);
    this.running.push(one);
    if (this.signal.aborted) void one.end();
    return one;
  }

  /** @internal Tells the handler that nobody wants the result any more. */
  cancel(cause: VigilError = new Superseded()): void {
    if (this.signal.aborted) return;
    this.controller.abort(cause);
    void this.tidy();
  }

  /** @internal Ends the processes that are left, and waits for them. */
  async tidy(): Promise<void> {
    await Promise.all(this.running.map((r) => r.end()));
  }
}
