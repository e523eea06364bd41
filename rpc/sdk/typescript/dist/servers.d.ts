import { type Found } from "./where.js";
/** The server that a kind of call goes to. */
export interface Route {
    target: string;
}
/** Knows the servers, and which of them to ask first. */
export declare class Servers {
    private readonly found;
    /** Those that the cluster has named last, the configured ones among them first, then the other configured ones. */
    addrs: string[];
    reached: boolean;
    readonly lead: Route;
    readonly park: Route;
    private readonly rest;
    private told;
    private readAt;
    constructor(found: Found);
    get local(): boolean;
    /** The addresses worth trying: the route's target, then the known ones from there on, without those that rest. */
    order(route: Route): string[];
    /** Remembers that the route's calls reach a server. */
    settle(route: Route, addr: string): void;
    /** Leaves an address alone for a while. */
    failed(addr: string, reason: string): void;
    /** Has the route try the server after addr next, unless it has moved on. */
    leave(route: Route, addr: string): void;
    /** Sends the leader's calls to addr from now on; false: it cannot be what we look for. */
    follow(addr: string): boolean;
    /** Takes over what a server says of all of them. */
    learn(list: string): void;
    private know;
    /** Looks for addresses in the file, unless that was done just now. */
    reread(): void;
    /** Which servers were tried, and why the first of them does not answer. */
    unreachable(): string;
}
