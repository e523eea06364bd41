// HTTP/1.1 to one server: over TCP, TLS or a Unix socket, with what the runtime has.

import * as http from "node:http";
import * as https from "node:https";
import { X509Certificate } from "node:crypto";
import type { PeerCertificate } from "node:tls";
import { Invalid } from "./errors.js";
import { delay, Linked } from "./spans.js";
import { isSocket, splitAddr, type Trust } from "./where.js";

const DIAL = 1000; // ms that a server may take to accept a connection,
const DIAL_SHARE = 3; // and which part of the call's time, where that is less
const SHAKE = 10_000; // ms for the handshake after that, as long as a server lets one wait
const IDLE = 60_000; // ms after which an idle connection is closed; servers do it after 2 min
const MAX_BODY = 16 << 20; // bytes of an answer, as in the Go client

/** The connection ended, or there was no answer in time. */
export class Lost extends Error {
  override readonly name = "Lost";

  constructor(
    message: string,
    /** The server may have taken the request. */
    readonly sent: boolean,
    /** There was no answer in time. */
    readonly late = false,
    /** An idle connection had been closed before: nothing is wrong with the server. */
    readonly stale = false,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** What a server has answered. */
export interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A request of one call. */
export interface Request {
  readonly verb: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
}

/** The connections to all servers of a place. */
export class Wire {
  private agent: http.Agent;
  private secure = false;

  constructor(private readonly trust: () => Trust | undefined) {
    this.agent = this.open();
  }

  private open(): http.Agent {
    const trust = this.trust();
    const common = { keepAlive: true, keepAliveMsecs: 3000, timeout: IDLE, maxFreeSockets: 16 };
    this.secure = trust !== undefined;
    if (!trust) return new http.Agent(common);
    const cluster = clusterOf(trust.ca);
    return new https.Agent({
      ...common,
      ca: trust.ca,
      ...(trust.cert !== undefined && { cert: trust.cert, key: trust.key }),
      minVersion: "TLSv1.3",
      servername: cluster,
      // The name of a server is not that of a machine: its certificate says which cluster it serves.
      checkServerIdentity: (_: string, cert: PeerCertificate): Error | undefined => refusal(cert, cluster),
    });
  }

  /** Tells whether connections show who asks. */
  get authenticates(): boolean {
    return this.secure;
  }

  /** Has calls open new connections from now on, with the newest certificate. Those under way go on. */
  renew(): void {
    try {
      this.agent = this.open();
    } catch {
      // What was read before may still be good.
    }
  }

  close(): void {
    this.agent.destroy();
  }

  /**
   * Closes the idle connections to a server that has not answered on one of them. Where a network has cut them off
   * without a word, each would cost a call its time.
   */
  drop(addr: string): void {
    if (isSocket(addr)) return;
    const { host, port } = splitAddr(addr)!;
    for (const [name, idle] of Object.entries(this.agent.freeSockets)) {
      if (!name.startsWith(`${host}:${port}:`)) continue;
      for (const socket of [...(idle ?? [])]) socket.destroy();
    }
  }

  /** Sends one request and reads the whole answer within so many milliseconds. Its error is a Lost. */
  async exchange(addr: string, request: Request, signals: AbortSignal[], timeout: number): Promise<Answer> {
    const link = new Linked(...signals);
    let late = false;
    const limit = (): void => {
      late = true;
      link.abort();
    };
    const timer = timeout === Infinity ? undefined : setTimeout(limit, delay(timeout));
    try {
      const answer = await this.send(addr, request, link.signal, timeout);
      const parts: Buffer[] = [];
      let size = 0;
      for await (const part of answer as AsyncIterable<Buffer>) {
        parts.push(part);
        size += part.length;
        if (size > MAX_BODY) {
          answer.destroy();
          throw new Lost(`server ${addr} sends more than ${MAX_BODY} bytes`, true);
        }
      }
      if (!answer.complete) throw new Lost(`server ${addr} has closed the connection`, true);
      return { status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(parts) };
    } catch (e) {
      if (late && !(e instanceof Lost && !e.sent)) {
        throw new Lost(`server ${addr} did not answer in time`, true, true);
      }
      throw e instanceof Lost
        ? e
        : new Lost(`server ${addr}: ${(e as Error).message}`, true, false, false, { cause: e });
    } finally {
      clearTimeout(timer);
      link.end();
    }
  }

  /** Sends one request of a call that has so many ms left; gives the answer when its head is there. Its error is a Lost. */
  send(
    addr: string,
    request: Request,
    signal: AbortSignal,
    left = Infinity,
  ): Promise<http.IncomingMessage> {
    return new Promise((resolve, reject) => {
      let sent = false;
      let timer: NodeJS.Timeout | undefined;
      const fail = (e: NodeJS.ErrnoException): void => {
        clearTimeout(timer);
        const stale = req.reusedSocket && (e.code === "ECONNRESET" || e.code === "EPIPE");
        const clear = e.message.includes("wrong version number");
        let text = e.message;
        if (clear) text = "it speaks no TLS: it runs without an identity, and you have one";
        else if (text === "socket hang up") text = "it has closed the connection"; // in words of Node.js
        reject(new Lost(`server ${addr}: ${text}`, sent, false, stale, { cause: e }));
      };
      const req = this.request(addr, request, signal);
      const limit = (ms: number, text: string): void => {
        clearTimeout(timer);
        timer = setTimeout(() => req.destroy(new Error(text)), ms);
      };
      req.once("socket", (socket) => {
        const ready = (): void => {
          clearTimeout(timer);
          sent = true;
        };
        if (req.reusedSocket || !socket.connecting) return ready();
        limit(Math.min(DIAL, left / DIAL_SHARE), "it does not accept the connection");
        socket.once("connect", () =>
          this.secure && !isSocket(addr) ? limit(SHAKE, "it does not answer the handshake") : ready(),
        );
        if (this.secure) socket.once("secureConnect", ready);
      });
      req.once("response", (answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
      req.once("error", fail);
      req.end(request.body);
    });
  }

  private request(addr: string, request: Request, signal: AbortSignal): http.ClientRequest {
    const options: http.RequestOptions = {
      method: request.verb,
      path: request.path,
      agent: this.agent,
      signal,
      headers: { ...request.headers },
    };
    if (request.body !== undefined) {
      Object.assign(options.headers!, {
        "content-type": "application/json",
        "content-length": String(Buffer.byteLength(request.body)),
      });
    }
    if (isSocket(addr)) {
      return http.request({
        ...options,
        socketPath: addr.slice("unix:".length),
        host: "vigil",
        headers: { ...options.headers, host: "vigil" },
      });
    }
    const { host, port } = splitAddr(addr)!;
    return (this.secure ? https : http).request({ ...options, host, port });
  }
}

/** The cluster that roots vouch for. */
function clusterOf(pem: string): string {
  try {
    const names = new X509Certificate(pem).subjectAltName ?? "";
    const m = /URI:"?spiffe:\/\/([0-9a-f-]{36})"?(?:,|$)/.exec(names);
    if (m) return m[1]!;
  } catch {
    // It is said below.
  }
  throw new Invalid(
    "the roots are no roots of vigil: take roots.crt of the folder that " +
      "`vigil context show --identity` names",
  );
}

/** Why a certificate is not that of a server of the cluster; undefined: it is. */
function refusal(cert: PeerCertificate, cluster: string): Error | undefined {
  const names = (cert.subjectaltname ?? "").split(", ").filter((n) => n.startsWith("URI:"));
  const name = names.length === 1 ? names[0]!.slice("URI:".length).replaceAll('"', "") : "";
  if (new RegExp(`^spiffe://${cluster}/server/[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$`).test(name))
    return undefined;
  return new Error("who listens there is no server of this cluster");
}
