/** Where a cluster is. Everything has a default: what the environment and the command line have set up. */
export interface Place {
    /** API addresses of some servers, host:port, or `unix:/PATH`, the socket of a life. */
    addrs?: string | readonly string[];
    /** A context of the command line, by its name. */
    context?: string;
    /** The folder with who asks, as `vigil context show --identity` names it. */
    identity?: string;
    /** An API token in place of an identity; also VIGIL_API_TOKEN. It needs TLS. */
    token?: string;
    /** The file with the root to trust, roots.crt; also VIGIL_ROOTS. */
    roots?: string;
}
type Environment = Readonly<Record<string, string | undefined>>;
/** The servers to ask, and how they are spoken to. */
export interface Found {
    readonly addrs: readonly string[];
    /** What has named them, for people. */
    readonly source: string;
    /** Folder with who asks; "": nobody. */
    readonly identity: string;
    /** File with more addresses, one a line, that an agentd keeps up to date; "": none. */
    readonly file: string;
    readonly token: string;
    readonly roots: string;
}
/** Tells whether an address is the socket of a life. */
export declare const isSocket: (addr: string) => boolean;
/** Finds the place to ask. Its errors, Invalid, name what is wrong, where, and the remedy. */
export declare function find(place?: Place, env?: Environment): Found;
/** Host and port of host:port or [v6]:port; undefined when it is neither. */
export declare function splitAddr(addr: string): {
    host: string;
    port: number;
} | undefined;
/** What connections show, and whom they believe. */
export interface Trust {
    readonly ca: string;
    readonly cert?: string;
    readonly key?: string;
}
/** Reads it anew, since certificates are renewed; undefined: connections are in clear. */
export declare function trustOf(found: Found): Trust | undefined;
/** The addresses in the file that an agentd keeps; none where it cannot be read. */
export declare function moreOf(found: Found): string[];
export {};
