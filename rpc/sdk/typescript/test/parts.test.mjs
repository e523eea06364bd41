import assert from "node:assert/strict";
import { test } from "node:test";
import { errorOf, NotFound, VigilError } from "../dist/errors.js";
import { lines } from "../dist/lines.js";
import { Sessions } from "../dist/sessions.js";
import { Handoff } from "../dist/index.js";
import { clip, delay, json, Linked, milliseconds, span, textOf, titleOf } from "../dist/spans.js";

const never = new AbortController().signal;

test("N22: numbers of one session lie less than 32 apart, and more writes open another session", async () => {
  let opened = 0;
  const s = new Sessions(async () => String(++opened));
  const tickets = [];
  for (let i = 0; i < 40; i++) tickets.push(await s.take(never));
  assert.equal(opened, 2);
  assert.deepEqual([tickets[0].key, tickets[31].key, tickets[32].key], ["1-1", "1-32", "2-1"]);
  s.put(tickets[1]); // the lowest has no answer yet
  assert.equal((await s.take(never)).key, "2-9");
  s.put(tickets[0]);
  assert.equal((await s.take(never)).key, "1-33");
});

test("a session that the cluster has forgotten gives no more numbers, and idle ones are given back", async () => {
  let opened = 0;
  const s = new Sessions(async () => String(++opened));
  const first = await s.take(never);
  s.drop(first);
  s.put(first);
  const second = await s.take(never);
  assert.equal(second.key, "2-1");
  assert.deepEqual(s.idle(), []);
  s.put(second);
  assert.deepEqual(s.idle(), ["2"]);
});

test("who waits for a session stops waiting when its signal comes", async () => {
  const s = new Sessions(() => new Promise(() => undefined));
  const stop = new AbortController();
  const got = s.take(stop.signal);
  stop.abort(new Error("enough"));
  await assert.rejects(got, /enough/);
});

test("spans are said in seconds", () => {
  assert.deepEqual([span(60), span(0.5), span(1e-9), span(2592000)], ["60s", "0.5s", "0s", "2592000s"]);
  assert.throws(() => span(Number.NaN), RangeError);
  assert.deepEqual(
    [milliseconds("1.5s", 7), milliseconds(undefined, 7), milliseconds("0s", 7)],
    [1500, 7, 7],
  );
});

test("texts are cut between characters, and what is no text is JSON", () => {
  assert.equal(clip("aä€", 4), "aä");
  assert.equal(clip("aä€", 6), "aä€");
  assert.deepEqual(
    [textOf("a"), textOf(undefined), textOf(null), textOf({ a: 1n }), textOf(0)],
    ["a", "", "", '{"a":"1"}', "0"],
  );
  assert.equal(json({ n: 18446744073709551615n }), '{"n":"18446744073709551615"}');
});

test("a title that is taken from a text is one that servers take", () => {
  for (const [text, title] of [
    ["\n \t\n\u001b[1mdo\tit\u0000\r\nsecond", "[1mdo it"],
    ["", "builder"],
    ["\r\n\t", "builder"],
    ["\u{1f600}".repeat(100), "\u{1f600}".repeat(80)],
  ]) {
    assert.equal(titleOf(text, "builder"), title);
    assert.equal(new Handoff("builder", text).title, title);
  }
});

test("lines come whole, however a stream is cut", async () => {
  const parts = ['{"a":"', 'ä€"}\n\n{', "}\n", "last"].flatMap((t) =>
    [...Buffer.from(t)].map((b) => Uint8Array.of(b)),
  );
  const found = [];
  for await (const line of lines(
    (async function* () {
      yield* parts;
    })(),
  ))
    found.push(line);
  assert.deepEqual(found, ['{"a":"ä€"}', "{}", "last"]);
});

test("errors have a class by code, and what they mean", () => {
  const e = errorOf("not_found", "there is no task 7");
  assert.ok(e instanceof NotFound && e instanceof VigilError && e instanceof Error);
  assert.deepEqual(
    [e.name, e.code, e.final, e.fleeting, e.http],
    ["NotFound", "not_found", true, false, 404],
  );
  assert.deepEqual([errorOf("no_leader").fleeting, errorOf("no_leader").message], [true, "no leader"]);
  const newer = errorOf("constructor", "of a newer server");
  assert.deepEqual([newer.constructor, newer.code, newer.final], [VigilError, "constructor", false]);
});

test("a linked signal comes with the first of others, and is forgotten by them", () => {
  const [a, b] = [new AbortController(), new AbortController()];
  const link = new Linked(a.signal, undefined, b.signal);
  b.abort("why");
  assert.equal(link.signal.reason, "why");
  const other = new Linked(a.signal);
  other.end();
  a.abort();
  assert.equal(other.signal.aborted, false);
});

test("timers get what they take: whole, and no longer than 25 days", () => {
  assert.deepEqual([delay(0), delay(1.2), delay(1e12), delay(Infinity)], [1, 2, 2 ** 31 - 1, 2 ** 31 - 1]);
});
