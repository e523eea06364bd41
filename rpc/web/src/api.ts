// Calls of the public API, and nothing else: the page knows no other way to the fleet.
import { signal } from "@preact/signals";
import type { OpenSessionResponse } from "./messages";

/** Failure is an answer that is no success, in the words of the server. */
export class Failure extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly rev = "",
  ) {
    super(message);
  }
}

/** signedOut is true once the server of the page does not know this browser any more. */
export const signedOut = signal(false);

const kept = "vigil-page";

// The other half of a sign-in. Cookies are shared by all ports of a machine, this is not: what another
// server there gets to see of the cookie is worth nothing without it.
function half(): Record<string, string> {
  const token = localStorage.getItem(kept);
  return token ? { "Vigil-Page": token } : {};
}

async function failure(r: Response): Promise<Failure> {
  let code = "",
    message = "",
    rev = "";
  try {
    ({ code = "", message = "", rev = "" } = await r.json());
  } catch {
    // something between us and the server has answered
  }
  if (r.status === 401) signedOut.value = true;
  return new Failure(r.status, code, message || `The server answered ${r.status}.`, String(rev));
}

async function send(path: string, init: RequestInit): Promise<Response> {
  let r: Response;
  try {
    r = await fetch(path, {
      ...init,
      headers: { ...half(), ...init.headers },
      redirect: "error",
      cache: "no-store",
    });
  } catch (e) {
    if (init.signal?.aborted) throw e;
    throw new Failure(0, "unavailable", "The server of this page does not answer.");
  }
  if (!r.ok) throw await failure(r);
  return r;
}

export type Params = Record<string, string | number | boolean | string[] | undefined>;

function query(params: Params): string {
  const q = new URLSearchParams();
  for (const [name, v] of Object.entries(params)) {
    for (const one of Array.isArray(v) ? v : [v]) {
      if (one !== undefined && one !== "" && one !== false) q.append(name, String(one));
    }
  }
  const s = q.toString();
  return s ? "?" + s : "";
}

/** get reads, from whichever server answers first: what is shown may be a moment old, and says so. */
export async function get<T>(path: string, params: Params = {}, abort?: AbortSignal): Promise<T> {
  const r = await send(path + query(params), { signal: abort ?? null });
  return (await r.json()) as T;
}

/** read is get for calls that may answer from what a server has. */
export function read<T>(path: string, params: Params = {}, abort?: AbortSignal): Promise<T> {
  return get<T>(path, { stale: true, ...params }, abort);
}

/** post changes something; the leader does it. */
export function post<T>(path: string, body: unknown = {}): Promise<T> {
  return ask<T>(path, body);
}

/** ask sends a body by a method. */
export async function ask<T>(path: string, body: unknown, method: "POST" | "PUT" = "POST"): Promise<T> {
  const r = await send(path, {
    method,
    body: JSON.stringify(body),
    headers: { "Content-Type": "application/json" },
  });
  return (await r.json()) as T;
}

/** settled are the answers of servers that a write has been judged, by status: the same comes again for its number. */
const settled = [400, 404, 409, 410, 507];

/** numbers gives a session of its own to one write, "" where the cluster has none to spare. */
async function numbers(): Promise<string> {
  try {
    return (await post<OpenSessionResponse>("v1/sessions", { client: "page" })).session ?? "";
  } catch (e) {
    if (e instanceof Failure && e.code === "full") return ""; // what frees memory must get through
    throw e;
  }
}

/**
 * once posts what must not be done twice. Where no answer came it may have been done: who sends the same again, also
 * after a reload, sends it under the number of the first try, for which servers give the first answer.
 */
export async function once<T>(path: string, body: object): Promise<T> {
  const at = `vigil-unanswered ${path} ${JSON.stringify(body)}`,
    tried = sessionStorage.getItem(at),
    session = tried ?? (await numbers());
  if (session) sessionStorage.setItem(at, session);
  try {
    const answer = await post<T>(path, session ? { ...body, id: { session, seq: "1" } } : body);
    sessionStorage.removeItem(at);
    return answer;
  } catch (e) {
    if (!(e instanceof Failure && e.code && settled.includes(e.status))) throw e;
    sessionStorage.removeItem(at);
    if (tried && ["unknown_session", "too_old"].includes(e.code))
      throw new Failure(
        e.status,
        e.code,
        "The servers know no longer whether this was done at the first try. Look, and send it again if it was not.",
      );
    throw e;
  }
}

/** lines reads a stream, a message at a time, until it ends or fails. */
export async function lines<T>(
  path: string,
  params: Params,
  abort: AbortSignal,
  each: (m: T) => void,
): Promise<void> {
  const r = await send(path + query(params), { signal: abort });
  const reader = r.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop()!;
    for (const part of parts) {
      if (!part) continue;
      const m = JSON.parse(part) as { result?: T; error?: { code: string; message: string } };
      if (m.error) throw new Failure(0, m.error.code, m.error.message);
      if (m.result) each(m.result);
    }
  }
}

/** signIn trades a one-time code for a session. */
export async function signIn(code: string): Promise<void> {
  const { token } = await post<{ token: string }>("login", { code });
  localStorage.setItem(kept, token);
  signedOut.value = false;
}

/** signOut ends the session, here and at the server. */
export async function signOut(): Promise<void> {
  await post("logout").catch(() => undefined); // a server that is away has forgotten it
  localStorage.removeItem(kept);
  signedOut.value = true;
}

/** name puts an agent's name into a path. */
export const agentPath = (name: string): string =>
  "v1/agents/" + name.split("/").map(encodeURIComponent).join("/");
