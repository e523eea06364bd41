// One life of an agent: it joins, beats, waits for tasks, and leaves.

import type { CallOptions, Client } from "./client.js";
import { sayEnd, unanswered, unfit, type End, type Patience } from "./end.js";
import {
  Closed,
  Conflict,
  Denied,
  Late,
  NotFound,
  OldServers,
  Rejoin,
  Stopped,
  Superseded,
  Unimplemented,
  type VigilError,
} from "./errors.js";
import { VigilError as AnyError } from "./errors.js";
import { Job } from "./job.js";
import { Kept } from "./kept.js";
import type { Calls, ClaimResponse, NextRequest, Speaker, WorkRequest } from "./messages.js";
import { Linked, milliseconds, now, pause, span } from "./spans.js";
import { put } from "./spool.js";

const MAX_WAIT = 60; // s that one parked call lasts before it is made again
const AGAIN = 1000; // ms from a beat that failed to the next one, at the latest
const LOOK_EVERY = 5000; // ms between looks whether the task is still this life's
const MINUTE = 60_000;
const QUIET = 5000; // ms for which servers may be away before that is told
const BROKEN_OFF = 1000; // ms that a join which was broken off waits for its answer

/** Errors that end a life. */
const final = (e: unknown): boolean =>
  e instanceof Superseded || e instanceof Stopped || e instanceof NotFound || e instanceof Denied;

/** Is told what a life cannot do now, and why; null: it has got through again. */
export type Trouble = (what: "waiting" | "beats", e: VigilError | null) => void;

/** One life. Its signal comes when it is over; the reason says why. */
export class Life {
  agent = "";
  incarnation = "";
  private speaker: Speaker;
  private ttl = MINUTE; // ms
  private waiting = false; // joined, and no task claimed since
  private proven = 0; // when the newest proof of life was sent that was acknowledged
  private joins = 0; // changes when the lease has ended and was taken up again
  private job: Job | undefined;
  private readonly over = new AbortController();
  private readonly beats = new AbortController();
  private beating: Promise<void> = Promise.resolve();
  private hurry = new AbortController(); // ask for a beat at once
  private blind = false; // it may not look at itself
  private left = false; // a result is left with agentd
  /** Mail that was read, and not given to anybody yet. */
  readonly mails = new Kept();

  private constructor(
    readonly client: Client,
    speaker: Speaker,
    private readonly trouble: Trouble,
  ) {
    this.speaker = speaker;
  }

  get signal(): AbortSignal {
    return this.over.signal;
  }

  /** Joins and starts to beat. */
  static async join(
    client: Client,
    speaker: Speaker,
    signal: AbortSignal,
    trouble: Trouble,
  ): Promise<Life> {
    signal.throwIfAborted();
    const life = new Life(client, speaker, trouble);
    // A call that is broken off may have joined all the same, under a number that only its answer tells: it goes on
    // for a moment, so that there is a way back out.
    const late = new AbortController();
    const end = (): void => void pause(BROKEN_OFF, late.signal).then(() => late.abort(signal.reason));
    signal.addEventListener("abort", end, { once: true });
    try {
      await life.enter({ signal: late.signal });
    } finally {
      signal.removeEventListener("abort", end);
    }
    life.beating = life.beat();
    if (signal.aborted) {
      await life.leave("its join was broken off", BROKEN_OFF);
      throw signal.reason as Error;
    }
    return life;
  }

  /** Joins the room. A task that was held is lost unless the answer names it. */
  private async enter(options: CallOptions): Promise<void> {
    const sent = now();
    const answer = await this.client.call("Work.Join", { speaker: this.speaker }, options);
    this.agent = answer.agent;
    this.incarnation = answer.incarnation;
    this.speaker = { ...this.speaker, agent: answer.agent, incarnation: answer.incarnation };
    this.ttl = milliseconds(answer.ttl, MINUTE);
    this.waiting = true;
    this.proven = sent;
    this.joins++;
    if (this.job && this.job.id !== (answer.task ?? "")) {
      this.finished(this.job, new Rejoin("the lease has ended, and the task was given to somebody else"));
    }
  }

  /** Leaves the room at once; a task that is held goes back to its role. It does not fail. */
  async leave(reason: string, limit: number): Promise<void> {
    this.beats.abort();
    await this.beating;
    const over = this.over.signal.aborted;
    this.end(new Closed("the agent has left"));
    if (over || this.left) return; // what is left counts while the attempt is this life's
    const options = { signal: AbortSignal.timeout(limit), timeout: limit / 1000 };
    await this.client.call("Work.Leave", { speaker: this.speaker, reason }, options).catch(() => undefined);
  }

  /** This life is over. */
  private end(cause: VigilError): void {
    const job = this.job;
    this.over.abort(cause);
    if (job) this.finished(job, cause);
  }

  // Beats

  /** Renews the lease every quarter of its length until the life ends. */
  private async beat(): Promise<void> {
    let due = now() + this.ttl / 4;
    let look = now() + LOOK_EVERY;
    while (!this.beats.signal.aborted && !this.over.signal.aborted) {
      const link = new Linked(this.beats.signal, this.over.signal, this.hurry.signal);
      const until = this.job && !this.blind ? Math.min(due, look) : due;
      await pause(Math.max(until - now(), 0), link.signal);
      link.end();
      if (this.beats.signal.aborted || this.over.signal.aborted) return;
      const asked = this.hurry.signal.aborted;
      if (asked) this.hurry = new AbortController();
      if (this.job && now() >= look) await this.look(this.job);
      if (now() >= look) look = now() + LOOK_EVERY;
      if (!asked && now() < due) continue;
      const began = now();
      try {
        await this.prove();
        this.trouble("beats", null);
        due = now() + this.ttl / 4;
      } catch (e) {
        if (final(e)) return this.end(e as VigilError);
        if (now() - this.proven > this.ttl / 2) this.trouble("beats", e as VigilError);
        due = began + Math.min(AGAIN, this.ttl / 10); // at once when it was waited for longer
      }
    }
  }

  /** Asks for a beat at once. */
  beatNow(): void {
    this.hurry.abort();
  }

  /** Proves once that this life goes on. One without an answer must not hold up the next for long. */
  private async prove(): Promise<void> {
    const sent = now();
    try {
      const options = { signal: this.over.signal, timeout: this.ttl / 4000 };
      const answer = await this.client.single("Work.Renew", { speaker: this.speaker }, options);
      this.proven = sent;
      this.ttl = milliseconds(answer.ttl, this.ttl);
    } catch (e) {
      if (!(e instanceof Rejoin)) throw e;
      this.waiting = false;
      await this.enter({ signal: this.over.signal }).catch((later: unknown) => {
        if (!(later instanceof Rejoin)) throw later; // not yet
      });
    }
  }

  /** Asks whether the task is still this life's: a human may have canceled it, which no beat tells. */
  private async look(job: Job): Promise<void> {
    const ask = async (): Promise<boolean> => {
      const timeout = Math.min(this.ttl / 4000, 2); // it must not hold up a beat for long
      const { agent } = await this.client.single("Fleet.GetAgent", { agent: this.agent }, { timeout });
      return agent !== undefined && (agent.task ?? "0") !== job.id;
    };
    try {
      if ((await ask()) && this.job === job) {
        this.finished(job, new Superseded(`task ${job.id} was canceled, or given to somebody else`));
      }
    } catch (e) {
      if (e instanceof Denied || e instanceof Unimplemented) this.blind = true;
      // Otherwise nobody has answered; beats tell when that lasts.
    }
  }

  // Work

  /**
   * Parks until the role has a task and claims it. It outlives servers and leaders: only a signal, or the end of the
   * life, ends it.
   */
  async wait(signal: AbortSignal): Promise<Job> {
    const link = new Linked(signal, this.over.signal);
    const t = { began: now(), tries: 0, signal: link.signal };
    try {
      for (;;) {
        link.signal.throwIfAborted();
        let later = false;
        try {
          if (!this.waiting) {
            later = true; // the life may go on when its host is heard again
            await this.enter({ signal: link.signal });
            later = false;
          }
          const joins = this.joins;
          const job = await this.accept(await this.waitOnce(link.signal), joins);
          if (job) return job;
          continue;
        } catch (e) {
          link.signal.throwIfAborted();
          if (!(e instanceof AnyError)) throw e;
          if (e.code === "no_task" || (e instanceof Rejoin && !later)) {
            Object.assign(t, { began: now(), tries: 0 });
            continue;
          }
          if (!e.fleeting && !(e instanceof Rejoin)) throw this.judged(e);
          if (t.tries === 0) t.began = now();
          else if (now() - t.began > QUIET) this.trouble("waiting", e);
          t.tries++;
        }
        this.hurry.abort(); // the servers may have been away for longer than the lease; a beat tells
        await this.client.rest(t);
      }
    } finally {
      link.end();
    }
  }

  private async waitOnce(signal: AbortSignal): Promise<ClaimResponse> {
    const request = { speaker: this.speaker, max_wait: span(MAX_WAIT), start: true };
    const options = { signal, timeout: MAX_WAIT + 30 };
    try {
      return await this.client.call("Work.Wait", request, options);
    } catch (e) {
      if (e instanceof OldServers)
        return this.client.call("Work.Wait", { ...request, start: false }, options);
      if (e instanceof Rejoin) this.waiting = false;
      throw e;
    }
  }

  /**
   * Makes a job of a claim; undefined when it is over already: an answer that was long on its way may tell of a lease
   * that has ended meanwhile.
   */
  private async accept(claim: ClaimResponse, joins: number): Promise<Job | undefined> {
    if (this.joins !== joins) {
      this.waiting = false; // what this life holds now, the next call tells
      return undefined;
    }
    const job = new Job(this, claim.task, claim.attempt);
    this.job = job;
    this.waiting = false;
    this.ttl = milliseconds(claim.ttl, this.ttl);
    if (now() - this.proven < this.ttl / 2) return job;
    try {
      await this.prove();
    } catch (e) {
      this.finished(job, e as VigilError);
      throw e;
    }
    return job.signal.aborted ? undefined : job;
  }

  /** The reason why this life is over, or e, which may be one. */
  private judged(e: VigilError): VigilError {
    if (final(e)) this.end(e);
    return this.over.signal.aborted ? (this.over.signal.reason as VigilError) : e;
  }

  /**
   * Ends a job and takes the next one in the same step; undefined: there is none now, or nobody wanted this one. It
   * outlives whole outages: the end of an attempt is fenced by life and attempt, so that it may be said for as long as
   * the life lasts, under a new number where the old one is forgotten. It fails with the reason of stop.
   */
  async next(job: Job, end: End, stop: AbortSignal): Promise<Job | undefined> {
    const joins = this.joins;
    let answer: Calls["Work.Next"]["response"];
    try {
      const request: NextRequest = {
        ...end,
        speaker: this.speaker,
        task: job.id,
        attempt: job.attempt,
        start: true,
      };
      answer = await this.insist(stop, (signal) => this.client.call("Work.Next", request, { signal }));
    } catch (e) {
      if (e instanceof OldServers || e instanceof Unimplemented)
        await this.finish(job, end, { stop }); // nothing was executed
      else await this.refused(job, end, e, { stop });
      return undefined;
    }
    this.finished(job, new Closed("the job is finished"));
    if (!answer.claim) {
      this.waiting = answer.none?.code === "no_task" && this.joins === joins;
      return undefined;
    }
    try {
      return await this.accept(answer.claim, joins);
    } catch {
      this.waiting = false; // wait tells what it holds, or why not
      return undefined;
    }
  }

  /** Ends a job and takes no other one. */
  async finish(job: Job, end: End, how: Patience): Promise<void> {
    const of = { speaker: this.speaker, task: job.id, attempt: job.attempt };
    try {
      if ("stop" in how) await this.insist(how.stop, (signal) => sayEnd(this.client, of, end, { signal }));
      else await sayEnd(this.client, of, end, { signal: AbortSignal.timeout(how.ms), timeout: how.ms / 1000 });
      this.finished(job, new Closed("the job is finished"));
    } catch (e) {
      await this.refused(job, end, e, how);
    }
  }

  /** Says the end of an attempt until it is answered, this life is over, or stop comes. */
  private async insist<T>(stop: AbortSignal, say: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const link = new Linked(stop, this.over.signal);
    const t = { began: now(), tries: 0, signal: link.signal };
    try {
      for (;;) {
        link.signal.throwIfAborted();
        try {
          return await say(link.signal);
        } catch (e) {
          link.signal.throwIfAborted();
          if (!unanswered(e)) throw e;
          if (now() - t.began > QUIET) this.trouble("waiting", e);
        }
        t.tries++;
        this.hurry.abort(); // the servers may have been away for longer than the lease; a beat tells
        await this.client.rest(t);
      }
    } finally {
      link.end();
    }
  }

  /** Leaves a result that no server has taken with the agentd of a managed life; tells whether it did. */
  spool(job: Job, end: End): boolean {
    this.left ||= "complete" in end && put(this.speaker, job, end.complete.result);
    return this.left;
  }

  /** The end of one attempt was refused: the worker goes on, unless that is no refusal of the attempt. */
  private async refused(job: Job, end: End, e: unknown, how: Patience): Promise<void> {
    const failure = unfit(end, e);
    if (failure) return this.finish(job, failure, how);
    this.finished(job, e as VigilError);
    const unwanted =
      e instanceof Late || e instanceof Rejoin || e instanceof Conflict || e instanceof Superseded;
    if (!unwanted) throw e;
  }

  private finished(job: Job, cause: VigilError): void {
    if (this.job === job) this.job = undefined;
    job.cancel(cause);
  }

  /** What a job says of itself; a word that is refused since it is no longer ours ends it. */
  async say(
    job: Job,
    method: "Work.StartTask" | "Work.ProgressTask",
    more: Partial<WorkRequest> = {},
  ): Promise<void> {
    const message = { ...more, speaker: this.speaker, task: job.id, attempt: job.attempt };
    try {
      await this.client.call(method, message, { signal: job.signal });
    } catch (e) {
      if (e instanceof Superseded || e instanceof Rejoin || e instanceof Stopped) this.finished(job, e);
      throw e;
    }
  }

  /** What this life says in its own name. */
  speak<
    M extends
      | "Work.Declare"
      | "Work.SetResume"
      | "Mailbox.SendMail"
      | "Mailbox.ReadMail"
      | "Mailbox.AckMail"
      | "Mailbox.WaitMail",
  >(
    method: M,
    message: Omit<Calls[M]["request"], "speaker">,
    options?: CallOptions,
  ): Promise<Calls[M]["response"]> {
    return this.client.call(method, { ...message, speaker: this.speaker } as Calls[M]["request"], options);
  }
}
