import type { CallOptions, Client } from "./client.js";
import { type End, type Patience } from "./end.js";
import { type VigilError } from "./errors.js";
import { Job } from "./job.js";
import { Kept } from "./kept.js";
import type { Calls, Speaker, WorkRequest } from "./messages.js";
/** Is told what a life cannot do now, and why; null: it has got through again. */
export type Trouble = (what: "waiting" | "beats", e: VigilError | null) => void;
/** One life. Its signal comes when it is over; the reason says why. */
export declare class Life {
    readonly client: Client;
    private readonly trouble;
    agent: string;
    incarnation: string;
    private speaker;
    private ttl;
    private waiting;
    private proven;
    private joins;
    private job;
    private readonly over;
    private readonly beats;
    private beating;
    private hurry;
    private blind;
    private left;
    /** Mail that was read, and not given to anybody yet. */
    readonly mails: Kept;
    private constructor();
    get signal(): AbortSignal;
    /** Joins and starts to beat. */
    static join(client: Client, speaker: Speaker, signal: AbortSignal, trouble: Trouble): Promise<Life>;
    /** Joins the room. A task that was held is lost unless the answer names it. */
    private enter;
    /** Leaves the room at once; a task that is held goes back to its role. It does not fail. */
    leave(reason: string, limit: number): Promise<void>;
    /** This life is over. */
    private end;
    /** Renews the lease every quarter of its length until the life ends. */
    private beat;
    /** Asks for a beat at once. */
    beatNow(): void;
    /** Proves once that this life goes on. One without an answer must not hold up the next for long. */
    private prove;
    /** Asks whether the task is still this life's: a human may have canceled it, which no beat tells. */
    private look;
    /**
     * Parks until the role has a task and claims it. It outlives servers and leaders: only a signal, or the end of the
     * life, ends it.
     */
    wait(signal: AbortSignal): Promise<Job>;
    private waitOnce;
    /**
     * Makes a job of a claim; undefined when it is over already: an answer that was long on its way may tell of a lease
     * that has ended meanwhile.
     */
    private accept;
    /** The reason why this life is over, or e, which may be one. */
    private judged;
    /**
     * Ends a job and takes the next one in the same step; undefined: there is none now, or nobody wanted this one. It
     * outlives whole outages: the end of an attempt is fenced by life and attempt, so that it may be said for as long as
     * the life lasts, under a new number where the old one is forgotten. It fails with the reason of stop.
     */
    next(job: Job, end: End, stop: AbortSignal): Promise<Job | undefined>;
    /** Ends a job and takes no other one. */
    finish(job: Job, end: End, how: Patience): Promise<void>;
    /** Says the end of an attempt until it is answered, this life is over, or stop comes. */
    private insist;
    /** Leaves a result that no server has taken with the agentd of a managed life; tells whether it did. */
    spool(job: Job, end: End): boolean;
    /** The end of one attempt was refused: the worker goes on, unless that is no refusal of the attempt. */
    private refused;
    private finished;
    /** What a job says of itself; a word that is refused since it is no longer ours ends it. */
    say(job: Job, method: "Work.StartTask" | "Work.ProgressTask", more?: Partial<WorkRequest>): Promise<void>;
    /** What this life says in its own name. */
    speak<M extends "Work.Declare" | "Work.SetResume" | "Mailbox.SendMail" | "Mailbox.ReadMail" | "Mailbox.AckMail" | "Mailbox.WaitMail">(method: M, message: Omit<Calls[M]["request"], "speaker">, options?: CallOptions): Promise<Calls[M]["response"]>;
}
