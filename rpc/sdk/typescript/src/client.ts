// A client of the whole API: it finds the leader and repeats calls so that they are done once.

import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { exchange } from "./alive.js";
import type { Method } from "./calls.js";
import {
  Closed,
  Full,
  Internal,
  Invalid,
  Timeout,
  Unavailable,
  UnknownSession,
  VigilError,
} from "./errors.js";
import { lines } from "./lines.js";
import type { Calls, Event } from "./messages.js";
import { failure, fromBody, header, methodOf, requestOf, type ErrorBody, type Message } from "./request.js";
import { Servers, type Route } from "./servers.js";
import { Sessions, type Ticket } from "./sessions.js";
import { delay, elapsed, Linked, moment, now, pause } from "./spans.js";
import { Tasks } from "./tasks.js";
import { aged, left, outOfTime, over, type Trial } from "./trial.js";
import { find, trustOf, type Place } from "./where.js";
import { Lost, Wire, type Answer, type Request } from "./wire.js";

/** How a client behaves. All has a default. */
export interface ClientOptions extends Place {
  /** Shown in the cluster's list of sessions, for people. */
  name?: string;
  /** How long a call is repeated, in seconds: at most 300, since the cluster forgets a session after 600. */
  retryFor?: number;
  /** How long one attempt may wait for its answer before the next server is asked, in seconds. Default: 5. */
  attempt?: number;
}

/** What a single call may be told. */
export interface CallOptions {
  /** Ends the call: it fails with the signal's reason. A write may be done all the same. */
  signal?: AbortSignal;
  /** How long the call is repeated, in seconds: at most the client's retryFor. */
  timeout?: number;
}

/** Which events are wanted. */
export interface EventOptions {
  /** Those after this number; absent: from the oldest that is kept. */
  after?: string | number | bigint;
  agent?: string;
  task?: string | number | bigint;
  /** Only what happens from now on. */
  tail?: boolean;
  /** false: end with the newest event instead of waiting for more. */
  follow?: boolean;
  signal?: AbortSignal;
  /** @internal Is called when a stream stands that does not tell what happened before. */
  stands?: () => void;
}

const RETRY_FOR = 300; // s
const MAX_HOPS = 3; // how often a call follows from server to server before it waits
const RENEWALS = 3; // how often one write may find its session forgotten
const LEAST = 250; // ms that an attempt may wait in any case, as far as its call has them
const BYE = 250; // ms that close may take

/** A client of a cluster. One is enough for a process; it holds no process up that has nothing else to do. */
export class Client {
  /** Tasks, as who gives them out sees them. */
  readonly tasks: Tasks;
  private readonly servers: Servers;
  private readonly wire: Wire;
  private readonly sessions: Sessions;
  private readonly life = new AbortController();
  private readonly retryFor: number; // ms
  private readonly attemptFor: number; // ms
  private readonly token: string;

  /** Finds out whom to ask and reads who asks; it does not touch the network. Its errors are Invalid. */
  constructor(options: ClientOptions = {}) {
    const found = find(options);
    const retryFor = options.retryFor ?? RETRY_FOR;
    if (!(retryFor > 0 && retryFor <= RETRY_FOR))
      throw new Invalid(`retryFor ${retryFor}: want at most ${RETRY_FOR} s`);
    this.retryFor = retryFor * 1000;
    this.attemptFor = (options.attempt ?? 5) * 1000;
    this.token = found.token;
    this.servers = new Servers(found);
    this.wire = new Wire(() => trustOf(found));
    this.sessions = new Sessions(
      async () => (await this.call("Work.OpenSession", { client: options.name ?? "typescript" })).session,
    );
    this.tasks = new Tasks(this);
  }

  /** The addresses of the servers that the client knows. */
  get addrs(): readonly string[] {
    return this.servers.addrs;
  }

  /** Whether a server was ever reached. */
  get reached(): boolean {
    return this.servers.reached;
  }

  /** Ends the client: calls under way fail with Closed. It takes at most a few hundred milliseconds. */
  async close(): Promise<void> {
    if (this.life.signal.aborted) return;
    const limit = AbortSignal.timeout(BYE);
    // Sessions lapse by themselves, so an error changes nothing.
    await Promise.allSettled(
      this.sessions.idle().map((session) => this.single("Work.CloseSession", { session }, { signal: limit })),
    );
    this.life.abort(new Closed("the client was closed"));
    this.wire.close();
  }

  /**
   * Makes a call, such as `call("Fleet.GetTask", { task: 7 })`. It is repeated until it is answered, a write under
   * one number so that it is done once. Calls that prove life or park are sent once. Its errors are VigilError.
   */
  async call<M extends keyof Calls>(
    name: M,
    message: Calls[M]["request"],
    options: CallOptions = {},
  ): Promise<Calls[M]["response"]> {
    const method = methodOf(name);
    if (method.streams) throw new Invalid(`${name} answers with many messages: use stream`);
    const request = this.request(method, message as Message);
    const t = this.trial(method, options);
    try {
      const body = method.numbered ? await this.write(t, request) : await this.repeat(t, request);
      return body as Calls[M]["response"];
    } finally {
      t.link.end();
    }
  }

  /** Makes a call once, whatever becomes of it. */
  async single<M extends keyof Calls>(
    name: M,
    message: Calls[M]["request"],
    options: CallOptions = {},
  ): Promise<Calls[M]["response"]> {
    const method: Method = { ...methodOf(name), repeat: "never" };
    const request = this.request(method, message as Message);
    const t = this.trial(method, options, true);
    try {
      return (await this.repeat(t, request)) as Calls[M]["response"];
    } finally {
      t.link.end();
    }
  }

  /** The messages of a call that answers with many. The stream is not opened again when it breaks. */
  stream<M extends keyof Calls>(
    name: M,
    message: Calls[M]["request"],
    options: CallOptions = {},
  ): AsyncGenerator<Calls[M]["response"], void, undefined> {
    return this.read(name, message, options);
  }

  private async *read<M extends keyof Calls>(
    name: M,
    message: Calls[M]["request"],
    options: CallOptions,
    stands?: () => void,
  ): AsyncGenerator<Calls[M]["response"], void, undefined> {
    const method = methodOf(name);
    const t = this.trial(method, options);
    let opened: { answer: IncomingMessage; addr: string } | undefined;
    try {
      opened = await this.open(t, this.request(method, message as Message));
      stands?.();
      const { answer } = opened;
      for await (const line of lines(answer)) {
        const one = JSON.parse(line) as { result?: Calls[M]["response"]; error?: ErrorBody };
        if (one.error) throw fromBody(one.error);
        if (one.result !== undefined) yield one.result;
      }
    } catch (e) {
      if (e instanceof VigilError) throw e;
      this.throwIfEnded(t.signal);
      if (!opened) throw e;
      this.servers.leave(this.servers.park, opened.addr);
      throw new Unavailable(`server ${opened.addr} has broken off the stream`, { cause: e });
    } finally {
      opened?.answer.destroy();
      t.link.end();
    }
  }

  /**
   * The history of a room, then what happens, until the signal comes; room "": of all rooms. It goes on behind the
   * last event when servers come and go. Compacted says that events after `after` are no longer kept.
   */
  async *events(room = "", options: EventOptions = {}): AsyncGenerator<Event, void, undefined> {
    const { after, agent = "", task, tail = false, follow = true, signal, stands } = options;
    let last = after === undefined ? "" : String(after);
    const t = { began: now(), tries: 0, signal: signal ?? this.life.signal };
    for (;;) {
      try {
        const message = {
          room,
          agent,
          no_follow: !follow,
          tail: tail && last === "",
          ...(last !== "" && { after: last }),
          ...(task !== undefined && { task }),
        };
        const missed = last === "" ? stands : undefined;
        for await (const event of this.read("Fleet.WatchEvents", message, { ...(signal && { signal }) }, missed)) {
          Object.assign(t, { began: now(), tries: 0 });
          last = event.seq;
          yield event;
        }
        if (!follow) return;
      } catch (e) {
        if (!(e instanceof VigilError) || !e.fleeting) throw e;
      }
      t.tries++;
      await this.rest(t);
      this.throwIfEnded(t.signal);
    }
  }

  // What follows is for the other parts of the package.

  /** @internal */
  throwIfEnded(signal?: AbortSignal): void {
    this.life.signal.throwIfAborted();
    signal?.throwIfAborted();
  }

  /** @internal Waits before a further try: from 20 ms on, longer the longer it lasts, with jitter. */
  async rest(t: { began: number; tries: number; signal: AbortSignal }): Promise<void> {
    const grown = Math.min(20 * 2 ** Math.min(Math.max(t.tries - 1, 0), 10), 2000);
    const ms = Math.min(grown, Math.max(100, (now() - t.began) / 4));
    await pause(ms / 2 + (Math.random() * ms) / 2, t.signal);
  }

  private trial(method: Method, options: CallOptions, once = false): Trial {
    const link = new Linked(options.signal, this.life.signal);
    const timeout = options.timeout === undefined ? Infinity : options.timeout * 1000;
    const born = moment();
    return {
      method,
      once,
      began: born.at,
      born,
      until: Math.min(timeout, method.parked ? Infinity : this.retryFor),
      link,
      signal: link.signal,
      tries: 0,
      hops: 0,
      fresh: false,
      sent: born,
      stood: false,
      more: 0,
      last: undefined,
    };
  }

  private request(method: Method, message: Message): Request {
    return requestOf(method, message, this.token);
  }

  /** Repeats the request under a number. Where the cluster has no session to spare it goes without one. */
  private async write(t: Trial, request: Request): Promise<unknown> {
    for (let n = 0; ; n++) {
      let ticket;
      try {
        ticket = await this.ticket(t);
      } catch (e) {
        if (!(e instanceof Full)) throw e;
        return this.repeat({ ...t, method: { ...t.method, repeat: "unsent" } }, request); // what frees memory gets through
      }
      try {
        return await this.repeat(t, {
          ...request,
          headers: { ...request.headers, "idempotency-key": ticket.key },
        });
      } catch (e) {
        if (!(e instanceof UnknownSession)) throw e;
        this.sessions.drop(ticket);
        // Within the limit no attempt can have been carried out in a session that has ended since, so a new number
        // is safe. After it an earlier one may have been.
        const late = elapsed(t.born) >= t.until;
        if (late && t.last) throw outOfTime(t);
        if (late || n === RENEWALS) throw e;
      } finally {
        this.sessions.put(ticket);
      }
    }
  }

  /** A number for a write, within the time of its call. The session that is opened for it may be for others, too. */
  private async ticket(t: Trial): Promise<Ticket> {
    const link = new Linked(t.signal);
    const timer = setTimeout(() => link.abort(outOfTime(t)), delay(left(t)));
    try {
      return await this.sessions.take(link.signal);
    } finally {
      clearTimeout(timer);
      link.end();
    }
  }

  /** Sends the request until it is answered. */
  private async repeat(t: Trial, request: Request): Promise<unknown> {
    for (;;) {
      this.checkTime(t);
      const { done, error, next } = await this.attempt(t, request);
      if (!error) return done;
      if (next === "give up") throw error;
      t.last = error;
      if (next === "later") {
        t.hops = 0;
        await this.rest(t);
      }
    }
  }

  private checkTime(t: Trial): void {
    this.throwIfEnded(t.signal);
    if (t.tries > 0 && over(t, this.attemptFor)) throw outOfTime(t);
  }

  private async attempt(t: Trial, request: Request): Promise<Outcome> {
    t.tries++;
    t.sent = moment();
    const route = t.method.parked ? this.servers.park : this.servers.lead;
    for (const addr of this.servers.order(route)) {
      if (left(t) <= 0) break; // beats of a short lease: the next one begins with the next address
      let timeout = Math.min(left(t), t.method.long ? Infinity : this.attemptFor);
      // What has little time, such as a good-bye, asks another server within it.
      if (t.method.repeat === "always") timeout = Math.min(timeout, Math.max(left(t) / 2, LEAST));
      try {
        const answer = await exchange(
          this.wire,
          addr,
          { ...request, headers: { ...request.headers, ...aged(t) } },
          t.signal,
          timeout,
          this.servers.local ? undefined : t.method.long,
        );
        this.servers.settle(route, addr);
        return this.judge(t, route, addr, answer);
      } catch (e) {
        if (!(e instanceof Lost)) throw e;
        this.throwIfEnded(t.signal);
        if (e.sent) return this.lost(t, route, addr, e);
        this.servers.failed(addr, e.message); // nothing was said there: the next one may be asked
      }
    }
    this.servers.reread();
    const error = new Unavailable(this.servers.unreachable());
    return { error, next: t.method.repeat === "never" ? "give up" : "later" };
  }

  /** Decides what a call means that ended without an answer. */
  private lost(t: Trial, route: Route, addr: string, e: Lost): Outcome {
    this.wire.drop(addr);
    if (e.late || e.stale) this.servers.leave(route, e.late ? addr : "");
    else this.servers.failed(addr, e.message);
    const error = e.late ? new Timeout(e.message, { cause: e }) : new Unavailable(e.message, { cause: e });
    return { error, next: t.method.repeat === "always" ? "now" : "give up" };
  }

  /** Decides what an answer means for the route and for the call. */
  private judge(t: Trial, route: Route, addr: string, answer: Answer): Outcome {
    this.hear(answer.headers);
    const leader = header(answer.headers, "vigil-leader");
    if (answer.status >= 200 && answer.status < 300) {
      if (leader) this.servers.follow(leader);
      return parsed(addr, answer.body);
    }
    const error = failure(addr, answer.status, answer.body);
    if (error instanceof Unavailable && answer.status === 400) return { error, next: "give up" };
    const to = error.leader ?? leader;
    if (error.code === "not_leader" && to && t.hops < MAX_HOPS && this.servers.follow(to)) {
      t.hops++;
      return { error, next: mayRepeat(t.method, error) ? "now" : "give up" };
    }
    if (error.http === 401 && !t.fresh && this.wire.authenticates) {
      t.fresh = true; // nothing was done; the connection may have shown a certificate that was renewed since
      this.wire.renew();
      return { error, next: t.once ? "give up" : "now" };
    }
    if (error.fleeting) {
      this.servers.leave(route, addr);
      return { error, next: mayRepeat(t.method, error) ? "later" : "give up" };
    }
    if (leader) this.servers.follow(leader);
    return { error, next: "give up" };
  }

  private hear(headers: IncomingHttpHeaders): void {
    const servers = header(headers, "vigil-servers");
    if (servers) this.servers.learn(servers);
  }

  /** Opens a stream at a server that works; one that cannot be reached is passed over. */
  private async open(t: Trial, request: Request): Promise<{ answer: IncomingMessage; addr: string }> {
    this.throwIfEnded(t.signal);
    for (const addr of this.servers.order(this.servers.park)) {
      let answer: IncomingMessage;
      try {
        answer = await this.wire.send(addr, request, t.signal);
      } catch (e) {
        this.throwIfEnded(t.signal);
        this.servers.failed(addr, (e as Error).message);
        continue;
      }
      this.servers.settle(this.servers.park, addr);
      this.hear(answer.headers);
      if (answer.statusCode === 200) return { answer, addr };
      const text: string[] = [];
      for await (const line of lines(answer)) text.push(line);
      const error = failure(addr, answer.statusCode ?? 0, Buffer.from(text.join("\n")));
      if (error.http === 401 && !t.fresh && this.wire.authenticates) {
        t.fresh = true; // as judge does
        this.wire.renew();
        return this.open(t, request);
      }
      if (error.fleeting) this.servers.leave(this.servers.park, addr);
      throw error;
    }
    this.servers.reread();
    throw new Unavailable(this.servers.unreachable());
  }
}

/** What came of an attempt. */
interface Outcome {
  done?: unknown;
  error?: VigilError;
  next?: "now" | "later" | "give up";
}

function mayRepeat(method: Method, error: VigilError): boolean {
  return method.repeat === "always" || (method.repeat === "unsent" && error.fate === "elsewhere");
}

function parsed(addr: string, body: Buffer): Outcome {
  try {
    return { done: JSON.parse(body.toString()) };
  } catch (e) {
    return {
      error: new Internal(`server ${addr} answers with what is no JSON`, { cause: e }),
      next: "give up",
    };
  }
}
