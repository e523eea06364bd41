// A worker: a function that is an agent.
import { Client } from "./client.js";
import { later, MAX_REASON } from "./end.js";
import { Closed, Invalid, Rejoin, Superseded, VigilError } from "./errors.js";
import { Handoff, Retry } from "./job.js";
import { Life } from "./life.js";
import { clip, pause, textOf } from "./spans.js";
import { within } from "./trace.js";
import { readFileSync } from "node:fs";
const BYE = 3000; // ms for the last words of a worker
/** The worker was asked to end. */
class Stopping extends Closed {
}
/**
 * Makes this process an agent of a role, such as "web/builder", and a function its work: the first that is free of the
 * role, with "web/builder.2" that one alone. In a life that an agentd has started the agent is that of the life.
 *
 * It joins, waits, claims, beats, reports and leaves. An error of the function fails the task for good, with its class
 * and message; Retry, those of retryOn, and errors of vigil that may pass fail the attempt only. It ends when the
 * signal comes, and fails when this life is over: Superseded when a newer one has begun, Stopped, NotFound or Denied.
 */
export async function worker(agent, handler, options = {}) {
    const log = options.log ?? ((line) => process.stderr.write(`${new Date().toISOString()} ${line}\n`));
    const client = options.client ?? new Client({ name: `worker ${agent}` });
    const stop = new AbortController();
    const end = (why) => () => stop.abort(new Stopping(why));
    const signals = options.signals === false ? [] : ["SIGTERM", "SIGINT"];
    const told = signals.map((name) => ({ name, fn: end(name) }));
    for (const { name, fn } of told)
        process.once(name, fn);
    const asked = end("its signal");
    if (options.signal?.aborted)
        asked();
    options.signal?.addEventListener("abort", asked, { once: true });
    try {
        const work = new Work(handler, options, log, stop.signal);
        await work.live(client, speakerOf(agent));
    }
    finally {
        for (const { name, fn } of told)
            process.removeListener(name, fn);
        options.signal?.removeEventListener("abort", asked);
        if (!options.client)
            await client.close();
    }
}
/** Who speaks: the life whose environment this is, or somebody who gets a new one. */
function speakerOf(agent) {
    const own = process.env.VIGIL_AGENT ?? "";
    const incarnation = process.env.VIGIL_INCARNATION ?? "";
    if (!own || !incarnation)
        return { agent: /\/.*\./.test(agent) ? agent : `${agent}.*` };
    if (own !== agent && own.replace(/\.[0-9]+$/, "") !== agent.replace(/\.\*$/, "")) {
        throw new Invalid(`this process is a life of ${own}, and its worker is one of ${agent}: start it by the runner ` +
            `of ${agent}, or name the role of this one`);
    }
    const token = tokenOf();
    return { agent: own, incarnation: plain(incarnation), ...(token && { token }) };
}
/** The plain number of an incarnation, which people write as EPOCH.N after a backup was restored. */
function plain(text) {
    const m = /^(?:([0-9]+)\.)?([0-9]+)$/.exec(text);
    if (!m)
        throw new Invalid(`VIGIL_INCARNATION ${JSON.stringify(text)}: want a number, or epoch.number`);
    return m[1] === undefined ? m[2] : String((BigInt(m[1]) << 32n) | BigInt(m[2]));
}
function tokenOf() {
    const file = process.env.VIGIL_TOKEN_FILE;
    if (process.env.VIGIL_TOKEN || !file)
        return process.env.VIGIL_TOKEN ?? "";
    try {
        return readFileSync(file, "utf8").slice(0, 4096).trim();
    }
    catch (e) {
        const gone = e.code === "ENOENT";
        const why = gone
            ? "it is gone: the life that it belongs to has ended"
            : "only the agent's own account can read it";
        throw new Invalid(`VIGIL_TOKEN_FILE ${file}: ${why}`, { cause: e });
    }
}
/** The loop of a worker. */
class Work {
    handler;
    options;
    log;
    stop;
    trouble = { waiting: "", beats: "" }; // the code that was last told of each
    constructor(handler, options, log, stop) {
        this.handler = handler;
        this.options = options;
        this.log = log;
        this.stop = stop;
    }
    async live(client, speaker) {
        const slow = setTimeout(() => this.log(`vigil: ${speaker.agent} has not joined yet: no server has answered; ` +
            `it goes on trying ${client.addrs.join(", ")}`), 5000);
        let life;
        try {
            life = await Life.join(client, speaker, this.stop, (what, e) => this.worse(what, e));
        }
        catch (e) {
            if (this.stop.aborted)
                return;
            throw e;
        }
        finally {
            clearTimeout(slow);
        }
        this.log(`vigil: ${life.agent} is here, life ${life.incarnation}`);
        try {
            await this.loop(life);
        }
        catch (e) {
            if (life.signal.aborted)
                throw life.signal.reason;
            if (!this.stop.aborted)
                throw e;
        }
        finally {
            await life.leave("the agent ended", BYE);
        }
    }
    worse(what, e) {
        const told = this.trouble[what];
        const code = e?.code ?? "";
        this.trouble[what] = code;
        if (!e || code === told)
            return;
        if (what === "waiting")
            this.log(`vigil: waiting goes on in spite of: ${e.message}`);
        else if (!told)
            this.log(`vigil: no beat was heard for half a lease, more follow, after: ${e.message}`);
    }
    async loop(life) {
        let job;
        while (!this.stop.aborted) {
            job ??= await life.wait(this.stop);
            this.trouble.waiting = "";
            job = await this.run(life, job);
            if (life.signal.aborted)
                throw life.signal.reason;
        }
        if (job)
            this.givenBack(job);
    }
    /** Does one job and says how it has ended; it gives the next one where that came with it. */
    async run(life, job) {
        if (job.task.state !== "IN_PROGRESS") {
            // of servers that do not start what is claimed
            try {
                await life.say(job, "Work.StartTask");
            }
            catch (e) {
                if (e instanceof Superseded || e instanceof Rejoin)
                    return undefined;
                throw e;
            }
        }
        const tell = () => job.cancel(this.stop.reason);
        this.stop.addEventListener("abort", tell, { once: true });
        if (this.stop.aborted)
            tell();
        const end = await this.ended(life, job);
        this.stop.removeEventListener("abort", tell);
        await job.tidy();
        if (job.signal.aborted && !this.stop.aborted) {
            this.log(`vigil: task ${job.id} (attempt ${job.attempt}) is no longer wanted: ${reason(job.signal)}`);
            return undefined;
        }
        if (!end) {
            this.givenBack(job);
            return undefined;
        }
        if (!this.stop.aborted) {
            try {
                return await life.next(job, end, this.stop);
            }
            catch (e) {
                if (!this.stop.aborted || life.signal.aborted)
                    throw e;
            }
        }
        await this.lastWords(life, job, end);
        return undefined;
    }
    /** What was done is said even when the worker is about to end. */
    async lastWords(life, job, end) {
        try {
            await life.finish(job, end, { ms: BYE });
        }
        catch (e) {
            const why = e.message;
            const open = !(e instanceof VigilError) || e.fleeting;
            if (open && life.spool(job, end))
                this.log(`vigil: task ${job.id}: no server answers, its result is left with agentd: ${why}`);
            else
                this.log(`vigil: task ${job.id} is given back: its end could not be said: ${why}`);
        }
    }
    /** A stop is no failure of a task: it goes back to its role as the life leaves, and nobody is charged. */
    givenBack(job) {
        this.log(`vigil: task ${job.id} (attempt ${job.attempt}) is given back: ${reason(this.stop)}`);
    }
    /**
     * What a handler comes to; undefined when it was told to stop and has no result. It is left alone after its grace.
     */
    async ended(life, job) {
        const done = (async () => {
            try {
                return completed(await within(job.trace, () => this.handler(job)));
            }
            catch (e) {
                return job.signal.aborted ? undefined : this.failed(job, e);
            }
        })();
        const grace = (this.options.grace ?? 10) * 1000;
        const left = new AbortController();
        const impatient = new Promise((resolve) => {
            for (const s of [this.stop, life.signal]) {
                const begin = () => void pause(grace, left.signal).then(() => resolve(undefined));
                if (s.aborted)
                    begin();
                s.addEventListener("abort", begin, { once: true, signal: left.signal });
            }
        });
        try {
            return await Promise.race([done, impatient]);
        }
        finally {
            left.abort();
        }
    }
    /** What an error says: its class and message, never where it was thrown or what was near. */
    failed(job, e) {
        if (e instanceof Retry) {
            const after = later(e.after);
            return { fail: { reason: clip(e.message, MAX_REASON), retryable: true, ...(after && { after }) } };
        }
        this.log(`vigil: task ${job.id} (attempt ${job.attempt}) has failed: ${e instanceof Error ? e.stack : String(e)}`);
        const retryable = (this.options.retryOn ?? []).some((kind) => e instanceof kind) || (e instanceof VigilError && !e.final);
        const text = e instanceof Error ? `${e.name}: ${e.message}` : `threw ${textOf(e)}`;
        return { fail: { reason: clip(text, MAX_REASON), retryable } };
    }
}
function completed(value) {
    if (!(value instanceof Handoff))
        return { complete: { result: textOf(value) } };
    const { role, text, title, result, priority } = value;
    return { handoff: { to_role: role, text, title, result, priority } };
}
const reason = (signal) => signal.reason?.message ?? "";
