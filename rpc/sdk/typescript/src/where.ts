// Which servers are asked, and who asks: the rules of the command line.
//
// addrs > context > VIGIL_SOCKET > VIGIL_ADDR > VIGIL_CONTEXT > the selected context > 127.0.0.1:7420

import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { contextsOf, type Contexts } from "./contexts.js";
import { Invalid } from "./errors.js";

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

const DEFAULT = "127.0.0.1:7420";
const UNIX = "unix:/";

/** Tells whether an address is the socket of a life. */
export const isSocket = (addr: string): boolean => addr.startsWith(UNIX);

/** Finds the place to ask. Its errors, Invalid, name what is wrong, where, and the remedy. */
export function find(place: Place = {}, env: Environment = process.env): Found {
  const token = place.token ?? env.VIGIL_API_TOKEN ?? "";
  const roots = place.roots ?? env.VIGIL_ROOTS ?? "";
  const given = typeof place.addrs === "string" ? [place.addrs] : [...(place.addrs ?? [])];
  if (given.length > 0 && place.context) throw new Invalid("give addrs or context, not both");
  const who = (addrs: readonly string[]): string =>
    place.identity ?? env.VIGIL_IDENTITY ?? (token ? "" : identityFor(addrs, env));
  if (given.length === 0 && !place.context && env.VIGIL_SOCKET) {
    return {
      addrs: ["unix:" + env.VIGIL_SOCKET],
      source: "VIGIL_SOCKET",
      identity: "",
      file: "",
      token: "",
      roots: "",
    };
  }
  let addrs = clean(given, "addrs");
  let source = "addrs";
  let file = "";
  if (addrs.length === 0 && !place.context) {
    source = "VIGIL_ADDR";
    file = env.VIGIL_SERVERS ?? "";
    addrs = clean((env.VIGIL_ADDR ?? "").split(","), source);
  }
  if (addrs.length > 0) {
    if (addrs.some(isSocket)) {
      if (addrs.length > 1) throw new Invalid(`${source}: a socket is named alone`);
      return { addrs, source, identity: "", file: "", token: "", roots: "" };
    }
    return { addrs, source, identity: who(addrs), file, token, roots };
  }
  const all = contextsOf(env);
  const name = place.context || env.VIGIL_CONTEXT || all.selected;
  if (!name) {
    addrs = [DEFAULT];
    return { addrs, source: "nothing else was said", identity: who(addrs), file, token, roots };
  }
  const chosen = all.contexts.get(name);
  if (!chosen) {
    throw new Invalid(
      `there is no context ${JSON.stringify(name)} in ${all.file}: \`vigil context list\` shows ` +
        `them, \`vigil context set ${name} HOST:PORT\` makes one`,
    );
  }
  addrs = clean(chosen.servers, `context ${name} in ${all.file}`);
  if (addrs.length === 0) {
    throw new Invalid(
      `context ${name} in ${all.file} names no server: \`vigil context set ${name} HOST:PORT\` mends it`,
    );
  }
  return {
    addrs,
    source: `context ${name}`,
    identity: place.identity ?? chosen.identity,
    file,
    token,
    roots,
  };
}

/** Takes addresses as people write them, and gives host:port. */
function clean(texts: readonly string[], where: string): string[] {
  const addrs: string[] = [];
  for (const text of texts) {
    const addr = text.trim();
    if (addr === "") continue;
    if (isSocket(addr)) {
      addrs.push(addr);
      continue;
    }
    const bare = addr.replace(/^https?:\/\//, "").replace(/\/$/, "");
    const at = splitAddr(bare);
    if (!at)
      throw new Invalid(
        `${where}: address ${JSON.stringify(text)}: write host:port, for instance ${DEFAULT}`,
      );
    addrs.push(bare);
  }
  return addrs;
}

/** Host and port of host:port or [v6]:port; undefined when it is neither. */
export function splitAddr(addr: string): { host: string; port: number } | undefined {
  const m = /^(?:\[([0-9a-fA-F:.%]+)\]|([^:/\s[\]]+)):([0-9]{1,5})$/.exec(addr);
  const port = Number(m?.[3]);
  if (!m || port < 1 || port > 65535) return undefined;
  return { host: m[1] ?? m[2]!, port };
}

/** Who one is in the context that these servers are of; "": nobody. */
function identityFor(addrs: readonly string[], env: Environment): string {
  let all: Contexts;
  try {
    all = contextsOf(env);
  } catch {
    return "";
  }
  for (const name of [...all.contexts.keys()].sort()) {
    const one = all.contexts.get(name)!;
    if (one.identity && one.servers.some((s) => addrs.includes(s))) return one.identity;
  }
  return "";
}

/** What connections show, and whom they believe. */
export interface Trust {
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Reads it anew, since certificates are renewed; undefined: connections are in clear. */
export function trustOf(found: Found): Trust | undefined {
  if (isSocket(found.addrs[0]!)) return undefined;
  if (!found.identity && !found.roots) {
    if (!found.token) return undefined;
    throw new Invalid(
      "an API token needs TLS, since whoever hears it could use it: give roots, the file roots.crt " +
        "of the folder that `vigil context show --identity` names, or set VIGIL_ROOTS",
    );
  }
  const ca = read(found.roots || join(found.identity, "roots.crt"), found);
  if (found.token || !found.identity) return { ca };
  const path = join(found.identity, "leaf.key");
  if (process.platform !== "win32" && readable(path)) {
    throw new Invalid(`${path} may be read by others: run chmod 600 on it, and think about who did`);
  }
  // One file holds both, so that they belong together also while they are renewed.
  const both = read(path, found);
  return { ca, cert: both, key: both };
}

function readable(path: string): boolean {
  try {
    return (statSync(path).mode & 0o077) !== 0;
  } catch {
    return false; // that it is not there its reader says
  }
}

function read(path: string, found: Found): string {
  try {
    return readFileSync(path, "utf8");
  } catch (e) {
    throw new Invalid(
      `there is no identity in ${found.identity || path} (${found.source}): log in again with ` +
        "`vigil login TOKEN`, or select another context with `vigil context use`",
      { cause: e },
    );
  }
}

/** The addresses in the file that an agentd keeps; none where it cannot be read. */
export function moreOf(found: Found): string[] {
  if (!found.file) return [];
  try {
    return readFileSync(found.file, "utf8")
      .slice(0, 4096)
      .split(/\s+/)
      .filter((a) => splitAddr(a));
  } catch {
    return [];
  }
}
