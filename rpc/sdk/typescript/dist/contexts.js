// The command line's file of contexts.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Invalid } from "./errors.js";
/** Reads vigil/contexts.yaml below $XDG_CONFIG_HOME or ~/.config; one that is not there holds none. */
export function contextsOf(env) {
    const folder = env.XDG_CONFIG_HOME || (env.HOME ? join(env.HOME, ".config") : "");
    if (!folder)
        return { file: "", selected: "", contexts: new Map() };
    const file = join(folder, "vigil", "contexts.yaml");
    let text;
    try {
        text = readFileSync(file, "utf8");
    }
    catch (e) {
        if (e.code === "ENOENT")
            return { file, selected: "", contexts: new Map() };
        throw new Invalid(`${file} cannot be read: ${e.message}`, { cause: e });
    }
    return parse(text, file);
}
/** Reads the YAML that vigil writes: maps, lists and plain or quoted words, nothing else of it. */
export function parse(text, file) {
    const contexts = new Map();
    let selected = "";
    let section = "";
    let current;
    let key = "";
    let step = 0; // how far in the names of contexts are
    text.split(/\r?\n/).forEach((line, i) => {
        const bare = line.trim();
        if (bare === "" || bare === "---" || bare.startsWith("#"))
            return;
        const bad = () => new Invalid(`${file}:${i + 1}: this cannot be read; \`vigil context list\` tells more`);
        const word = (w) => unquoted(w.trim(), bad);
        if (line.startsWith("\t"))
            throw bad();
        const indent = line.length - line.trimStart().length;
        if (bare.startsWith("- ")) {
            if (!current)
                throw bad();
            if (key === "servers")
                current.servers.push(word(bare.slice(2)));
            return;
        }
        const m = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^:\s][^:]*?):(?:\s+(.*))?$/.exec(bare);
        if (!m)
            throw bad();
        const name = word(m[1]);
        const value = m[2] ?? "";
        if (indent === 0) {
            section = name;
            step = 0;
            current = undefined;
            if (name === "selected")
                selected = word(value);
            return;
        }
        if (section !== "contexts")
            return;
        step ||= indent;
        if (indent === step) {
            current = { servers: [], identity: "" };
            contexts.set(name, current);
            key = "";
            return;
        }
        if (!current)
            throw bad();
        key = name;
        if (key === "identity")
            current.identity = word(value);
        const flow = /^\[(.*)\]$/.exec(value.trim());
        if (key === "servers" && flow) {
            current.servers.push(...flow[1]
                .split(",")
                .filter((w) => w.trim() !== "")
                .map(word));
        }
    });
    return { file, selected, contexts };
}
function unquoted(text, bad) {
    if (text.startsWith('"')) {
        try {
            return String(JSON.parse(text));
        }
        catch {
            throw bad();
        }
    }
    if (text.startsWith("'")) {
        if (text.length < 2 || !text.endsWith("'"))
            throw bad();
        return text.slice(1, -1).replaceAll("''", "'");
    }
    return text.split(" #")[0].trim();
}
