// How a message is said over HTTP, and what an answer says that is an error.
import { methods } from "./calls.js";
import { errorOf, Invalid, Unavailable } from "./errors.js";
import { json } from "./spans.js";
/** What is known of a call. */
export function methodOf(name) {
    const method = Object.hasOwn(methods, name) ? methods[name] : undefined;
    if (!method)
        throw new Invalid(`there is no call ${JSON.stringify(name)}`);
    return method;
}
/** How a message is said over HTTP. */
export function requestOf(method, message, token) {
    const given = (name) => message[name] !== undefined && message[name] !== null && message[name] !== "";
    const route = method.routes.find((r) => r.variables.every(given));
    if (!route) {
        const missing = method.routes[0].variables.filter((v) => !given(v));
        throw new Invalid(`${missing.join(", ")} is missing`);
    }
    // Names of agents have a slash that is part of the path.
    const part = (v) => String(v).split("/").map(encodeURIComponent).join("/");
    let path = route.path.replace(/\{([a-z_]+)\}/g, (_, name) => part(message[name]));
    const query = new URLSearchParams();
    const body = {};
    for (const [name, value] of Object.entries(message)) {
        if (value === undefined || value === null || route.variables.includes(name))
            continue;
        if (route.body) {
            body[name] = value;
            continue;
        }
        if (!route.query.includes(name))
            throw new Invalid(`this call takes no ${name} beside ${route.variables.join(", ")}`);
        for (const one of Array.isArray(value) ? value : [value])
            query.append(name, String(one));
    }
    for (const [name, value] of [...query])
        if (value === "" || value === "false")
            query.delete(name, value);
    if (query.size > 0)
        path += `?${query}`;
    const headers = {
        accept: "application/json",
        ...(token && { authorization: `Bearer ${token}` }),
    };
    return { verb: route.verb, path, headers, body: route.body ? json(body) : undefined };
}
/** The first value of a header; "": there is none. */
export function header(headers, name) {
    const value = headers[name];
    return (Array.isArray(value) ? value[0] : value) ?? "";
}
/** The error of an answer; one that is not of vigil comes from something between. */
export function failure(addr, status, body) {
    try {
        const b = JSON.parse(body.toString());
        if (typeof b.code === "string")
            return fromBody(b);
    }
    catch {
        // It is no answer of vigil.
    }
    if (status === 400 && body.includes("HTTP request to an HTTPS server")) {
        return new Unavailable(`the server at ${addr} speaks TLS, and was called in clear: log in with \`vigil login ` +
            "TOKEN`, or select a context in which you are with `vigil context use NAME`");
    }
    const bare = {
        401: "auth_denied",
        403: "denied",
        404: "not_found",
        413: "too_large",
        502: "unavailable",
        503: "unavailable",
        504: "timeout",
    };
    return errorOf(bare[status] ?? "internal", `what listens at ${addr} answers with status ${status} and no word of vigil`);
}
/** The error that a body tells. */
export function fromBody(b) {
    return errorOf(String(b.code), typeof b.message === "string" ? b.message : undefined, {
        ...(typeof b.rev === "number" && { rev: b.rev }),
        ...(typeof b.leader === "string" && b.leader !== "" && { leader: b.leader }),
        ...(typeof b.oldest === "number" && { oldest: b.oldest }),
    });
}
