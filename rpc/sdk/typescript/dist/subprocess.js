// Commands that a job runs, and their end.
import { spawn } from "node:child_process";
import { delay } from "./spans.js";
const KEPT = 1 << 20; // bytes of the output of a command that are kept
const HELD = 2000; // ms for which the output of a command is read after its end
/** A command has ended with another exit code than 0, by a signal, or since its time was over. */
export class CommandFailed extends Error {
    ran;
    name = "CommandFailed";
    constructor(message, ran) {
        super(message);
        this.ran = ran;
    }
}
/** A command that is ended when nobody wants its result any more. */
export class Running {
    child;
    grouped;
    grace;
    gone;
    killer;
    ending = false;
    constructor(child, grouped, grace) {
        this.child = child;
        this.grouped = grouped;
        this.grace = grace;
        this.gone = new Promise((resolve) => {
            const done = () => {
                clearTimeout(this.killer);
                if (this.ending && this.grouped)
                    this.kill("SIGKILL"); // what it has left in its group, too
                resolve();
            };
            if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined)
                return done();
            child.once("exit", done);
            child.once("error", done);
        });
    }
    get over() {
        return this.child.exitCode !== null || this.child.signalCode !== null || this.child.pid === undefined;
    }
    /** Sends SIGTERM, and SIGKILL after the grace; it resolves when the process is gone. */
    end() {
        if (!this.over && !this.ending) {
            this.ending = true;
            this.kill("SIGTERM");
            this.killer = setTimeout(() => this.kill("SIGKILL"), delay(this.grace * 1000));
        }
        return this.gone;
    }
    /** What a command has started in its own group gets the signal, too. */
    kill(signal) {
        try {
            if (this.grouped)
                process.kill(-this.child.pid, signal);
            else
                this.child.kill(signal);
        }
        catch {
            // It has ended already.
        }
    }
}
/** Starts a command in a process group of its own, without a shell. */
export function start(command, args, options) {
    const grouped = process.platform !== "win32";
    return { child: spawn(command, args, { ...options, shell: false, detached: grouped }), grouped };
}
/** Waits for the end of a command whose output is kept. */
export function ended(child, input) {
    const out = new Tail(child.stdout);
    const err = new Tail(child.stderr);
    child.stdin?.on("error", () => undefined); // it reads no more, as it may
    child.stdin?.end(input ?? "");
    return new Promise((resolve, reject) => {
        child.once("error", reject);
        const done = (code, signal) => {
            clearTimeout(timer);
            child.stdout?.destroy();
            child.stderr?.destroy();
            resolve({ code, signal, stdout: out.text(), stderr: err.text() });
        };
        let timer;
        // What the command has left running may hold its output open.
        child.once("exit", (code, signal) => (timer = setTimeout(() => done(code, signal), HELD)));
        child.once("close", done);
    });
}
/** Why a command counts as failed; undefined: it does not. */
export function complaint(command, ran) {
    if (ran.code === 0)
        return undefined;
    const last = (ran.stderr.trim() || ran.stdout.trim()).split("\n").at(-1) ?? "";
    return `${command} has ended with ${ran.signal ?? ran.code}${last ? `: ${last.slice(0, 300)}` : ""}`;
}
/** The last part of a stream. */
class Tail {
    parts = [];
    size = 0;
    constructor(from) {
        from?.on("data", (part) => {
            this.parts.push(part);
            this.size += part.length;
            while (this.size - this.parts[0].length >= KEPT)
                this.size -= this.parts.shift().length;
        });
    }
    text() {
        return Buffer.concat(this.parts).subarray(-KEPT).toString();
    }
}
