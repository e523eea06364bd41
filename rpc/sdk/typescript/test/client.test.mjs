import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { Lost } from "../dist/wire.js";
import { Client, Closed, Invalid, NotFound, ResultLost, TaskFailed, Timeout } from "../dist/index.js";

/** A server that answers as told, and notes what it heard. */
async function serve(t, answer) {
  const heard = [];
  const server = createServer(async (req, res) => {
    let body = "";
    for await (const part of req) body += part;
    const one = { verb: req.method, path: req.url, headers: req.headers, body: body && JSON.parse(body) };
    if (req.url === "/livez") return res.end();
    heard.push(one);
    if (req.url === "/v1/sessions") return res.end('{"session":"17"}');
    await answer(one, res, heard);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = new Client({ addrs: `127.0.0.1:${server.address().port}`, attempt: 0.5 });
  t.after(async () => {
    await client.close();
    server.closeAllConnections();
    server.close();
  });
  return { client, heard, addr: `127.0.0.1:${server.address().port}` };
}

const say = (res, status, value) =>
  res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));

test("a message is said by path, query and body", async (t) => {
  const { client, heard } = await serve(t, (_, res) => say(res, 200, {}));
  await client.call("Fleet.GetAgent", { agent: "web/a b.2", stale: true });
  await client.call("Fleet.ListTasks", { room: "web", states: ["QUEUED", "FAILED"], role: "" });
  await client.call("Fleet.ListDeadlines", { room: "web" });
  await client.call("Fleet.RetryTask", { task: 18446744073709551615n });
  assert.deepEqual(
    heard.filter((h) => h.path !== "/v1/sessions").map((h) => [h.verb, h.path, h.body]),
    [
      ["GET", "/v1/agents/web/a%20b.2?stale=true", ""],
      ["GET", "/v1/tasks?room=web&states=QUEUED&states=FAILED", ""],
      ["GET", "/v1/rooms/web/deadlines", ""],
      ["POST", "/v1/tasks/18446744073709551615:retry", {}],
    ],
  );
  await assert.rejects(
    client.call("Fleet.GetTask", {}),
    (e) => e instanceof Invalid && /task is missing/.test(e.message),
  );
  await assert.rejects(client.call("Fleet.GetTask", { task: 1, room: "x" }), /this call takes no room/);
  await assert.rejects(client.call("Fleet.Nothing", {}), /there is no call/);
});

test("what is said once takes no longer than it may, however many servers take no connection", async (t) => {
  const client = new Client({ addrs: ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"] });
  t.after(() => client.close());
  const given = [];
  client.wire.exchange = async (addr, _request, _signals, timeout) => {
    given.push([addr, timeout]);
    await new Promise((done) => setTimeout(done, Math.max(timeout, 0) * 0.6));
    throw new Lost("it does not accept the connection", false);
  };
  await assert.rejects(client.single("Work.Renew", { speaker: { agent: "web/builder" } }, { timeout: 0.2 }));
  const sum = given.reduce((all, [, timeout]) => all + timeout * 0.6, 0);
  assert.ok(sum <= 200, `${sum} ms of waiting in a call of 200 ms: ${given}`);
});

test("N22: a write whose answer is lost is sent again under its number, as a repetition", async (t) => {
  const { client, heard } = await serve(t, (h, res, heard) => {
    if (heard.filter((o) => o.path === h.path).length < 3) return res.destroy();
    say(res, 200, { id: "1", state: "QUEUED", room: "web", role: "builder" });
  });
  await client.tasks.create("web", "builder", "first line\nsecond");
  const writes = heard.filter((h) => h.path === "/v1/rooms/web/tasks");
  assert.deepEqual(
    writes.map((h) => h.headers["idempotency-key"]),
    ["17-1", "17-1", "17-1"],
  );
  assert.deepEqual(
    writes.map((h) => h.headers["vigil-repeat"]),
    [undefined, "1", "1"],
  );
  assert.deepEqual(writes[0].body, { role: "builder", text: "first line\nsecond", title: "first line" });
});

test("an answer that is no is not asked for again", async (t) => {
  const { client, heard } = await serve(t, (_, res) =>
    say(res, 404, { code: "not_found", message: "there is no task 7", rev: 3 }),
  );
  await assert.rejects(
    client.tasks.get(7),
    (e) => e instanceof NotFound && e.message === "there is no task 7" && e.rev === 3,
  );
  assert.equal(heard.length, 1);
});

test("a call ends with its signal, its time, and its client", async (t) => {
  const { client } = await serve(t, () => undefined); // it says nothing
  const stop = new AbortController();
  const stopped = client.tasks.get(1, { signal: stop.signal });
  stop.abort(new Error("enough"));
  await assert.rejects(stopped, /enough/);
  await assert.rejects(
    client.tasks.get(1, { timeout: 0.2 }),
    (e) => e instanceof Timeout && /within 0.2 s/.test(e.message),
  );
  const open = client.tasks.get(1);
  await client.close();
  await assert.rejects(open, Closed);
});

test("events go on behind the last one when the stream breaks", async (t) => {
  const { client, heard } = await serve(t, (h, res, heard) => {
    const line = (seq) =>
      res.write(JSON.stringify({ result: { seq: String(seq), kind: "k", at: "", attempt: 0 } }) + "\n");
    if (heard.length === 1) {
      line(5);
      line(6);
      return setTimeout(() => res.destroy(), 20);
    }
    if (heard.length === 2) return say(res, 503, { code: "no_leader", message: "wait" });
    line(7);
    res.end();
  });
  const seen = [];
  for await (const e of client.events("web", { after: 4 })) {
    seen.push(e.seq);
    if (e.seq === "7") break;
  }
  assert.deepEqual(seen, ["5", "6", "7"]);
  assert.deepEqual(
    heard.map((h) => new URL(h.path, "http://x").searchParams.get("after")),
    ["4", "6", "6"],
  );
});

test("who waits for a task that has failed is told why", async (t) => {
  const { client } = await serve(t, (_, res) =>
    say(res, 200, {
      id: "7",
      state: "FAILED",
      room: "web",
      role: "builder",
      note: "half",
      result: "TypeError: x",
      attempt: 1,
    }),
  );
  await assert.rejects(
    client.tasks.wait(7),
    (e) => e instanceof TaskFailed && e.task.id === "7" && /FAILED: TypeError: x$/.test(e.message),
  );
  assert.equal((await client.tasks.wait("7", { check: false })).state, "FAILED");
});

test("servers that answers name are asked too, and the leader first", async (t) => {
  const second = await serve(t, (_, res) => say(res, 200, { id: "2" }));
  const first = await serve(t, (_, res) => {
    res.setHeader("vigil-servers", `${second.addr},999.1,0.0.0.0:1`);
    res.setHeader("vigil-leader", second.addr);
    say(res, 200, { id: "1" });
  });
  assert.equal((await first.client.tasks.get(1)).id, "1");
  assert.equal((await first.client.tasks.get(1)).id, "2");
  assert.deepEqual(first.client.addrs, [second.addr, first.addr]);
});

test("what is no server of vigil is said to be none", async (t) => {
  const { client } = await serve(t, (_, res) => res.writeHead(404).end("<html>"));
  await assert.rejects(client.tasks.get(1), /answers with status 404 and no word of vigil/);
});

test("a map gives its tasks in the order of their texts, whatever became of them", async (t) => {
  const tasks = new Map();
  const { client } = await serve(t, (h, res) => {
    if (h.verb === "POST") {
      const id = String(100 - tasks.size);
      tasks.set(id, {
        id,
        room: "web",
        role: "square",
        state: h.body.text === "2" ? "FAILED" : "COMPLETED",
        result: h.body.text,
      });
      return say(res, 200, tasks.get(id));
    }
    say(res, 200, tasks.get(h.path.split("/").at(-1)));
  });
  const found = [];
  for await (const task of client.tasks.map("web", "square", [1, 2, 3, 4, 5], {
    parallel: 2,
    timeout: 9.87654,
  })) {
    found.push([task.result, task.state]);
  }
  assert.deepEqual(
    found,
    ["1", "2", "3", "4", "5"].map((r) => [r, r === "2" ? "FAILED" : "COMPLETED"]),
  );
});

test("a map reads each result when its task is over", async (t) => {
  const read = new Set(); // what is read is kept no longer
  const looks = new EventEmitter();
  let made = 0;
  let all = false;
  const { client } = await serve(t, async (h, res) => {
    if (h.path.startsWith("/v1/events")) return say(res, 403, { code: "denied", message: "not you" });
    if (h.verb === "POST") {
      const id = String(++made);
      if (id === "3") {
        const late = AbortSignal.timeout(10_000); // where nobody looks before all are created
        while (!(read.has("1") && read.has("2")) && !late.aborted)
          await once(looks, "look", { signal: late }).catch(() => undefined);
        all = true;
      }
      return say(res, 200, { id, state: "QUEUED", room: "web", role: "square" });
    }
    const id = h.path.split("/").at(-1);
    const gone = all && id !== "3";
    say(res, 200, {
      id,
      state: "COMPLETED",
      room: "web",
      role: "square",
      ...(gone ? { result_dropped: "1" } : { result: id }),
    });
    read.add(id);
    looks.emit("look");
  });
  const found = [];
  for await (const task of client.tasks.map("web", "square", ["a", "b", "c"], { parallel: 1 }))
    found.push(task.result);
  assert.deepEqual(found, ["1", "2", "3"]);
});

test("a result that was dropped is no empty one", async (t) => {
  const task = { id: "7", state: "COMPLETED", room: "web", role: "square", result_dropped: "12" };
  const { client } = await serve(t, (_, res) => say(res, 200, task));
  const lost = (e) => e instanceof ResultLost && e.task.id === "7" && /12 bytes went/.test(e.message);
  await assert.rejects(client.tasks.wait(7), lost);
  await assert.rejects(client.tasks.map("web", "square", ["x"]).next(), lost);
  assert.equal((await client.tasks.wait(7, { check: false })).state, "COMPLETED");
});

test("a map gives all other results before it names the lost ones", async (t) => {
  const gone = new Set(["1", "3"]);
  const { client } = await serve(t, (h, res) => {
    const id = h.verb === "POST" ? String("abcd".indexOf(h.body.text) + 1) : h.path.split("/").at(-1);
    const end = gone.has(id) ? { result_dropped: "4" } : { result: id };
    const state = h.verb === "POST" ? "QUEUED" : id === "2" ? "FAILED" : "COMPLETED";
    say(res, 200, { id, state, room: "web", role: "square", ...(state !== "QUEUED" && end) });
  });
  const found = [];
  const all = async () => {
    for await (const task of client.tasks.map("web", "square", ["a", "b", "c", "d"], { parallel: 1 }))
      found.push([task.id, task.state]);
  };
  await assert.rejects(all(), (e) => {
    assert.ok(e instanceof ResultLost, e);
    assert.match(e.message, /^tasks 1, 3 of web\/square were completed, and of their results 8 bytes went/);
    assert.deepEqual(
      [...e.tasks].map(([place, task]) => [place, task.id]),
      [
        [0, "1"],
        [2, "3"],
      ],
    );
    return e.task.id === "1";
  });
  assert.deepEqual(found, [
    ["2", "FAILED"],
    ["4", "COMPLETED"],
  ]);
});

test("an error names few of many tasks", () => {
  const tasks = new Map(
    Array.from({ length: 13 }, (_, i) => [i, { id: String(i), room: "web", role: "a", result_dropped: "1" }]),
  );
  const error = new ResultLost(tasks.get(0), tasks);
  assert.match(error.message, /^tasks 0, 1, .* 9 and 3 more of web\/a .* 13 bytes/);
});

test("a map that fails creates nothing after that", async (t) => {
  const creates = new Set(); // their numbers, which a repetition has again
  const { client } = await serve(t, (h, res) => {
    if (h.verb !== "POST") return say(res, 404, { code: "not_found", message: "nothing here" });
    creates.add(h.headers["idempotency-key"]);
    if (creates.size === 3) return say(res, 400, { code: "invalid", message: "no" });
    say(res, 200, { id: "1", state: "QUEUED", room: "web", role: "square" });
  });
  const map = client.tasks.map("web", "square", Array(100).fill("x"), { parallel: 4 });
  await assert.rejects(map.next(), Invalid);
  const then = creates.size;
  for (let i = 1; i <= 20; i++) await assert.rejects(client.tasks.get(i), NotFound);
  assert.ok(creates.size === then && then < 100, `${then} creates, then ${creates.size}`);
});

test("a process that stood still asks once more, and not for ever", async (t) => {
  const real = performance.now.bind(performance);
  t.after(() => (performance.now = real));
  for (const [codes, writes] of [
    [["no_leader"], 2],
    [["unknown_outcome", "unknown_session"], 2],
    [Array(100).fill("no_leader"), undefined],
  ]) {
    performance.now = real;
    const left = [...codes];
    const { client, heard } = await serve(t, (_, res) => {
      performance.now = () => real() + 1_000_000; // during the first attempt
      const code = left.shift();
      if (code) return say(res, code === "unknown_session" ? 409 : 503, { code, message: "no" });
      say(res, 200, { id: "1", state: "QUEUED", room: "web", role: "builder" });
    });
    const create = client.tasks.create("web", "builder", "x");
    if (codes.length === 1) assert.equal((await create).id, "1");
    else await assert.rejects(create, Timeout); // it is not known whether the first attempt was carried out
    const sent = heard.filter((h) => h.path === "/v1/rooms/web/tasks");
    if (writes) assert.equal(sent.length, writes);
    assert.equal(new Set(sent.map((h) => h.headers["idempotency-key"])).size, 1);
  }
});

test("N22: a write during which the machine was asleep is not done twice", async (t) => {
  const real = Date.now;
  t.after(() => (Date.now = real));
  const codes = ["unknown_outcome", "unknown_session"];
  const { client, heard } = await serve(t, (_, res) => {
    Date.now = () => real() + 1_000_000; // asleep for longer than a session lasts: the other clock stood still
    const code = codes.shift();
    if (code) return say(res, code === "unknown_session" ? 409 : 503, { code, message: "no" });
    say(res, 200, { id: "1", state: "QUEUED", room: "web", role: "builder" });
  });
  await assert.rejects(client.tasks.create("web", "builder", "x"), Timeout); // it may have been done the first time
  const sent = heard.filter((h) => h.path === "/v1/rooms/web/tasks");
  assert.deepEqual(
    sent.map((h) => h.headers["idempotency-key"]),
    ["17-1", "17-1"],
  );
});

test("a certificate that was renewed is taken up by waits and streams", async (t) => {
  const { client, heard } = await serve(t, (h, res, heard) => {
    if (heard.filter((o) => o.path === h.path).length === 1 || h.path === "/v1/work:beat")
      return say(res, 401, { code: "auth_expired", message: "it is too old" });
    if (h.path.startsWith("/v1/events")) return res.end('{"result":{"seq":"5","kind":"k"}}\n');
    say(res, 200, { attempt: "1" });
  });
  let renewed = 0;
  Object.defineProperty(client.wire, "authenticates", { get: () => true });
  client.wire.renew = () => renewed++;
  assert.equal((await client.call("Work.Wait", { speaker: { agent: "web/builder" } })).attempt, "1");
  const seen = [];
  for await (const e of client.events("web", { after: 4, follow: false })) seen.push(e.seq);
  assert.deepEqual(seen, ["5"]);
  assert.equal(renewed, 2);
  await assert.rejects(client.single("Work.Renew", { speaker: { agent: "web/builder" } }), {
    code: "auth_expired",
  });
  assert.equal(heard.filter((h) => h.path === "/v1/work:beat").length, 1);
});

test("the time of a write is over also while its session is opened", async (t) => {
  const { client } = await serve(t, (_, res) => say(res, 200, { id: "1" }));
  client.sessions.open = () => new Promise(() => undefined); // nobody answers
  const late = client.tasks.create("web", "builder", "x", { timeout: 0.1 });
  await assert.rejects(late, (e) => e instanceof Timeout && /within 0.1 s/.test(e.message));
});

test("what happens between two streams is seen by who waits", async (t) => {
  let streams = 0;
  let state = "PENDING";
  const looked = new AbortController();
  const { client } = await serve(t, async (h, res) => {
    if (!h.path.startsWith("/v1/events")) {
      say(res, 200, { id: "7", state, room: "web", role: "builder" });
      if (streams > 0) looked.abort();
      return;
    }
    res.writeHead(200, { "content-type": "application/json" }).flushHeaders();
    if (++streams > 1) return; // it stands, and is silent
    if (!looked.signal.aborted) await once(looked.signal, "abort"); // the look when the first one stands
    state = "COMPLETED";
    res.end();
  });
  const began = performance.now();
  assert.equal((await client.tasks.wait(7, { timeout: 50 })).state, "COMPLETED");
  assert.ok(performance.now() - began < 50_000 && streams >= 2);
});

test("what has little time asks another server within it", async (t) => {
  const silent = await serve(t, () => undefined);
  const good = await serve(t, (_, res) => say(res, 200, { task: "7" }));
  const client = new Client({ addrs: [silent.addr, good.addr] });
  t.after(() => client.close());
  assert.equal((await client.call("Fleet.GetTask", { task: 7 }, { timeout: 3 })).task, "7");
  assert.deepEqual([silent.heard.length, good.heard.length], [1, 1]);
});

test("connections that a network has cut off cost one call its time, not one each", async (t) => {
  let dead = new Set(); // connections whose answers are lost from now on
  const all = new Set();
  let hold = [];
  const { client } = await serve(t, async (_, res) => {
    all.add(res.socket);
    if (dead.has(res.socket)) return;
    if (hold) await new Promise((go) => hold.push(go));
    say(res, 200, { agent: {} });
  });
  const look = () => client.call("Fleet.GetAgent", { agent: "web/a" }, { timeout: 0.2 });
  const several = Promise.all(Array.from({ length: 8 }, look));
  while (hold.length < 8) await new Promise((go) => setTimeout(go, 1));
  const waiting = hold;
  hold = undefined;
  for (const go of waiting) go();
  await several;
  dead = new Set(all);
  await assert.rejects(look(), Timeout);
  await look();
});
