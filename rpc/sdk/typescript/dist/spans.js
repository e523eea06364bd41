// Spans of time: people say seconds, the wire says "1.5s", timers want milliseconds.
import { setMaxListeners } from "node:events";
/** The wire's form of seconds. */
export function span(seconds) {
    if (!Number.isFinite(seconds))
        throw new RangeError(`${seconds} is no span: give seconds`);
    return `${Number(seconds.toFixed(6))}s`;
}
/** Milliseconds of the wire's form, or `otherwise` where there is none. */
export function milliseconds(text, otherwise) {
    const seconds = text === undefined ? NaN : Number.parseFloat(text);
    return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : otherwise;
}
/** Milliseconds of a clock that never goes back. */
export const now = () => performance.now();
export const moment = () => ({ at: now(), wall: Date.now() });
/**
 * The milliseconds since then, by whichever of the two clocks says more: the one that never goes back stands still
 * while a machine is suspended, the cluster does not.
 */
export const elapsed = (then) => Math.max(now() - then.at, Date.now() - then.wall);
/** The longest that a timer of the runtime can be set to, in ms: nearly 25 days. */
const LONGEST = 2 ** 31 - 1;
/** What a timer takes for so many milliseconds; for ever is nearly 25 days. */
export const delay = (ms) => Math.min(Math.max(Math.ceil(ms), 1), LONGEST);
/** Waits so many milliseconds, or until a signal comes first. It does not fail. */
export async function pause(ms, signal) {
    const until = now() + ms;
    do
        await once(delay(until - now()), signal);
    while (until - now() > 1 && !signal?.aborted);
}
function once(ms, signal) {
    return new Promise((resolve) => {
        if (signal?.aborted)
            return resolve();
        const done = () => {
            clearTimeout(timer);
            signal?.removeEventListener("abort", done);
            resolve();
        };
        const timer = setTimeout(done, ms);
        signal?.addEventListener("abort", done, { once: true });
    });
}
/** A signal that comes with the first of others. Whoever has it calls end, so that these forget it. */
export class Linked {
    controller = new AbortController();
    others;
    constructor(...signals) {
        this.others = signals.filter((s) => s !== undefined);
        for (const s of [...this.others, this.signal])
            setMaxListeners(0, s); // as many calls as one likes hang on them
        for (const s of this.others) {
            if (s.aborted)
                this.abort(s.reason);
            else
                s.addEventListener("abort", this.told, { once: true });
        }
    }
    told = (e) => this.abort(e.target.reason);
    get signal() {
        return this.controller.signal;
    }
    abort(reason) {
        this.controller.abort(reason);
    }
    end() {
        for (const s of this.others)
            s.removeEventListener("abort", this.told);
    }
}
/** At most so many bytes of a text, cut between characters. */
export function clip(text, most) {
    const bytes = Buffer.from(text);
    if (bytes.length <= most)
        return text;
    let end = most;
    while (end > 0 && (bytes[end] & 0xc0) === 0x80)
        end--;
    return bytes.subarray(0, end).toString();
}
const MAX_TITLE = 80; // characters of a title that is taken from the text
/** The title of a text: its first line that says something, without what servers refuse in a title. */
export function titleOf(text, otherwise) {
    const lines = text.split("\n").map((line) => line.replace(/\p{Cc}/gu, " ").trim());
    return [...(lines.find((line) => line !== "") ?? otherwise)].slice(0, MAX_TITLE).join("").trim();
}
/** Text as it is, nothing as "", anything else as JSON. */
export function textOf(value) {
    if (value === undefined || value === null)
        return "";
    return typeof value === "string" ? value : json(value);
}
/** JSON; a bigint is digits, as the wire writes numbers of 64 bits. */
export function json(value) {
    return JSON.stringify(value, (_, v) => (typeof v === "bigint" ? v.toString() : whole(v))) ?? "";
}
/** What is no Unicode, half of a surrogate pair, no server would take. */
function whole(value) {
    return typeof value === "string" && /\p{Surrogate}/u.test(value) ? Buffer.from(value).toString() : value;
}
