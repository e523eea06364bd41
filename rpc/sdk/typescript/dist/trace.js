// The trace that what a program says belongs to, in the form of W3C: a traceparent.
import { AsyncLocalStorage } from "node:async_hooks";
const form = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const storage = new AsyncLocalStorage();
/** A traceparent, or "" when the text is none. */
export const checked = (text = "") => (form.test(text) ? text : "");
/** The trace of the job whose function runs, else the one in TRACEPARENT; "": there is none. */
export const here = () => storage.getStore() || checked(process.env.TRACEPARENT);
/** Runs a function of a job within its trace. */
export const within = (trace, fn) => storage.run(trace, fn);
