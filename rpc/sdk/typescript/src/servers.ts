// Which server to ask now: the leader for most calls, any server for those that park.

import { now } from "./spans.js";
import { isSocket, moreOf, splitAddr, type Found } from "./where.js";

const REST_MIN = 50; // ms that an address which failed is left alone
const REST_MAX = 2000;
const MAX_SERVERS = 16; // addresses that are learned
const REREAD = 1000; // ms between looks into the file of addresses

/** The server that a kind of call goes to. */
export interface Route {
  target: string;
}

/** Knows the servers, and which of them to ask first. */
export class Servers {
  /** Those that the cluster has named last, the configured ones among them first, then the other configured ones. */
  addrs: string[];
  reached = false;
  readonly lead: Route;
  readonly park: Route;
  private readonly rest = new Map<string, { times: number; until: number; reason: string }>();
  private told = "";
  private readAt = -Infinity;

  constructor(private readonly found: Found) {
    this.addrs = [...found.addrs];
    this.reread();
    this.lead = { target: this.addrs[0]! };
    this.park = { target: found.addrs[Math.floor(Math.random() * found.addrs.length)]! };
  }

  get local(): boolean {
    return isSocket(this.found.addrs[0]!);
  }

  /** The addresses worth trying: the route's target, then the known ones from there on, without those that rest. */
  order(route: Route): string[] {
    const at = Math.max(this.addrs.indexOf(route.target), 0);
    const all = [route.target, ...this.addrs.slice(at), ...this.addrs.slice(0, at)];
    return [...new Set(all)].filter((a) => (this.rest.get(a)?.until ?? 0) <= now());
  }

  /** Remembers that the route's calls reach a server. */
  settle(route: Route, addr: string): void {
    this.reached = true;
    this.rest.delete(addr);
    route.target = addr;
  }

  /** Leaves an address alone for a while. */
  failed(addr: string, reason: string): void {
    const rest = this.rest.get(addr) ?? { times: 0, until: 0, reason };
    rest.until = now() + Math.min(REST_MIN * 2 ** Math.min(rest.times, 10), REST_MAX);
    rest.times++;
    rest.reason = reason;
    this.rest.set(addr, rest);
    this.leave(this.lead, addr);
    this.leave(this.park, addr);
  }

  /** Has the route try the server after addr next, unless it has moved on. */
  leave(route: Route, addr: string): void {
    if (route.target !== addr) return;
    route.target = this.addrs[(this.addrs.indexOf(addr) + 1) % this.addrs.length]!;
  }

  /** Sends the leader's calls to addr from now on; false: it cannot be what we look for. */
  follow(addr: string): boolean {
    if (this.local || !dialable(addr)) return false;
    if (this.lead.target === addr) return true;
    if ((this.rest.get(addr)?.until ?? 0) > now()) return false;
    this.lead.target = addr;
    return true;
  }

  /** Takes over what a server says of all of them. */
  learn(list: string): void {
    if (this.local || list === this.told) return;
    this.told = list;
    this.know(list.split(","));
  }

  private know(learned: string[]): void {
    learned = learned.filter(dialable).slice(0, MAX_SERVERS);
    if (learned.length === 0) return;
    const own = this.found.addrs;
    const first = own.filter((a) => learned.includes(a));
    this.addrs = [...new Set([...first, ...learned, ...own])];
  }

  /** Looks for addresses in the file, unless that was done just now. */
  reread(): void {
    if (!this.found.file || now() - this.readAt < REREAD) return;
    this.readAt = now();
    this.know([...moreOf(this.found), ...this.addrs.filter((a) => !this.found.addrs.includes(a))]);
  }

  /** Which servers were tried, and why the first of them does not answer. */
  unreachable(): string {
    const reason = this.addrs.map((a) => this.rest.get(a)?.reason).find((r) => r !== undefined);
    return (
      `no server could be reached at ${this.addrs.join(", ")} (named by ${this.found.source})` +
      `${reason ? `: ${reason}` : ""}; check that the servers run and that the addresses are right, or start a ` +
      "fleet to try things with `vigil dev`"
    );
  }
}

/** Tells whether an address can be a server's. */
function dialable(addr: string): boolean {
  const at = addr.length <= 255 ? splitAddr(addr) : undefined;
  return at !== undefined && at.host !== "0.0.0.0" && at.host !== "::";
}
