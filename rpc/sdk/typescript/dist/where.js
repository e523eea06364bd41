// Which servers are asked, and who asks: the rules of the command line.
//
// addrs > context > VIGIL_SOCKET > VIGIL_ADDR > VIGIL_CONTEXT > the selected context > 127.0.0.1:7420
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { contextsOf } from "./contexts.js";
import { Invalid } from "./errors.js";
const DEFAULT = "127.0.0.1:7420";
const UNIX = "unix:/";
/** Tells whether an address is the socket of a life. */
export const isSocket = (addr) => addr.startsWith(UNIX);
/** Finds the place to ask. Its errors, Invalid, name what is wrong, where, and the remedy. */
export function find(place = {}, env = process.env) {
    const token = place.token ?? env.VIGIL_API_TOKEN ?? "";
    const roots = place.roots ?? env.VIGIL_ROOTS ?? "";
    const given = typeof place.addrs === "string" ? [place.addrs] : [...(place.addrs ?? [])];
    if (given.length > 0 && place.context)
        throw new Invalid("give addrs or context, not both");
    const who = (addrs) => place.identity ?? env.VIGIL_IDENTITY ?? (token ? "" : identityFor(addrs, env));
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
            if (addrs.length > 1)
                throw new Invalid(`${source}: a socket is named alone`);
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
        throw new Invalid(`there is no context ${JSON.stringify(name)} in ${all.file}: \`vigil context list\` shows ` +
            `them, \`vigil context set ${name} HOST:PORT\` makes one`);
    }
    addrs = clean(chosen.servers, `context ${name} in ${all.file}`);
    if (addrs.length === 0) {
        throw new Invalid(`context ${name} in ${all.file} names no server: \`vigil context set ${name} HOST:PORT\` mends it`);
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
function clean(texts, where) {
    const addrs = [];
    for (const text of texts) {
        const addr = text.trim();
        if (addr === "")
            continue;
        if (isSocket(addr)) {
            addrs.push(addr);
            continue;
        }
        const bare = addr.replace(/^https?:\/\//, "").replace(/\/$/, "");
        const at = splitAddr(bare);
        if (!at)
            throw new Invalid(`${where}: address ${JSON.stringify(text)}: write host:port, for instance ${DEFAULT}`);
        addrs.push(bare);
    }
    return addrs;
}
/** Host and port of host:port or [v6]:port; undefined when it is neither. */
export function splitAddr(addr) {
    const m = /^(?:\[([0-9a-fA-F:.%]+)\]|([^:/\s[\]]+)):([0-9]{1,5})$/.exec(addr);
    const port = Number(m?.[3]);
    if (!m || port < 1 || port > 65535)
        return undefined;
    return { host: m[1] ?? m[2], port };
}
/** Who one is in the context that these servers are of; "": nobody. */
function identityFor(addrs, env) {
    let all;
    try {
        all = contextsOf(env);
    }
    catch {
        return "";
    }
    for (const name of [...all.contexts.keys()].sort()) {
        const one = all.contexts.get(name);
        if (one.identity && one.servers.some((s) => addrs.includes(s)))
            return one.identity;
    }
    return "";
}
/** Reads it anew, since certificates are renewed; undefined: connections are in clear. */
export function trustOf(found) {
    if (isSocket(found.addrs[0]))
        return undefined;
    if (!found.identity && !found.roots) {
        if (!found.token)
            return undefined;
        throw new Invalid("an API token needs TLS, since whoever hears it could use it: give roots, the file roots.crt " +
            "of the folder that `vigil context show --identity` names, or set VIGIL_ROOTS");
    }
    const ca = read(found.roots || join(found.identity, "roots.crt"), found);
    if (found.token || !found.identity)
        return { ca };
    const path = join(found.identity, "leaf.key");
    if (process.platform !== "win32" && readable(path)) {
        throw new Invalid(`${path} may be read by others: run chmod 600 on it, and think about who did`);
    }
    // One file holds both, so that they belong together also while they are renewed.
    const both = read(path, found);
    return { ca, cert: both, key: both };
}
function readable(path) {
    try {
        return (statSync(path).mode & 0o077) !== 0;
    }
    catch {
        return false; // that it is not there its reader says
    }
}
function read(path, found) {
    try {
        return readFileSync(path, "utf8");
    }
    catch (e) {
        throw new Invalid(`there is no identity in ${found.identity || path} (${found.source}): log in again with ` +
            "`vigil login TOKEN`, or select another context with `vigil context use`", { cause: e });
    }
}
/** The addresses in the file that an agentd keeps; none where it cannot be read. */
export function moreOf(found) {
    if (!found.file)
        return [];
    try {
        return readFileSync(found.file, "utf8")
            .slice(0, 4096)
            .split(/\s+/)
            .filter((a) => splitAddr(a));
    }
    catch {
        return [];
    }
}
