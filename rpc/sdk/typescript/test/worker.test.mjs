import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Client, Handoff, Retry, Stopped, worker } from "../dist/index.js";

/** A server with tasks of these texts for one worker. answer may answer a call in its place. */
async function serve(t, texts, answer = () => undefined, traceparent = "", options = {}) {
  const heard = [];
  const enough = new AbortController(); // the worker waits, and there is no task
  let next = 0;
  const claim = () =>
    next < texts.length && {
      task: {
        id: String(++next),
        room: "web",
        role: "builder",
        state: "IN_PROGRESS",
        traceparent,
        text: texts[next - 1],
      },
      attempt: 1,
      ttl: "60s",
    };
  const server = createServer(async (req, res) => {
    let text = "";
    for await (const part of req) text += part;
    const call = req.url.split(":").at(-1);
    const body = text && JSON.parse(text);
    heard.push({ call, body });
    const say = (status, value) => res.writeHead(status).end(JSON.stringify(value));
    if (answer(call, say, req)) return;
    if (call === "/v1/sessions") return say(200, { session: "17" });
    if (call === "join")
      return say(200, { agent: "web/builder", incarnation: "1", agent_id: 1, managed: false, ttl: "60s" });
    if (call === "wait") return next < texts.length ? say(200, claim()) : enough.abort();
    if (call === "next") return say(200, { claim: claim() || undefined, none: { code: "no_task" } });
    say(200, {});
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    heard,
    enough: enough.signal,
    client: new Client({ addrs: `127.0.0.1:${server.address().port}`, ...options }),
  };
}

/** Runs a worker until it waits and there is no task. */
async function run({ client, enough }, handler, options = {}) {
  const log = [];
  await worker("web/builder", handler, { client, signal: enough, log: (line) => log.push(line), ...options });
  await client.close();
  return log;
}

const ends = (heard) =>
  heard
    .filter((h) => ["next", "complete", "fail", "handoff"].includes(h.call))
    .map(({ call, body }) => {
      const { speaker, task, attempt, start, ...end } = body;
      return [call, end];
    });

test("what a function returns is the result, and what it throws is the failure, by class and message only", async (t) => {
  const f = await serve(t, ["text", "value", "handoff", "throws", "retry"]);
  const { heard } = f;
  const log = await run(
    f,
    (job) => {
      switch (job.text) {
        case "value":
          return { n: 1 };
        case "handoff":
          return new Handoff("tester", "test it", { result: "built" });
        case "throws":
          throw new TypeError("x".repeat(5000));
        case "retry":
          throw new RangeError("not yet");
      }
      return job.text;
    },
    { retryOn: [RangeError] },
  );
  const found = ends(heard);
  assert.deepEqual(found.slice(0, 3), [
    ["next", { complete: { result: "text" } }],
    ["next", { complete: { result: '{"n":1}' } }],
    [
      "next",
      { handoff: { to_role: "tester", text: "test it", title: "test it", result: "built", priority: 0 } },
    ],
  ]);
  assert.deepEqual(found[3], [
    "next",
    { fail: { reason: "TypeError: " + "x".repeat(1013), retryable: false } },
  ]);
  assert.deepEqual(found[4], ["next", { fail: { reason: "RangeError: not yet", retryable: true } }]);
  assert.match(log.join("\n"), /task 4 \(attempt 1\) has failed: TypeError/);
  assert.equal(heard.filter((h) => !h.call.startsWith("/")).at(-1).call, "leave");
});

test("servers that are away are told of when that lasts, and in words of vigil", async (t) => {
  const real = performance.now.bind(performance);
  for (const lasts of [0, 6000]) {
    let lost = 0;
    const f = await serve(t, ["text"], (call, _, req) => {
      if (call !== "wait" || lost === 3) return false;
      if (++lost === 2) performance.now = () => real() + lasts;
      req.socket.destroy();
      return true;
    });
    t.after(() => (performance.now = real));
    const log = await run(f, (job) => job.text);
    performance.now = real;
    const told = log.filter((line) => line.includes("in spite of"));
    assert.equal(told.length, lasts ? 1 : 0, log.join("\n"));
    if (lasts) assert.match(told[0], /it has closed the connection$/);
  }
});

const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

test("what is run and created for a traced task joins its trace", async (t) => {
  const f = await serve(t, ["one"], undefined, trace);
  const { heard, client } = f;
  let printed = "";
  await run(f, async (job) => {
    printed = (await job.run("sh", ["-c", "echo $TRACEPARENT"])).stdout;
    await client.tasks.create("web", "tester", "test it");
    await client.tasks.create("web", "tester", "alone", { traceparent: "" });
  });
  assert.equal(printed, trace + "\n");
  const made = heard.filter((h) => h.call === "/v1/rooms/web/tasks").map((h) => h.body.traceparent);
  assert.deepEqual(made, [trace, undefined]);
});

test("a result or hand-off that is refused fails its attempt, and the worker goes on", async (t) => {
  for (const code of ["invalid", "not_found", "too_large", "full"]) {
    let first = true;
    const f = await serve(t, ["one", "two"], (call, say) => {
      if (call !== "next" || !first) return false;
      first = false;
      say(400, { code, message: "no" });
      return true;
    });
    await run(f, (job) => (job.text === "one" ? new Handoff("nobody", "x") : job.text));
    const again = code === "full" ? { retryable: true, after: "60s" } : { retryable: false };
    assert.deepEqual(ends(f.heard).slice(1), [
      ["fail", { text: "what it returned was refused: no", ...again, result: "for nobody: x\nx" }],
      ["next", { complete: { result: "two" } }],
    ]);
  }
});

test("a span until the next attempt is one that servers take", async (t) => {
  const month = `${30 * 86400}s`;
  const spans = [-1, 31 * 86400, Infinity, NaN, 3];
  const f = await serve(t, spans.map(String));
  await run(f, (job) => {
    throw new Retry("429", { after: Number(job.text) });
  });
  assert.deepEqual(
    ends(f.heard).map(([, { fail }]) => fail),
    ["0s", month, month, undefined, "3s"].map((after) => ({
      reason: "429",
      retryable: true,
      ...(after && { after }),
    })),
  );
});

test("a span that is refused is left out, and the worker goes on", async (t) => {
  let first = true;
  const f = await serve(t, ["one", "two"], (call, say) => {
    if (call !== "next" || !first) return false;
    first = false;
    say(400, { code: "invalid", message: "after is long" });
    return true;
  });
  await run(f, (job) => {
    if (job.text === "one") throw new Retry("429", { after: 3 });
    return job.text;
  });
  assert.deepEqual(ends(f.heard), [
    ["next", { fail: { reason: "429", retryable: true, after: "3s" } }],
    ["fail", { text: "429", retryable: true }],
    ["next", { complete: { result: "two" } }],
  ]);
});

test("what is refused of the life ends it", async (t) => {
  const f = await serve(
    t,
    ["one"],
    (call, say) => call === "next" && (say(409, { code: "stopped", message: "a human has stopped it" }), true),
  );
  await assert.rejects(
    run(f, () => "text"),
    Stopped,
  );
  await f.client.close();
  assert.equal(ends(f.heard).length, 1);
});

test("an end is said for as long as the life lasts", async (t) => {
  const codes = [...Array(8).fill("no_leader"), "too_old", ...Array(5).fill("unknown_session")];
  const f = await serve(
    t,
    ["one", "two"],
    (call, say) => {
      const code = call === "next" && codes.shift();
      if (code) say(code === "no_leader" ? 503 : 409, { code, message: "no" });
      return !!code;
    },
    "",
    { retryFor: 0.2 },
  );
  await run(f, (job) => job.text);
  const results = ends(f.heard).map(([, end]) => end.complete.result);
  assert.deepEqual(results, [...Array(15).fill("one"), "two"]);
});

test("what is no Unicode is sent all the same", async (t) => {
  const f = await serve(t, ["one"]);
  await run(f, () => "half of \ud83d it \u{1f600}");
  assert.deepEqual(ends(f.heard), [["next", { complete: { result: "half of \ufffd it \u{1f600}" } }]]);
});

test("a managed life that is stopped while no server answers leaves its result with agentd", async (t) => {
  const spool = mkdtempSync(join(tmpdir(), "vigil-"));
  const env = {
    VIGIL_SPOOL: spool,
    VIGIL_AGENT: "web/builder",
    VIGIL_INCARNATION: "1",
    VIGIL_TOKEN: "secret",
  };
  Object.assign(process.env, env);
  t.after(() => {
    for (const name of Object.keys(env)) delete process.env[name];
    rmSync(spool, { recursive: true });
  });
  const stop = new AbortController();
  const f = await serve(
    t,
    ["one"],
    (call, say) => {
      if (call !== "next" && call !== "complete") return false;
      say(503, { code: "no_leader", message: "nobody leads" });
      stop.abort();
      return true;
    },
    "",
    { retryFor: 0.2 },
  );
  await run(f, () => "a result", { signal: stop.signal });
  const [name, ...others] = readdirSync(spool);
  assert.deepEqual(others, []);
  assert.match(name, /^[0-9]{20}-1-1\.json$/);
  const left = JSON.parse(readFileSync(join(spool, name), "utf8"));
  assert.deepEqual(left, {
    incarnation: 1,
    task: 1,
    attempt: 1,
    agent: "web/builder",
    result: "a result",
    token: "secret",
  });
  assert.equal(statSync(join(spool, name)).mode & 0o777, 0o600);
  assert.equal(f.heard.filter((h) => h.call === "leave").length, 0); // which would put the task back
});

test("what a human says after the question is an answer, and other mail is kept", async (t) => {
  const mails = [
    { id: "1", from: "anna", body: "yes" },
    { id: "2", from: "vigil", kind: "nudge" },
  ];
  const later = [
    { id: "1", from: "anna", body: "yes", redelivered: true },
    { id: "3", from: "vigil", kind: "status-inquiry" },
    { id: "4", from: "watchdog", kind: "room-inquiry" },
    { id: "5", from: "web/tester", from_incarnation: "3" },
    { id: "6", from: "token/7" },
    { id: "7", from: "anna" },
  ];
  const f = await serve(t, ["one"], (call, say) => {
    if (call === "declare") mails.push(...later.splice(0));
    if (call !== "read") return false;
    say(200, { mails: mails.splice(0) });
    return true;
  });
  let answer, others, none;
  await run(f, async (job) => {
    answer = await job.ask("may I?", { within: 20 });
    others = await job.inbox();
    none = await job.inbox();
  });
  assert.equal(answer.id, "6");
  assert.deepEqual(
    [others, none].map((l) => l.map((m) => m.id)),
    [["1", "2", "3", "4", "5", "7"], []],
  );
  assert.deepEqual(
    f.heard.map((h) => h.call).filter((call) => call.endsWith("/ack")),
    ["/v1/mail/6/ack"],
  );
});

test("a wait for mail outlives the lease", async (t) => {
  let outside = false;
  let mails = [];
  const f = await serve(t, ["one"], (call, say, req) => {
    if (call === "read") say(200, { mails: mails.splice(0) });
    else if (outside && (call === "beat" || req.url === "/v1/mail:wait")) {
      say(409, { code: "rejoin", message: "it has no lease" });
    } else if (outside && call === "join") {
      // a beat has joined again, and the task is still held
      outside = false;
      mails = [{ id: "3", from: "anna" }];
      const me = { agent: "web/builder", incarnation: "1", agent_id: 1, managed: false };
      say(200, { ...me, task: "1", ttl: "60s" });
    } else if (req.url === "/v1/mail:wait") say(200, { unread: 1 });
    else return false;
    return true;
  });
  let found;
  await run(f, async (job) => {
    outside = true;
    found = await job.inbox(20);
  });
  assert.deepEqual(
    found.map((m) => m.id),
    ["3"],
  );
});

test("a worker that is stopped tells its function, and gives the task back", async (t) => {
  const { heard, client } = await serve(t, ["long", "deaf"]);
  const stop = new AbortController();
  let told;
  await worker(
    "web/builder.2",
    async (job) => {
      setTimeout(() => stop.abort(), 20);
      await new Promise((resolve) => job.signal.addEventListener("abort", resolve));
      told = job.signal.reason.message;
      await new Promise(() => undefined); // it does not listen
    },
    { client, signal: stop.signal, log: () => undefined, grace: 0.05 },
  );
  await client.close();
  assert.equal(told, "its signal");
  assert.deepEqual(ends(heard), []); // a stop is no failure: it leaves
  assert.deepEqual(heard[0].body.speaker ?? heard[1].body.speaker, { agent: "web/builder.2" });
  assert.equal(heard.filter((h) => !h.call.startsWith("/")).at(-1).call, "leave");
});
