import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { Client, Handoff, worker } from "../dist/index.js";

/** A server with tasks of these texts for one worker. answer may answer a call in its place. */
async function serve(t, texts, answer = () => undefined, traceparent = "") {
  const heard = [];
  const enough = new AbortController(); // the end of each task was said
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
    if (heard.filter((h) => h.call === "next").length === texts.length) enough.abort();
    const say = (status, value) => res.writeHead(status).end(JSON.stringify(value));
    if (answer(call, say, req)) return;
    if (call === "/v1/sessions") return say(200, { session: "17" });
    if (call === "join")
      return say(200, { agent: "web/builder", incarnation: "1", agent_id: 1, managed: false, ttl: "60s" });
    if (call === "wait") return claim() === false ? undefined : say(200, (next--, claim()));
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
    client: new Client({ addrs: `127.0.0.1:${server.address().port}` }),
  };
}

/** Runs a worker until it has said the end of each task. */
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

test("a result that is refused fails its task, and the worker goes on", async (t) => {
  let first = true;
  const f = await serve(t, ["one", "two"], (call, say) => {
    if (call !== "next" || !first) return false;
    first = false;
    say(413, { code: "too_large", message: "result has 300000 bytes" });
    return true;
  });
  await run(f, (job) => job.text);
  assert.deepEqual(ends(f.heard), [
    ["next", { complete: { result: "one" } }],
    ["fail", { text: "what it returned was refused: result has 300000 bytes", retryable: false }],
    ["next", { complete: { result: "two" } }],
  ]);
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
  assert.deepEqual(ends(heard), [["fail", { text: "the worker was stopped (its signal)", retryable: true }]]);
  assert.deepEqual(heard[0].body.speaker ?? heard[1].body.speaker, { agent: "web/builder.2" });
  assert.equal(heard.filter((h) => !h.call.startsWith("/")).at(-1).call, "leave");
});
